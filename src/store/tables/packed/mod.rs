//! A packed table: a sorted set of raw `u64`s or pairs, cut into chunks of one page.
//!
//! The key of a chunk is its *fence*, a lower bound for what the chunk may hold. It is fixed when
//! the chunk is split off, and the first fence is 0, so no insert or removal ever re-keys a
//! chunk. This file reads; [`apply`] holds the one write path.

mod apply;
pub(crate) mod chunk;
pub(crate) mod damaged_ranges;
mod parts;

use std::ops::Bound;

use redb::{ReadableTable, ReadableTableMetadata};

use crate::error::{Error, Result};
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::chunk::{Chunk, Entry};

pub(crate) use apply::{ApplyCounts, Fill, Op, chunks_of};

/// The name and number of a packed table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableId {
    /// The name in the file and in messages.
    pub(crate) name: &'static str,
    /// The number in the header of its chunks.
    pub(crate) number: u8,
}

impl TableId {
    /// The definition of the table for redb.
    pub(crate) fn definition<E: Entry>(self) -> redb::TableDefinition<'static, E, &'static [u8]> {
        redb::TableDefinition::new(self.name)
    }
}

/// The next step of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<E> {
    /// Go on with the next chunk.
    Next,
    /// Go on with the chunk that may hold this entry, or with the next chunk if the entry would be in
    /// the chunk just visited. The entry must lie behind all visited entries.
    SeekTo(E),
    /// End the visit.
    Stop,
}

/// A packed table, opened for reading (`T` a read-only table) or for writing.
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

    fn damaged<E: Entry>(&self, fence: E, what: &str) -> Error {
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
            .reading_only(|| self.table.len().reading(&self.db_path))
    }

    /// Bytes of all pages of the table.
    pub(crate) fn bytes(&self) -> Result<u64> {
        let stats = self
            .db_path
            .reading_only(|| self.table.stats().reading(&self.db_path))?;
        Ok(stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes())
    }
}

impl<T> Packed<T> {
    /// Visits, in order, every chunk that may hold an entry of `from..=to`. The chunks at both ends may
    /// hold entries outside the range.
    pub(crate) fn visit<E: Entry>(
        &self,
        from: E,
        to: E,
        visitor: impl FnMut(E, Chunk<'_, E>) -> Result<Step<E>>,
    ) -> Result<()>
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        self.db_path
            .reading_only(|| self.visit_chunks(from, to, visitor))
    }

    fn visit_chunks<E: Entry>(
        &self,
        from: E,
        to: E,
        mut visitor: impl FnMut(E, Chunk<'_, E>) -> Result<Step<E>>,
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
                // Without a chunk at or below `from` there must be none at all: the first fence is 0.
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
                let step = visitor(fence, self.decode(fence, bytes.value())?)?;
                if step == Step::Stop {
                    return Ok(());
                }
                next = cursor.next().reading(&self.db_path)?;
                if let (Step::SeekTo(entry), Some((fence, _))) = (step, &next)
                    && fence.value() < entry
                {
                    from = entry;
                    continue 'seek;
                }
                // The entry is in the next chunk, or would be in the chunk just visited. Seeking would
                // then return to the chunk just visited, in an endless loop.
            }
            return Ok(());
        }
    }

    /// Visits every entry of `from..=to` in order, until the visitor says `false`.
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
                    return Ok(Step::Stop);
                }
            }
            Ok(Step::Next)
        })
    }

    /// Every entry in order; each chunk is verified to be in order and between its fences. The iterator
    /// ends after an error.
    pub(crate) fn entries<E: Entry>(&self) -> Result<impl Iterator<Item = Result<E>> + '_>
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        let begin = || self.table.iter().reading(&self.db_path);
        let mut chunks = self.db_path.reading_only(begin)?.peekable();
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
            let page = self.db_path.reading_only(&mut next).transpose();
            failed = page.as_ref().is_some_and(Result::is_err);
            page
        });
        Ok(pages.flat_map(|page| match page {
            Ok(entries) => entries.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        }))
    }

    /// The entries of a chunk, if they are in order, not below the fence and below the next one.
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
        *last = entries.last().copied().or(*last);
        let what = if below || beyond {
            "it holds an entry that belongs into another chunk"
        } else if !entries.is_sorted_by(|a, b| a < b) {
            "its entries are not in order"
        } else if entries.is_empty() && fence > E::MIN {
            "it is empty"
        } else {
            return Ok(entries);
        };
        Err(self.damaged(fence, what))
    }

    /// The smallest entry of `from..=to`, or `None`.
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
}
