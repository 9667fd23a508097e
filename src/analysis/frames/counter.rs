//! [`FrameCounter`]: the lines and sentences that texts with different bodies have.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use xxhash_rust::xxh3::xxh3_64;

use super::row::{ROWS, row_of};
use super::text_ends::{EndUnit, TextEnds, form};
use super::{Frame, Frames};
use crate::analysis::words::Words;
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::analysis::words::token::Token;
use crate::text::Normaliser;

/// The bodies that are told apart for a line or a sentence, or fewer if frames need fewer
/// documents. From this number of documents on, the bodies of the first documents decide.
pub(super) const MAX_BODIES: u64 = 64;

/// At most a million lines and sentences of one body are remembered, 24 MiB. The older half is
/// forgotten then, so a frame needs two documents among some 65,000 that follow each other.
const MAX_ONCE: usize = 1 << 20;

/// At most 65,536 lines and sentences of several bodies are counted, 60 MiB at the most and 20 MiB
/// usually. The half with the fewest bodies is forgotten then, whatever their groups.
const MAX_COUNTED: usize = 1 << 16;

/// [`FrameLearner`](super::FrameLearner) selects the frames of a group of at most 1,024 lines and
/// sentences as soon as another may be a frame, in some 10 ms.
const SMALL_GROUP: usize = 1 << 10;

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
    pub(super) in_documents: u64,
    /// The lines and sentences of one body that are remembered.
    pub(super) max_once: usize,
    /// The body of each line and sentence of one body, by the hash of its group and form: the
    /// younger half, and the older half.
    pub(super) once: [HashMap<u64, u32, FixedState>; 2],
    pub(super) groups: HashMap<u64, Group, FixedState>,
    /// The number of lines and sentences of several bodies.
    pub(super) counted: usize,
    pub(super) changed: [bool; ROWS],
}

/// A group with lines or sentences of several bodies.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// The number of texts since the first of these lines.
    pub(super) texts: u64,
    /// The number of texts from which on [`FrameLearner`](super::FrameLearner) selects the frames
    /// of the group again.
    pub(super) next: u64,
    /// The lines and sentences of several bodies.
    pub(super) counted: HashMap<u64, Counted, FixedState>,
}

#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub(super) text: String,
    pub(super) documents: u64,
    /// The number of texts in which the line or the sentence stands before the body.
    pub(super) heads: u64,
    pub(super) bodies: Vec<u32>,
    /// [`FrameLearner`](super::FrameLearner) has selected the line or the sentence.
    pub(super) is_frame: bool,
}

impl FrameCounter {
    /// A counter of frames that at least this number of texts with different bodies have, and at
    /// least two.
    pub fn new(in_documents: u64) -> Self {
        Self::remembering(in_documents, MAX_ONCE)
    }

    pub(super) fn remembering(in_documents: u64, max_once: usize) -> Self {
        Self {
            in_documents: in_documents.max(2),
            max_once,
            once: Default::default(),
            groups: HashMap::default(),
            counted: 0,
            changed: [false; ROWS],
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
            self.changed[row_of(group_key(group))] = true;
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
            self.changed = [true; ROWS];
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
        self.changed[row_of(key)] = true;
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
            self.changed[row_of(group_key(group))] = true;
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
        self.changed = [true; ROWS];
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
    pub(super) fn select(&self, group: u64) -> Vec<(u64, &Counted)> {
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
        let units: Vec<WordSet> = counted.iter().map(|(_, each)| WordSet::new(each)).collect();
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
    pub(super) fn frame(&self, group: u64) -> Frame {
        Frame {
            text: self.text.clone(),
            group,
            documents: self.documents,
        }
    }
}

/// The words of a line or a sentence.
struct WordSet {
    /// The keys of the distinct words, without light words.
    words: HashSet<String, FixedState>,
    negates: bool,
    is_head: bool,
}

impl WordSet {
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

/// The hash of a line or a sentence of a group.
fn key(group: u64, form: &str) -> u64 {
    xxh3_64(format!("{group} {form}").as_bytes())
}

/// The key of the number of texts of a group.
pub(super) fn group_key(group: u64) -> u64 {
    xxh3_64(&group.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::text_ends::EndPart;
    use super::*;

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
                let part = EndPart {
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
