//! Lines that the form of a text needs: numbers of pages, numbers and times of subtitles. They
//! stand within sentences too. Marks of advertisements and of pictures stand between sentences.

use std::ops::Range;

use super::wording::Wording;
use crate::text::{floor_char_boundary, is_digits};

/// A longer line is a sentence.
const MAX_LINE_BYTES: usize = 64;

/// The bytes of the lines of layout, ascending.
pub(super) fn lines_of_layout(text: &str) -> Vec<Range<usize>> {
    let has_times = text.contains("-->");
    if !has_times && !text.contains("\nPage ") {
        return Vec::new();
    }
    let mut lines = Vec::new();
    // The number of a subtitle: behind a blank line, and before its times.
    let mut number: Option<Range<usize>> = None;
    let mut is_behind_blank = true;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let content = line.trim();
        let is_time = has_times && content.len() <= MAX_LINE_BYTES && is_time(content);
        if is_time {
            lines.extend(number.take());
        }
        // A sentence goes on below the number of a page within it.
        let goes_on = || text[at..].starts_with(|c: char| c.is_lowercase());
        number = None;
        if is_time || is_page(content) && goes_on() {
            lines.push(range);
        } else if is_behind_blank && is_number(content) {
            number = Some(range);
        }
        is_behind_blank = content.is_empty();
    }
    lines
}

/// The bytes of the marks of advertisements and of pictures, in brackets at the head or behind a
/// sentence, ascending: （廣告）.
pub(super) fn insertions(text: &str) -> Vec<Range<usize>> {
    let marks = &Wording::builtin().insertions;
    let insertion = |(at, open): (usize, &str)| {
        let start = at + open.len();
        let inner = &text[start..floor_char_boundary(text, at + MAX_LINE_BYTES)];
        let (mark, close) = inner.split_at(inner.find(['）', ')', ']', '】'])?);
        let end = start + mark.len() + close.chars().next()?.len_utf8();
        let before = text[..at].trim_end();
        let is_apart = before.is_empty()
            || text[..at].ends_with('\n')
            || before.ends_with(['.', '!', '。', '！', '”', '」']);
        // Behind the number of a section, a word in brackets is its heading.
        let is_heading = before.trim_end_matches('.').ends_with(char::is_numeric);
        let is_mark = is_apart && !is_heading && marks.contains(&*mark.to_lowercase());
        is_mark.then_some(at..end)
    };
    let brackets = text.match_indices(['（', '(', '[', '【']);
    brackets.filter_map(insertion).collect()
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && is_digits(part)
}

/// Returns `true` for the times of a subtitle, with milliseconds: 00:00:05,729 --> 00:00:10,198.
fn is_time(line: &str) -> bool {
    let is_part = |time: &str| {
        time.split_once([',', '.']).is_some_and(|(seconds, rest)| {
            rest.len() == 3
                && is_number(rest)
                && seconds.contains(':')
                && seconds.split(':').all(is_number)
        })
    };
    line.split_once(" --> ")
        .is_some_and(|(from, to)| is_part(from) && is_part(to))
}

/// Returns `true` for the number of a page: "Page 12 of 48".
fn is_page(line: &str) -> bool {
    let numbers = line
        .strip_prefix("Page ")
        .and_then(|rest| rest.split_once(" of "));
    numbers.is_some_and(|(page, pages)| is_number(page) && is_number(pages))
}
