//! The write path of a packed table: [`Packed::apply`] merges sorted changes and touches each chunk
//! once; [`chunks_of`] makes the chunks of a bulk load.

use std::iter::Peekable;
use std::ops::Bound;

use redb::ReadableTable;

use super::{Packed, TableId};
use crate::error::Result;
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::chunk::{ChunkWriter, Entry};

/// A chunk that is less full than this after a removal looks for a neighbour to merge with.
const MERGE_BELOW_PERCENT: usize = 60;
/// Two neighbours are merged if together they fill at most this much of one chunk, so that the
/// next insert does not split them again.
const MERGED_AT_MOST_PERCENT: usize = 90;
/// Room left in chunks that are written in bulk is drawn between these, chunk by chunk. A uniform
/// fill would make all chunks split at the same time ("Waves of Misery After Index Creation",
/// Glombiewski, Seeger, Graefe, BTW 2019).
const BULK_FILL_PERCENT: std::ops::RangeInclusive<u64> = 60..=95;

/// A change of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Add the entry; no effect if present.
    Put,
    /// Remove the entry; no effect if absent.
    Remove,
}

/// The numbers of entries that [`Packed::apply`] added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApplyCounts {
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

/// The fill of chunks that are written in bulk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Full chunks: no more inserts will come.
    Full,
    /// With room for inserts to come.
    Room,
}

impl Fill {
    /// How many of `capacity` entries the `number`-th chunk of a table receives.
    fn entries(self, capacity: usize, number: u64) -> usize {
        match self {
            Self::Full => capacity,
            Self::Room => {
                let (low, high) = BULK_FILL_PERCENT.into_inner();
                // The finaliser of splitmix64 as a draw that is the same in every run.
                let mut draw = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                draw = (draw ^ (draw >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                draw = (draw ^ (draw >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                capacity * (low + (draw ^ (draw >> 31)) % (high - low + 1)) as usize / 100
            }
        }
    }
}

/// A chunk taken out of its table to be changed.
struct OpenChunk<E> {
    fence: E,
    entries: Vec<E>,
    /// The fence of the next chunk, if there is one.
    upper: Option<E>,
}

impl<E: Entry> Packed<redb::Table<'_, E, &'static [u8]>> {
    /// Applies changes in ascending order of their entries, each entry at most once. Each chunk
    /// is read and written at most once, and only if something in it changes; memory is bounded
    /// by a few chunks however many changes there are.
    pub(crate) fn apply(
        &mut self,
        changes: impl IntoIterator<Item = Result<(E, Op)>>,
    ) -> Result<ApplyCounts> {
        let mut changes = changes.into_iter().peekable();
        let mut counts = ApplyCounts::default();
        let mut writer = ChunkWriter::default();
        while let Some((first, _)) = peek(&mut changes)? {
            let mut open = self.open_chunk(first)?;
            let before = counts;
            loop {
                self.merge_into(&mut open, &mut changes, &mut counts, &mut writer)?;
                let shrunk = counts.removed > before.removed;
                if !(shrunk && self.absorb_next(&mut open)?) {
                    break;
                }
            }
            if counts != before {
                self.put_back(open, counts.removed > before.removed, &mut writer)?;
            }
        }
        Ok(counts)
    }

    /// The chunk that may hold `entry`; an empty table is one empty chunk.
    fn open_chunk(&self, entry: E) -> Result<OpenChunk<E>> {
        let mut cursor = self
            .table
            .upper_bound(Bound::Included(entry))
            .reading(&self.db_path)?;
        let upper = cursor
            .peek_next()
            .reading(&self.db_path)?
            .map(|(fence, _)| fence.value());
        match cursor.peek_prev().reading(&self.db_path)? {
            Some((fence, bytes)) => {
                let fence = fence.value();
                let entries = self.decode(fence, bytes.value())?.entries().collect();
                Ok(OpenChunk {
                    fence,
                    entries,
                    upper,
                })
            }
            None => match upper {
                None => Ok(OpenChunk {
                    fence: E::MIN,
                    entries: Vec::new(),
                    upper,
                }),
                Some(fence) => Err(self.damaged(fence, "it is the first, but its fence is not 0")),
            },
        }
    }

    /// Merges the changes that belong into the open chunk. Where they overflow it, chunks are
    /// written and the rest stays open.
    fn merge_into(
        &mut self,
        open: &mut OpenChunk<E>,
        changes: &mut Peekable<impl Iterator<Item = Result<(E, Op)>>>,
        counts: &mut ApplyCounts,
        writer: &mut ChunkWriter,
    ) -> Result<()> {
        let old = std::mem::take(&mut open.entries);
        // Appending, as ascending ids do, leaves full chunks.
        let behind_the_end = match (open.upper, old.last(), peek(changes)?) {
            (None, Some(last), Some((first, _))) => first > *last,
            _ => false,
        };
        let fill = if behind_the_end {
            Fill::Full
        } else {
            Fill::Room
        };
        let mut old = old.into_iter().peekable();
        let mut written = 0;
        while let Some((entry, op)) = peek(changes)? {
            if open.upper.is_some_and(|upper| entry >= upper) {
                break;
            }
            changes.next();
            while let Some(kept) = old.next_if(|kept| *kept < entry) {
                open.entries.push(kept);
            }
            let present = old.next_if_eq(&entry).is_some();
            match op {
                Op::Put => {
                    open.entries.push(entry);
                    counts.added += u64::from(!present);
                }
                Op::Remove => counts.removed += u64::from(present),
            }
            if open.entries.len() >= 4 * E::CAPACITY {
                written += 1;
                self.split_off(open, fill.entries(E::CAPACITY, written), writer)?;
            }
        }
        open.entries.extend(old);
        while behind_the_end && open.entries.len() > E::CAPACITY {
            self.split_off(open, E::CAPACITY, writer)?;
        }
        Ok(())
    }

    /// Writes the first `size` entries as a chunk of their own and leaves the rest open.
    fn split_off(
        &mut self,
        open: &mut OpenChunk<E>,
        size: usize,
        writer: &mut ChunkWriter,
    ) -> Result<()> {
        let rest = open.entries.split_off(size);
        self.write(open.fence, &open.entries, writer)?;
        open.entries = rest;
        if let Some(first) = open.entries.first() {
            open.fence = *first;
        }
        Ok(())
    }

    /// Merges the next chunk into the open one if the open one has become small and both fit; returns
    /// `true` if so.
    fn absorb_next(&mut self, open: &mut OpenChunk<E>) -> Result<bool> {
        let Some(upper) = open.upper else {
            return Ok(false);
        };
        if open.entries.len() * 100 >= E::CAPACITY * MERGE_BELOW_PERCENT {
            return Ok(false);
        }
        let next = self.open_chunk(upper)?;
        if (open.entries.len() + next.entries.len()) * 100 > E::CAPACITY * MERGED_AT_MOST_PERCENT {
            return Ok(false);
        }
        self.delete(upper)?;
        open.entries.extend(next.entries);
        open.upper = next.upper;
        Ok(true)
    }

    /// Writes the open chunk: in as many even parts as it needs, merged with the chunk before it
    /// where it has become small, or not at all where it has become empty.
    fn put_back(
        &mut self,
        mut open: OpenChunk<E>,
        shrunk: bool,
        writer: &mut ChunkWriter,
    ) -> Result<()> {
        if shrunk
            && open.entries.len() * 100 < E::CAPACITY * MERGE_BELOW_PERCENT
            && open.fence > E::MIN
        {
            let previous = self.chunk_before(open.fence)?;
            let together = previous.entries.len() + open.entries.len();
            if together * 100 <= E::CAPACITY * MERGED_AT_MOST_PERCENT || open.entries.is_empty() {
                self.delete(open.fence)?;
                if open.entries.is_empty() {
                    return Ok(());
                }
                let mut entries = previous.entries;
                entries.append(&mut open.entries);
                return self.write(previous.fence, &entries, writer);
            }
        }
        let mut parts = open.entries.len().div_ceil(E::CAPACITY).max(1);
        while parts > 1 {
            let size = open.entries.len().div_ceil(parts);
            self.split_off(&mut open, size, writer)?;
            parts -= 1;
        }
        self.write(open.fence, &open.entries, writer)
    }

    fn chunk_before(&self, fence: E) -> Result<OpenChunk<E>> {
        let mut cursor = self
            .table
            .lower_bound(Bound::Included(fence))
            .reading(&self.db_path)?;
        match cursor.peek_prev().reading(&self.db_path)? {
            Some((previous, bytes)) => {
                let previous = previous.value();
                let entries = self.decode(previous, bytes.value())?.entries().collect();
                Ok(OpenChunk {
                    fence: previous,
                    entries,
                    upper: Some(fence),
                })
            }
            None => Err(self.damaged(fence, "it is the first, but its fence is not 0")),
        }
    }

    fn write(&mut self, fence: E, entries: &[E], writer: &mut ChunkWriter) -> Result<()> {
        let bytes = writer.encode(self.id.number, fence, entries);
        self.table.insert(fence, bytes).writing(&self.db_path)?;
        Ok(())
    }

    fn delete(&mut self, fence: E) -> Result<()> {
        self.table.remove(fence).writing(&self.db_path)?;
        Ok(())
    }

    /// Writes chunks behind all there are, as [`chunks_of`] gives them.
    pub(crate) fn append(&mut self, chunks: impl IntoIterator<Item = (E, Vec<u8>)>) -> Result<()> {
        let mut cursor = self
            .table
            .upper_bound_mut(Bound::<E>::Unbounded)
            .writing(&self.db_path)?;
        for (fence, bytes) in chunks {
            cursor
                .insert_before(fence, bytes.as_slice())
                .writing(&self.db_path)?;
        }
        cursor.close().writing(&self.db_path)
    }
}

/// Fence and bytes of each chunk of a whole table, from all its entries in ascending order.
pub(crate) fn chunks_of<E: Entry>(
    id: TableId,
    fill: Fill,
    mut entries: impl Iterator<Item = Result<E>>,
) -> impl Iterator<Item = Result<(E, Vec<u8>)>> {
    let mut writer = ChunkWriter::default();
    let mut part = Vec::with_capacity(E::CAPACITY);
    let mut number = 0;
    std::iter::from_fn(move || {
        part.clear();
        for entry in entries.by_ref().take(fill.entries(E::CAPACITY, number)) {
            match entry {
                Ok(entry) => part.push(entry),
                Err(error) => return Some(Err(error)),
            }
        }
        let first = *part.first()?;
        let fence = if number == 0 { E::MIN } else { first };
        number += 1;
        let bytes = writer.encode(id.number, fence, &part);
        Some(Ok((fence, bytes.to_vec())))
    })
}

/// The change that comes next; an error is taken out and returned.
fn peek<E: Copy>(
    changes: &mut Peekable<impl Iterator<Item = Result<(E, Op)>>>,
) -> Result<Option<(E, Op)>> {
    match changes.next_if(|change| change.is_err()) {
        Some(Err(error)) => Err(error),
        _ => Ok(changes
            .peek()
            .and_then(|change| change.as_ref().ok().copied())),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use proptest::prelude::*;
    use redb::ReadableDatabase;

    use super::*;
    use crate::store::disk::path::DbPath;
    use crate::store::tables::packed::TableId;

    const KIND: TableId = TableId {
        name: "packed",
        number: 9,
    };

    /// A packed table in memory and a plain set, to which the same changes are applied.
    struct Twin<E: Entry> {
        database: redb::Database,
        plain: BTreeSet<E>,
    }

    impl<E: Entry> Twin<E> {
        fn new() -> Self {
            let backend = redb::backends::InMemoryBackend::new();
            let database = redb::Database::builder()
                .create_with_backend(backend)
                .unwrap();
            Self {
                database,
                plain: BTreeSet::new(),
            }
        }

        fn apply(&mut self, changes: &[(E, Op)]) {
            let mut changes = changes.to_vec();
            changes.sort_by_key(|(entry, _)| *entry);
            changes.dedup_by_key(|(entry, _)| *entry);
            let transaction = self.database.begin_write().unwrap();
            let db_path = DbPath::of_system(Path::new("memory"));
            let table = transaction.open_table(KIND.definition::<E>()).unwrap();
            let counts = Packed::new(table, KIND, db_path)
                .apply(changes.iter().copied().map(Ok))
                .unwrap();
            transaction.commit().unwrap();
            let mut expected = ApplyCounts::default();
            for (entry, op) in changes {
                match op {
                    Op::Put => expected.added += u64::from(self.plain.insert(entry)),
                    Op::Remove => expected.removed += u64::from(self.plain.remove(&entry)),
                }
            }
            assert_eq!(counts, expected);
        }

        /// The fill of the table, after comparing what it holds.
        fn compare(&self) -> f64 {
            let transaction = self.database.begin_read().unwrap();
            let db_path = DbPath::of_system(Path::new("memory"));
            let table = transaction.open_table(KIND.definition::<E>()).unwrap();
            let packed = Packed::new(table, KIND, db_path);
            let entries: Vec<E> = packed.entries().unwrap().map(Result::unwrap).collect();
            assert!(entries.iter().eq(&self.plain));
            for entry in self.plain.iter().step_by(97) {
                assert_eq!(packed.first_in(*entry, *entry).unwrap(), Some(*entry));
            }
            let chunks = packed.chunks().unwrap();
            let bytes = packed.bytes().unwrap();
            // One chunk is one page: what is over are the pages above the leaves.
            assert!(
                bytes <= (chunks + chunks / 50 + 2) * 4096,
                "{bytes} bytes for {chunks} chunks"
            );
            self.plain.len() as f64 / (chunks * E::CAPACITY as u64).max(1) as f64
        }
    }

    fn draw(n: u64) -> u64 {
        let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ (z >> 27)
    }

    #[test]
    fn random_batches_split_and_merge_chunks_and_lose_nothing() {
        let mut twin = Twin::<u128>::new();
        for batch in 0..60_u64 {
            let size = [1, 10, 3_000][batch as usize % 3];
            let changes: Vec<_> = (0..size)
                .map(|n| (u128::from_lanes(draw(batch * 5_000 + n), n), Op::Put))
                .collect();
            twin.apply(&changes);
        }
        let grown = twin.compare();
        assert!(grown > 0.5, "{grown}");
        let all: Vec<u128> = twin.plain.iter().copied().collect();
        let removals: Vec<_> = all
            .iter()
            .enumerate()
            .filter(|(n, _)| n % 10 != 0)
            .collect();
        for part in removals.chunks(1_000) {
            let changes: Vec<_> = part
                .iter()
                .map(|(_, entry)| (**entry, Op::Remove))
                .collect();
            twin.apply(&changes);
        }
        let shrunk = twin.compare();
        assert!(shrunk > 0.35, "{shrunk}");
        let rest: Vec<_> = twin
            .plain
            .iter()
            .map(|entry| (*entry, Op::Remove))
            .collect();
        twin.apply(&rest);
        twin.compare();
    }

    #[test]
    fn removals_one_by_one_merge_chunks_too() {
        let mut twin = Twin::<u64>::new();
        let puts: Vec<_> = (0..20_000).map(|n| (draw(n), Op::Put)).collect();
        twin.apply(&puts);
        for (entry, _) in &puts[..19_000] {
            twin.apply(&[(*entry, Op::Remove)]);
        }
        let fill = twin.compare();
        assert!(fill > 0.3, "{fill}");
    }

    #[test]
    fn ascending_entries_fill_chunks_to_the_brim() {
        let mut twin = Twin::<u64>::new();
        for start in (0..100_000).step_by(1_000) {
            let changes: Vec<_> = (start..start + 1_000).map(|n| (n, Op::Put)).collect();
            twin.apply(&changes);
        }
        let fill = twin.compare();
        assert!(fill > 0.95, "{fill}");
    }

    #[test]
    fn one_huge_batch_into_one_chunk_leaves_room_that_differs() {
        let mut twin = Twin::<u64>::new();
        let changes: Vec<_> = (0..100_000).map(|n| (draw(n), Op::Put)).collect();
        twin.apply(&changes);
        let fill = twin.compare();
        assert!((0.7..0.85).contains(&fill), "{fill}");
        // Repeating it changes nothing.
        twin.apply(&changes);
        assert_eq!(twin.compare(), fill);
    }

    #[test]
    fn bulk_append_holds_what_it_was_given() {
        for fill in [Fill::Full, Fill::Room] {
            let mut twin = Twin::<u64>::new();
            twin.plain = (0..50_000).map(draw).collect();
            let entries = twin.plain.clone().into_iter().map(Ok);
            let mut chunks = chunks_of(KIND, fill, entries)
                .map(Result::unwrap)
                .peekable();
            while chunks.peek().is_some() {
                let transaction = twin.database.begin_write().unwrap();
                let table = transaction.open_table(KIND.definition::<u64>()).unwrap();
                Packed::new(table, KIND, DbPath::of_system(Path::new("memory")))
                    .append(chunks.by_ref().take(7))
                    .unwrap();
                transaction.commit().unwrap();
            }
            let full = twin.compare();
            assert!(if fill == Fill::Full {
                full > 0.99
            } else {
                (0.7..0.85).contains(&full)
            });
            twin.apply(&[(5, Op::Put), (draw(1), Op::Remove)]);
            twin.compare();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_batches_equal_a_plain_set(
            batches in prop::collection::vec(
                prop::collection::vec((0..3_000_u64, any::<bool>(), any::<bool>()), 0..1_500),
                1..8,
            )
        ) {
            let mut twin = Twin::<u64>::new();
            for batch in batches {
                let changes: Vec<_> = batch
                    .into_iter()
                    .map(|(entry, spread, put)| {
                        let entry = if spread { draw(entry) } else { entry };
                        (entry, if put { Op::Put } else { Op::Remove })
                    })
                    .collect();
                twin.apply(&changes);
                twin.compare();
            }
        }
    }
}
