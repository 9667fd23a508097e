//! Prose of each language has a reliable fingerprint at each length, and the spelling of a
//! character makes no difference. The texts are the Universal Declaration of Human Rights in 56
//! languages and 27 scripts.

use simdb::{Fingerprinter, Recipe, UnreliableReason};
use unicode_normalization::UnicodeNormalization;

struct Declaration {
    lang: String,
    text: String,
}

fn declarations() -> Vec<Declaration> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/declarations.jsonl.zst"
    );
    let file = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let rows = serde_json::Deserializer::from_slice(&file).into_iter::<serde_json::Value>();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    rows.map(|row| row.unwrap())
        .map(|row| Declaration {
            lang: text(&row["lang"]),
            text: text(&row["text"]),
        })
        .collect()
}

/// The `length` characters of a text from the character `start` on; `None` if the text is shorter.
fn part(text: &str, start: usize, length: usize) -> Option<String> {
    let part: String = text.chars().skip(start).take(length).collect();
    (part.chars().count() == length).then_some(part)
}

#[test]
fn prose_of_each_language_is_reliable_at_each_length() {
    let ngram = Fingerprinter::new(Recipe::ngram());
    let declarations = declarations();
    assert_eq!(declarations.len(), 56);
    let mut parts = 0;
    for Declaration { lang, text } in &declarations {
        for length in [
            20, 50, 100, 300, 1000, 2000, 4000, 6000, 8000, 9500, 12_000, 20_000,
        ] {
            for start in [0, 200, 1500] {
                let Some(part) = part(text, start, length) else {
                    continue;
                };
                let reason = ngram.unreliable_reason(&part).unwrap();
                // Malayalam has words of more than 20 characters.
                let is_word = part.split_whitespace().nth(1).is_none();
                assert!(
                    reason.is_none() || is_word && reason == Some(UnreliableReason::SingleWord),
                    "{lang}: {length} characters from {start}: {reason:?}"
                );
                parts += 1;
            }
        }
    }
    assert!(parts > 1500, "{parts}");
}

#[test]
fn spelling_of_characters_makes_no_difference_in_any_language() {
    let ngram = Fingerprinter::new(Recipe::ngram());
    let fingerprint = |text: &str| ngram.fingerprint(text).unwrap();
    for Declaration { lang, text } in declarations() {
        // Accents, jamo and vowel signs apart from their letters, white space, soft hyphens.
        let decomposed: String = text.nfd().collect();
        let spaced = text.replace(' ', "\u{a0}\r\n ");
        let hyphenated = text.replace(", ", ",\u{ad} — ");
        for edited in [decomposed, spaced, hyphenated] {
            assert_eq!(fingerprint(&edited), fingerprint(&text), "{lang}");
        }
    }
}

#[test]
fn parts_of_a_declaration_are_no_near_duplicates() {
    let ngram = Fingerprinter::new(Recipe::ngram());
    for Declaration { lang, text } in declarations() {
        for length in [100, 1000, 4000] {
            let parts = (0..12).map_while(|number| part(&text, number * length, length));
            let bits = parts.map(|part| ngram.fingerprint(&part).unwrap().fingerprint);
            let bits: Vec<_> = bits.collect();
            for (at, one) in bits.iter().enumerate() {
                for other in &bits[at + 1..] {
                    let distance = one.distance(*other);
                    assert!(distance > 3, "{lang}: {distance} bits at {length}");
                }
            }
        }
    }
}
