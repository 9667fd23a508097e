//! [`Lower`]: lower case as by Python's `str.lower`, with tables that never change.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::text::{is_letter_or_digit, table_lines};

/// Characters and their lower-case forms. The hash of this file is part of descriptions.
///
/// The standard library is not used, since its tables change with the compiler.
pub(super) const LOWER: &str = include_str!("lower.txt");

/// The one letter whose lower-case form depends on its neighbours.
const SIGMA: char = 'Σ';

/// Punctuation within words that has the Unicode property `Case_Ignorable`.
const CASE_IGNORABLE_PUNCTUATION: &str =
    "'.:·\u{387}\u{55f}\u{5f4}‘’\u{2024}\u{2027}\u{fe13}\u{fe52}\u{fe55}＇．：";

pub(super) struct Lower {
    /// Characters with a lower-case form, sorted, and this form.
    forms: Vec<(char, &'static str)>,
}

impl Lower {
    pub(super) fn new() -> Self {
        let forms: Vec<_> = table_lines(LOWER)
            .filter_map(|line| {
                let letter = line.chars().next()?;
                Some((letter, &line[letter.len_utf8()..]))
            })
            .collect();
        debug_assert!(forms.is_sorted(), "binary search needs a sorted table");
        Self { forms }
    }

    /// The text in lower case. Only a sigma depends on its neighbours: at the end of a word it
    /// becomes ς.
    pub(super) fn lower(&self, text: &str) -> String {
        let mut lower = String::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            if c.is_ascii() {
                lower.push(c.to_ascii_lowercase());
            } else if c == SIGMA {
                let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
                lower.push(if is_final(before, after) { 'ς' } else { 'σ' });
            } else {
                match self.forms.binary_search_by_key(&c, |&(letter, _)| letter) {
                    Ok(index) => lower.push_str(self.forms[index].1),
                    Err(_) => lower.push(c),
                }
            }
        }
        lower
    }
}

/// Returns `true` if a letter between these two parts is the end of a word of several letters: the
/// Unicode condition `Final_Sigma`.
fn is_final(before: &str, after: &str) -> bool {
    // Each search ends at the first character that is not ignored. A sigma is not ignored, so at
    // most two searches pass over a character, and a text full of sigmas takes linear time.
    let mut letters_before = before.chars().rev().filter(|&c| !is_ignored(c));
    let mut letters_after = after.chars().filter(|&c| !is_ignored(c));
    letters_before.next().is_some_and(is_cased) && !letters_after.next().is_some_and(is_cased)
}

/// The Unicode property `Case_Ignorable`: accents, modifiers and some punctuation within words.
fn is_ignored(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, Format, ModifierLetter, ModifierSymbol, NonspacingMark};
    matches!(
        c.general_category(),
        NonspacingMark | EnclosingMark | Format | ModifierLetter | ModifierSymbol
    ) || CASE_IGNORABLE_PUNCTUATION.contains(c)
}

/// The Unicode property `Cased`, for characters that are not `Case_Ignorable`.
fn is_cased(c: char) -> bool {
    use GeneralCategory::{LowercaseLetter, TitlecaseLetter, UppercaseLetter};
    matches!(
        c.general_category(),
        LowercaseLetter | TitlecaseLetter | UppercaseLetter
    ) || matches!(
        c,
        'ª' | 'º' | '\u{2160}'..='\u{217f}' | '\u{24b6}'..='\u{24e9}'
            | '\u{1f130}'..='\u{1f149}' | '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}'
    )
}

/// Returns `true` for the characters that `\w` matches in Python: letters, numbers of any kind and
/// `_`. Marks do not match, so a decomposed accent is removed.
pub(super) fn is_word_character(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii() && is_letter_or_digit(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lower_case_equals_that_of_python() {
        let lower = Lower::new();
        for (text, expected) in [
            ("Ünïcode ŁÓDŹ", "ünïcode łódź"),
            ("ΟΔΟΣ ΣΑΣ, Σ", "οδος σας, σ"),
            ("ΑΣ' ΑΣ'Α ΑΣ\u{301}.", "ας' ασ'α ας\u{301}."),
            ("İI ǅ ẞ Ⅷ Ⓐ", "i\u{307}i ǆ ß ⅷ ⓐ"),
            ("漢字 \u{1c89}", "漢字 \u{1c8a}"),
        ] {
            assert_eq!(lower.lower(text), expected);
        }
    }

    #[test]
    fn word_characters_are_letters_numbers_and_underscore() {
        for c in "a_0é字ªⅧ½²①٣〇ー\u{10ffe}"
            .chars()
            .filter(|&c| c != '\u{10ffe}')
        {
            assert!(is_word_character(c), "{c:?}");
        }
        for c in "- .，。、\u{301}\u{903}😀€\u{200d}\u{e000}·".chars() {
            assert!(!is_word_character(c), "{c:?}");
        }
    }

    #[test]
    fn long_text_of_sigmas_and_accents_takes_linear_time() {
        let lower = Lower::new();
        let text = "Σ".to_owned() + &"\u{301}".repeat(300_000) + &"Σ'".repeat(300_000);
        assert_eq!(lower.lower(&text).len(), text.len());
    }

    proptest! {
        /// The tables of the standard library are at least as new as `LOWER`.
        #[test]
        fn lower_case_of_any_text_equals_that_of_standard_library(
            text in prop_oneof![any::<String>(), "[aΣσς'. 1\u{301}Ⓐªé]{0,12}"],
        ) {
            prop_assert_eq!(Lower::new().lower(&text), text.to_lowercase());
        }
    }
}
