//! Reads of a damaged packed table, chunk by chunk, for `check` and `salvage`.

use redb::ReadableTable;

use super::Packed;
use crate::error::{Error, Result};
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::damaged_ranges::{
    Damaged, KeyInt, Part, end_of_damage, split_damage, successor,
};
use crate::store::tables::packed::entry::Entry;

type ChunkRow<E> = (E, Vec<u8>);

impl<T> Packed<T> {
    /// The entries of each chunk in order, and the damaged ranges between chunks. A chunk with
    /// entries out of order or outside its fences is damaged. Damage does not end the iteration;
    /// any other error does.
    pub(crate) fn parts<E: Entry + KeyInt>(
        &self,
    ) -> impl Iterator<Item = Result<Part<E, Vec<E>>>> + '_
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        let mut rest = PartsReader {
            packed: self,
            from: Some(E::MIN),
            last: None,
            rows: None,
            ahead: None,
        };
        std::iter::from_fn(move || rest.next().transpose())
    }

    fn rows_from<E: Entry>(&self, from: E) -> Result<redb::Range<'_, E, &'static [u8]>>
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        self.table.range::<E>(from..).reading(&self.db_path)
    }

    fn next_row<E: Entry>(
        &self,
        rows: &mut redb::Range<'_, E, &'static [u8]>,
    ) -> Result<Option<ChunkRow<E>>> {
        let row = rows.next().transpose().reading(&self.db_path)?;
        Ok(row.map(|(fence, bytes)| (fence.value(), bytes.value().to_vec())))
    }

    /// Returns `true` if the first chunk with a fence of at least `from` can be read.
    fn can_read<E: Entry>(&self, from: E) -> bool
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        let read = || self.next_row(&mut self.rows_from(from)?);
        self.db_path.catch_failed_reads(read).is_ok()
    }
}

/// The unread rest of a table.
struct PartsReader<'p, T, E: Entry> {
    packed: &'p Packed<T>,
    /// The least fence that the next chunk may have; `None` at the end.
    from: Option<E>,
    /// The last entry that was read.
    last: Option<E>,
    rows: Option<redb::Range<'p, E, &'static [u8]>>,
    /// The next chunk, read ahead for its fence, which bounds the entries of the chunk before.
    ahead: Option<Result<Option<ChunkRow<E>>>>,
}

impl<T, E> PartsReader<'_, T, E>
where
    T: ReadableTable<E, &'static [u8]>,
    E: Entry + KeyInt,
{
    fn next(&mut self) -> Result<Option<Part<E, Vec<E>>>> {
        let Some(from) = self.from else {
            return Ok(None);
        };
        let row = match self.ahead.take() {
            Some(row) => row,
            None => self.read(from),
        };
        let (fence, bytes) = match split_damage(row)? {
            Ok(Some(row)) => row,
            Ok(None) => {
                self.from = None;
                return Ok(None);
            }
            Err(why) => return self.damaged_range(from, why).map(Some),
        };
        self.from = successor(fence);
        self.ahead = self.from.map(|from| self.read(from));
        // The upper bound of this chunk is the next fence; it is unknown if the next chunk is
        // damaged.
        let (upper, is_known) = match &self.ahead {
            Some(Ok(Some((fence, _)))) => (Some(*fence), true),
            Some(Err(_)) => (None, false),
            Some(Ok(None)) | None => (None, true),
        };
        let verified = self.packed.verified(fence, &bytes, upper, &mut self.last);
        Ok(Some(match split_damage(verified)? {
            Ok(entries) => Part::Read(entries),
            Err(why) => Part::Damaged(Damaged {
                from: fence,
                // With an unknown bound the next damaged range follows at once, and this range ends
                // after the fence.
                to: if is_known { upper } else { self.from },
                why,
            }),
        }))
    }

    /// The next chunk with a fence of at least `from`.
    fn read(&mut self, from: E) -> Result<Option<ChunkRow<E>>> {
        let (packed, rows) = (self.packed, &mut self.rows);
        let read = packed.db_path.catch_failed_reads(|| {
            let rows = match rows {
                Some(rows) => rows,
                none => none.insert(packed.rows_from(from)?),
            };
            packed.next_row(rows)
        });
        // The failed read panicked through the iterator, so the next read needs a new one.
        if read.is_err() {
            self.rows = None;
        }
        read
    }

    /// The damaged range that begins at `from`.
    fn damaged_range(&mut self, from: E, why: Error) -> Result<Part<E, Vec<E>>> {
        let end = end_of_damage(from, |key| self.packed.can_read(key));
        let next = match end {
            Some(end) => self.read(end),
            None => Ok(None),
        };
        let to = match &next {
            Ok(next) => next.as_ref().map(|(fence, _)| *fence),
            // The disk fails at a key that `can_read` has just read.
            Err(_) => end,
        };
        (self.from, self.ahead) = (to, Some(next));
        // `from` follows the fence of the last readable chunk. The entries of that chunk are not
        // lost, so the damaged range begins after them.
        let from = self
            .last
            .and_then(successor)
            .map_or(from, |last| last.max(from));
        Ok(Part::Damaged(Damaged { from, to, why }))
    }
}
