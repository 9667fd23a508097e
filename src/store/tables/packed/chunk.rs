//! The bytes of a chunk of a packed table.
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | crc32 of all bytes from 4 on and of the fence |
//! | 4..6 | number of entries |
//! | 6 | version of this layout, 1 |
//! | 7 | number of the packed table |
//! | 8.. | the first `u64` of every entry, then, if entries are pairs, the second `u64` of every entry |
//!
//! All integers are little-endian. The checksum covers the fence and the table, so a chunk at the
//! wrong key or in the wrong table is refused as damage. The number of entries determines the
//! length.

use std::marker::PhantomData;

use bytemuck::cast_slice;

use crate::store::disk::page::PAGE_BYTES;

/// Bytes of the header of a chunk.
const HEADER_BYTES: usize = 8;
/// Version of the layout.
const VERSION: u8 = 1;

/// Bytes that redb adds to a leaf with one fixed-width key and one value: a 4-byte leaf header and
/// the 4-byte end offset of the value.
const LEAF_OVERHEAD_BYTES: usize = 8;

/// An entry of a packed table: one `u64`, or a pair of `u64`s as a `u128`. Each `u64` is a *lane*.
///
/// The entry is also the key type of the redb table, because a fence is a lower bound of entries.
pub(crate) trait Entry:
    Copy
    + Ord
    + Send
    + std::fmt::LowerHex
    + redb::Key
    + for<'a> redb::Value<SelfType<'a> = Self>
    + 'static
{
    /// Lanes of an entry: 1 or 2.
    const LANES: usize;
    /// The smallest entry: 0, the first fence of every table.
    const MIN: Self;
    /// Entries of a full chunk, which fills one page with its key: 509 single `u64`s or 254 pairs.
    const CAPACITY: usize =
        (PAGE_BYTES - LEAF_OVERHEAD_BYTES - 8 * Self::LANES - HEADER_BYTES) / (8 * Self::LANES);

    /// The entry with these lanes; `second` is ignored except in a pair.
    fn from_lanes(first: u64, second: u64) -> Self;
    /// The first lane.
    fn first(self) -> u64;
    /// The second lane of a pair; 0 of a single `u64`.
    fn second(self) -> u64;
}

impl Entry for u64 {
    const LANES: usize = 1;
    const MIN: Self = 0;

    fn from_lanes(first: u64, _second: u64) -> Self {
        first
    }
    fn first(self) -> u64 {
        self
    }
    fn second(self) -> u64 {
        0
    }
}

impl Entry for u128 {
    const LANES: usize = 2;
    const MIN: Self = 0;

    fn from_lanes(first: u64, second: u64) -> Self {
        (u128::from(first) << 64) | u128::from(second)
    }
    fn first(self) -> u64 {
        (self >> 64) as u64
    }
    fn second(self) -> u64 {
        self as u64
    }
}

/// A pair as an entry.
pub(crate) fn pair(first: u64, second: u64) -> u128 {
    u128::from_lanes(first, second)
}

/// A pair with its lanes exchanged.
pub(crate) fn swapped(entry: u128) -> u128 {
    pair(entry.second(), entry.first())
}

/// Encodes chunks into one reused buffer.
#[derive(Default)]
pub(crate) struct ChunkWriter {
    lanes: Vec<u64>,
}

impl ChunkWriter {
    /// The bytes of a chunk of table number `table`.
    ///
    /// # Panics
    /// If there are more than [`Entry::CAPACITY`] entries.
    pub(crate) fn encode<E: Entry>(&mut self, table: u8, fence: E, entries: &[E]) -> &[u8] {
        assert!(
            entries.len() <= E::CAPACITY,
            "a chunk holds at most {} entries",
            E::CAPACITY
        );
        // The header as one `u64`: checksum, number of entries, version, table.
        let word =
            |count: usize| (count as u64) << 32 | u64::from(VERSION) << 48 | u64::from(table) << 56;
        self.lanes.clear();
        self.lanes.push(word(entries.len()).to_le());
        self.lanes
            .extend(entries.iter().map(|entry| entry.first().to_le()));
        if E::LANES == 2 {
            self.lanes
                .extend(entries.iter().map(|entry| entry.second().to_le()));
        }
        let crc = checksum(&cast_slice(&self.lanes)[4..], fence);
        self.lanes[0] = (word(entries.len()) | u64::from(crc)).to_le();
        cast_slice(&self.lanes)
    }
}

/// The checksum of a chunk: its bytes from 4 on, then its fence.
fn checksum<E: Entry>(bytes: &[u8], fence: E) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(bytes);
    hasher.update(&fence.first().to_le_bytes());
    hasher.update(&fence.second().to_le_bytes());
    hasher.finalize()
}

/// A chunk whose checksum was verified.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'b, E> {
    firsts: &'b [u8],
    seconds: &'b [u8],
    entry: PhantomData<E>,
}

impl<'b, E: Entry> Chunk<'b, E> {
    /// Decodes the bytes of [`ChunkWriter::encode`]; the error describes the damage.
    pub(crate) fn decode(table: u8, fence: E, bytes: &'b [u8]) -> Result<Self, &'static str> {
        let Some((header, lanes)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err("it is shorter than a header");
        };
        let [c0, c1, c2, c3, n0, n1, version, stored_table] = *header;
        let count = usize::from(u16::from_le_bytes([n0, n1]));
        if lanes.len() != count * 8 * E::LANES {
            return Err("its length does not match its number of entries");
        }
        if checksum(bytes.get(4..).unwrap_or_default(), fence)
            != u32::from_le_bytes([c0, c1, c2, c3])
        {
            return Err("it does not match its checksum");
        }
        if version != VERSION {
            return Err("it has an unknown layout version");
        }
        if stored_table != table {
            return Err("it belongs to another table");
        }
        let (firsts, seconds) = lanes.split_at(count * 8);
        Ok(Self {
            firsts,
            seconds,
            entry: PhantomData,
        })
    }

    /// The first lane of every entry, as little-endian bytes.
    pub(crate) fn firsts(&self) -> &'b [u8] {
        self.firsts
    }

    /// All entries in order.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = E> + ExactSizeIterator + 'b {
        let (firsts, seconds) = (lanes(self.firsts), lanes(self.seconds));
        firsts.iter().enumerate().map(move |(position, first)| {
            let second = seconds
                .get(position)
                .map_or(0, |bytes| u64::from_le_bytes(*bytes));
            E::from_lanes(u64::from_le_bytes(*first), second)
        })
    }

    /// The last entry; `None` if the chunk is empty.
    pub(crate) fn last(&self) -> Option<E> {
        self.entries().next_back()
    }

    /// The entries from `from` on, in order.
    pub(crate) fn entries_from(&self, from: E) -> impl Iterator<Item = E> + 'b {
        let below =
            lanes(self.firsts).partition_point(|bytes| u64::from_le_bytes(*bytes) < from.first());
        self.entries()
            .skip(below)
            .skip_while(move |entry| *entry < from)
    }
}

/// The lanes, each as little-endian bytes: redb does not align values, so they cannot be cast.
fn lanes(bytes: &[u8]) -> &[[u8; 8]] {
    bytes.as_chunks::<8>().0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_chunk_fills_one_page() {
        assert_eq!(<u128 as Entry>::CAPACITY, 254);
        assert_eq!(<u64 as Entry>::CAPACITY, 509);
    }

    #[test]
    fn encoded_chunk_decodes_to_its_entries() {
        let mut writer = ChunkWriter::default();
        for count in [0, 1, 7, 254] {
            let entries: Vec<u128> = (0..count).map(|n| pair(n * 3, !n)).collect();
            let bytes = writer.encode(1, 5, &entries).to_vec();
            let chunk = Chunk::<u128>::decode(1, 5, &bytes).unwrap();
            assert_eq!(chunk.entries().collect::<Vec<_>>(), entries);
            for from in [0, pair(3, u64::MAX), pair(u64::MAX, 0)] {
                let expected: Vec<_> = entries.iter().copied().filter(|e| *e >= from).collect();
                assert_eq!(chunk.entries_from(from).collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn flipped_bit_and_cut_are_detected() {
        let entries: Vec<u64> = (0..20).map(|n| n * n).collect();
        let bytes = ChunkWriter::default().encode(3, 0_u64, &entries).to_vec();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Chunk::<u64>::decode(3, 0, &damaged).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Chunk::<u64>::decode(3, 0, &bytes[..length]).is_err());
        }
    }

    #[test]
    fn chunk_at_wrong_fence_or_table_is_refused() {
        let bytes = ChunkWriter::default()
            .encode(3, 100_u64, &[100, 200])
            .to_vec();
        assert!(Chunk::<u64>::decode(3, 100, &bytes).is_ok());
        assert!(Chunk::<u64>::decode(3, 101, &bytes).is_err());
        assert!(Chunk::<u64>::decode(4, 100, &bytes).is_err());
    }
}
