//! Passages without information: stamps, counters, bylines, marks of truncation.
//!
//! A passage is recognised by its form and by its place: a line of its own at the head or the tail
//! of a text, or the very end. The same words within a sentence are words.
//!
//! | file | responsibility |
//! |---|---|
//! | `units` | the lines and sentences at the ends of a text |
//! | `heads`, `tails` | the passages at each end |
//! | `lines` | lines about the page, lines of stamps |
//! | `layout` | lines within a text that its form needs: numbers of pages, times of subtitles |
//! | `wording` | the table of their words |

mod heads;
mod layout;
mod lines;
mod tails;
mod units;
mod wording;

use std::ops::Range;

use heads::{agency_line, dateline, repost};
use layout::lines_of_layout;
use lines::{is_frame, is_stamp};
use tails::{credit, has_ellipsis, hashtag, rest_note, short_link, site, truncation};
use units::{first_unit, last_unit};

pub(crate) use units::{MAX_UNIT_BYTES, end_units};

/// At most eight passages at each end of a text.
const MAX_PASSAGES: usize = 8;

/// The letters of the names in a credit.
const MAX_CREDIT_LETTERS: usize = 24;

/// The passages of a text that carry no information, and `true` if the text is cut short at its
/// end.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// The bytes of the passages that are left out, ascending.
    pub ranges: Vec<Range<usize>>,
    /// The bytes of lines and sentences about the page, ascending. They may be absent, and are not
    /// exchanged.
    pub frames: Vec<Range<usize>>,
    /// The bytes of learned frames, the frames at the head first.
    pub learned: Vec<Range<usize>>,
    pub is_truncated: bool,
}

/// Returns `true` for a learned frame.
type IsLearned<'l> = &'l dyn Fn(&str) -> bool;

impl Stamps {
    pub fn of(text: &str) -> Self {
        Self::with_frames(text, &|_| false)
    }

    /// The passages of a text. Also a line or a sentence that `is_learned` accepts is a passage.
    pub fn with_frames(text: &str, is_learned: IsLearned<'_>) -> Self {
        let mut stamps = Self::default();
        let mut body = Body {
            text,
            range: 0..text.len(),
        };
        body.trim();
        for _ in 0..MAX_PASSAGES {
            let before = body.range.clone();
            stamps.cut_head(&mut body, is_learned);
            stamps.cut_tail(&mut body, is_learned);
            if body.range == before {
                break;
            }
        }
        // A text of such passages alone is about them.
        if body.range.is_empty() {
            return Self::default();
        }
        let headline = body.text().lines().next().unwrap_or_default();
        if let Some(at) = site(headline) {
            let start = body.range.start;
            stamps.push(start + at..start + headline.len(), true);
        }
        let lines = lines_of_layout(body.text()).into_iter();
        let start = body.range.start;
        (stamps.ranges).extend(lines.map(|line| start + line.start..start + line.end));
        stamps.frames.sort_by_key(|range| range.start);
        stamps.ranges.sort_by_key(|range| range.start);
        stamps
    }

    /// Returns `true` if a position is in a line or a sentence about the page.
    pub fn is_in_frame(&self, at: usize) -> bool {
        let after = self.frames.partition_point(|range| range.start <= at);
        let last = after.checked_sub(1).and_then(|last| self.frames.get(last));
        last.is_some_and(|range| range.contains(&at))
    }

    fn cut_head(&mut self, body: &mut Body<'_>, is_learned: IsLearned<'_>) {
        let head = body.text();
        let (unit, line) = first_unit(head);
        if unit.is_some_and(|end| is_learned(&head[..end])) {
            return self.cut_learned(body, 0..unit.unwrap_or(0));
        }
        let frame = unit.filter(|end| is_frame(&head[..*end], *end == line));
        let stamp = || (line > 0 && is_stamp(&head[..line])).then_some(line);
        let marks = || repost(head).or(dateline(head)).or(agency_line(head));
        let length = frame.or_else(stamp).or_else(marks).unwrap_or(0);
        if length > 0 {
            let start = body.range.start;
            self.push(start..start + length, frame.is_some());
            body.range.start += length;
            body.trim();
        }
    }

    fn push(&mut self, passage: Range<usize>, is_frame: bool) {
        match is_frame {
            true => self.frames.push(passage),
            false => self.ranges.push(passage),
        }
    }

    /// Cuts bytes of the body, at its head or its tail, that are a learned frame.
    fn cut_learned(&mut self, body: &mut Body<'_>, unit: Range<usize>) {
        let Range { start, end } = body.range.clone();
        self.learned.push(start + unit.start..start + unit.end);
        body.range = match unit.start {
            0 => start + unit.end..end,
            tail => start..start + tail,
        };
        body.trim();
    }

    fn cut_tail(&mut self, body: &mut Body<'_>, is_learned: IsLearned<'_>) {
        let tail = body.text();
        let (unit, line) = last_unit(tail);
        if unit > 0 && is_learned(&tail[unit..]) {
            return self.cut_learned(body, unit..tail.len());
        }
        let frame = (unit > 0 && is_frame(&tail[unit..], unit == line)).then_some(unit);
        let frame = frame.or_else(|| hashtag(tail));
        let stamp = || (line > 0 && is_stamp(&tail[line..])).then_some(line);
        let start = match frame.or_else(stamp) {
            Some(at) => at,
            None => match truncation(tail).or_else(|| rest_note(tail)) {
                Some(at) => {
                    self.is_truncated = true;
                    at
                }
                None => credit(tail)
                    .or_else(|| short_link(tail))
                    .unwrap_or(tail.len()),
            },
        };
        self.is_truncated |= has_ellipsis(tail);
        if start < tail.len() {
            self.push(body.range.start + start..body.range.end, frame.is_some());
            body.range.end = body.range.start + start;
            body.trim();
            let rest = body.text().trim_end_matches(['[', ' ', '\n']);
            self.is_truncated |= has_ellipsis(rest);
        }
    }
}

/// A text without the passages at its ends.
struct Body<'t> {
    text: &'t str,
    range: Range<usize>,
}

impl<'t> Body<'t> {
    fn text(&self) -> &'t str {
        &self.text[self.range.clone()]
    }

    fn trim(&mut self) {
        let text = self.text();
        self.range.end = self.range.start + text.trim_end().len();
        self.range.start += text.len() - text.trim_start().len();
        self.range.start = self.range.start.min(self.range.end);
    }
}

fn floor(text: &str, at: usize) -> usize {
    crate::text::floor_char_boundary(text, at.min(text.len()))
}
