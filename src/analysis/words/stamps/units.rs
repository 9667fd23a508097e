//! The lines and sentences at the ends of a text.

use super::MAX_PASSAGES;
use crate::text::floor_char_boundary;

/// Longer lines and sentences are not looked at.
pub(crate) const MAX_UNIT_BYTES: usize = 512;

/// The end of the first line or sentence of a text, and the end of the first line; `None` and 0 for
/// a text of one line or sentence.
pub(super) fn first_unit(text: &str) -> (Option<usize>, usize) {
    let line = text.find('\n').map_or(0, |end| end + 1);
    let sentence = end_of_first_sentence(text);
    let unit = [line, sentence].into_iter().filter(|end| *end > 0).min();
    (unit, line)
}

/// The start of the last line or sentence of a text, and the start of the last line; 0 for a text
/// of one line or sentence.
pub(super) fn last_unit(text: &str) -> (usize, usize) {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    (line.max(start_of_last_sentence(text)), line)
}

/// The lines and sentences at the head and the tail of a text, at most eight at each end, without
/// white space around them.
pub(crate) fn end_units(text: &str) -> Vec<&str> {
    let mut body = text.trim();
    let mut units = Vec::new();
    for _ in 0..MAX_PASSAGES {
        let Some(end) = first_unit(body).0 else {
            break;
        };
        units.push(body[..end].trim());
        body = body[end..].trim();
    }
    for _ in 0..MAX_PASSAGES {
        let (start, _) = last_unit(body);
        units.push(body[start..].trim());
        body = body[..start].trim();
        if body.is_empty() {
            break;
        }
    }
    units
}

/// The end of a character that ends a sentence; `None` for other characters.
fn end_of_sentence(text: &str, at: usize, c: char) -> Option<usize> {
    let end = at + c.len_utf8();
    let is_end = matches!(c, '。' | '！' | '？')
        || matches!(c, '.' | '!' | '?') && text[end..].starts_with(char::is_whitespace);
    is_end.then_some(end)
}

/// The end of the first sentence; 0 for a text of one sentence.
fn end_of_first_sentence(text: &str) -> usize {
    let head = &text[..floor_char_boundary(text, MAX_UNIT_BYTES)];
    let mut chars = head.char_indices();
    let end = chars.find_map(|(at, c)| end_of_sentence(head, at, c));
    end.filter(|end| *end < text.len()).unwrap_or(0)
}

/// The start of the last sentence; 0 for a text of one sentence.
fn start_of_last_sentence(text: &str) -> usize {
    let from = floor_char_boundary(text, text.len().saturating_sub(MAX_UNIT_BYTES));
    let tail = &text[from..];
    let mut ends = (tail.char_indices().rev()).filter_map(|(at, c)| end_of_sentence(tail, at, c));
    let end = ends.find(|end| !tail[*end..].trim().is_empty());
    end.map_or(0, |end| from + end)
}
