//! Range scans of the table of one block. A visitor receives slices of fingerprints, documents, or
//! buckets.

use crate::block;
use crate::error::Result;
use crate::ids::DocId;
use crate::store::cache::buckets::{Bucket, Fingerprints};
use crate::store::tables::packed::VisitFlow;
use crate::store::tables::packed::chunk::Chunk;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::{BLOCK0, ROTATED};
use crate::store::tables::{Access, Tables};

impl<A: Access> Tables<A> {
    /// Visits the distinct reliable fingerprints whose rotation by `block` is in `from..=to`,
    /// rotated and in order, a slice at a time. [`VisitFlow::SeekTo`] skips the fingerprints below.
    pub(crate) fn visit_range(
        &self,
        block: usize,
        from: u64,
        to: u64,
        visitor: &mut dyn FnMut(&[u64]) -> Result<VisitFlow<u64>>,
    ) -> Result<()> {
        let mut cursor = RangeCursor::new(from, to);
        if let Some(position) = block.checked_sub(1) {
            return self.table(ROTATED[position]).visit(from, to, |_, chunk| {
                cursor.load(&chunk);
                cursor.visit(visitor)
            });
        }
        // Table `block0` has an entry for each document, so a fingerprint can be repeated. `dedup`
        // removes the repetitions within a chunk. The cursor skips a fingerprint that the chunk
        // before ended with.
        let (from, to) = (pair(from, 0), pair(to, u64::MAX));
        self.table(BLOCK0).visit(from, to, |_, chunk| {
            cursor.load(&chunk);
            cursor.fingerprints.dedup();
            Ok(match cursor.visit(visitor)? {
                VisitFlow::SeekTo(fingerprint) => VisitFlow::SeekTo(pair(fingerprint, 0)),
                VisitFlow::Stop => VisitFlow::Stop,
                VisitFlow::Next => next_fingerprint(&chunk, to),
            })
        })
    }

    /// Visits each document whose fingerprint is in `from..=to`, by fingerprint, then id, until the
    /// visitor returns `false`. `block0` holds reliable documents only.
    pub(crate) fn visit_documents(
        &self,
        from: u64,
        to: u64,
        mut visitor: impl FnMut(u64, DocId) -> Result<bool>,
    ) -> Result<()> {
        let (from, to) = (pair(from, 0), pair(to, u64::MAX));
        self.table(BLOCK0).visit(from, to, |_, chunk| {
            for entry in chunk.entries_from(from).take_while(|entry| *entry <= to) {
                if !visitor(entry.first(), DocId(entry.second()))? {
                    return Ok(VisitFlow::Stop);
                }
            }
            Ok(VisitFlow::Next)
        })
    }

    /// Visits each key in `first..=last` with its bucket, also if the bucket is empty, in one pass
    /// over the table.
    pub(super) fn visit_buckets(
        &self,
        block: usize,
        first: u16,
        last: u16,
        max_len: usize,
        mut visitor: impl FnMut(u16, Bucket<'_>) -> Result<()>,
    ) -> Result<()> {
        let (from, to) = (block::front_range(first).0, block::front_range(last).1);
        // The key whose bucket is being collected; `None` after the last key.
        let mut current = Some(first);
        let mut bucket = Vec::new();
        // Passes the collected bucket to the visitor, and returns the key of the next bucket.
        let mut finish = |bucket: &mut Vec<u64>, key: u16| {
            if bucket.len() > max_len {
                visitor(key, Bucket::TooLarge)?;
            } else {
                visitor(key, Bucket::Whole(Fingerprints::Unpacked(bucket)))?;
            }
            bucket.clear();
            Ok((key < last).then(|| key + 1))
        };
        self.visit_range(block, from, to, &mut |fingerprints| {
            let same_key = |a: &u64, b: &u64| block::front_key(*a) == block::front_key(*b);
            for fingerprints in fingerprints.chunk_by(same_key) {
                // Finishes the bucket of the key before, and the empty buckets of the keys in
                // between.
                let key = block::front_key(fingerprints[0]);
                while let Some(before) = current.filter(|current| *current < key) {
                    current = finish(&mut bucket, before)?;
                }
                bucket.extend_from_slice(fingerprints);
            }
            // The bucket of the last key stays open, because the next slice may continue it. A
            // bucket that is too large already is not read to its end: the visit continues at the
            // next key.
            if bucket.len() <= max_len {
                return Ok(VisitFlow::Next);
            }
            if let Some(key) = current {
                current = finish(&mut bucket, key)?;
            }
            Ok(current.map_or(VisitFlow::Stop, |key| {
                VisitFlow::SeekTo(block::front_range(key).0)
            }))
        })?;
        // The last collected bucket, and empty buckets up to the last key.
        while let Some(key) = current {
            current = finish(&mut bucket, key)?;
        }
        Ok(())
    }
}

/// The next step in `block0` after a chunk. If the chunk holds one fingerprint only, the step seeks
/// past that fingerprint, because the copies of a fingerprint that fills a chunk may fill
/// thousands.
fn next_fingerprint(chunk: &Chunk<'_, u128>, to: u128) -> VisitFlow<u128> {
    match (chunk.first(), chunk.last()) {
        (Some(first), Some(last)) if first.first() == last.first() => {
            let next = pair(last.first(), u64::MAX).checked_add(1);
            next.filter(|next| *next <= to)
                .map_or(VisitFlow::Stop, VisitFlow::SeekTo)
        }
        _ => VisitFlow::Next,
    }
}

/// The position in a range of fingerprints, and the fingerprints of the current chunk in the rest
/// of the range.
struct RangeCursor {
    /// The start of the rest of the range.
    from: u64,
    to: u64,
    fingerprints: Vec<u64>,
}

impl RangeCursor {
    fn new(from: u64, to: u64) -> Self {
        Self {
            from,
            to,
            fingerprints: Vec::new(),
        }
    }

    /// Loads the fingerprints of the chunk that are in the rest of the range.
    fn load<E: Entry>(&mut self, chunk: &Chunk<'_, E>) {
        self.fingerprints.clear();
        chunk.push_firsts_within(self.from, self.to, &mut self.fingerprints);
    }

    /// Visits the loaded fingerprints.
    fn visit(
        &mut self,
        visitor: &mut dyn FnMut(&[u64]) -> Result<VisitFlow<u64>>,
    ) -> Result<VisitFlow<u64>> {
        let visited = self.fingerprints.as_slice();
        let Some(last) = visited.last() else {
            return Ok(VisitFlow::Next);
        };
        // After `u64::MAX` the rest of the range is empty, and no value of `from` can express that.
        let Some(next) = last.checked_add(1) else {
            return visitor(visited).map(|_| VisitFlow::Stop);
        };
        let step = visitor(visited)?;
        self.from = match step {
            VisitFlow::SeekTo(fingerprint) => fingerprint,
            _ => next,
        };
        Ok(step)
    }
}
