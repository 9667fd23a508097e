//! Lines that the form of a text needs: numbers of pages, numbers and times of subtitles. They
//! stand within sentences too.

use std::ops::Range;

/// A longer line is a sentence.
const MAX_LINE_BYTES: usize = 64;

/// The bytes of the lines of layout, ascending.
pub(super) fn lines_of_layout(text: &str) -> Vec<Range<usize>> {
    let has_times = text.contains("-->");
    if !has_times && !text.contains("\nPage ") && !text.contains("页") {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut last: Option<Range<usize>> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let content = line.trim();
        if content.len() <= MAX_LINE_BYTES {
            let is_time = has_times && is_time(content);
            // The number of a subtitle is before its times.
            if let Some(number) = last.take().filter(|_| is_time) {
                lines.push(number);
            }
            if is_time || is_page(content) {
                lines.push(range);
            } else if !content.is_empty() && content.bytes().all(|byte| byte.is_ascii_digit()) {
                last = Some(range);
            }
        }
    }
    lines
}

/// Returns `true` for the times of a subtitle, with milliseconds: 00:00:05,729 --> 00:00:10,198.
fn is_time(line: &str) -> bool {
    let has_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = |time: &str| {
        time.split_once([',', '.']).is_some_and(|(seconds, rest)| {
            rest.len() == 3
                && has_digits(rest)
                && seconds.contains(':')
                && seconds.split(':').all(has_digits)
        })
    };
    line.split_once(" --> ")
        .is_some_and(|(from, to)| is_part(from) && is_part(to))
}

/// Returns `true` for the number of a page: "Page 12 of 48", 第 12 页 共 48 页.
fn is_page(line: &str) -> bool {
    let words: String = line
        .chars()
        .filter(|c| !c.is_numeric() && *c != ' ')
        .collect();
    line.contains(char::is_numeric)
        && matches!(&*words, "Pageof" | "第页共页" | "第页，共页" | "第页/共页")
}
