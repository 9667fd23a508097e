//! [`tokens`]: the words and CJK characters of a text.

use super::normalise::{is_letter_or_digit, is_mark};
use super::shingles::is_cjk;

/// The tokens of a text in text order: each CJK character (Han, kana, bopomofo, Hangul), and each
/// run of other letters and digits.
///
/// A combining mark belongs to the token before it. Any other character separates tokens. Tokens
/// are slices of the text as it is: normalise the text first
/// ([`Normaliser::sentences`](crate::Normaliser::sentences)) to ignore case and width.
///
/// # Cost
/// One pass over the text; 16 bytes for each token.
///
/// # Examples
///
/// ```
/// use simdb::similarity::tokens;
///
/// assert_eq!(tokens("CSDN博客, 3.14!"), ["CSDN", "博", "客", "3", "14"]);
/// ```
pub fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    // The start of the current token, and `true` if the token is a CJK character.
    let mut open: Option<(usize, bool)> = None;
    for (at, c) in text.char_indices() {
        let cjk = is_cjk(c);
        let continues = match open {
            None => false,
            Some((_, true)) => is_mark(c),
            Some((_, false)) => is_mark(c) || is_letter_or_digit(c) && !cjk,
        };
        if continues {
            continue;
        }
        tokens.extend(open.take().map(|(start, _)| &text[start..at]));
        if is_letter_or_digit(c) {
            open = Some((at, cjk));
        }
    }
    tokens.extend(open.map(|(start, _)| &text[start..]));
    tokens
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_are_cjk_characters_and_runs_of_others() {
        for (text, expected) in [
            ("", &[][..]),
            (" ,。\n", &[]),
            ("the cat  sat", &["the", "cat", "sat"]),
            ("美国“51区”", &["美", "国", "51", "区"]),
            ("9架飞碟", &["9", "架", "飞", "碟"]),
            ("don't 3.14", &["don", "t", "3", "14"]),
            ("каша ガ한", &["каша", "ガ", "한"]),
            // A mark belongs to the character before it, also in decomposed text.
            (
                "cafe\u{301}s か\u{3099}き नमस्ते",
                &["cafe\u{301}s", "か\u{3099}", "き", "नमस्ते"],
            ),
            ("a・b〰c 👍", &["a", "b", "c"]),
        ] {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn tokens_hold_all_letters_and_digits(text: String) {
            let expected: String = text.chars().filter(|c| is_letter_or_digit(*c)).collect();
            let found = tokens(&text).concat();
            let found: String = found.chars().filter(|c| !is_mark(*c)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
