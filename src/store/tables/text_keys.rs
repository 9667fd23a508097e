//! Table `forest`: the keys of texts in the trees of MinHash minima, and their changes when a text
//! changes.

use std::ops::RangeInclusive;

use redb::ReadableTable;

use super::packed::chunk::Chunk;
use super::packed::{Op, Packed, VisitFlow};
use crate::error::Result;
use crate::forest::{self, ForestEntries, ForestEntry, ForestSpan};
use crate::ids::DocId;
use crate::ids::scope::ScopeNumber;
use crate::record::Record;
use crate::store::tables::packed::entry::{Entry, merged, pair};

/// The keys of a text in the forest, by which similar search finds the text. Outside of the few
/// files that know the forest, the store calls them *text keys*.
pub(crate) use crate::forest::{MAX_KEYS as MAX_TEXT_KEYS, description};

/// The keys of the text of the record of a document; none without a text.
pub(crate) fn keys(record: &Record, scope: ScopeNumber) -> Vec<u64> {
    match record.has_text() {
        true => {
            let mask = forest::scope_mask(scope);
            forest::keys(record.text())
                .into_iter()
                .map(|key| key ^ mask)
                .collect()
        }
        false => Vec::new(),
    }
}

/// The changes of table `forest` in a flush, or of table `keys`.
#[derive(Default)]
pub(crate) struct TextKeyChanges {
    // Two lists take half the memory of one list of `(u128, Op)`, which is padded to 32 bytes.
    puts: Vec<u128>,
    removals: Vec<u128>,
}

impl TextKeyChanges {
    /// Replaces the keys of a document; `old` and `new` are ascending.
    pub(crate) fn replace(&mut self, id: DocId, old: &[u64], new: &[u64]) {
        let entries = |keys: &[u64], others: &[u64]| {
            keys.iter()
                .filter(|key| others.binary_search(key).is_err())
                .map(|key| pair(*key, id.0))
                .collect::<Vec<u128>>()
        };
        self.puts.extend(entries(new, old));
        self.removals.extend(entries(old, new));
    }

    pub(crate) fn len(&self) -> usize {
        self.puts.len() + self.removals.len()
    }

    /// The changes in ascending order.
    pub(crate) fn into_sorted(mut self) -> impl Iterator<Item = (u128, Op)> {
        // No entry is in both lists, because a flush changes each document once.
        self.puts.sort_unstable();
        self.removals.sort_unstable();
        let puts = self.puts.into_iter().map(|entry| (entry, Op::Put));
        let removals = self.removals.into_iter().map(|entry| (entry, Op::Remove));
        merged(puts, removals, |put, removal| put.0 < removal.0)
    }
}

impl ForestSpan for Chunk<'_, u128> {
    fn has_all_to(&self, last: u64) -> bool {
        // The last chunk does not know that it is the last, and so answers `false`.
        self.last().is_some_and(|entry| entry.first() > last)
    }

    fn count(&self, keys: &RangeInclusive<u64>) -> usize {
        // Keys are below the largest number. Saturating: the entries of a damaged page may be in no
        // order.
        let end = self.index_of(keys.end() + 1);
        end.saturating_sub(self.index_of(*keys.start()))
    }

    fn push(&self, keys: &RangeInclusive<u64>, entries: &mut Vec<ForestEntry>) {
        let found = self.entries_from(pair(*keys.start(), 0));
        let found = found.map(|entry| (entry.first(), entry.second()));
        entries.extend(found.take_while(|(key, _)| key <= keys.end()));
    }
}

impl<T> ForestEntries for Packed<T>
where
    T: ReadableTable<u128, &'static [u8]>,
{
    fn visit_span(
        &self,
        first: u64,
        visitor: &mut dyn FnMut(&dyn ForestSpan) -> Result<()>,
    ) -> Result<()> {
        let first = pair(first, 0);
        self.visit(first, first, |_, chunk| {
            visitor(&chunk)?;
            Ok(VisitFlow::Stop)
        })
    }

    fn read(
        &self,
        keys: RangeInclusive<u64>,
        most: usize,
        entries: &mut Vec<ForestEntry>,
    ) -> Result<bool> {
        let (from, to) = (pair(*keys.start(), 0), pair(*keys.end(), u64::MAX));
        let start = entries.len();
        let end = start.saturating_add(most);
        let mut is_whole = true;
        self.visit(from, to, |fence, chunk| {
            let wanted = chunk.entries_from(from).take_while(|entry| *entry <= to);
            for entry in wanted {
                if entries.len() == end {
                    is_whole = false;
                    return Ok(VisitFlow::Stop);
                }
                let entry = (entry.first(), entry.second());
                // A search of the entries would find other ones.
                if entries.len() > start && entries.last() >= Some(&entry) {
                    return Err(self.damaged(fence, "its entries are not in order"));
                }
                entries.push(entry);
            }
            Ok(VisitFlow::Next)
        })?;
        Ok(is_whole)
    }
}
