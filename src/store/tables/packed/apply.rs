//! The write path of a packed table: merges sorted changes into chunks.

use std::iter::Peekable;
use std::ops::Bound;

use redb::ReadableTable;

use super::{Fill, Packed};
use crate::error::Result;
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::chunk::{ChunkShape, ChunkWriter, capacity_bytes};
use crate::store::tables::packed::entry::Entry;

/// A chunk less than 60 % full after a removal is merged with a neighbour, if the two fit.
const MERGE_BELOW_PERCENT: usize = 60;
/// Two chunks are merged if they fill at most 90 % of one chunk, so that the next insert does not
/// split it again.
const MAX_MERGED_PERCENT: usize = 90;
/// Entries of four chunks are held before one chunk is written.
// So memory is bounded for any number of changes, and at least three chunks of entries remain to be
// divided evenly.
const MAX_OPEN_CHUNKS: usize = 4;
/// A change of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Add the entry; no effect if present.
    Put,
    /// Remove the entry; no effect if absent.
    Remove,
}

/// Entries that [`Packed::apply`] added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApplyCounts {
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

/// A decoded chunk, to be changed and written back.
struct OpenChunk<E> {
    entries: Vec<E>,
    shape: ChunkShape<E>,
    /// The fence of the next chunk; `None` for the last chunk.
    upper: Option<E>,
}

impl<E: Entry> OpenChunk<E> {
    fn new(fence: E, entries: Vec<E>, upper: Option<E>) -> Self {
        Self {
            shape: ChunkShape::new(fence).with_all(&entries),
            entries,
            upper,
        }
    }

    fn push(&mut self, entry: E) {
        self.shape = self.shape.with(entry);
        self.entries.push(entry);
    }

    /// Removes all entries.
    fn take(&mut self) -> Vec<E> {
        self.shape = ChunkShape::new(self.shape.fence());
        std::mem::take(&mut self.entries)
    }
}

/// Returns `true` if a chunk of this shape is to be merged with a neighbour.
fn is_small<E: Entry>(shape: &ChunkShape<E>) -> bool {
    shape.bytes() * 100 < capacity_bytes::<E>() * MERGE_BELOW_PERCENT
}

/// Returns `true` if two chunks may be merged to a chunk of this shape.
fn may_be_merged<E: Entry>(shape: &ChunkShape<E>) -> bool {
    shape.bytes() * 100 <= capacity_bytes::<E>() * MAX_MERGED_PERCENT
}

impl<E: Entry> Packed<redb::Table<'_, E, &'static [u8]>> {
    /// Applies changes in ascending order of their entries; each entry occurs at most once.
    ///
    /// Reads each affected chunk once, and writes it once if its entries change. Holds a few chunks
    /// in memory.
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
            // Only a removal makes a chunk a candidate for a merge. A split leaves chunks half
            // full, and an insert must not merge these again.
            let has_removals = loop {
                self.merge_into(&mut open, &mut changes, &mut counts, &mut writer)?;
                let has_removals = counts.removed > before.removed;
                if !(has_removals && self.absorb_next(&mut open)?) {
                    break has_removals;
                }
                // The absorbed chunk has raised the upper fence, so the next round merges the
                // changes up to the new upper fence.
            };
            if counts != before {
                self.put_back(open, has_removals, &mut writer)?;
            }
        }
        Ok(counts)
    }

    /// The chunk that may hold `entry`; an empty table has one empty chunk.
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
                let entries = self.verified(fence, bytes.value(), upper, &mut None)?;
                Ok(OpenChunk::new(fence, entries, upper))
            }
            None => match upper {
                None => Ok(OpenChunk::new(E::MIN, Vec::new(), upper)),
                Some(fence) => Err(self.damaged(fence, "it is the first, but its fence is not 0")),
            },
        }
    }

    /// Merges the changes below the upper fence into the open chunk. Writes full chunks if the
    /// entries outgrow one chunk; the last entries stay open.
    fn merge_into(
        &mut self,
        open: &mut OpenChunk<E>,
        changes: &mut Peekable<impl Iterator<Item = Result<(E, Op)>>>,
        counts: &mut ApplyCounts,
        writer: &mut ChunkWriter,
    ) -> Result<()> {
        let old = open.take();
        // Changes behind the last entry of the table append to it, as ascending ids do. Later
        // entries come behind them too, so their chunks need no room.
        let is_append = match (open.upper, old.last(), peek(changes)?) {
            (None, Some(last), Some((first, _))) => first > *last,
            _ => false,
        };
        let fill = if is_append { Fill::Full } else { Fill::Room };
        let mut old = old.into_iter().peekable();
        let mut written = 0;
        while let Some((entry, op)) = peek(changes)? {
            if open.upper.is_some_and(|upper| entry >= upper) {
                break;
            }
            // Consumes the change that `peek` returned.
            changes.next();
            while let Some(kept) = old.next_if(|kept| *kept < entry) {
                open.push(kept);
            }
            let present = old.next_if_eq(&entry).is_some();
            match op {
                Op::Put => {
                    open.push(entry);
                    counts.added += u64::from(!present);
                }
                Op::Remove => counts.removed += u64::from(present),
            }
            if open.shape.bytes() >= MAX_OPEN_CHUNKS * capacity_bytes::<E>() {
                written += 1;
                self.split_off(open, fill.bytes::<E>(written), writer)?;
            }
        }
        old.for_each(|kept| open.push(kept));
        while is_append && !open.shape.fits() {
            self.split_off(open, capacity_bytes::<E>(), writer)?;
        }
        Ok(())
    }

    /// Writes the first entries as a chunk of at most `max_bytes`; the other entries stay open.
    fn split_off(
        &mut self,
        open: &mut OpenChunk<E>,
        max_bytes: usize,
        writer: &mut ChunkWriter,
    ) -> Result<()> {
        let fence = open.shape.fence();
        let mut shape = ChunkShape::new(fence);
        let fitting = open.entries.iter().take_while(|entry| {
            shape = shape.with(**entry);
            shape.bytes() <= max_bytes
        });
        let rest = open.entries.split_off(fitting.count());
        self.write(fence, &open.entries, writer)?;
        // The fence of the new chunk is its first entry, and never changes again.
        let fence = rest.first().copied().unwrap_or(fence);
        *open = OpenChunk::new(fence, rest, open.upper);
        Ok(())
    }

    /// Merges the next chunk into the open chunk if the open chunk is small and the two fit.
    /// Returns `true` if merged.
    fn absorb_next(&mut self, open: &mut OpenChunk<E>) -> Result<bool> {
        let Some(upper) = open.upper else {
            return Ok(false);
        };
        if !is_small(&open.shape) {
            return Ok(false);
        }
        let next = self.open_chunk(upper)?;
        // The open chunk keeps its fence, which also bounds the absorbed entries from below.
        let merged = open.shape.with_all(&next.entries);
        if !may_be_merged(&merged) {
            return Ok(false);
        }
        self.delete(upper)?;
        open.shape = merged;
        open.entries.extend(next.entries);
        open.upper = next.upper;
        Ok(true)
    }

    /// Writes the open chunk: in halves if it is too large, and after removals merged into the
    /// chunk before if it is small, or deleted if it is empty.
    fn put_back(
        &mut self,
        mut open: OpenChunk<E>,
        has_removals: bool,
        writer: &mut ChunkWriter,
    ) -> Result<()> {
        let fence = open.shape.fence();
        // The first chunk has fence 0 and stays, even if empty: a fence never changes.
        if has_removals && is_small(&open.shape) && fence > E::MIN {
            if open.entries.is_empty() {
                return self.delete(fence);
            }
            let mut previous = self.chunk_before(fence)?;
            let merged = previous.shape.with_all(&open.entries);
            if may_be_merged(&merged) {
                self.delete(fence)?;
                previous.entries.append(&mut open.entries);
                return self.write(merged.fence(), &previous.entries, writer);
            }
        }
        self.write_in_halves(fence, &open.entries, writer)
    }

    /// Writes entries as one chunk, or half of them as one and half as another, until all fit.
    /// Halves leave room in each; a full first part would split at the next insert. A part with a
    /// far id is wider than the others, so an even number of bytes for each would take more passes.
    fn write_in_halves(&mut self, fence: E, entries: &[E], writer: &mut ChunkWriter) -> Result<()> {
        let (left, right) = entries.split_at(entries.len() / 2);
        match right.first() {
            Some(middle) if !ChunkShape::new(fence).with_all(entries).fits() => {
                self.write_in_halves(fence, left, writer)?;
                self.write_in_halves(*middle, right, writer)
            }
            _ => self.write(fence, entries, writer),
        }
    }

    fn chunk_before(&self, fence: E) -> Result<OpenChunk<E>> {
        let mut cursor = self
            .table
            .lower_bound(Bound::Included(fence))
            .reading(&self.db_path)?;
        match cursor.peek_prev().reading(&self.db_path)? {
            Some((previous, bytes)) => {
                let previous = previous.value();
                let entries = self.verified(previous, bytes.value(), Some(fence), &mut None)?;
                Ok(OpenChunk::new(previous, entries, Some(fence)))
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

    /// Appends chunks of [`encode_chunks`] to the table.
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

/// The next change; consumes and returns an error.
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
    use crate::store::disk::PAGE_BYTES;
    use crate::store::disk::path::DbPath;
    use crate::store::tables::packed::{TableId, encode_chunks};

    const KIND: TableId = TableId {
        name: "packed",
        number: 9,
    };

    /// A packed table in memory and a plain set with the same changes.
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
            let db_path = DbPath::on_system_disk(Path::new("memory"));
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

        /// Asserts that the table equals the set; returns the fill of its chunks, from 0 to 1.
        fn compare(&self) -> f64 {
            let transaction = self.database.begin_read().unwrap();
            let db_path = DbPath::on_system_disk(Path::new("memory"));
            let table = transaction.open_table(KIND.definition::<E>()).unwrap();
            let packed = Packed::new(table, KIND, db_path);
            let entries: Vec<E> = packed.entries().unwrap().map(Result::unwrap).collect();
            assert!(entries.iter().eq(&self.plain));
            for entry in self.plain.iter().step_by(97) {
                assert_eq!(packed.first_in(*entry, *entry).unwrap(), Some(*entry));
            }
            let chunks = packed.chunks().unwrap();
            let (stored, bytes) = packed.bytes().unwrap();
            // One chunk takes one page. The other pages are inner pages of the B-tree.
            assert!(
                bytes <= (chunks + chunks / 50 + 2) * 4096,
                "{bytes} bytes for {chunks} chunks"
            );
            stored as f64 / (chunks * PAGE_BYTES as u64).max(1) as f64
        }
    }

    fn draw(n: u64) -> u64 {
        let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ (z >> 27)
    }

    #[test]
    fn random_batches_split_and_merge_chunks() {
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
    fn single_removals_merge_chunks() {
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
    fn ascending_entries_fill_chunks() {
        let mut twin = Twin::<u64>::new();
        for start in (0..100_000).step_by(1_000) {
            let changes: Vec<_> = (start..start + 1_000).map(|n| (n << 40, Op::Put)).collect();
            twin.apply(&changes);
        }
        let fill = twin.compare();
        assert!(fill > 0.95, "{fill}");
    }

    #[test]
    fn huge_batch_leaves_room_in_new_chunks() {
        let mut twin = Twin::<u64>::new();
        let changes: Vec<_> = (0..100_000).map(|n| (draw(n), Op::Put)).collect();
        twin.apply(&changes);
        let fill = twin.compare();
        assert!((0.7..0.85).contains(&fill), "{fill}");
        // The same batch again changes nothing.
        twin.apply(&changes);
        assert_eq!(twin.compare(), fill);
    }

    /// The ids of a chunk are as wide as the farthest needs. The values of the most entries that
    /// fit with narrow ids do not fit with a wide one.
    #[test]
    fn far_ids_split_chunks_of_near_ids() {
        let near = |first: u64, second: u64| u128::from_lanes(first << 38, second);
        for seconds in [0, 1 << 40] {
            let mut twin = Twin::<u128>::new();
            let dense: Vec<_> = (0..5_000)
                .map(|n| (near(n, seconds + n % 1_000), Op::Put))
                .collect();
            twin.apply(&dense);
            let before = twin.compare();
            for n in (0..5_000).step_by(400) {
                twin.apply(&[(near(n, u64::MAX - n), Op::Put)]);
                twin.apply(&[(u128::from_lanes(n << 38 | 7, n << 50), Op::Put)]);
            }
            assert!(before > 0.6 && twin.compare() > 0.4);
            for n in (0..5_000).step_by(400) {
                twin.apply(&[(near(n, u64::MAX - n), Op::Remove)]);
            }
            twin.compare();
        }
    }

    #[test]
    fn uneven_entries_equal_plain_set() {
        // Runs of equal first lanes; both ends of the range; one high half; dense with holes.
        let kinds: [fn(u64) -> u128; 4] = [
            |n| u128::from_lanes((n % 7) << 60, n),
            |n| u128::from_lanes(if n % 2 == 0 { n } else { !n }, draw(n)),
            |n| u128::from_lanes(5 << 48 | draw(n) >> 32, n),
            |n| u128::from_lanes(n + n / 100, draw(n)),
        ];
        for kind in kinds {
            let mut twin = Twin::<u128>::new();
            for start in [0, 20_000, 4_000] {
                let puts: Vec<_> = (start..start + 6_000).map(|n| (kind(n), Op::Put)).collect();
                twin.apply(&puts);
                twin.compare();
                let removals: Vec<_> = (start..start + 6_000)
                    .filter(|n| draw(*n).is_multiple_of(3))
                    .map(|n| (kind(n), Op::Remove))
                    .collect();
                twin.apply(&removals);
                twin.compare();
            }
            let rest: Vec<_> = twin
                .plain
                .iter()
                .map(|entry| (*entry, Op::Remove))
                .collect();
            for part in rest.chunks(700) {
                twin.apply(part);
            }
            twin.compare();
        }
    }

    #[test]
    fn appended_chunks_hold_all_entries() {
        for fill in [Fill::Full, Fill::Room] {
            let mut twin = Twin::<u64>::new();
            twin.plain = (0..50_000).map(draw).collect();
            let entries = twin.plain.clone().into_iter().map(Ok);
            let mut chunks = encode_chunks(KIND, fill, entries)
                .map(Result::unwrap)
                .peekable();
            while chunks.peek().is_some() {
                let transaction = twin.database.begin_write().unwrap();
                let table = transaction.open_table(KIND.definition::<u64>()).unwrap();
                Packed::new(table, KIND, DbPath::on_system_disk(Path::new("memory")))
                    .append(chunks.by_ref().take(7))
                    .unwrap();
                transaction.commit().unwrap();
            }
            let full = twin.compare();
            assert!(if fill == Fill::Full {
                full > 0.98
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
        fn batches_equal_plain_set(
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
