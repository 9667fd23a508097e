//! Walks through the fingerprints of one block, by pieces and by runs.

use redb::ReadableTable;

use crate::block;
use crate::document::DocId;
use crate::error::Result;
use crate::store::tables::Tables;
use crate::store::tables::packed::Step;
use crate::store::tables::packed::chunk::{Chunk, Entry, pair};
use crate::store::view::bucket_cache::{BUCKET_LIMIT, Bucket};

impl<P, S> Tables<P, S>
where
    P: ReadableTable<u128, &'static [u8]>,
    S: ReadableTable<u64, &'static [u8]>,
{
    /// See [`FingerprintSource::walk`](crate::store::FingerprintSource::walk).
    pub(crate) fn walk_block(
        &self,
        block: usize,
        from: u64,
        to: u64,
        visitor: &mut dyn FnMut(&[u64]) -> Result<Step<u64>>,
    ) -> Result<()> {
        let mut piece = Piece::new(from, to);
        if let Some(position) = block.checked_sub(1) {
            return self.rotated[position].visit(from, to, |_, chunk| {
                piece.take(chunk.firsts());
                piece.show(visitor)
            });
        }
        let (from, to) = (pair(from, 0), pair(to, u64::MAX));
        self.block0.visit(from, to, |_, chunk| {
            piece.take(chunk.firsts());
            piece.fingerprints.dedup();
            Ok(match piece.show(visitor)? {
                Step::SeekTo(fingerprint) => Step::SeekTo(pair(fingerprint, 0)),
                Step::Stop => Step::Stop,
                Step::Next => past_one_fingerprint(&chunk, to),
            })
        })
    }

    /// Visits each reliable document whose fingerprint is in `from..=to`, with its fingerprint and in
    /// order of these, then of ids, until the visitor says `false`.
    pub(crate) fn walk_documents(
        &self,
        from: u64,
        to: u64,
        mut visitor: impl FnMut(u64, DocId) -> Result<bool>,
    ) -> Result<()> {
        let (from, to) = (pair(from, 0), pair(to, u64::MAX));
        self.block0.visit(from, to, |_, chunk| {
            for entry in chunk.entries_from(from).take_while(|entry| *entry <= to) {
                if !visitor(entry.first(), DocId(entry.second()))? {
                    return Ok(Step::Stop);
                }
            }
            Ok(Step::Next)
        })
    }

    /// Calls `visitor` with each key from `first` to `last` and its run, in one walk.
    pub(crate) fn walk_runs(
        &self,
        block: usize,
        first: u16,
        last: u16,
        mut visitor: impl FnMut(u16, Bucket<'_>) -> Result<()>,
    ) -> Result<()> {
        let (from, to) = (block::front_range(first).0, block::front_range(last).1);
        // The key whose run is being gathered; nothing behind the last.
        let mut gathered = Some(first);
        let mut run = Vec::new();
        let mut finish = |run: &mut Vec<u64>, key: u16| {
            if run.len() > BUCKET_LIMIT {
                visitor(key, Bucket::Long)?;
            } else {
                visitor(key, Bucket::Whole(run))?;
            }
            run.clear();
            Ok((key < last).then(|| key + 1))
        };
        self.walk_block(block, from, to, &mut |piece| {
            for part in piece.chunk_by(|a, b| block::front_key(*a) == block::front_key(*b)) {
                let key = block::front_key(part[0]);
                while let Some(before) = gathered.filter(|gathered| *gathered < key) {
                    gathered = finish(&mut run, before)?;
                }
                run.extend_from_slice(part);
            }
            if run.len() <= BUCKET_LIMIT {
                return Ok(Step::Next);
            }
            if let Some(key) = gathered {
                gathered = finish(&mut run, key)?;
            }
            Ok(gathered.map_or(Step::Stop, |key| Step::SeekTo(block::front_range(key).0)))
        })?;
        while let Some(key) = gathered {
            gathered = finish(&mut run, key)?;
        }
        Ok(())
    }
}

/// A fingerprint that fills a whole chunk may fill thousands: go past all of them.
fn past_one_fingerprint(chunk: &Chunk<'_, u128>, to: u128) -> Step<u128> {
    let mut entries = chunk.entries();
    match (entries.next(), entries.next_back()) {
        (Some(first), Some(last)) if first.first() == last.first() => {
            let beyond = pair(last.first(), u64::MAX).checked_add(1);
            beyond
                .filter(|beyond| *beyond <= to)
                .map_or(Step::Stop, Step::SeekTo)
        }
        _ => Step::Next,
    }
}

/// The fingerprints of a chunk, of which a walk shows those of its range that it did not show
/// before.
struct Piece {
    from: u64,
    to: u64,
    fingerprints: Vec<u64>,
}

impl Piece {
    fn new(from: u64, to: u64) -> Self {
        Self {
            from,
            to,
            fingerprints: Vec::with_capacity(u64::CAPACITY),
        }
    }

    fn take(&mut self, firsts: &[u8]) {
        let (firsts, _) = firsts.as_chunks::<8>();
        self.fingerprints.clear();
        self.fingerprints
            .extend(firsts.iter().map(|bytes| u64::from_le_bytes(*bytes)));
    }

    fn show(&mut self, visitor: &mut dyn FnMut(&[u64]) -> Result<Step<u64>>) -> Result<Step<u64>> {
        let start = self.fingerprints.partition_point(|each| *each < self.from);
        let end = self.fingerprints.partition_point(|each| *each <= self.to);
        let shown = &self.fingerprints[start.min(end)..end];
        let Some(last) = shown.last() else {
            return Ok(Step::Next);
        };
        let Some(beyond) = last.checked_add(1) else {
            return visitor(shown).map(|_| Step::Stop);
        };
        let step = visitor(shown)?;
        self.from = match step {
            Step::SeekTo(fingerprint) => fingerprint,
            _ => beyond,
        };
        Ok(step)
    }
}
