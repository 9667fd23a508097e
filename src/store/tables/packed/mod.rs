//! A packed table: a sorted set of `u64`s or of pairs, cut into *chunks* of one page.
//!
//! The key of a chunk is its *fence*, a lower bound of its entries. The fence is fixed when the
//! chunk is split off, and the first fence is 0, so no insert or removal changes a key. This file
//! reads; [`apply`] writes.

mod apply;
pub(crate) mod chunk;
pub(crate) mod damaged_ranges;
pub(crate) mod entry;
mod fields;
mod fill;
mod parts;
pub(crate) mod unary;

use std::ops::Bound;

use redb::{ReadableTable, ReadableTableMetadata};

use crate::error::{Error, Result};
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::chunk::Chunk;
use crate::store::tables::packed::entry::{Entry, pair};

pub(crate) use apply::{ApplyCounts, Op};
pub(crate) use fill::{Fill, encode_chunks};

/// The name and number of a packed table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableId {
    /// The name in the file and in messages.
    pub(crate) name: &'static str,
    /// The number in the header of its chunks.
    pub(crate) number: u8,
}

impl TableId {
    pub(crate) fn definition<E: Entry>(self) -> redb::TableDefinition<'static, E, &'static [u8]> {
        redb::TableDefinition::new(self.name)
    }
}

/// The answer of a visitor: the control flow of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VisitFlow<E> {
    /// Visits the next chunk.
    Next,
    /// Visits the chunk that may hold this entry, but never the same chunk again. The entry must be
    /// larger than all visited entries.
    SeekTo(E),
    /// Ends the visit.
    Stop,
}

/// A packed table in a read or write transaction; `T` is redb's table type.
pub(crate) struct Packed<T> {
    table: T,
    id: TableId,
    db_path: DbPath,
}

impl<T> Packed<T> {
    pub(crate) fn new(table: T, id: TableId, db_path: DbPath) -> Self {
        Self { table, id, db_path }
    }

    pub(crate) fn id(&self) -> TableId {
        self.id
    }

    fn decode<'b, E: Entry>(&self, fence: E, bytes: &'b [u8]) -> Result<Chunk<'b, E>> {
        Chunk::decode(self.id.number, fence, bytes).map_err(|what| self.damaged(fence, what))
    }

    pub(crate) fn damaged<E: Entry>(&self, fence: E, what: &str) -> Error {
        self.db_path.corrupt(format!(
            "the chunk of table {} at {fence:#x} cannot be read: {what}",
            self.id.name
        ))
    }
}

impl<T: ReadableTableMetadata> Packed<T> {
    /// The number of chunks.
    pub(crate) fn chunks(&self) -> Result<u64> {
        self.db_path
            .catch_failed_reads(|| self.table.len().reading(&self.db_path))
    }

    /// Bytes of all chunks with their keys, and bytes of all pages of the table.
    pub(crate) fn bytes(&self) -> Result<(u64, u64)> {
        let stats = self
            .db_path
            .catch_failed_reads(|| self.table.stats().reading(&self.db_path))?;
        let stored = stats.stored_bytes();
        let pages = stored + stats.metadata_bytes() + stats.fragmented_bytes();
        Ok((stored, pages))
    }
}

impl<T> Packed<T> {
    /// Visits, in order, every chunk that may hold an entry of `from..=to`, with its fence. The
    /// first and the last chunk may hold entries outside the range.
    pub(crate) fn visit<E: Entry>(
        &self,
        from: E,
        to: E,
        visitor: impl FnMut(E, Chunk<'_, E>) -> Result<VisitFlow<E>>,
    ) -> Result<()>
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        self.db_path
            .catch_failed_reads(|| self.visit_chunks(from, to, visitor))
    }

    fn visit_chunks<E: Entry>(
        &self,
        from: E,
        to: E,
        mut visitor: impl FnMut(E, Chunk<'_, E>) -> Result<VisitFlow<E>>,
    ) -> Result<()>
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        let mut from = from;
        'seek: loop {
            let mut cursor = self
                .table
                .upper_bound(Bound::Included(from))
                .reading(&self.db_path)?;
            let mut next = cursor.peek_prev().reading(&self.db_path)?;
            if next.is_none() {
                // The first fence is 0, so without a chunk at or below `from` the table is empty.
                return match cursor.next().reading(&self.db_path)? {
                    None => Ok(()),
                    Some((fence, _)) => {
                        Err(self.damaged(fence.value(), "it is the first, but its fence is not 0"))
                    }
                };
            }
            while let Some((fence, bytes)) = next {
                let fence = fence.value();
                if fence > to {
                    return Ok(());
                }
                let chunk = self.decode(fence, bytes.value())?;
                let step = visitor(fence, chunk)?;
                // To stop at the end of the range saves the read of another page.
                if step == VisitFlow::Stop || chunk.last().is_some_and(|last| last >= to) {
                    return Ok(());
                }
                next = cursor.next().reading(&self.db_path)?;
                if let (VisitFlow::SeekTo(entry), Some((fence, _))) = (step, &next)
                    && fence.value() < entry
                {
                    from = entry;
                    continue 'seek;
                }
                // The entry is in the next chunk, or would be in the chunk just visited. A seek
                // would visit the same chunk again, in an endless loop.
            }
            return Ok(());
        }
    }

    /// Visits the entries of `from..=to` in order, until the visitor returns `false`.
    pub(crate) fn visit_entries<E: Entry>(
        &self,
        from: E,
        to: E,
        mut visitor: impl FnMut(E) -> bool,
    ) -> Result<()>
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        self.visit(from, to, |_, chunk| {
            let wanted = |entry: &E| *entry <= to;
            for entry in chunk.entries_from(from).take_while(wanted) {
                if !visitor(entry) {
                    return Ok(VisitFlow::Stop);
                }
            }
            Ok(VisitFlow::Next)
        })
    }

    /// All entries in order. Verifies that the entries of each chunk are in order and between its
    /// fences. The iterator ends after an error.
    pub(crate) fn entries<E: Entry>(&self) -> Result<impl Iterator<Item = Result<E>> + '_>
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        let begin = || self.table.iter().reading(&self.db_path);
        let mut chunks = self.db_path.catch_failed_reads(begin)?.peekable();
        let mut failed = false;
        let mut last = None;
        let mut next = move || {
            let Some(chunk) = chunks.next() else {
                return Ok(None);
            };
            let upper = chunks
                .peek()
                .and_then(|next| next.as_ref().ok())
                .map(|(fence, _)| fence.value());
            let (fence, bytes) = chunk.reading(&self.db_path)?;
            self.verified(fence.value(), bytes.value(), upper, &mut last)
                .map(Some)
        };
        let pages = std::iter::from_fn(move || {
            if failed {
                return None;
            }
            let page = self.db_path.catch_failed_reads(&mut next).transpose();
            failed = page.as_ref().is_some_and(Result::is_err);
            page
        });
        Ok(pages.flat_map(|page| match page {
            Ok(entries) => entries.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        }))
    }

    /// The entries of a chunk; an error unless they are in order, after `last`, and between `fence`
    /// and `upper`. Sets `last` to the last entry.
    fn verified<E: Entry>(
        &self,
        fence: E,
        bytes: &[u8],
        upper: Option<E>,
        last: &mut Option<E>,
    ) -> Result<Vec<E>> {
        let entries: Vec<E> = self.decode(fence, bytes)?.entries().collect();
        let below = entries
            .first()
            .is_some_and(|first| *first < fence || last.is_some_and(|last| *first <= last));
        let beyond = entries
            .last()
            .zip(upper)
            .is_some_and(|(last, upper)| *last >= upper);
        // Also for a wrong chunk: the next chunk is compared with the chunk directly before.
        *last = entries.last().copied().or(*last);
        let what = if below || beyond {
            "it holds an entry that belongs in another chunk"
        } else if !entries.is_sorted_by(|a, b| a < b) {
            "its entries are not in order"
        } else if entries.is_empty() && fence > E::MIN {
            // `apply` deletes an empty chunk, except the first.
            "it is empty"
        } else {
            return Ok(entries);
        };
        Err(self.damaged(fence, what))
    }

    /// The smallest entry of `from..=to`; `None` if the range has no entry.
    pub(crate) fn first_in<E: Entry>(&self, from: E, to: E) -> Result<Option<E>>
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        let mut first = None;
        self.visit_entries(from, to, |entry| {
            first = Some(entry);
            false
        })?;
        Ok(first)
    }

    /// Returns `true` if a pair begins with this number.
    pub(crate) fn has_pair_of(&self, first: u64) -> Result<bool>
    where
        T: ReadableTable<u128, &'static [u8]>,
    {
        let found = self.first_in(pair(first, 0), pair(first, u64::MAX))?;
        Ok(found.is_some())
    }
}
