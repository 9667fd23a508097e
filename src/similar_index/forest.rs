//! [`Forest`]: an LSH forest of the slots of an index, and the slots that may be near-duplicates of a
//! text.
//!
//! # Source
//! M. Bawa, T. Condie, P. Ganesan, *LSH Forest: Self-Tuning Indexes for Similarity Search*, WWW 2005;
//! Q. Lv et al., *Multi-Probe LSH*, VLDB 2007 (the second minima).

use std::ops::Range;

use super::length_class::{LengthClasses, length_class};
use super::minima::{LEVELS, Minima, SKETCH_BITS, Sketch, TREES};
use super::run::{Keys, MAX_RUN_SLOTS, Prefix, Run, class_of, keys};
use super::slot_set::SlotSet;

/// At most 2,048 slots are not in a run: queries compare the sketches of all of them.
const MAX_TAIL_SLOTS: usize = 1 << 11;

/// At most 262,144 slots of a bulk build are sorted at a time.
const MAX_SORTED_SLOTS: usize = 1 << 18;

/// A run is at least four times as long as the next one, so each entry is merged a few times.
const RUN_RATIO: usize = 4;

/// A node of the first two levels is taken whole if it has at most 32 entries.
const MAX_SHALLOW_ENTRIES: u32 = 32;

/// A node of deeper levels is taken whole if it has at most 4,096 entries. Fewer lose texts of large
/// templates.
const MAX_DEEP_ENTRIES: u32 = 1 << 12;

/// The first level of deep nodes.
const DEEP: usize = 3;

/// Second minima replace one of the first three minima.
const PROBED_LEVELS: usize = 3;

/// Sketches that differ in more bits are of texts that are not alike by the default thresholds. Of the
/// near-duplicates among a million real texts, 99.5 % differ in fewer bits.
pub(super) const MAX_SKETCH_DISTANCE: u32 = 56;

/// The sketches and trees of slots.
#[derive(Default)]
pub(super) struct Forest {
    sketches: Vec<Sketch>,
    /// From the oldest slots to the newest.
    runs: Vec<Run>,
    /// The first slot that is in no run.
    tail_start: usize,
    /// The keys of the slots in no run.
    tail: Vec<(u32, Box<Keys>)>,
}

/// A search in a forest.
pub(super) struct ForestQuery<'q> {
    pub(super) minima: &'q Minima,
    pub(super) classes: LengthClasses,
    pub(super) max_sketch_distance: u32,
    /// Slots from this one on are left out.
    pub(super) end: u32,
}

impl Forest {
    /// Adds the next slot. A text with too little content has no minima, and is not found.
    pub(super) fn push(&mut self, minima: Option<&Minima>, characters: usize) {
        let slot = self.sketches.len() as u32;
        self.sketches
            .push(minima.map_or([0; 2], |minima| minima.sketch()));
        if let Some(minima) = minima {
            let keys = Box::new(keys(minima, length_class(characters)));
            self.tail.push((slot, keys));
        }
    }

    /// Sorts the slots in no run if they are many.
    pub(super) fn sort_long_tail(&mut self) {
        if self.tail_len() >= MAX_TAIL_SLOTS {
            self.sort_tail();
        }
    }

    /// Sorts the slots of a bulk build if they are many.
    pub(super) fn sort_very_long_tail(&mut self) {
        if self.tail_len() >= MAX_SORTED_SLOTS {
            self.sort_tail();
        }
    }

    fn tail_len(&self) -> usize {
        self.sketches.len() - self.tail_start
    }

    /// Moves all slots into runs.
    pub(super) fn sort_tail(&mut self) {
        let mut run = Run::new(self.tail_start as u32, self.tail_len(), &self.tail);
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

    pub(super) fn len_bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(Run::len_bytes).sum();
        let tail = self.tail.capacity() * size_of::<(u32, Box<Keys>)>()
            + self.tail.len() * size_of::<Keys>();
        runs + tail + size_of::<Sketch>() * self.sketches.capacity()
    }

    /// Appends the slots that may be near-duplicates, with the distances of their sketches.
    pub(super) fn search(&self, query: &ForestQuery<'_>, found: &mut Vec<(u32, u32)>) {
        let own = query.minima.sketch();
        let mut slots = SlotSet::new();
        let mut walk = Walk::new(&self.runs);
        for tree in 0..TREES {
            walk.take_nodes(tree, query.minima, |run, entries| {
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

/// The walk down the trees of all runs at once: a node has the entries of all runs.
struct Walk<'r> {
    runs: &'r [Run],
    nodes: Vec<Node>,
    /// The ranks in each run, for each of the nodes.
    ranks: Vec<Range<u32>>,
}

/// A node that is not visited yet.
#[derive(Clone, Copy)]
struct Node {
    prefix: Prefix,
    level: usize,
    /// `true` if a level above has a second minimum.
    is_probe: bool,
}

impl<'r> Walk<'r> {
    fn new(runs: &'r [Run]) -> Self {
        Self {
            runs,
            nodes: Vec::new(),
            ranks: Vec::new(),
        }
    }

    /// Calls `take` with the entries of each node of a tree that is taken. A full node is not taken:
    /// its children are visited.
    #[inline]
    fn take_nodes(&mut self, tree: usize, minima: &Minima, mut take: impl FnMut(&Run, &[u64])) {
        let runs = self.runs;
        let mut own: Vec<Range<u32>> = runs.iter().map(|run| run.all(tree)).collect();
        self.push_children(Prefix::default(), 0, false, tree, minima, &own);
        while let Some(Node {
            prefix,
            level,
            is_probe,
        }) = self.nodes.pop()
        {
            own.clear();
            own.extend(self.ranks.drain(self.ranks.len() - runs.len()..));
            let mut entries = 0;
            for (run, ranks) in runs.iter().zip(&mut own) {
                *ranks = run.ranks(tree, prefix, ranks.clone());
                entries += ranks.end - ranks.start;
            }
            if entries == 0 {
                continue;
            }
            let most = match level {
                LEVELS => u32::MAX,
                DEEP.. => MAX_DEEP_ENTRIES,
                _ => MAX_SHALLOW_ENTRIES,
            };
            if entries <= most {
                for (run, ranks) in runs.iter().zip(&own) {
                    take(run, run.entries(tree, ranks.clone()));
                }
            } else {
                self.push_children(prefix, level, is_probe, tree, minima, &own);
            }
        }
    }

    #[inline]
    fn push_children(
        &mut self,
        prefix: Prefix,
        level: usize,
        is_probe: bool,
        tree: usize,
        minima: &Minima,
        ranks: &[Range<u32>],
    ) {
        let mut push = |part, is_probe| {
            self.nodes.push(Node {
                prefix: prefix.child(level, part),
                level: level + 1,
                is_probe,
            });
            self.ranks.extend_from_slice(ranks);
        };
        push(minima.part(tree, level), is_probe);
        if level < PROBED_LEVELS && !is_probe {
            push(minima.second_part(tree, level), true);
        }
    }
}

#[inline(always)]
fn distance(one: Sketch, other: Sketch) -> u32 {
    (one[0] ^ other[0]).count_ones() + (one[1] ^ other[1]).count_ones()
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
    for slot in slots {
        let distance = distance(own, sketches[*slot as usize]);
        if distance <= query.max_sketch_distance {
            found.push((distance, *slot));
        }
    }
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
        let distance = distance(own, *sketch);
        if distance <= query.max_sketch_distance {
            found.push((distance, slot));
        }
    }
}

const _: () = assert!(MAX_SKETCH_DISTANCE < SKETCH_BITS as u32);
const _: () = assert!(MAX_SORTED_SLOTS <= MAX_RUN_SLOTS);
