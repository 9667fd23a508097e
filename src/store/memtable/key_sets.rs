//! [`KeySets`]: the keys of texts in the forest, in order.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::shards::Shards;
use crate::document::DocId;
use crate::error::Result;
use crate::minhash::{ForestEntries, ForestEntry, ForestPage, first_level, keys_of_first_level};

/// At most 256 entries are read under one lock, so that a reader of a million entries does not keep the
/// appender waiting.
const PAGE: usize = 256;

/// The keys that the texts of documents ever had.
///
/// A search reads the keys with a common first level, so these are in one shard.
pub(super) struct KeySets(Shards<BTreeSet<ForestEntry>>);

impl KeySets {
    /// Measured bytes of an entry: nodes of eleven entries are two thirds full.
    pub(super) const ENTRY_BYTES: usize = 28;

    pub(super) fn new(shards: usize) -> Self {
        Self(Shards::new(shards, |_| BTreeSet::new()))
    }

    /// Adds a document under a key. Returns `true` if the document is new there.
    pub(super) fn add(&self, key: u64, id: DocId) -> bool {
        self.0.write(first_level(key)).insert((key, id.0))
    }

    /// Adds documents on all cores: each shard is locked once and takes its own keys. Returns the number of
    /// new entries.
    pub(super) fn extend(&self, entries: &[ForestEntry]) -> usize {
        let first_levels = entries.iter().map(|(key, _)| first_level(*key));
        let added = self.0.write_groups(first_levels, |set, group| {
            let before = set.len();
            set.extend(group.iter().map(|nth| entries[*nth as usize]));
            set.len() - before
        });
        added.into_iter().sum()
    }
}

/// Entries that were copied from a set.
struct Page {
    entries: Vec<ForestEntry>,
    /// `true` if the set has no further entries with an equal first level.
    is_last: bool,
}

impl ForestPage for Page {
    fn has_all_to(&self, last: u64) -> bool {
        let is_behind = |(key, _): &ForestEntry| *key > last;
        self.is_last || self.entries.last().is_some_and(is_behind)
    }

    fn rank(&self, key: u64) -> usize {
        self.entries.partition_point(|entry| entry.0 < key)
    }

    fn push(&self, from: u64, count: usize, entries: &mut Vec<ForestEntry>) {
        let start = self.rank(from);
        entries.extend_from_slice(&self.entries[start..start + count]);
    }
}

impl ForestEntries for KeySets {
    fn visit_page(
        &self,
        first: u64,
        visitor: &mut dyn FnMut(&dyn ForestPage) -> Result<()>,
    ) -> Result<()> {
        let mut entries = Vec::new();
        let keys = first..=*keys_of_first_level(first).end();
        let is_last = self.read(keys, PAGE, &mut entries)?;
        visitor(&Page { entries, is_last })
    }

    fn read(
        &self,
        keys: RangeInclusive<u64>,
        most: usize,
        entries: &mut Vec<ForestEntry>,
    ) -> Result<bool> {
        debug_assert_eq!(first_level(*keys.start()), first_level(*keys.end()));
        let (mut from, to) = ((*keys.start(), 0), (*keys.end(), u64::MAX));
        let end = entries.len().saturating_add(most);
        loop {
            let set = self.0.read(first_level(from.0));
            // One more, which says that there are more.
            let page = (end - entries.len()).saturating_add(1).min(PAGE);
            let before = entries.len();
            entries.extend(set.range(from..=to).take(page));
            if entries.len() > end {
                entries.truncate(end);
                return Ok(false);
            }
            match entries.last() {
                Some((key, id)) if entries.len() - before == page => match id.checked_add(1) {
                    Some(next) => from = (*key, next),
                    None if *key < to.0 => from = (key + 1, 0),
                    None => return Ok(true),
                },
                _ => return Ok(true),
            }
        }
    }
}
