//! [`CharacterClass`]: which characters of a text count, as a small part of a regular expression.

use std::sync::Arc;

use super::lower::is_word_character;

/// The most bytes of a pattern: it becomes part of a description.
const MOST_PATTERN_BYTES: usize = 1000;

/// A set of characters, written as regular expressions write one: `\w`, `[a-z0-9_]`,
/// `[^\s]`, with `+` after it or without.
///
/// It knows `\w` and `\d` as Python does, `\uXXXX` and `\xXX`, ranges, and `^` in front.
/// Where all matches are joined, as here, `+` makes no difference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CharacterClass {
    pattern: Arc<str>,
    is_negated: bool,
    has_word_characters: bool,
    ranges: Arc<[(char, char)]>,
}

impl CharacterClass {
    /// Reads a class; what is wrong with it if it is none.
    pub(crate) fn parse(pattern: &str) -> Result<Self, &'static str> {
        if pattern.len() > MOST_PATTERN_BYTES {
            return Err("it is longer than any class need be");
        }
        let class = pattern.strip_suffix('+').unwrap_or(pattern);
        let bracketed = class
            .strip_prefix('[')
            .and_then(|inner| inner.strip_suffix(']'));
        let (is_negated, inner) = match bracketed {
            Some(inner) => match inner.strip_prefix('^') {
                Some(inner) => (true, inner),
                None => (false, inner),
            },
            None if class == r"\w" => (false, class),
            None => return Err(r"only a class such as [\w] or [a-z0-9]+ is understood"),
        };
        let mut parsed = Self {
            pattern: pattern.into(),
            is_negated,
            has_word_characters: false,
            ranges: Arc::default(),
        };
        let mut ranges = Vec::new();
        let mut rest = inner.chars();
        while let Some(first) = next_item(&mut rest)? {
            let Item::Character(start) = first else {
                parsed.has_word_characters = true;
                continue;
            };
            let mut ahead = rest.clone();
            let is_range = ahead.next() == Some('-');
            let end = match is_range
                .then(|| next_item(&mut ahead))
                .transpose()?
                .flatten()
            {
                Some(Item::Character(end)) => {
                    rest = ahead;
                    end
                }
                Some(Item::WordCharacters) => return Err("a range ends with \\w"),
                None => start,
            };
            if end < start {
                return Err("a range ends before it starts");
            }
            ranges.push((start, end));
        }
        if ranges.is_empty() && !parsed.has_word_characters {
            return Err("the class is empty");
        }
        parsed.ranges = ranges.into();
        Ok(parsed)
    }

    /// As it was written.
    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether the character is one of the set.
    pub(crate) fn has(&self, c: char) -> bool {
        let is_named = self.has_word_characters && is_word_character(c)
            || self
                .ranges
                .iter()
                .any(|&(start, end)| (start..=end).contains(&c));
        is_named != self.is_negated
    }
}

/// What a class is made of.
enum Item {
    Character(char),
    WordCharacters,
}

/// Takes the next item from what is left of a class.
fn next_item(rest: &mut std::str::Chars<'_>) -> Result<Option<Item>, &'static str> {
    let Some(c) = rest.next() else {
        return Ok(None);
    };
    if c == '[' {
        return Err("a class within a class is not understood");
    }
    if c != '\\' {
        return Ok(Some(Item::Character(c)));
    }
    let digits = match rest.next() {
        Some('w') => return Ok(Some(Item::WordCharacters)),
        Some('n') => return Ok(Some(Item::Character('\n'))),
        Some('t') => return Ok(Some(Item::Character('\t'))),
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        Some(c) if !c.is_ascii_alphanumeric() => return Ok(Some(Item::Character(c))),
        _ => return Err(r"of the escapes only \w, \n, \t, \x, \u and \U are understood"),
    };
    let code = (0..digits).try_fold(0_u32, |code, _| {
        Some(code.checked_mul(16)? + rest.next()?.to_digit(16)?)
    });
    let character = code.and_then(char::from_u32);
    let character = character.ok_or("an escape names no character")?;
    Ok(Some(Item::Character(character)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(pattern: &str, text: &str) -> String {
        let class = CharacterClass::parse(pattern).unwrap();
        assert_eq!(class.pattern(), pattern);
        text.chars().filter(|&c| class.has(c)).collect()
    }

    #[test]
    fn classes_are_read_as_python_reads_them() {
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
    fn what_is_not_understood_is_refused() {
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
        fn any_pattern_is_read_or_refused(pattern in r"[\[\]\\\^\-+wux0-9a-f一]{0,12}") {
            if let Ok(class) = CharacterClass::parse(&pattern) {
                prop_assert_eq!(class.pattern(), pattern);
            }
        }
    }
}
