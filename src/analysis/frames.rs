//! [`FrameCounter`] and [`Frames`]: the lines and sentences around the bodies of many texts.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use xxhash_rust::xxh3::xxh3_64;

use super::words::Words;
use super::words::lexicon::{Class, Lexicon};
use super::words::stamps::{MAX_UNIT_BYTES, Stamps, end_units};
use super::words::tokens::Token;
use crate::text::{Normaliser, is_cjk};

/// A shorter line or sentence is a heading or a value. Two CJK characters count as a word.
const MIN_FRAME_WORDS: usize = 4;

/// A shorter body says too little to be told from another body without its frames.
const MIN_BODY_WORDS: usize = 12;

/// The bodies that are told apart for a line or a sentence. From this number of documents on, the
/// bodies of the first documents decide.
const MAX_BODIES: usize = 64;

/// The longest parts of a text that stand for its body.
const BODY_PARTS: usize = 4;

/// At most a million lines and sentences of one body are remembered, 32 MiB. All are forgotten
/// then, so a frame needs two documents among some 65,000 that follow each other.
const MAX_ONCE: usize = 1 << 20;

/// At most 65,536 lines and sentences of several bodies are counted, 100 MiB at the most and 30 MiB
/// usually. The rarer half is forgotten then.
const MAX_COUNTED: usize = 1 << 16;

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
    letters: u64,
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
    /// The body of each line and sentence of one body, by the hash of its group and form.
    once: HashMap<u64, u64, FixedState>,
    /// The lines and sentences of several bodies.
    counted: HashMap<u64, Counted, FixedState>,
}

#[derive(Clone, Debug)]
struct Counted {
    frame: Frame,
    form: String,
    /// The number of texts in which the line or the sentence stands before the body.
    heads: u64,
    bodies: Vec<u64>,
}

impl FrameCounter {
    /// A counter of frames that at least this number of texts with different bodies have, and at
    /// least two.
    pub fn new(in_documents: u64) -> Self {
        Self {
            in_documents: in_documents.max(2),
            once: HashMap::default(),
            counted: HashMap::default(),
        }
    }

    /// Counts the ends of a text of a group.
    pub fn push(&mut self, group: u64, ends: TextEnds) {
        let parts = ends.parts.iter();
        let parts: Vec<(u64, Option<u64>)> = parts
            .map(|part| {
                (
                    part.letters,
                    part.form.as_ref().map(|form| key(group, form)),
                )
            })
            .collect();
        let mut seen = HashSet::new();
        for unit in ends.units {
            let key = key(group, &unit.form);
            if seen.insert(key) {
                let body = self.body(key, unit.others.iter().map(|at| parts[*at]));
                self.count(group, key, unit, body);
            }
        }
        if self.once.len() > MAX_ONCE {
            self.once.clear();
        }
        if self.counted.len() > MAX_COUNTED {
            self.forget_rare();
        }
    }

    /// The part that stands for the body beside a line or a sentence: the longest part that is much
    /// rarer, or else the longest. Two frames of a source stand in the same texts.
    fn body(&self, unit: u64, parts: impl Iterator<Item = (u64, Option<u64>)> + Clone) -> u64 {
        let documents = |key| {
            self.counted
                .get(&key)
                .map_or(1, |counted| counted.frame.documents)
        };
        let own = documents(unit);
        let is_rare =
            |(_, key): &(u64, Option<u64>)| key.is_none_or(|key| 2 * documents(key) <= own.max(2));
        let body = parts.clone().find(is_rare).or_else(|| parts.clone().next());
        body.map_or(0, |(letters, _)| letters)
    }

    fn count(&mut self, group: u64, key: u64, unit: EndUnit, body: u64) {
        let heads = u64::from(unit.is_head);
        if let Some(counted) = self.counted.get_mut(&key) {
            counted.frame.documents += 1;
            counted.heads += heads;
            if counted.bodies.len() < MAX_BODIES && !counted.bodies.contains(&body) {
                counted.bodies.push(body);
            }
            return;
        }
        let earlier = self.once.insert(key, body);
        if let Some(earlier) = earlier.filter(|earlier| *earlier != body) {
            self.once.remove(&key);
            let frame = Frame {
                text: unit.text,
                group,
                documents: 2,
            };
            let counted = Counted {
                frame,
                form: unit.form,
                heads: 2 * heads,
                bodies: vec![earlier, body],
            };
            self.counted.insert(key, counted);
        }
    }

    fn forget_rare(&mut self) {
        let counts = self.counted.iter();
        let mut counts: Vec<(u64, u64)> = counts
            .map(|(key, counted)| (counted.frame.documents, *key))
            .collect();
        counts.sort_unstable();
        for (_, key) in &counts[..MAX_COUNTED / 2] {
            self.counted.remove(key);
        }
    }

    fn is_repeated(&self, counted: &Counted) -> bool {
        let least_bodies = self.in_documents.min(MAX_BODIES as u64) as usize;
        counted.frame.documents >= self.in_documents && counted.bodies.len() >= least_bodies
    }

    /// The frames that are counted so far.
    ///
    /// # Cost
    /// Cuts the lines and sentences of several texts into words: some 10 µs for each.
    pub fn frames(&self) -> Frames {
        let mut counted: Vec<&Counted> = self.counted.values().collect();
        counted.sort_by(|one, other| {
            let key = |each: &Counted| (each.frame.group, Reverse(each.frame.documents));
            key(one)
                .cmp(&key(other))
                .then_with(|| one.form.cmp(&other.form))
        });
        let of_groups = counted.chunk_by(|one, other| one.frame.group == other.frame.group);
        let frames = of_groups.flat_map(|counted| self.frames_of_group(counted));
        Frames::from_iter(frames)
    }

    fn frames_of_group(&self, counted: &[&Counted]) -> Vec<Frame> {
        let units: Vec<Unit> = counted.iter().map(|each| Unit::new(each)).collect();
        let mut by_word: HashMap<&str, Vec<usize>, FixedState> = HashMap::default();
        for (at, unit) in units.iter().enumerate() {
            for word in &unit.words {
                by_word.entry(word).or_default().push(at);
            }
        }
        let is_frame = |at: &usize| {
            let unit = &units[*at];
            self.is_repeated(counted[*at])
                && !unit.negates
                && !unit.has_sibling(*at, &units, &by_word)
        };
        let found = (0..counted.len()).filter(is_frame);
        found.map(|at| counted[at].frame.clone()).collect()
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
        let tokens = Words::new(Normaliser::shared(), &counted.form).tokens;
        let lexicon = Lexicon::builtin();
        let has_content = |token: &&Token<'_>| token.class != Class::Light;
        Self {
            is_head: 2 * counted.heads > counted.frame.documents,
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
    frames: Vec<Frame>,
    /// The groups and the forms of the frames.
    forms: HashSet<(u64, String), FixedState>,
}

impl FromIterator<Frame> for Frames {
    fn from_iter<I: IntoIterator<Item = Frame>>(frames: I) -> Self {
        let frames: Vec<Frame> = frames.into_iter().collect();
        let forms = frames.iter();
        let forms = forms.filter_map(|frame| Some((frame.group, form(&frame.text)?)));
        Self {
            forms: forms.collect(),
            frames,
        }
    }
}

impl Frames {
    /// The frames by group, and the frames of a group by number of documents, descending.
    pub fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter()
    }

    /// The number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns `true` if there are no frames.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// A text of a group without the frames at its head and its tail, eight at most at each end;
    /// the whole text if fewer than twelve words are left.
    pub fn body<'t>(&self, group: u64, text: &'t str) -> Cow<'t, str> {
        let ranges = self.ranges(group, text);
        if ranges.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut rest = String::with_capacity(text.len());
        let mut at = 0;
        for range in ranges {
            rest.push_str(&text[at..range.start]);
            at = range.end;
        }
        rest.push_str(&text[at..]);
        Cow::Owned(rest)
    }

    /// The frames of a text of a group, in order, which [`body`](Self::body) leaves out.
    pub fn of_text<'t>(&self, group: u64, text: &'t str) -> Vec<&'t str> {
        let ranges = self.ranges(group, text).into_iter();
        ranges.map(|range| text[range].trim()).collect()
    }

    /// The form of a line or a sentence of a group in which frames are compared; `None` if the line
    /// is none of the frames. Case, width, white space and punctuation make no difference.
    pub fn form(&self, group: u64, line: &str) -> Option<String> {
        let line = (group, form(line)?);
        self.forms.contains(&line).then_some(line.1)
    }

    fn ranges(&self, group: u64, text: &str) -> Vec<std::ops::Range<usize>> {
        if self.is_empty() {
            return Vec::new();
        }
        let is_learned = |unit: &str| self.form(group, unit).is_some();
        let mut ranges = Stamps::with_frames(text, &is_learned).learned;
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

/// The hash of the letters and digits of a part of a text.
fn letters_hash(part: &str) -> u64 {
    let letters = part.chars().filter(|c| c.is_alphanumeric());
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    xxh3_64(letters.as_bytes())
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
        assert!(counter.counted.len() <= MAX_COUNTED && counter.once.len() <= MAX_ONCE);
    }
}
