//! [`CharacterClass`]: a class of characters in the syntax of Python's regular expressions.

use std::str::Chars;
use std::sync::Arc;

use super::lower::is_word_character;

/// At most 1000 bytes per pattern: the pattern becomes part of a description.
const MAX_PATTERN_BYTES: usize = 1000;

/// A set of characters in the syntax of a Python regular expression: `\w`, `[a-z0-9_]+`, `[^a-z]`.
///
/// A class consists of `\w`, characters and ranges of characters, after an optional `^`. Characters
/// may be escaped as `\n`, `\t`, `\xXX`, `\uXXXX` or `\UXXXXXXXX`. A final `+` is accepted and has
/// no effect, since all matches are joined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::recipe) struct CharacterClass {
    pattern: Arc<str>,
    is_negated: bool,
    has_word_characters: bool,
    ranges: Vec<(char, char)>,
}

impl CharacterClass {
    /// Parses a class. The error is the cause, for
    /// [`Error::RecipeOption`](crate::Error::RecipeOption).
    pub(in crate::recipe) fn parse(pattern: &str) -> Result<Self, &'static str> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err("the pattern is longer than 1000 bytes");
        }
        let class = pattern.strip_suffix('+').unwrap_or(pattern);
        let inner = class
            .strip_prefix('[')
            .and_then(|inner| inner.strip_suffix(']'))
            .or((class == r"\w").then_some(class))
            .ok_or(r"only a class such as [\w] or [a-z0-9]+ is supported")?;
        let named = inner.strip_prefix('^');
        let mut parsed = Self {
            pattern: pattern.into(),
            is_negated: named.is_some(),
            has_word_characters: false,
            ranges: Vec::new(),
        };
        let mut rest = named.unwrap_or(inner).chars();
        while let Some(item) = next_item(&mut rest)? {
            let Some(start) = item else {
                parsed.has_word_characters = true;
                continue;
            };
            let mut end = start;
            let mut ahead = rest.clone();
            // A hyphen before the end of the class is a character, so the range is read from a
            // copy.
            if ahead.next() == Some('-')
                && let Some(item) = next_item(&mut ahead)?
            {
                end = item.ok_or("a range cannot end with \\w")?;
                rest = ahead;
            }
            if end < start {
                return Err("a range ends before it starts");
            }
            parsed.ranges.push((start, end));
        }
        if parsed.ranges.is_empty() && !parsed.has_word_characters {
            return Err("the class is empty");
        }
        Ok(parsed)
    }

    /// The text that was parsed, for descriptions.
    pub(in crate::recipe) fn pattern(&self) -> &str {
        &self.pattern
    }

    pub(in crate::recipe) fn contains(&self, c: char) -> bool {
        let is_in = |&(start, end): &(char, char)| (start..=end).contains(&c);
        let is_named = self.has_word_characters && is_word_character(c);
        (is_named || self.ranges.iter().any(is_in)) != self.is_negated
    }
}

/// Reads the next item of a class: `Some(Some(c))` for a character, `Some(None)` for `\w`, `None`
/// at the end.
fn next_item(rest: &mut Chars<'_>) -> Result<Option<Option<char>>, &'static str> {
    let digits = match rest.next() {
        None => return Ok(None),
        Some('[') => return Err("a class within a class is not supported"),
        Some('\\') => match rest.next() {
            Some('w') => return Ok(Some(None)),
            Some('n') => return Ok(Some(Some('\n'))),
            Some('t') => return Ok(Some(Some('\t'))),
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            // Python also reads an escaped punctuation character as itself. Escaped letters and
            // digits are refused: most are classes of their own, such as `\d`.
            Some(c) if !c.is_ascii_alphanumeric() => return Ok(Some(Some(c))),
            _ => return Err(r"only the escapes \w, \n, \t, \x, \u and \U are supported"),
        },
        Some(c) => return Ok(Some(Some(c))),
    };
    (0..digits)
        .try_fold(0_u32, |code, _| {
            Some(code.checked_mul(16)? + rest.next()?.to_digit(16)?)
        })
        .and_then(char::from_u32)
        .map(|c| Some(Some(c)))
        .ok_or("an escape has too few digits or is no character")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(pattern: &str, text: &str) -> String {
        let class = CharacterClass::parse(pattern).unwrap();
        assert_eq!(class.pattern(), pattern);
        text.chars().filter(|&c| class.contains(c)).collect()
    }

    #[test]
    fn classes_are_parsed_as_by_python() {
        for (pattern, expected) in [
            (r"[\w\u4e00-\u9fcc]+", "第1章aZ_é"),
            (r"\w+", "第1章aZ_é"),
            ("[一-鿿]", "第章"),
            ("[a-zA-Z]+", "aZ"),
            ("[^a-z]", "第1章 Z_é-\n"),
            (r"[\-_\n]", "_-\n"),
            ("[_-]", "_-"),
            (r"[\x61\U00007b2c]", "第a"),
        ] {
            assert_eq!(joined(pattern, "第1章 aZ_é-\n"), expected, "{pattern}");
        }
    }

    #[test]
    fn unsupported_patterns_are_refused() {
        for pattern in [
            "",
            "+",
            "[]",
            "[^]",
            "[a",
            "a",
            ".",
            r"\d+",
            r"[\d]",
            "[z-a]",
            r"[a-\w]",
            "[[a]]",
            r"[\u12]",
            r"[\ud800]",
            r"[\",
            "(?i)[a]",
            "[a]*",
            r"\w\w",
        ] {
            assert!(CharacterClass::parse(pattern).is_err(), "{pattern:?}");
        }
    }

    proptest! {
        #[test]
        fn any_pattern_is_parsed_or_refused(pattern in r"[\[\]\\\^\-+wux0-9a-f一]{0,12}") {
            if let Ok(class) = CharacterClass::parse(&pattern) {
                prop_assert_eq!(class.pattern(), pattern);
            }
        }
    }
}
