//! [`Frames`]: the lines and sentences around the bodies of many texts.
//!
//! | file | responsibility |
//! |---|---|
//! | `body_text` | a text without its frames |
//! | `text_ends` | the lines and sentences at the ends of a text |
//! | `counter` | the lines and sentences that texts with different bodies have |
//! | `learner` | the frames of texts as they arrive |
//! | `rows` | the rows in which a database keeps what a learner has counted: `row` |

mod body_text;
mod counter;
mod learner;
mod row;
pub(crate) mod rows;
mod text_ends;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::words::stamps::Stamps;
use text_ends::{form, words};

pub(crate) use body_text::BodyText;
pub use counter::FrameCounter;
pub use learner::FrameLearner;
pub use text_ends::TextEnds;

/// A shorter body says too little to be told from another body without its frames.
const MIN_BODY_WORDS: usize = 12;

/// A line or a sentence at the head or the tail of many texts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// The line or the sentence, as one of the texts has it.
    pub text: String,
    /// The group of the texts, such as a source.
    pub group: u64,
    /// The number of texts with the frame at an end.
    pub documents: u64,
}

/// The frames of a collection, by group.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    groups: BTreeMap<u64, Arc<GroupFrames>>,
}

#[derive(Clone, Debug, Default)]
struct GroupFrames {
    frames: Vec<Frame>,
    /// The forms of the frames.
    forms: HashSet<String, FixedState>,
}

impl FromIterator<Frame> for Frames {
    fn from_iter<I: IntoIterator<Item = Frame>>(frames: I) -> Self {
        let mut of_groups: BTreeMap<u64, Vec<Frame>> = BTreeMap::new();
        for frame in frames {
            of_groups.entry(frame.group).or_default().push(frame);
        }
        let mut all = Self::default();
        for (group, frames) in of_groups {
            all.set(group, frames);
        }
        all
    }
}

impl Frames {
    fn set(&mut self, group: u64, frames: Vec<Frame>) {
        let forms = frames.iter().filter_map(|frame| form(&frame.text));
        let of_group = GroupFrames {
            forms: forms.collect(),
            frames,
        };
        match of_group.frames.is_empty() {
            true => self.groups.remove(&group),
            false => self.groups.insert(group, Arc::new(of_group)),
        };
    }

    fn of_group(&self, group: u64) -> &[Frame] {
        (self.groups.get(&group)).map_or(&[], |of_group| &of_group.frames)
    }

    /// The frames by group, and the frames of a group by number of documents, descending.
    pub fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.groups.values().flat_map(|of_group| &of_group.frames)
    }

    /// The number of frames.
    pub fn len(&self) -> usize {
        let of_groups = self.groups.values();
        of_groups.map(|of_group| of_group.frames.len()).sum()
    }

    /// Returns `true` if there are no frames.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// A text of a group without the frames at its head and its tail, eight at most at each end;
    /// the whole text if fewer than twelve words are left.
    pub fn body<'t>(&self, group: u64, text: &'t str) -> Cow<'t, str> {
        self.body_and_frames(group, text).0
    }

    /// The [`body`](Self::body) of a text, and its [frames](Self::of_text).
    pub(crate) fn body_and_frames<'t>(
        &self,
        group: u64,
        text: &'t str,
    ) -> (Cow<'t, str>, Vec<&'t str>) {
        let ranges = self.ranges(group, text);
        if ranges.is_empty() {
            return (Cow::Borrowed(text), Vec::new());
        }
        let frames = ranges.iter().map(|range| text[range.clone()].trim());
        let frames: Vec<&str> = frames.collect();
        let mut rest = String::with_capacity(text.len());
        let mut at = 0;
        for range in ranges {
            rest.push_str(&text[at..range.start]);
            at = range.end;
        }
        rest.push_str(&text[at..]);
        (Cow::Owned(rest), frames)
    }

    /// The frames of a text of a group, in order, which [`body`](Self::body) leaves out.
    pub fn of_text<'t>(&self, group: u64, text: &'t str) -> Vec<&'t str> {
        self.body_and_frames(group, text).1
    }

    /// The form of a line or a sentence of a group in which frames are compared; `None` if the line
    /// is none of the frames. Case, width, white space and punctuation make no difference.
    pub fn form(&self, group: u64, line: &str) -> Option<String> {
        let of_group = self.groups.get(&group)?;
        form(line).filter(|form| of_group.forms.contains(form))
    }

    fn ranges(&self, group: u64, text: &str) -> Vec<std::ops::Range<usize>> {
        if !self.groups.contains_key(&group) {
            return Vec::new();
        }
        let is_learned = |unit: &str| self.form(group, unit).is_some();
        let mut ranges = Stamps::with_frames(text, &is_learned).learned;
        if ranges.is_empty() {
            return ranges;
        }
        ranges.sort_by_key(|range| range.start);
        let cut = ranges.iter().map(|range| words(&text[range.clone()]));
        if words(text) < cut.sum::<usize>() + MIN_BODY_WORDS {
            ranges.clear();
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODIES: [&str; 3] = [
        "The harbour of Kirkwall was closed on Sunday after a trawler lost her anchor near the pier.",
        "A jury found the former treasurer guilty of taking funds from the county library for years.",
        "北京时间星期二，港务局表决决定关闭北码头，直到木桩修理完毕为止，渡轮改由南码头出发。",
    ];
    const HEAD: &str = "The Northern Herald brings the islands together.\n";
    const TAIL: &str = " 关注本站公众号以获取更多新闻资讯。";

    fn learned(texts: impl IntoIterator<Item = String>, in_documents: u64) -> Frames {
        let mut counter = FrameCounter::new(in_documents);
        for text in texts {
            counter.push(7, TextEnds::new(&text));
        }
        counter.frames()
    }

    #[test]
    fn lines_around_different_bodies_are_cut_at_head_and_tail_alone() {
        let framed = |body| format!("{HEAD}{body}{TAIL}");
        let frames = learned(BODIES.map(framed), 3);
        assert_eq!(frames.len(), 2);
        assert!(
            frames
                .iter()
                .all(|frame| frame.documents == 3 && frame.group == 7)
        );
        for body in BODIES {
            assert_eq!(frames.body(7, &framed(body)).trim(), body);
            assert_eq!(frames.of_text(7, &framed(body)), [HEAD.trim(), TAIL.trim()]);
            // Another group, and another place.
            assert_eq!(frames.body(8, &framed(body)), framed(body));
            let inside = format!("{body}\n{HEAD}{body}");
            assert_eq!(frames.body(7, &inside), inside);
        }
        assert!(learned(BODIES.map(framed), 4).is_empty());
        // Fewer than twelve words are left.
        let short = format!("{HEAD}A short note of seven words.");
        assert_eq!(frames.body(7, &short), short);
    }

    #[test]
    fn stamps_outside_of_frames_stay_and_frames_behind_them_are_cut() {
        let stamp = |body: &str| format!("{} views, {} comments", 7 * body.len(), body.len());
        let framed = |body| format!("{body}\n{TAIL}\n{}", stamp(body));
        let frames = learned(BODIES.map(framed), 3);
        for body in BODIES {
            let expected = format!("{body}\n\n{}", stamp(body));
            assert_eq!(frames.body(7, &framed(body)), expected);
        }
    }

    #[test]
    fn sentences_of_copies_are_no_frames() {
        let additions = [
            "One line of the first.",
            "Another of the second.",
            "And of the third.",
        ];
        let copy = |line| format!("{} {} {line}", BODIES[0], BODIES[1]);
        assert!(learned(additions.map(copy), 3).is_empty());
    }

    #[test]
    fn sentences_that_tell_texts_apart_are_no_frames() {
        let kinds = [
            "This package contains the shared library.",
            "This package contains the development files.",
        ];
        let described = BODIES.map(|body| kinds.map(|kind| format!("{body} {kind}")));
        assert!(learned(described.into_iter().flatten(), 3).is_empty());
        for tail in [
            "This applies unless another law says so.",
            "Price: 5 euros.",
        ] {
            assert!(learned(BODIES.map(|body| format!("{body} {tail}")), 3).is_empty());
        }
    }
}
