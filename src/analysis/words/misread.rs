//! Chinese words with a character that was misread: 己经 is 已经, 太厅 is 大厅.
//!
//! A character is read otherwise only within a word of the table, which has hardly a sense with the
//! character that stands. Two texts that differ in the character are one text.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use foldhash::fast::FixedState;

use crate::text::table_lines;

const WORDS: &str = include_str!("misread.txt");

/// The words of the table.
struct Misread {
    /// The character that stands and the one that is meant, by the word with the former.
    meant: HashMap<String, (char, char), FixedState>,
    kept: HashSet<&'static str, FixedState>,
    /// The characters that stand.
    wrong: Vec<char>,
    /// The longest word, in characters.
    longest: usize,
}

impl Misread {
    fn builtin() -> &'static Self {
        static MISREAD: OnceLock<Misread> = OnceLock::new();
        MISREAD.get_or_init(|| Self::parse(WORDS))
    }

    fn parse(table: &'static str) -> Self {
        let mut misread = Self {
            meant: HashMap::default(),
            kept: HashSet::default(),
            wrong: Vec::new(),
            longest: 0,
        };
        for line in table_lines(table) {
            let Some((class, words)) = line.split_once(": ") else {
                continue;
            };
            for word in words.split_whitespace() {
                let mut characters = class.chars();
                match (characters.next(), characters.next_back()) {
                    _ if class == "keep" => _ = misread.kept.insert(word),
                    (Some(wrong), Some(right)) => {
                        let written = word.replace(right, wrong.encode_utf8(&mut [0; 4]));
                        misread.meant.insert(written, (wrong, right));
                        misread.wrong.push(wrong);
                    }
                    _ => {}
                }
                misread.longest = misread.longest.max(word.chars().count());
            }
        }
        misread.wrong.sort_unstable();
        misread.wrong.dedup();
        misread
    }

    /// The character that is meant at a byte of a run of Han characters.
    fn meant_at(&self, run: &str, at: usize, wrong: char) -> Option<char> {
        let reach = self.longest * wrong.len_utf8();
        let starts = at.saturating_sub(reach)..=at;
        let starts = starts.filter(|start| run.is_char_boundary(*start));
        let words = starts.flat_map(|start| {
            let ends = at + wrong.len_utf8()..=run.len().min(start + reach);
            let ends = ends.filter(|end| run.is_char_boundary(*end));
            ends.map(move |end| &run[start..end])
        });
        let mut meant = None;
        for word in words {
            if self.kept.contains(word) {
                return None;
            }
            let found = self.meant.get(word).filter(|found| found.0 == wrong);
            meant = meant.or(found.map(|found| found.1));
        }
        meant
    }
}

/// A run of simplified Han characters with the characters that are meant, each as long as the one
/// that stands; `None` if none was misread.
pub(super) fn corrected(run: &str) -> Option<String> {
    let misread = Misread::builtin();
    let wrong = |(at, c): (usize, char)| {
        misread.wrong.binary_search(&c).ok()?;
        Some((at, c.len_utf8(), misread.meant_at(run, at, c)?))
    };
    let mut corrected = None;
    for (at, len, right) in run.char_indices().filter_map(wrong) {
        let text = corrected.get_or_insert_with(|| run.to_owned());
        text.replace_range(at..at + len, right.encode_utf8(&mut [0; 4]));
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misread_characters_are_read_within_listed_words_alone() {
        for (run, expected) in [
            ("而木必为数组设置", "而不必为数组设置"),
            ("酒店木超过五分钟", "酒店不超过五分钟"),
            ("他己经走了", "他已经走了"),
            ("与太理的改造旳酒店", "与大理的改造旳酒店"),
            ("澳太利亚的气侯", "澳大利亚的气候"),
        ] {
            assert_eq!(corrected(run).as_deref(), Some(expected));
        }
        for run in [
            "他自己经过车站",
            "树木能净化空气",
            "新增太阳能电站",
            "亚太规模",
            "防腐木超过五厘米",
            "安分守己经营小店",
            "木",
            "太",
            "",
        ] {
            assert_eq!(corrected(run), None, "{run}");
        }
    }

    #[test]
    fn characters_of_the_table_have_the_length_of_the_characters_meant() {
        let misread = Misread::builtin();
        assert!(!misread.meant.is_empty() && !misread.kept.is_empty());
        for (word, (wrong, right)) in &misread.meant {
            assert_eq!(wrong.len_utf8(), right.len_utf8());
            assert_eq!(word.matches(*wrong).count(), 1, "{word}");
            assert!(!misread.kept.contains(&**word), "{word}");
        }
    }
}
