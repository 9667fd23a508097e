//! [`FrameCounter`] and [`Frames`]: the lines and sentences around the bodies of many texts.
//! [`FrameLearner`] learns them from texts as they arrive.

mod learner;
pub(crate) mod rows;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::FixedState;
use xxhash_rust::xxh3::xxh3_64;

use super::words::Words;
use super::words::lexicon::{Class, Lexicon};
use super::words::stamps::{MAX_UNIT_BYTES, Stamps, end_units};
use super::words::tokens::Token;
use crate::text::{Normaliser, is_cjk};

pub use learner::FrameLearner;

/// A shorter line or sentence is a heading or a value. Two CJK characters count as a word.
const MIN_FRAME_WORDS: usize = 4;

/// A shorter body says too little to be told from another body without its frames.
const MIN_BODY_WORDS: usize = 12;

/// The bodies that are told apart for a line or a sentence, or fewer if frames need fewer
/// documents. From this number of documents on, the bodies of the first documents decide.
const MAX_BODIES: u64 = 64;

/// The longest parts of a text that stand for its body.
const BODY_PARTS: usize = 4;

/// At most a million lines and sentences of one body are remembered, 24 MiB. The older half is
/// forgotten then, so a frame needs two documents among some 65,000 that follow each other.
const MAX_ONCE: usize = 1 << 20;

/// At most 65,536 lines and sentences of several bodies are counted, 60 MiB at the most and 20 MiB
/// usually. The half with the fewest bodies is forgotten then, whatever their groups.
const MAX_COUNTED: usize = 1 << 16;

/// [`FrameLearner`] selects the frames of a group of at most 1,024 lines and sentences as soon as
/// another may be a frame, in some 10 ms.
const SMALL_GROUP: usize = 1 << 10;

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

/// The lines and sentences at the ends of a text, and the parts that stand for its body: what
/// [`FrameCounter::push`] counts.
///
/// Threads can prepare the ends of texts before one of them counts the ends in order.
#[derive(Clone, Debug)]
pub struct TextEnds {
    units: Vec<EndUnit>,
    /// The longest parts of the text, the longest first.
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct EndUnit {
    text: String,
    form: String,
    /// The indexes of the parts that are not in the line or the sentence.
    others: Vec<usize>,
    /// `true` if the line or the sentence stands before the longest of these parts.
    is_head: bool,
}

#[derive(Clone, Debug)]
struct Part {
    /// The hash of the letters and digits.
    letters: u32,
    /// `None` for a part that is no frame of any collection.
    form: Option<String>,
}

impl TextEnds {
    /// Cuts a text.
    ///
    /// # Cost
    /// Linear in the text. At most 20 lines and sentences are normalised.
    pub fn new(text: &str) -> Self {
        let mut parts: Vec<&str> = (text.split(['\n', '.', '。', '！', '？', '!', '?']))
            .map(str::trim)
            .collect();
        parts.sort_by_key(|part| Reverse(part.len()));
        parts.truncate(BODY_PARTS);
        let unit = |unit: &str| {
            let is_other = |at: &usize| !unit.contains(parts[*at]);
            let others: Vec<usize> = (0..parts.len()).filter(is_other).collect();
            let body = parts[*others.first()?];
            Some(EndUnit {
                text: unit.to_owned(),
                form: form(unit)?,
                others,
                is_head: unit.as_ptr() < body.as_ptr(),
            })
        };
        let part = |part: &&str| Part {
            letters: letters_hash(part),
            form: form(part),
        };
        Self {
            units: end_units(text).into_iter().filter_map(unit).collect(),
            parts: parts.iter().map(part).collect(),
        }
    }

    /// The lines and sentences at the ends that are neither too short nor too long for a frame.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.units.iter().map(|unit| &*unit.text)
    }
}

/// Counts the lines and sentences at the ends of texts, in bounded memory, to learn the frames of a
/// collection.
///
/// A *frame* is a line or a sentence at the head or the tail of at least a number of texts with
/// different bodies. A long part that is rarer than the line stands for the body, so what the
/// copies of a text have in common is no frame. These lines and sentences are no frames either:
/// - a short line or sentence, which is a heading or a value;
/// - a line or a sentence with a negation or a condition;
/// - a line or a sentence that shares half of its words with another at this end of several texts:
///   "This package contains the shared library." and "This package contains the documentation."
///   tell texts apart.
///
/// A group, such as a source, has frames of its own.
///
/// # Examples
///
/// ```
/// use simdb::frames::{FrameCounter, TextEnds};
///
/// let towns = ["Kirkwall", "Stromness", "Lerwick"];
/// let story = |town| {
///     format!("The harbour of {town} was closed on Sunday after a trawler lost her anchor there.")
/// };
/// let mut counter = FrameCounter::new(3);
/// for town in towns {
///     let text = format!("{} Reported for the readers of the Northern Herald.", story(town));
///     counter.push(0, TextEnds::new(&text));
/// }
/// let frames = counter.frames();
/// assert_eq!(frames.iter().count(), 1);
/// let text = format!("{} Reported for the readers of the Northern Herald.", story("Wick"));
/// assert_eq!(frames.body(0, &text).trim_end(), story("Wick"));
/// ```
#[derive(Clone, Debug)]
pub struct FrameCounter {
    in_documents: u64,
    /// The lines and sentences of one body that are remembered.
    max_once: usize,
    /// The body of each line and sentence of one body, by the hash of its group and form: the
    /// younger half, and the older half.
    once: [HashMap<u64, u32, FixedState>; 2],
    groups: HashMap<u64, Group, FixedState>,
    /// The number of lines and sentences of several bodies.
    counted: usize,
    changed: Changed,
}

/// A group with lines or sentences of several bodies.
#[derive(Clone, Debug, Default)]
struct Group {
    /// The number of texts since the first of these lines.
    texts: u64,
    /// The number of texts from which on [`FrameLearner`] selects the frames of the group again.
    next: u64,
    /// The lines and sentences of several bodies.
    counted: HashMap<u64, Counted, FixedState>,
}

#[derive(Clone, Debug)]
struct Counted {
    text: String,
    documents: u64,
    /// The number of texts in which the line or the sentence stands before the body.
    heads: u64,
    bodies: Vec<u32>,
    /// [`FrameLearner`] has selected the line or the sentence.
    is_frame: bool,
}

impl FrameCounter {
    /// A counter of frames that at least this number of texts with different bodies have, and at
    /// least two.
    pub fn new(in_documents: u64) -> Self {
        Self::remembering(in_documents, MAX_ONCE)
    }

    fn remembering(in_documents: u64, max_once: usize) -> Self {
        Self {
            in_documents: in_documents.max(2),
            max_once,
            once: Default::default(),
            groups: HashMap::default(),
            counted: 0,
            changed: Changed::default(),
        }
    }

    /// Counts the ends of a text of a group.
    pub fn push(&mut self, group: u64, ends: TextEnds) {
        let parts = ends.parts.iter();
        let parts: Vec<(u32, Option<u64>)> = parts
            .map(|part| {
                (
                    part.letters,
                    part.form.as_ref().map(|form| key(group, form)),
                )
            })
            .collect();
        if let Some(own) = self.groups.get_mut(&group) {
            own.texts += 1;
            self.changed.add(group_key(group));
        }
        let mut seen = HashSet::new();
        for unit in ends.units {
            let key = key(group, &unit.form);
            if seen.insert(key) {
                let body = self.body(group, key, unit.others.iter().map(|at| parts[*at]));
                self.count(group, key, unit, body);
            }
        }
        if self.once[0].len() > self.max_once / 2 {
            let young = std::mem::take(&mut self.once[0]);
            self.once[1] = young;
            self.changed.add_all();
        }
        if self.counted > MAX_COUNTED {
            self.forget_rare();
        }
    }

    /// The part that stands for the body beside a line or a sentence: the longest part that is much
    /// rarer, or else the longest. Two frames of a source stand in the same texts.
    fn body(
        &self,
        group: u64,
        unit: u64,
        parts: impl Iterator<Item = (u32, Option<u64>)> + Clone,
    ) -> u32 {
        let counted = self.groups.get(&group).map(|group| &group.counted);
        let documents = |key| {
            let counted = counted.and_then(|counted| counted.get(&key));
            counted.map_or(1, |counted| counted.documents)
        };
        let own = documents(unit);
        let is_rare =
            |(_, key): &(u32, Option<u64>)| key.is_none_or(|key| 2 * documents(key) <= own.max(2));
        let body = parts.clone().find(is_rare).or_else(|| parts.clone().next());
        body.map_or(0, |(letters, _)| letters)
    }

    fn count(&mut self, group: u64, key: u64, unit: EndUnit, body: u32) {
        self.changed.add(key);
        let heads = u64::from(unit.is_head);
        let max_bodies = self.least_bodies();
        if let Some(own) = self.groups.get_mut(&group)
            && let Some(counted) = own.counted.get_mut(&key)
        {
            counted.documents += 1;
            counted.heads += heads;
            if counted.bodies.len() < max_bodies && !counted.bodies.contains(&body) {
                counted.bodies.push(body);
                if counted.bodies.len() == max_bodies && own.counted.len() <= SMALL_GROUP {
                    own.next = 0;
                }
            }
            return;
        }
        let [young, old] = &mut self.once;
        let earlier = old.remove(&key);
        let earlier = young.insert(key, body).or(earlier);
        if let Some(earlier) = earlier.filter(|earlier| *earlier != body) {
            young.remove(&key);
            let counted = Counted {
                text: unit.text,
                documents: 2,
                heads: 2 * heads,
                bodies: vec![earlier, body],
                is_frame: false,
            };
            let own = self.groups.entry(group).or_default();
            own.counted.insert(key, counted);
            self.changed.add(group_key(group));
            self.counted += 1;
        }
    }

    fn forget_rare(&mut self) {
        let groups = self.groups.iter();
        let mut counts: Vec<(usize, u64, u64, u64)> = groups
            .flat_map(|(group, Group { counted, .. })| {
                let counted = counted.iter();
                counted.map(|(key, each)| (each.bodies.len(), each.documents, *key, *group))
            })
            .collect();
        counts.sort_unstable();
        counts.truncate(MAX_COUNTED / 2);
        for (_, _, key, group) in counts {
            if let Some(group) = self.groups.get_mut(&group) {
                group.counted.remove(&key);
                self.counted -= 1;
            }
        }
        self.groups.retain(|_, group| !group.counted.is_empty());
        self.changed.add_all();
    }

    /// The number of different bodies of a frame.
    fn least_bodies(&self) -> usize {
        self.in_documents.min(MAX_BODIES) as usize
    }

    fn is_repeated(&self, counted: &Counted) -> bool {
        counted.documents >= self.in_documents && counted.bodies.len() >= self.least_bodies()
    }

    /// The frames that are counted so far.
    ///
    /// # Cost
    /// Cuts the lines and sentences of several texts into words: some 10 µs for each.
    pub fn frames(&self) -> Frames {
        let groups = self.groups.keys();
        groups.flat_map(|group| self.frames_of(*group)).collect()
    }

    /// The frames of a group that are counted so far.
    fn frames_of(&self, group: u64) -> Vec<Frame> {
        let frame = |(_, counted): (u64, &Counted)| counted.frame(group);
        self.select(group).into_iter().map(frame).collect()
    }

    /// The frames of a group with their keys, by number of documents, descending.
    fn select(&self, group: u64) -> Vec<(u64, &Counted)> {
        let Some(group) = self.groups.get(&group) else {
            return Vec::new();
        };
        // Most groups are too small for a frame, and no words are needed.
        if !(group.counted.values()).any(|counted| self.is_repeated(counted)) {
            return Vec::new();
        }
        let mut counted: Vec<(u64, &Counted)> = (group.counted.iter())
            .map(|(key, counted)| (*key, counted))
            .collect();
        counted.sort_by_key(|(key, each)| (Reverse(each.documents), &each.text, *key));
        let units: Vec<Unit> = counted.iter().map(|(_, each)| Unit::new(each)).collect();
        let mut by_word: HashMap<&str, Vec<usize>, FixedState> = HashMap::default();
        for (at, unit) in units.iter().enumerate() {
            for word in &unit.words {
                by_word.entry(word).or_default().push(at);
            }
        }
        let is_frame = |at: &usize| {
            let unit = &units[*at];
            self.is_repeated(counted[*at].1)
                && !unit.negates
                && !unit.has_sibling(*at, &units, &by_word)
        };
        let found = (0..counted.len()).filter(is_frame);
        found.map(|at| counted[at]).collect()
    }
}

impl Counted {
    fn frame(&self, group: u64) -> Frame {
        Frame {
            text: self.text.clone(),
            group,
            documents: self.documents,
        }
    }
}

/// The [rows](rows::ROWS) that have changed.
#[derive(Clone, Debug)]
struct Changed([bool; rows::ROWS]);

impl Default for Changed {
    fn default() -> Self {
        Self([false; rows::ROWS])
    }
}

impl Changed {
    fn add(&mut self, key: u64) {
        self.0[rows::row_of(key)] = true;
    }

    fn add_all(&mut self) {
        self.0 = [true; rows::ROWS];
    }
}

/// The words of a line or a sentence.
struct Unit {
    /// The keys of the distinct words, without light words.
    words: HashSet<String, FixedState>,
    negates: bool,
    is_head: bool,
}

impl Unit {
    fn new(counted: &Counted) -> Self {
        let form = form(&counted.text).unwrap_or_default();
        let tokens = Words::new(Normaliser::shared(), &form).tokens;
        let lexicon = Lexicon::builtin();
        let has_content = |token: &&Token| token.class != Class::Light;
        Self {
            is_head: 2 * counted.heads > counted.documents,
            negates: tokens.iter().any(|token| lexicon.negates(&token.text)),
            words: (tokens.iter().filter(has_content))
                .map(|token| token.key.to_string())
                .collect(),
        }
    }

    /// Returns `true` if another line or sentence at this end shares half of its words or of these
    /// words, and has other words.
    fn has_sibling(
        &self,
        at: usize,
        units: &[Self],
        by_word: &HashMap<&str, Vec<usize>, FixedState>,
    ) -> bool {
        let mut common: HashMap<usize, usize, FixedState> = HashMap::default();
        for word in &self.words {
            for other in by_word.get(word.as_str()).into_iter().flatten() {
                *common.entry(*other).or_default() += 1;
            }
        }
        common.into_iter().any(|(other, common)| {
            let Self { words, is_head, .. } = &units[other];
            other != at
                && *is_head == self.is_head
                && 2 * common >= words.len().min(self.words.len())
                && *words != self.words
        })
    }
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

/// The form in which lines and sentences are compared; `None` if they are too short or too long.
fn form(unit: &str) -> Option<String> {
    let is_long_enough = unit.len() <= MAX_UNIT_BYTES && words(unit) >= MIN_FRAME_WORDS;
    let form = is_long_enough.then(|| Normaliser::shared().sentences(unit))?;
    // The end of a sentence and dashes around a line are punctuation.
    Some(form.trim_matches(['.', '-', '_', '&', ' ']).to_owned())
}

/// The hash of a line or a sentence of a group.
fn key(group: u64, form: &str) -> u64 {
    xxh3_64(format!("{group} {form}").as_bytes())
}

/// The key of the number of texts of a group.
fn group_key(group: u64) -> u64 {
    xxh3_64(&group.to_le_bytes())
}

/// The hash of the letters and digits of a part of a text.
fn letters_hash(part: &str) -> u32 {
    let letters = part.chars().filter(|c| c.is_alphanumeric());
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    xxh3_64(letters.as_bytes()) as u32
}

/// The words of a text, separated by white space; two CJK characters count as a word.
fn words(text: &str) -> usize {
    let has_letter = |word: &&str| word.contains(|c: char| c.is_alphanumeric() && !is_cjk(c));
    text.split_whitespace().filter(has_letter).count()
        + text.chars().filter(|c| is_cjk(*c)).count() / 2
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

    #[test]
    fn memory_is_bounded() {
        let mut counter = FrameCounter::new(2);
        for number in 0..3 * MAX_COUNTED {
            for body in 0..2 {
                let unit = EndUnit {
                    text: String::new(),
                    form: number.to_string(),
                    others: vec![0],
                    is_head: true,
                };
                let part = Part {
                    letters: body,
                    form: None,
                };
                let (units, parts) = (vec![unit], vec![part]);
                counter.push(0, TextEnds { units, parts });
            }
        }
        let counted = counter.groups.values().map(|group| group.counted.len());
        assert_eq!(counted.sum::<usize>(), counter.counted);
        let once = counter.once.iter().map(HashMap::len).sum::<usize>();
        assert!(counter.counted <= MAX_COUNTED && once <= MAX_ONCE + 2);
    }
}
