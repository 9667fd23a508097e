//! [`Forest`]: an LSH forest of the slots of an index, and the slots that may be near-duplicates of
//! a text.
//!
//! [Decision 011](crate::guide::decisions) says why this forest and the forest of a memtable have
//! their own structures and walkers.
//!
//! # Source
//! M. Bawa, T. Condie, P. Ganesan, *LSH Forest: Self-Tuning Indexes for Similarity Search*, WWW
//! 2005; Q. Lv et al., *Multi-Probe LSH*, VLDB 2007 (the second minima).

mod run;
mod slot_set;
mod walk;

use crate::analysis::{
    LEVEL_BITS, LEVELS, LengthClasses, Minima, ShingleLength, Sketch, length_class,
};
use crate::forest::{PROBED_LEVELS, Reach};
use run::{LENGTHS, MAX_RUN_SLOTS, Run, TailSlot, class_of, keys};
use slot_set::SlotSet;
use walk::MemoryWalk;

/// At most 2,048 slots are not in a run: queries compare the sketches of all of them.
const MAX_TAIL_SLOTS: usize = 1 << 11;

/// At most 262,144 slots of a bulk build are sorted at a time.
const MAX_SORTED_SLOTS: usize = 1 << 18;

/// A run is at least 64 times as long as the next run. A search walks down the trees of each run,
/// so a search of few runs is fast. A smaller ratio would save less time in merges than it costs in
/// searches.
const RUN_RATIO: usize = 64;

/// The sketches and trees of slots.
pub(crate) struct Forest {
    reach: Reach,
    sketches: Vec<Sketch>,
    /// From the oldest slots to the newest.
    runs: Vec<Run>,
    /// The first slot that is in no run.
    tail_start: usize,
    /// The slots in no run that have keys.
    tail: Vec<TailSlot>,
    /// `true` for the lengths of shingles that slots have.
    lengths: [bool; LENGTHS],
}

/// A search in a forest.
pub(crate) struct ForestQuery<'q> {
    pub(crate) minima: &'q Minima,
    /// The length of the shingles of the minima.
    pub(crate) length: ShingleLength,
    pub(crate) classes: LengthClasses,
    pub(crate) max_sketch_distance: u32,
    /// Slots from this one on are left out.
    pub(crate) end: u32,
}

impl Forest {
    pub(crate) fn new(reach: Reach) -> Self {
        Self {
            reach,
            sketches: Vec::new(),
            runs: Vec::new(),
            tail_start: 0,
            tail: Vec::new(),
            lengths: [false; LENGTHS],
        }
    }

    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Adds the next slot. A text with too little content has no minima, and is not found.
    pub(crate) fn push(&mut self, minima: Option<&Minima>, characters: usize) {
        let slot = self.sketches.len() as u32;
        self.sketches
            .push(minima.map_or(Sketch::default(), Minima::sketch));
        if let Some(minima) = minima {
            let length = ShingleLength::of(characters);
            self.lengths[length as usize] = true;
            self.tail.push(TailSlot {
                slot,
                length,
                keys: keys(minima, self.reach.trees, length_class(characters)),
            });
        }
    }

    /// Sorts the slots in no run if they are many.
    pub(crate) fn sort_long_tail(&mut self) {
        if self.tail_len() >= MAX_TAIL_SLOTS {
            self.sort_tail();
        }
    }

    /// Sorts the slots of a bulk build if they are many.
    pub(crate) fn sort_very_long_tail(&mut self) {
        if self.tail_len() >= MAX_SORTED_SLOTS {
            self.sort_tail();
        }
    }

    fn tail_len(&self) -> usize {
        self.sketches.len() - self.tail_start
    }

    /// Moves all slots into runs.
    pub(crate) fn sort_tail(&mut self) {
        let mut run = Run::new(
            self.reach.trees,
            self.tail_start as u32,
            self.tail_len(),
            &self.tail,
        );
        self.tail.clear();
        self.tail_start = self.sketches.len();
        while let Some(before) = self.runs.last()
            && before.slots() < RUN_RATIO * run.slots()
            && before.slots() + run.slots() <= MAX_RUN_SLOTS
            && let Some(mut merged) = self.runs.pop()
        {
            merged.merge(run);
            run = merged;
        }
        self.runs.push(run);
    }

    pub(crate) fn len_bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(Run::len_bytes).sum();
        let tail = self.tail.capacity() * size_of::<TailSlot>()
            + self.tail.len() * self.reach.trees * size_of::<u64>();
        runs + tail + size_of::<Sketch>() * self.sketches.capacity()
    }

    /// Returns `true` if there are slots with shingles of this length.
    pub(crate) fn has(&self, length: ShingleLength) -> bool {
        self.lengths[length as usize]
    }

    /// The first tree with the shingles of a query. Unrelated texts with other shingles would fill
    /// the nodes.
    fn first_tree(&self, query: &ForestQuery<'_>) -> usize {
        query.length as usize * self.reach.trees
    }

    /// Appends the slots that may be near-duplicates, with the distances of their sketches.
    pub(crate) fn search(&self, query: &ForestQuery<'_>, found: &mut Vec<(u32, u32)>) {
        let own = query.minima.sketch();
        let mut slots = SlotSet::new();
        let mut walk = MemoryWalk::new(&self.runs, &self.reach);
        let first = self.first_tree(query);
        walk.restart(first..first + self.reach.trees);
        for level in 0..LEVELS {
            let part = |tree, is_second| match is_second {
                false => query.minima.part(tree - first, level),
                true => query.minima.second_part(tree - first, level),
            };
            walk.descend(level, part, |run, entries| {
                for entry in entries {
                    let slot = run.slot(*entry);
                    if query.classes.contain(class_of(*entry)) && slot < query.end {
                        slots.insert(slot);
                    }
                }
            });
        }
        near(&self.sketches, own, slots.slots(), query, found);
        let end = (query.end as usize).min(self.sketches.len());
        let tail = self.tail_start.min(end)..end;
        let first = tail.start as u32;
        near_in_row(&self.sketches[tail], own, first, query, found);
    }
}

impl Forest {
    /// Calls `found` with the number of each query and with each slot that [`search`](Self::search)
    /// finds for it, some of them several times.
    ///
    /// The queries walk down one tree after the other, in order of their first parts. Neighbours
    /// read the same entries, so the processor waits for memory less often than in single searches.
    pub(crate) fn search_all(&self, queries: &[ForestQuery<'_>], found: &mut dyn FnMut(u32, u32)) {
        let sketches: Vec<Sketch> = queries.iter().map(|query| query.minima.sketch()).collect();
        let mut walk = MemoryWalk::of_many_queries(&self.runs, &self.reach);
        let (mut slots, mut near_slots) = (Vec::new(), Vec::new());
        let mut order: Vec<(TreeParts, u32)> = Vec::with_capacity(queries.len());
        for tree in 0..self.reach.trees {
            order.clear();
            let numbered = (0..).zip(queries);
            order.extend(numbered.map(|(n, query)| (TreeParts::new(query.minima, tree), n)));
            order.sort_unstable_by_key(|(parts, number)| {
                let length = queries[*number as usize].length;
                (length, parts.smallest[0], *number)
            });
            for (parts, number) in &order {
                let (query, own) = (&queries[*number as usize], sketches[*number as usize]);
                let tree = self.first_tree(query) + tree;
                walk.restart(tree..tree + 1);
                for level in 0..LEVELS {
                    let part = |_, is_second| parts.part(level, is_second);
                    walk.descend(level, part, |run, entries| {
                        let mut end = slots.len();
                        slots.resize(end + entries.len(), 0);
                        // A branch for the length would be mispredicted often.
                        for entry in entries {
                            slots[end] = run.slot(*entry);
                            let is_of_length = query.classes.contain(class_of(*entry));
                            end += usize::from(is_of_length & (slots[end] < query.end));
                        }
                        slots.truncate(end);
                    });
                }
                near(&self.sketches, own, &slots, query, &mut near_slots);
                slots.clear();
                near_slots
                    .drain(..)
                    .for_each(|(_, slot)| found(*number, slot));
            }
        }
        for (number, (query, own)) in (0..).zip(queries.iter().zip(&sketches)) {
            let end = (query.end as usize).min(self.sketches.len());
            let tail = self.tail_start.min(end)..end;
            let first = tail.start as u32;
            near_in_row(&self.sketches[tail], *own, first, query, &mut near_slots);
            near_slots
                .drain(..)
                .for_each(|(_, slot)| found(number, slot));
        }
    }
}

/// The parts of a query for one tree. Queries in order of their parts stay in the cache of the
/// processor, and their minima would not.
#[derive(Clone, Copy)]
struct TreeParts {
    smallest: [u16; LEVELS],
    second: [u16; PROBED_LEVELS],
}

impl TreeParts {
    fn new(minima: &Minima, tree: usize) -> Self {
        Self {
            smallest: std::array::from_fn(|level| minima.part(tree, level) as u16),
            second: std::array::from_fn(|level| minima.second_part(tree, level) as u16),
        }
    }

    #[inline]
    fn part(&self, level: usize, is_second: bool) -> u64 {
        match is_second {
            false => self.smallest[level].into(),
            true => self.second[level].into(),
        }
    }
}

/// Appends the slots with near sketches.
#[multiversion::multiversion(targets("x86_64+popcnt"))]
fn near(
    sketches: &[Sketch],
    own: Sketch,
    slots: &[u32],
    query: &ForestQuery<'_>,
    found: &mut Vec<(u32, u32)>,
) {
    let start = found.len();
    found.resize(start + slots.len(), (0, 0));
    let mut end = start;
    // Without a branch for the outcome, the sketches of many slots are read at the same time.
    for slot in slots {
        let distance = own.distance(sketches[*slot as usize]);
        found[end] = (distance, *slot);
        end += usize::from(distance <= query.max_sketch_distance);
    }
    found.truncate(end);
}

/// Appends the slots with near sketches, of consecutive slots.
#[multiversion::multiversion(targets("x86_64+popcnt"))]
fn near_in_row(
    sketches: &[Sketch],
    own: Sketch,
    first: u32,
    query: &ForestQuery<'_>,
    found: &mut Vec<(u32, u32)>,
) {
    for (slot, sketch) in (first..).zip(sketches) {
        let distance = own.distance(*sketch);
        if distance <= query.max_sketch_distance {
            found.push((distance, slot));
        }
    }
}

const _: () = assert!(MAX_SORTED_SLOTS <= MAX_RUN_SLOTS);
const _: () = assert!(LEVEL_BITS[0] <= u16::BITS);
