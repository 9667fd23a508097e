//! Changes of one word that turn a text: no text covers its changed copy, in either direction.
//! Cosmetic changes: each text covers its copy. Both on real texts in two languages.

use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use serde_json::Value;
use simdb::Normaliser;
use simdb::containment::{Containment, Verdict, Weights};
use test_support::changes::{ONE_WORD, is_about_a_page, replaced};

pub(super) fn texts(language: &str) -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/labelled");
    let file = std::fs::File::open(format!("{folder}/edits_{language}.docs.jsonl.gz")).unwrap();
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    let text = |line: String| {
        serde_json::from_str::<Value>(&line).unwrap()["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    lines.map(|line| text(line.unwrap())).collect()
}

fn compare(normaliser: &Normaliser, a: &str, b: &str) -> Verdict {
    Containment::new(normaliser, Weights::builtin(), a, b).verdict
}

#[test]
fn text_with_a_turned_word_is_neither_covered_nor_covers() {
    let normaliser = Normaliser::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (language, kinds) in ONE_WORD {
        let mut texts = texts(language);
        texts.retain(|text| !is_about_a_page(text));
        for (word, by) in kinds {
            let changed = texts
                .iter()
                .filter_map(|text| Some((text, replaced(text, word, by).next()?)));
            for (text, changed) in changed.take(60) {
                count += 1;
                if compare(&normaliser, text, &changed).is_removable() {
                    wrong.push(format!("{word} -> {by}: {text} | {changed}"));
                }
            }
        }
    }
    assert!(count > 1_000, "{count}");
    // A change at the border of a list or of a heading may be none.
    assert!(
        wrong.len() * 200 <= count,
        "{} of {count}: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(8)]
    );
}

#[test]
fn text_with_cosmetic_changes_is_the_same() {
    let normaliser = Normaliser::new();
    let wide = |text: &str| {
        let wide = |c: char| match c {
            'a'..='z' | 'A'..='Z' => char::from_u32(c as u32 - 0x21 + 0xff01).unwrap_or(c),
            c => c,
        };
        text.chars().map(wide).collect::<String>()
    };
    let wrapped = |text: &str| text.replace(' ', "\u{a0} ");
    let (mut count, mut wrong) = (0, Vec::new());
    for language in ["en", "zh"] {
        for text in texts(language).iter().step_by(3) {
            let copies = [
                text.to_uppercase(),
                wide(text),
                wrapped(text),
                format!("  {text} \n"),
            ];
            for copy in copies {
                count += 1;
                if compare(&normaliser, text, &copy) != Verdict::Same {
                    wrong.push(format!("{text} | {copy}"));
                }
            }
        }
    }
    assert!(
        wrong.len() * 50 <= count,
        "{} of {count}: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(8)]
    );
}
