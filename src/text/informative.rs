//! [`is_informative`]: the test for texts with too little content to be compared by their parts.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::shingles::{is_cjk, is_common_han};

/// A token of more than 256 bytes is not treated as one word: no natural word is as long, and a
/// script without spaces makes such tokens of whole sentences.
pub(crate) const MAX_WORD_BYTES: usize = 256;

/// Returns `true` if a text is more than numbers, and more than one word and its repetitions.
///
/// Numbers that differ in one digit and words that differ in one letter share most of their
/// shingles, but are no near-duplicates. `normalised` is the text as
/// [`Normaliser::letters`](super::Normaliser::letters) returns it, `sentences` as
/// [`Normaliser::sentences`](super::Normaliser::sentences) does.
pub(crate) fn is_informative<S: AsRef<str>>(
    text: &str,
    normalised: &str,
    sentences: impl FnOnce() -> S,
) -> bool {
    // From cheap to expensive: the last test may normalise the text a second time.
    has_letter(normalised)
        && (normalised.len() > MAX_WORD_BYTES
            || has_different_plain_words(text)
            || has_different_han(normalised)
            || has_different_words(sentences().as_ref()))
}

/// Returns `true` if a normalised text has a character other than a digit or number.
pub(crate) fn has_letter(normalised: &str) -> bool {
    let is_number = |c: char| match c {
        // The search in the Unicode tables takes as long as twenty letters of a fingerprint.
        ..='\u{7f}' => c.is_ascii_digit(),
        c => !is_common_han(c) && c.general_category_group() == GeneralCategoryGroup::Number,
    };
    normalised.chars().any(|c| !is_number(c))
}

/// Returns `true` if two words of ASCII letters and digits between spaces differ. Such words also
/// differ when normalised. This test decides nearly every English text.
fn has_different_plain_words(text: &str) -> bool {
    let is_plain =
        |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    let mut words = text.split(' ').filter(is_plain);
    words
        .next()
        .is_some_and(|first| words.any(|word| !word.eq_ignore_ascii_case(first)))
}

/// Returns `true` if a normalised text has two different common Han characters, each of which is a
/// word. This test decides nearly every Chinese text.
fn has_different_han(normalised: &str) -> bool {
    let mut han = normalised.chars().filter(|c| is_common_han(*c));
    han.next().is_some_and(|first| han.any(|c| c != first))
}

/// Returns `true` if a normalised text with separators has two different words. Each character of a
/// script without spaces counts as a word.
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

/// Returns `true` for characters of alphabetic scripts without spaces between words.
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
    use crate::text::Normaliser;

    #[test]
    fn numbers_and_single_words_are_not_informative_and_two_words_are() {
        let normaliser = Normaliser::new();
        let informative = |text| {
            let sentences = || normaliser.sentences(text);
            is_informative(text, &normaliser.letters(text), sentences)
        };
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
