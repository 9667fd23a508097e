//! The chunks of a bulk load.

use super::TableId;
use crate::error::Result;
use crate::store::tables::packed::chunk::{ChunkShape, ChunkWriter, capacity_bytes};
use crate::store::tables::packed::entry::Entry;

/// The fill of chunks with room for inserts, drawn anew for each chunk.
// With one fill for all chunks, all chunks would split at the same time ("Waves of Misery After
// Index Creation", Glombiewski, Seeger, Graefe, BTW 2019).
const BULK_FILL_PERCENT: std::ops::RangeInclusive<u64> = 60..=95;

/// The fill factor of new chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// 100 %: no later inserts are expected.
    Full,
    /// [`BULK_FILL_PERCENT`]: leaves room for later inserts.
    Room,
}

impl Fill {
    /// The most bytes of the `number`-th chunk.
    pub(super) fn bytes<E: Entry>(self, number: u64) -> usize {
        let capacity = capacity_bytes::<E>();
        match self {
            Self::Full => capacity,
            Self::Room => {
                let (low, high) = BULK_FILL_PERCENT.into_inner();
                // The finaliser of splitmix64 as a hash of the number. A random source would give
                // another file in each run.
                let mut draw = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                draw = (draw ^ (draw >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                draw = (draw ^ (draw >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                capacity * (low + (draw ^ (draw >> 31)) % (high - low + 1)) as usize / 100
            }
        }
    }
}

/// Encodes a whole table as fence and bytes of each chunk. `entries` are ascending and distinct.
pub(crate) fn encode_chunks<E: Entry>(
    id: TableId,
    fill: Fill,
    entries: impl Iterator<Item = Result<E>>,
) -> impl Iterator<Item = Result<(E, Vec<u8>)>> {
    let mut entries = entries.peekable();
    let mut writer = ChunkWriter::default();
    let mut part = Vec::new();
    let mut number = 0;
    std::iter::from_fn(move || {
        let first = match entries.peek()? {
            Ok(first) => *first,
            Err(_) => return entries.next()?.err().map(Err),
        };
        let fence = if number == 0 { E::MIN } else { first };
        let max_bytes = fill.bytes::<E>(number);
        number += 1;
        part.clear();
        let mut shape = ChunkShape::new(fence);
        let mut fits = |entry: &Result<E>| {
            let Ok(entry) = entry else {
                return false;
            };
            shape = shape.with(*entry);
            shape.bytes() <= max_bytes
        };
        while let Some(Ok(entry)) = entries.next_if(&mut fits) {
            part.push(entry);
        }
        let bytes = writer.encode(id.number, fence, &part);
        Some(Ok((fence, bytes.to_vec())))
    })
}
