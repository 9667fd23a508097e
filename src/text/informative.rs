//! [`is_informative`]: whether a text has enough content to be told by its parts.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::normalise::Normaliser;
use super::shingles::is_cjk;

/// A normalised text of more bytes is not one word, or one word twice.
pub(crate) const MOST_WORD_BYTES: usize = 256;

/// Returns `true` if a text says more than a number or a single word, perhaps repeated.
///
/// Numbers that differ in one digit, and words that differ in one letter, are no near-duplicates
/// of each other, however much of them is the same. `normalised` is the text as
/// [`Normaliser::letters`] returns it.
pub(crate) fn is_informative(normaliser: &Normaliser, text: &str, normalised: &str) -> bool {
    has_letter(normalised)
        && (normalised.len() > MOST_WORD_BYTES
            || has_different_plain_words(text)
            || has_different_words(&normaliser.sentences(text)))
}

/// Returns `true` if a normalised text is not made of numbers alone.
pub(crate) fn has_letter(normalised: &str) -> bool {
    let is_letter = |c: char| c.general_category_group() != GeneralCategoryGroup::Number;
    normalised.chars().any(is_letter)
}

/// Returns `true` if two words between spaces, of ASCII letters and digits alone, differ. Such words
/// differ when they are normalised too: this decides nearly every English text.
fn has_different_plain_words(text: &str) -> bool {
    let is_plain =
        |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    let mut words = text.split(' ').filter(is_plain);
    words
        .next()
        .is_some_and(|first| words.any(|word| !word.eq_ignore_ascii_case(first)))
}

/// Returns `true` if a text with separators has two words that differ. A character of a script that
/// is written without spaces counts as a word.
fn has_different_words(sentences: &str) -> bool {
    let is_separator = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric();
    let mut first: Option<&str> = None;
    for word in sentences.split(is_separator) {
        let mut rest = word;
        while let Some(c) = rest.chars().next() {
            let end = if is_unspaced(c) {
                c.len_utf8()
            } else {
                rest.find(is_unspaced).unwrap_or(rest.len())
            };
            let (word, others) = rest.split_at(end);
            if *first.get_or_insert(word) != word {
                return true;
            }
            rest = others;
        }
    }
    false
}

fn is_unspaced(c: char) -> bool {
    is_cjk(c) || is_south_east_asian(c)
}

/// Returns `true` for characters of a script that is written without spaces and spelt with letters.
pub(crate) fn is_south_east_asian(c: char) -> bool {
    matches!(
        c,
        '\u{0e00}'..='\u{0eff}'         // Thai, Lao
            | '\u{1000}'..='\u{109f}'   // Myanmar
            | '\u{1780}'..='\u{17ff}'   // Khmer
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_single_words_are_not_informative_and_two_words_are() {
        let normaliser = Normaliser::new();
        let informative = |text| is_informative(&normaliser, text, &normaliser.letters(text));
        for text in [
            "",
            "13800138000",
            "2026-11-21 10:45:00, 3.14",
            "１２３ ४५६",
            "internationalization",
            "Internationalisation! internationalisation, INTERNATIONALISATION.",
            "Straße STRASSE",
            "哈哈 哈哈哈",
            "привет — Привет",
        ] {
            assert!(!informative(text), "{text}");
        }
        for text in [
            "hello world",
            "HELLO, wörld",
            "room 101",
            "好的",
            "ฉันเป็นแมว",
            "x一",
            "don't",
            &"x".repeat(300),
        ] {
            assert!(informative(text), "{text}");
        }
    }
}
