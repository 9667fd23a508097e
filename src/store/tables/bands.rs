//! Table `bands`: the MinHash band keys of texts, their changes when a text changes, and the query.

use std::iter::Peekable;
use std::sync::Arc;

use redb::ReadableTable;

use super::edit::BandedText;
use super::packed::Op;
use crate::document::DocId;
use crate::error::Result;
use crate::minhash::{Banding, Sketch};
use crate::store::tables::Tables;
use crate::store::tables::packed::entry::{Entry, pair};

/// Makes the band keys of texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct BandMaker;

impl BandMaker {
    /// See [`Banding::description`].
    pub(crate) fn description(&self) -> String {
        Banding::description()
    }

    /// The band keys of a text, ascending and distinct.
    pub(crate) fn keys(&self, text: &str) -> Vec<u64> {
        self.keys_and_sketch(text).0
    }

    /// The band keys of a text, ascending and distinct, and its sketch.
    pub(crate) fn keys_and_sketch(&self, text: &str) -> (Vec<u64>, Option<Sketch>) {
        let (mut keys, sketch) = self.banding().keys_and_sketch(text);
        keys.sort_unstable();
        keys.dedup();
        (keys, sketch)
    }

    /// A text with its keys.
    pub(crate) fn banded(&self, text: String) -> Arc<BandedText> {
        BandedText::with_bands(text, self.banding())
    }

    /// The parameters, which are the same for all databases.
    pub(crate) fn banding(&self) -> &'static Banding {
        Banding::shared()
    }
}

/// The changes of table `bands` in a flush.
#[derive(Default)]
pub(crate) struct BandChanges {
    // Two lists take half the memory of one list of `(u128, Op)`, which is padded to 32 bytes.
    puts: Vec<u128>,
    removals: Vec<u128>,
}

impl BandChanges {
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
        let mut puts = self.puts.into_iter().peekable();
        let mut removals = self.removals.into_iter().peekable();
        let next = |from: &mut Peekable<std::vec::IntoIter<u128>>, op| {
            from.next().map(|entry| (entry, op))
        };
        std::iter::from_fn(move || match (puts.peek(), removals.peek()) {
            (Some(put), Some(removal)) if removal < put => next(&mut removals, Op::Remove),
            (None, _) => next(&mut removals, Op::Remove),
            _ => next(&mut puts, Op::Put),
        })
    }
}

impl<P, S, C> Tables<P, S, C>
where
    P: ReadableTable<u128, &'static [u8]>,
{
    /// The documents of each key, ascending by id for each key. Empty if the database keeps no bands.
    pub(crate) fn documents_in_bands(&self, keys: &[u64]) -> Result<Vec<DocId>> {
        let mut documents = Vec::new();
        if let Some(bands) = &self.bands {
            for key in keys {
                bands.visit_entries(pair(*key, 0), pair(*key, u64::MAX), |entry| {
                    documents.push(DocId(entry.second()));
                    true
                })?;
            }
        }
        Ok(documents)
    }
}
