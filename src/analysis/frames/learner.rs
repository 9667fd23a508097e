//! [`FrameLearner`]: the frames of a collection that grows.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::counter::{FrameCounter, group_key};
use super::row::row_of;
use super::text_ends::TextEnds;
use super::{Frame, Frames};

/// At most 262,144 lines and sentences of one body are remembered, so a frame needs two documents
/// among some 16,000 that follow each other.
const MAX_ONCE: usize = 1 << 18;

/// The frames of a group are selected again after a quarter more texts, within these bounds, and in
/// a small group as soon as another line may be a frame. A selection among 65,536 lines takes half
/// a second.
const SELECTION_TEXTS: (u64, u64) = (16, 1 << 14);

/// Learns the frames of a collection from its texts as they arrive, in bounded memory: some 25 MiB,
/// and at most 60 MiB, whatever the number of texts and groups.
///
/// # Examples
///
/// ```
/// use simdb::frames::{FrameLearner, TextEnds};
///
/// let mut learner = FrameLearner::new(3);
/// for town in ["Kirkwall", "Stromness", "Lerwick"] {
///     let story = format!("The harbour of {town} was closed after a trawler lost her anchor there.");
///     let text = format!("{story} Reported for the readers of the Northern Herald.");
///     learner.learn([(0, TextEnds::new(&text))]);
/// }
/// assert_eq!(learner.frames().len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct FrameLearner {
    pub(super) counter: FrameCounter,
    pub(super) frames: Arc<Frames>,
}

impl FrameLearner {
    /// A learner of frames that at least this number of texts with different bodies have, and at
    /// least two.
    pub fn new(in_documents: u64) -> Self {
        Self {
            counter: FrameCounter::remembering(in_documents, MAX_ONCE),
            frames: Arc::default(),
        }
    }

    /// Counts the ends of texts of groups, and selects the frames of the groups that have many new
    /// texts.
    pub fn learn(&mut self, texts: impl IntoIterator<Item = (u64, TextEnds)>) {
        let mut groups = BTreeSet::new();
        for (group, ends) in texts {
            self.counter.push(group, ends);
            groups.insert(group);
        }
        for group in groups {
            let own = self.counter.groups.get(&group);
            if own.is_some_and(|own| own.texts >= own.next) {
                self.select(group);
            }
        }
    }

    /// The frames that are selected, by group.
    pub fn frames(&self) -> &Arc<Frames> {
        &self.frames
    }

    /// The frames that are selected, with the number of texts that have them now.
    pub(crate) fn counted(&self) -> Frames {
        let groups = self.counter.groups.keys();
        groups.flat_map(|group| self.selected(*group)).collect()
    }

    fn select(&mut self, group: u64) {
        let selected = self.counter.select(group).into_iter();
        let selected: BTreeSet<u64> = selected.map(|(key, _)| key).collect();
        let FrameCounter {
            groups, changed, ..
        } = &mut self.counter;
        let Some(own) = groups.get_mut(&group) else {
            return;
        };
        let (least, most) = SELECTION_TEXTS;
        own.next = own.texts + (own.texts / 4).clamp(least, most);
        changed[row_of(group_key(group))] = true;
        let mut is_changed = false;
        for (key, counted) in &mut own.counted {
            let is_frame = selected.contains(key);
            if counted.is_frame != is_frame {
                counted.is_frame = is_frame;
                changed[row_of(*key)] = true;
                is_changed = true;
            }
        }
        if is_changed || self.frames.of_group(group).len() != selected.len() {
            let frames = self.selected(group);
            Arc::make_mut(&mut self.frames).set(group, frames);
        }
    }

    /// The selected frames of a group, by number of texts, descending.
    fn selected(&self, group: u64) -> Vec<Frame> {
        let own = self.counter.groups.get(&group);
        let counted = own.into_iter().flat_map(|own| own.counted.values());
        let selected = counted.filter(|counted| counted.is_frame);
        let mut frames: Vec<Frame> = selected.map(|counted| counted.frame(group)).collect();
        frames.sort_by(|one, other| {
            let documents = other.documents.cmp(&one.documents);
            documents.then_with(|| one.text.cmp(&other.text))
        });
        frames
    }
}
