//! A packed table that may be damaged, chunk by chunk: for what proves a file, and what saves what
//! is left of it.

use crate::store::disk::path::RedbResult;
use redb::ReadableTable;

use super::Packed;
use crate::error::{Error, Result};
use crate::store::tables::packed::chunk::Entry;
use crate::store::tables::packed::damaged_ranges::{
    Damaged, KeyInt, Part, after, end_of_gap, read_or_why,
};

type Row<E> = (E, Vec<u8>);

impl<T> Packed<T> {
    /// Every chunk in order, its entries proved to be in order and within their bounds, and the gaps
    /// between. Ends; never fails but for other reasons than damage.
    pub(crate) fn parts<E: Entry + KeyInt>(
        &self,
    ) -> impl Iterator<Item = Result<Part<E, Vec<E>>>> + '_
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        let mut rest = Rest {
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
        let rows = self.table.range::<E>(from..);
        rows.reading(&self.db_path)
    }

    fn next_of<E: Entry>(
        &self,
        rows: &mut redb::Range<'_, E, &'static [u8]>,
    ) -> Result<Option<Row<E>>> {
        let row = rows.next().transpose();
        let row = row.reading(&self.db_path)?;
        Ok(row.map(|(fence, bytes)| (fence.value(), bytes.value().to_vec())))
    }

    /// Whether the first chunk can be read that has a fence of at least `from`.
    fn can_read<E: Entry>(&self, from: E) -> bool
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        let read = || self.next_of(&mut self.rows_from(from)?);
        self.db_path.reading_only(read).is_ok()
    }
}

/// What is still to be read of a table.
struct Rest<'p, T, E: Entry> {
    packed: &'p Packed<T>,
    /// The least fence that the next chunk may have; nothing at the end.
    from: Option<E>,
    /// The last entry that was read.
    last: Option<E>,
    rows: Option<redb::Range<'p, E, &'static [u8]>>,
    /// What comes next, where it was looked at already.
    ahead: Option<Result<Option<Row<E>>>>,
}

impl<T, E> Rest<'_, T, E>
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
        let (fence, bytes) = match read_or_why(row)? {
            Ok(Some(row)) => row,
            Ok(None) => {
                self.from = None;
                return Ok(None);
            }
            Err(why) => return self.gap(from, why).map(Some),
        };
        self.from = after(fence);
        self.ahead = self.from.map(|from| self.read(from));
        // What it is cannot be told from the next chunk if that cannot be read.
        let (upper, is_known) = match &self.ahead {
            Some(Ok(Some((fence, _)))) => (Some(*fence), true),
            Some(Err(_)) => (None, false),
            Some(Ok(None)) | None => (None, true),
        };
        let proved = self.packed.proved(fence, &bytes, upper, &mut self.last);
        Ok(Some(match read_or_why(proved)? {
            Ok(entries) => Part::Read(entries),
            Err(why) => Part::Damaged(Damaged {
                from: fence,
                // Another gap follows.
                to: if is_known { upper } else { self.from },
                why,
            }),
        }))
    }

    /// The next chunk, the fence of which is `from` at least.
    fn read(&mut self, from: E) -> Result<Option<Row<E>>> {
        let (packed, rows) = (self.packed, &mut self.rows);
        let read = packed.db_path.reading_only(|| {
            let rows = match rows {
                Some(rows) => rows,
                none => none.insert(packed.rows_from(from)?),
            };
            packed.next_of(rows)
        });
        if read.is_err() {
            self.rows = None;
        }
        read
    }

    /// What begins at `from` and cannot be read.
    fn gap(&mut self, from: E, why: Error) -> Result<Part<E, Vec<E>>> {
        let end = end_of_gap(from, |key| self.packed.can_read(key));
        let next = match end {
            Some(end) => self.read(end),
            None => Ok(None),
        };
        let to = match &next {
            Ok(next) => next.as_ref().map(|(fence, _)| *fence),
            // A disk that reads now and then.
            Err(_) => end,
        };
        (self.from, self.ahead) = (to, Some(next));
        // What the last chunk holds lies in front of the gap.
        let from = self
            .last
            .and_then(after)
            .map_or(from, |last| last.max(from));
        Ok(Part::Damaged(Damaged { from, to, why }))
    }
}
