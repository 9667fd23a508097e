//! Lines and sentences about the page, and lines of stamps and counters.

use super::wording::Wording;
use super::{MAX_CREDIT_LETTERS, MAX_UNIT_BYTES};
use crate::text::is_cjk;

/// A longer line or sentence has information of its own. Two CJK characters count as a word.
const MAX_FRAME_WORDS: usize = 24;

/// A notice, such as a disclaimer, begins with its title.
const MAX_NOTICE_WORDS: usize = 80;

/// A trail of pages has at most 12 words.
const MAX_TRAIL_WORDS: usize = 12;

/// A menu has at least four pages; a line of fewer cells is a row of a table.
const MIN_MENU_PAGES: usize = 4;

/// A longer line of names is no byline.
const MAX_BYLINE_WORDS: usize = 7;

/// A longer line is a sentence.
const MAX_STAMP_WORDS: usize = 16;

/// Returns `true` for a short line or sentence with a phrase of the frame of a page.
///
/// A sentence within a line begins with the phrase, or half of it is the phrase.
pub(super) fn is_frame(unit: &str, is_line: bool) -> bool {
    let words = unit.split_whitespace().count() + unit.chars().filter(|c| is_cjk(*c)).count() / 2;
    if unit.len() > MAX_UNIT_BYTES || words > MAX_NOTICE_WORDS {
        return false;
    }
    let lower = unit.to_lowercase().replace('’', "'");
    let sentence = lower.trim();
    let has_phrase = || {
        let mut phrases = Wording::builtin().frames.iter();
        phrases.any(|phrase| {
            let is_most = is_line || 2 * phrase.len() >= sentence.len();
            sentence.starts_with(phrase) || is_most && sentence.contains(phrase)
        })
    };
    words <= MAX_FRAME_WORDS && (has_phrase() || is_trail(&lower))
        || is_line && is_byline(unit)
        || Wording::builtin().lines.contains(lower.trim())
        || (Wording::builtin().notices.iter()).any(|notice| lower.trim_start().starts_with(notice))
}

/// Returns `true` for the names of the writers of a text: "By Ann Lee and Bo Li", 新华社记者 李明 摄.
fn is_byline(line: &str) -> bool {
    let line = line.trim();
    let is_name = |word: &str| word == "and" || word.starts_with(char::is_uppercase);
    let of_writers = line.strip_prefix("By ").is_some_and(|names| {
        names.split(' ').all(is_name) && (2..=MAX_BYLINE_WORDS).contains(&names.split(' ').count())
    });
    let of_picture =
        line.ends_with('摄') && line.contains("记者") && line.chars().count() <= MAX_CREDIT_LETTERS;
    of_writers || of_picture
}

/// Returns `true` for the way to a page, "Home > News > Article", and for the menu of a site.
fn is_trail(unit: &str) -> bool {
    let is_menu = unit.contains('|');
    let pages = || unit.split(['>', '»', '›', '|']);
    let has_words = |page: &str| page.contains(char::is_alphabetic);
    let first = pages().next().unwrap_or_default().trim();
    let is_site = match is_menu {
        true => matches!(first, "home" | "首页" | "首頁" | "主页"),
        false => Wording::builtin().sites.contains(first),
    };
    pages().count() >= if is_menu { MIN_MENU_PAGES } else { 3 }
        && is_site
        && pages().all(has_words)
        && unit
            .split_whitespace()
            .filter(|word| has_words(word))
            .count()
            <= MAX_TRAIL_WORDS
        && !unit.contains(|c: char| c.is_numeric() || matches!(c, '=' | '<' | '(' | '.'))
}

/// Returns `true` for a line of stamps and counters.
pub(super) fn is_stamp(line: &str) -> bool {
    let wording = Wording::builtin();
    let mut rest = line.trim();
    let (mut words, mut keys, mut numbers) = (0, 0, 0);
    while let Some(c) = rest.chars().next() {
        if c.is_ascii_alphabetic() {
            let end = rest
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(rest.len());
            let word = rest[..end].to_ascii_lowercase();
            let is_key = wording.keys.contains(&*word);
            if !is_key && !wording.words.contains(&*word) {
                return false;
            }
            keys += usize::from(is_key);
            words += 1;
            rest = &rest[end..];
        } else if let Some(phrase) =
            (wording.phrases.iter()).find(|phrase| rest.starts_with(**phrase))
        {
            keys += 1;
            words += 1;
            rest = &rest[phrase.len()..];
        } else if let Some(unit) = wording.units.iter().find(|unit| rest.starts_with(**unit)) {
            words += 1;
            rest = &rest[unit.len()..];
        } else if c.is_numeric() {
            let end = rest
                .find(|c: char| !c.is_numeric() && !matches!(c, '.' | ',' | ':' | '-' | '/'))
                .unwrap_or(rest.len());
            numbers += 1;
            words += 1;
            rest = &rest[end..];
        } else if c.is_alphabetic() {
            return false;
        } else {
            rest = &rest[c.len_utf8()..];
        }
        if words > MAX_STAMP_WORDS {
            return false;
        }
    }
    keys > 0 && numbers > 0
}
