//! Changes of one word that turn a text: no text covers its changed copy, in either direction.
//! Cosmetic changes: each text covers its copy. Both on real texts in two languages.

use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use serde_json::Value;
use simdb::Normaliser;
use simdb::containment::{Containment, Verdict, Weights};

/// Words and their replacements, each a kind of change. An empty replacement drops the word.
const ENGLISH: &[(&str, &str)] = &[
    ("only", ""),
    ("not", ""),
    ("is", "is not"),
    ("will", "will not"),
    ("all", "almost all"),
    ("if", ""),
    ("every", ""),
    ("and", "or"),
    ("or", "and"),
    ("may", "must"),
    ("can", "must"),
    ("must", "may"),
    ("he", "she"),
    ("all", "some"),
    ("some", "all"),
    ("most", "all"),
    ("for", "against"),
    ("from", "to"),
    ("to", "from"),
    ("before", "after"),
    ("is", "was"),
    ("a", "no"),
    ("you", "they"),
    ("this", "that"),
    ("in", "out of"),
    ("the", "the lesser"),
    ("the", "the broken"),
];

const CHINESE: &[(&str, &str)] = &[
    ("是", "不是"),
    ("有", "没有"),
    ("不", ""),
    ("只", ""),
    ("将", ""),
    ("或", "和"),
    ("和", "或"),
    ("可以", "应当"),
    ("他", "她"),
    ("元", "万元"),
    ("前", "后"),
    ("上", "下"),
    ("三", "四"),
    ("所有", "有些"),
];

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

/// The text with the first word replaced; `None` if it does not have the word.
fn replaced(text: &str, word: &str, by: &str) -> Option<String> {
    let is_ascii = word.is_ascii();
    let is_whole = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let is_apart = |c: Option<char>| c.is_none_or(char::is_whitespace);
        !is_ascii || is_apart(before) && is_apart(after)
    };
    let (at, _) = text.match_indices(word).find(|(at, _)| is_whole(*at))?;
    let rest = &text[at + word.len()..];
    let rest = if by.is_empty() {
        rest.trim_start()
    } else {
        rest
    };
    Some(format!("{}{by}{rest}", &text[..at]))
}

/// Lines about a page, of which a text may lack a word.
const ABOUT_THE_PAGE: [&str; 5] = [
    "Permalink",
    "views |",
    "views expressed",
    "You are here",
    "网",
];

fn compare(normaliser: &Normaliser, a: &str, b: &str) -> Verdict {
    Containment::new(normaliser, Weights::builtin(), a, b).verdict
}

#[test]
fn text_with_a_turned_word_is_neither_covered_nor_covers() {
    let normaliser = Normaliser::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (language, kinds) in [("en", ENGLISH), ("zh", CHINESE)] {
        let mut texts = texts(language);
        texts.retain(|text| !ABOUT_THE_PAGE.iter().any(|phrase| text.contains(phrase)));
        for (word, by) in kinds {
            let changed = texts
                .iter()
                .filter_map(|text| Some((text, replaced(text, word, by)?)));
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
