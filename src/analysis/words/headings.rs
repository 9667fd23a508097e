//! Headings: lines of one form before lines of another form. What a line means depends on its
//! heading, so it may not stand below another one.

use std::ops::Range;

use super::number;
use super::token::Token;

/// A longer line is no heading.
const MAX_HEADING_BYTES: usize = 100;

/// The fewest headings between which a line may be exchanged.
const MIN_HEADINGS: usize = 2;

/// The form of a line: what stands at its ends, and how it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Form {
    first: Option<char>,
    last: Option<char>,
    is_indented: bool,
    is_underlined: bool,
    is_of_capitals: bool,
}

impl Form {
    fn of(line: &str, next: &str) -> Self {
        let is_rule = |line: &str| line.len() > 1 && line.trim_matches(['-', '=', '~']).is_empty();
        let content = line.trim();
        Self {
            first: content.chars().next().and_then(mark),
            last: content.chars().next_back().and_then(mark),
            is_indented: line.starts_with([' ', '\t']),
            is_underlined: is_rule(next.trim()),
            is_of_capitals: !content.contains(char::is_lowercase)
                && content.contains(char::is_uppercase),
        }
    }
}

/// The mark that a character is; `None` for a letter. All digits are one mark, and so are all
/// symbols and emoji.
fn mark(c: char) -> Option<char> {
    match c {
        c if c.is_numeric() || number::circled(c).is_some() => Some('1'),
        c if c.is_alphabetic() => None,
        c if c.is_ascii() || matches!(c, '【' | '】' | '：' | '。' | '•' | '·') => Some(c),
        _ => Some('☆'),
    }
}

/// Marks the last tokens of headings as labels: short lines of one form, each of them before a line
/// of another form.
pub(super) fn mark_headings(tokens: &mut [Token], ranges: &[Range<usize>], text: &str) {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.trim_end().len();
        if line.contains(|c: char| c.is_alphanumeric()) {
            let next = text[at + line.len()..].lines().next().unwrap_or_default();
            lines.push((Form::of(line, next), line.len(), end));
        }
        at += line.len();
    }
    if lines.len() < 2 * MIN_HEADINGS {
        return;
    }
    // The form of the first heading is the form of one of the first lines: a title may be before.
    for (form, ..) in [lines[0], lines[1]] {
        let headings = (0..lines.len()).filter(|at| lines[*at].0 == form);
        let is_heading = |at: usize| {
            lines[at].1 <= MAX_HEADING_BYTES && lines.get(at + 1).is_some_and(|next| next.0 != form)
        };
        if headings.clone().count() >= MIN_HEADINGS && headings.clone().all(is_heading) {
            for heading in headings {
                let last = ranges.partition_point(|range| range.end <= lines[heading].2);
                if let Some(last) = last.checked_sub(1) {
                    tokens[last].is_label = true;
                }
            }
            return;
        }
    }
}
