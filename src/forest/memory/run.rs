//! [`Run`]: the trees of consecutive slots, each a sorted array of entries.

use std::ops::Range;

use rayon::prelude::*;

#[cfg(test)]
use crate::analysis::TREES;
use crate::analysis::{LEVEL_BITS, Minima, ShingleLength};
use crate::forest::{Prefix, TREE_KEY_BITS, class_of_key, tree_key};

/// The bits of an entry for the slot within its run.
const SLOT_BITS: u32 = 22;

/// At most 4 million slots in a run.
pub(crate) const MAX_RUN_SLOTS: usize = 1 << SLOT_BITS;

/// Entries for each cell of the directory of a tree, on average.
const ENTRIES_PER_CELL: usize = 2;

/// The lengths of shingles, each with its own trees.
pub(crate) const LENGTHS: usize = ShingleLength::ALL.len();

/// One of 8 entries is sampled.
const SAMPLED: usize = 8;

/// The entries of a short range.
const SHORT_RANGE: usize = 16;

/// The entries of a slot, one for each tree of its length of shingles, without the slot.
///
/// | bits | content |
/// |---|---|
/// | 42 | [`tree_key`] |
/// | 22 | slot within the run |
pub(crate) type Keys = Box<[u64]>;

/// The entries of a text.
pub(crate) fn keys(minima: &Minima, trees: usize, length_class: u32) -> Keys {
    let entry = |tree| tree_key(minima, tree, length_class) << SLOT_BITS;
    (0..trees).map(entry).collect()
}

/// A slot that is in no run.
pub(crate) struct TailSlot {
    pub(crate) slot: u32,
    pub(crate) length: ShingleLength,
    pub(crate) keys: Keys,
}

/// The length class of an entry.
#[inline]
pub(crate) fn class_of(entry: u64) -> u32 {
    class_of_key(entry >> SLOT_BITS)
}

/// The sorted entries of a tree.
struct Tree {
    entries: Vec<u64>,
    /// The rank of the first entry of each cell, by the top bits of the entry.
    directory: Vec<u32>,
    /// The upper half of each eighth entry. A search in the samples stays in the cache, and a
    /// search in the entries alone spent half of the time of a query on waiting for memory.
    samples: Vec<u32>,
}

/// The trees of the slots from `first_slot` on: trees of longer shingles after trees of shorter
/// ones.
pub(crate) struct Run {
    first_slot: u32,
    slots: usize,
    trees: Vec<Tree>,
}

impl Run {
    /// The run of `slots` slots from `first_slot` on, with `trees` trees for each of [`LENGTHS`].
    /// Texts with too little content have no keys.
    pub(crate) fn new(trees: usize, first_slot: u32, slots: usize, tail: &[TailSlot]) -> Self {
        let tree = |tree: usize| {
            let (length, tree) = (ShingleLength::ALL[tree / trees], tree % trees);
            let of_length = tail.iter().filter(|each| each.length == length);
            let entry = |each: &TailSlot| each.keys[tree] | u64::from(each.slot - first_slot);
            let mut entries: Vec<u64> = of_length.map(entry).collect();
            entries.sort_unstable();
            Tree::new(entries)
        };
        Self {
            first_slot,
            slots,
            trees: (0..LENGTHS * trees).into_par_iter().map(tree).collect(),
        }
    }

    /// Adds the run of the next slots.
    pub(crate) fn merge(&mut self, next: Self) {
        let offset = self.slots as u64;
        self.trees
            .par_iter_mut()
            .zip(next.trees)
            .for_each(|(tree, next)| {
                let entries = std::mem::take(&mut tree.entries);
                *tree = Tree::new(merged(&entries, &next.entries, offset));
            });
        self.slots += next.slots;
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    pub(crate) fn len_bytes(&self) -> usize {
        let bytes = |tree: &Tree| {
            8 * tree.entries.capacity() + 4 * (tree.directory.capacity() + tree.samples.capacity())
        };
        self.trees.iter().map(bytes).sum()
    }

    /// The ranks of the entries of a tree with a prefix of at least one level, given the ranks for
    /// the prefix of one level less.
    #[inline]
    pub(crate) fn ranks(&self, tree: usize, prefix: Prefix, within: Range<u32>) -> Range<u32> {
        let tree = &self.trees[tree];
        let within = match prefix.bits() == LEVEL_BITS[0] {
            true => tree.cell(prefix),
            false => within,
        };
        if prefix.bits() == LEVEL_BITS[0] && tree.has_full_directory() {
            return within;
        }
        let within = within.start as usize..within.end as usize;
        let start = tree.rank(prefix.first(), within.clone());
        let end = tree.end_of_prefix(prefix.last(), start..within.end);
        start as u32..end as u32
    }

    /// All ranks of a tree.
    pub(crate) fn all(&self, tree: usize) -> Range<u32> {
        0..self.trees[tree].entries.len() as u32
    }

    /// The entries of a tree with these ranks.
    #[inline]
    pub(crate) fn entries(&self, tree: usize, ranks: Range<u32>) -> &[u64] {
        &self.trees[tree].entries[ranks.start as usize..ranks.end as usize]
    }

    /// The slot of an entry.
    #[inline]
    pub(crate) fn slot(&self, entry: u64) -> u32 {
        self.first_slot + (entry as u32 & (MAX_RUN_SLOTS as u32 - 1))
    }
}

/// The number of entries, from the first on, that are at most `last`, by doubled steps.
#[inline]
fn count_to(entries: &[u64], last: u64) -> usize {
    let (mut least, mut step) = (0, 8);
    while entries
        .get(least + step)
        .is_some_and(|entry| *entry <= last)
    {
        least += step;
        step *= 2;
    }
    let most = entries.len().min(least + step);
    least + entries[least..most].partition_point(|entry| *entry <= last)
}

/// Merges sorted entries; the slots of the second entries come after `offset` slots of the first.
fn merged(one: &[u64], next: &[u64], offset: u64) -> Vec<u64> {
    let mut entries = Vec::with_capacity(one.len() + next.len());
    let mut rest = one;
    for entry in next.iter().map(|entry| entry + offset) {
        let before = count_to(rest, entry);
        entries.extend_from_slice(&rest[..before]);
        entries.push(entry);
        rest = &rest[before..];
    }
    entries.extend_from_slice(rest);
    entries
}

fn upper_half(entry: u64) -> u32 {
    (entry >> 32) as u32
}

impl Tree {
    fn new(entries: Vec<u64>) -> Self {
        let cells = (entries.len() / ENTRIES_PER_CELL).max(1).ilog2();
        let bits = cells.min(LEVEL_BITS[0]);
        let mut directory = Vec::with_capacity((1 << bits) + 1);
        for (rank, entry) in entries.iter().enumerate() {
            let cell = entry.checked_shr(u64::BITS - bits).unwrap_or(0) as usize;
            if directory.len() <= cell {
                directory.resize(cell + 1, rank as u32);
            }
        }
        directory.resize((1 << bits) + 1, entries.len() as u32);
        let samples = entries.iter().step_by(SAMPLED).copied().map(upper_half);
        Self {
            samples: samples.collect(),
            directory,
            entries,
        }
    }

    /// Returns `true` if a cell of the directory has the entries of one prefix of the first level.
    #[inline]
    fn has_full_directory(&self) -> bool {
        self.directory.len() > 1 << LEVEL_BITS[0]
    }

    /// The rank of the first entry within a range that is at least `least`, or the end of the
    /// range.
    #[inline]
    fn rank(&self, least: u64, within: Range<usize>) -> usize {
        let first = within.start.div_ceil(SAMPLED);
        let samples = self.samples.get(first..within.end.div_ceil(SAMPLED));
        let samples = samples.unwrap_or_default();
        let below = samples.partition_point(|sample| *sample < upper_half(least));
        let mut before = below;
        if least as u32 != 0 {
            // The lower halves of entries with an equal upper half decide.
            let equal = |sample: &u32| *sample == upper_half(least);
            before += samples[below..].partition_point(equal);
        }
        let start = match below {
            0 => within.start,
            _ => (first + below - 1) * SAMPLED,
        };
        let end = within.end.min((first + before) * SAMPLED);
        start + self.entries[start..end.max(start)].partition_point(|entry| *entry < least)
    }

    /// The rank after the last entry of a range that begins with entries up to `last`.
    #[inline]
    fn end_of_prefix(&self, last: u64, within: Range<usize>) -> usize {
        let start = within.start;
        // Most ranges are short.
        let near = within.end.min(start + SHORT_RANGE);
        match self.entries.get(near) {
            Some(entry) if near < within.end && *entry <= last => match last.checked_add(1) {
                Some(next) => self.rank(next, near..within.end),
                None => within.end,
            },
            _ => start + self.entries[start..near].partition_point(|entry| *entry <= last),
        }
    }

    /// The ranks of the cell of a prefix, which has at least the bits of the directory.
    fn cell(&self, prefix: Prefix) -> Range<u32> {
        let bits = (self.directory.len() - 1).ilog2();
        let cell = prefix.first().checked_shr(u64::BITS - bits).unwrap_or(0) as usize;
        self.directory[cell]..self.directory[cell + 1]
    }
}

const _: () = assert!(TREE_KEY_BITS + SLOT_BITS == u64::BITS);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A run of slots with random keys of few parts.
    fn run(first_slot: u32, keys: &[u64]) -> Run {
        let keys_of = |(slot, key): (usize, &u64)| TailSlot {
            slot: first_slot + slot as u32,
            length: ShingleLength::Two,
            keys: [*key << (4 + SLOT_BITS); TREES].into(),
        };
        let keys: Vec<_> = keys.iter().enumerate().map(keys_of).collect();
        Run::new(TREES, first_slot, keys.len(), &keys)
    }

    fn key() -> impl Strategy<Value = u64> {
        let parts = (0..3_u64, 0..3_u64, 0..2_u64, 0..2_u64, 0..2_u64);
        parts.prop_map(|(a, b, c, d, e)| ((((a * 10_000) << 10 | b) << 7 | c) << 4 | d) << 2 | e)
    }

    proptest! {
        #[test]
        fn ranks_of_merged_runs_equal_a_plain_search(
            one in prop::collection::vec(key(), 0..60),
            next in prop::collection::vec(key(), 0..60),
            asked in key(),
        ) {
            let mut merged = run(7, &one);
            merged.merge(run(7 + one.len() as u32, &next));
            let keys = [one, next].concat();
            prop_assert_eq!(merged.slots(), keys.len());
            let (mut prefix, mut ranks) = (Prefix::default(), merged.all(3));
            for (level, bits) in LEVEL_BITS.into_iter().enumerate() {
                let rest = 38 - prefix.bits() - bits;
                let part = asked >> rest & ((1 << bits) - 1);
                prefix = prefix.child(level, part);
                ranks = merged.ranks(3, prefix, ranks);
                let entries = merged.entries(3, ranks.clone());
                let mut found: Vec<u32> = entries.iter().map(|entry| merged.slot(*entry)).collect();
                found.sort_unstable();
                let slots = keys.iter().enumerate();
                let expected: Vec<u32> = slots
                    .filter(|(_, key)| *key >> rest == asked >> rest)
                    .map(|(slot, _)| slot as u32 + 7)
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
