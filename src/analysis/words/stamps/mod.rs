//! Passages without information: stamps, counters, bylines, marks of truncation.
//!
//! A passage is recognised by its form and by its place: a line of its own at the head or the tail
//! of a text, or the very end. The same words within a sentence are words.
//!
//! | file | responsibility |
//! |---|---|
//! | `units` | the lines and sentences at the ends of a text |
//! | `heads`, `tails` | the passages at each end |
//! | `lines` | lines about the page, lines of stamps, credits |
//! | `layout` | within a text: numbers of pages, times of subtitles, marks of advertisements |
//! | `wording` | the table of their words |

mod heads;
mod layout;
mod lines;
mod piece;
mod tails;
mod units;
mod wording;

use std::ops::Range;

use heads::{agency_line, bureau, dateline, reporter, repost};
use layout::{insertions, lines_of_layout};
use lines::{is_frame, stamp};
use tails::{credit, has_ellipsis, hashtag, rest_note, short_link, site, truncation};
use units::{first_unit, last_unit};

pub(crate) use units::{MAX_UNIT_BYTES, end_units};

/// At most eight passages at each end of a text.
const MAX_PASSAGES: usize = 8;

/// The letters of the names in a credit.
const MAX_CREDIT_LETTERS: usize = 24;

/// In a shorter text, a line of a date alone is the date of the event. A passage behind a shorter
/// question may be the answer.
const MIN_REPORT_BYTES: usize = 400;

/// The kind of a passage without information. Each kind may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// Times and counters of a copy: others may be in their place.
    Free,
    /// A dateline, names, a link: it is not exchanged for another one.
    Fact,
}

/// The passages of a text that carry no information, and `true` if the text is cut short at its
/// end.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// The bytes of the passages, ascending.
    pub passages: Vec<(Range<usize>, Stamp)>,
    /// The bytes of lines that the form of the text needs, ascending. They are left out.
    pub layout: Vec<Range<usize>>,
    /// The bytes of lines and sentences about the page, hashtags and the name of a site, ascending.
    /// Their words may be absent, and are not exchanged.
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
            stamps.frames.push(start + at..start + headline.len());
        }
        let lines = lines_of_layout(body.text()).into_iter();
        let start = body.range.start;
        let layout = lines.map(|line| start + line.start..start + line.end);
        stamps.layout = layout.collect();
        let insertions = insertions(body.text()).into_iter();
        let insertions = insertions.map(|mark| (start + mark.start..start + mark.end, Stamp::Free));
        stamps.passages.extend(insertions);
        stamps.frames.sort_by_key(|range| range.start);
        stamps.passages.sort_by_key(|(range, _)| range.start);
        stamps
    }

    /// The bytes outside of the words of a text, ascending.
    pub fn left_out(&self) -> Vec<Range<usize>> {
        let passages = self.passages.iter().map(|(range, _)| range.clone());
        let mut ranges: Vec<_> = passages.chain(self.layout.iter().cloned()).collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// Returns `true` if a position is in a frame.
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
        if let Some(end) = unit.filter(|end| is_frame(&head[..*end])) {
            self.frames.push(body.range.start..body.range.start + end);
            body.range.start += end;
            return body.trim();
        }
        let is_report = head.len() >= MIN_REPORT_BYTES;
        let of_line = (line > 0)
            .then(|| stamp(&head[..line], is_report))
            .flatten();
        let mark = || {
            let mark = repost(head).or_else(|| dateline(head));
            let mark = mark.or_else(|| agency_line(head));
            mark.or_else(|| bureau(head)).or_else(|| reporter(head))
        };
        let found = of_line.map(|stamp| (line, stamp));
        let found = found.or_else(|| Some((mark()?, Stamp::Fact)));
        if let Some((length, stamp)) = found {
            let start = body.range.start;
            self.passages.push((start..start + length, stamp));
            body.range.start += length;
            body.trim();
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
        // A passage behind a short question may be the answer.
        let is_answer = |at: usize| {
            at < MIN_REPORT_BYTES && tail[..at].trim_end().ends_with(['?', '？', ':', '：'])
        };
        let frame = (unit > 0 && is_frame(&tail[unit..])).then_some(unit);
        if let Some(at) = frame.or_else(|| hashtag(tail)).filter(|at| !is_answer(*at)) {
            self.frames.push(body.range.start + at..body.range.end);
            return body.end_at(at);
        }
        let is_report = tail.len() >= MIN_REPORT_BYTES;
        let of_line = (line > 0)
            .then(|| stamp(&tail[line..], is_report))
            .flatten();
        let found = of_line.map(|stamp| (line, stamp));
        let mark = || truncation(tail).or_else(|| rest_note(tail));
        let mark = found.is_none().then(mark).flatten();
        self.is_truncated |= mark.is_some() || has_ellipsis(tail);
        let named = || Some((credit(tail).or_else(|| short_link(tail))?, Stamp::Fact));
        let found = found.or(mark.map(|at| (at, Stamp::Free))).or_else(named);
        if let Some((at, stamp)) = found.filter(|(at, _)| !is_answer(*at)) {
            let start = body.range.start + at;
            self.passages.push((start..body.range.end, stamp));
            body.end_at(at);
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

    fn end_at(&mut self, at: usize) {
        self.range.end = self.range.start + at;
        self.trim();
    }

    fn trim(&mut self) {
        let text = self.text();
        self.range.end = self.range.start + text.trim_end().len();
        self.range.start += text.len() - text.trim_start().len();
        self.range.start = self.range.start.min(self.range.end);
    }
}
