//! Whether a text says something that can be told from its parts.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::normalise::Normaliser;
use super::shingles::is_cjk;

/// A normalised text of more bytes is not one word, or one word twice.
pub(crate) const MOST_WORD_BYTES: usize = 256;

/// Whether a text says more than a number or a single word, be it repeated.
///
/// Numbers that differ in one digit, and words that differ in one letter, are no near-duplicates
/// of each other, however much of them is the same. `normalised` is the text as
/// [`Normaliser::letters`] has it.
pub(crate) fn says_something(normaliser: &Normaliser, text: &str, normalised: &str) -> bool {
    if !has_letter(normalised) {
        return false;
    }
    normalised.len() > MOST_WORD_BYTES
        || has_different_plain_words(text)
        || has_different_words(&normaliser.sentences(text))
}

/// Whether not all of a normalised text is numbers.
pub(crate) fn has_letter(normalised: &str) -> bool {
    let is_letter = |c: char| c.general_category_group() != GeneralCategoryGroup::Number;
    normalised.chars().any(is_letter)
}

/// Whether two words between spaces, of ASCII letters and digits alone, differ. If so, they do when
/// they are normalised: nearly every English text is decided here.
fn has_different_plain_words(text: &str) -> bool {
    let is_plain =
        |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    let mut words = text.split(' ').filter(is_plain);
    words
        .next()
        .is_some_and(|first| words.any(|word| !word.eq_ignore_ascii_case(first)))
}

/// Whether a text with separators has two words that differ. A character of a script that is
/// written without spaces counts as a word.
fn has_different_words(sentences: &str) -> bool {
    let is_separator = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric();
    let mut first: Option<&str> = None;
    for word in sentences.split(is_separator) {
        let mut rest = word;
        while let Some(c) = rest.chars().next() {
            let end = match is_unspaced(c) {
                true => c.len_utf8(),
                false => rest.find(is_unspaced).unwrap_or(rest.len()),
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

/// Whether a character is of a script that is written without spaces and is spelt with letters.
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
    fn numbers_and_single_words_say_nothing_and_two_words_do() {
        let normaliser = Normaliser::new();
        let says = |text| says_something(&normaliser, text, &normaliser.letters(text));
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
            assert!(!says(text), "{text}");
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
            assert!(says(text), "{text}");
        }
    }
}
