//! One chunk of a packed table as bytes, with its checksum.
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | crc32 of all that follows and of the fence the chunk is stored under |
//! | 4..6 | how many entries |
//! | 6 | version of this layout, 1 |
//! | 7 | which packed table the chunk belongs to |
//! | 8.. | the first `u64` of every entry, then, if entries are pairs, the second of every entry |
//!
//! All integers are little-endian. The fence and the table are covered by the checksum, so that
//! a chunk that turns up in another place is refused like a damaged one. Nothing is left out:
//! the length of the value follows from the number of entries.

use std::marker::PhantomData;

use bytemuck::cast_slice;

use crate::store::disk::page::PAGE_BYTES;

/// Bytes of the header.
const HEADER_BYTES: usize = 8;
/// Version of the layout.
const VERSION: u8 = 1;

/// What redb adds to a leaf that holds one fixed-width key and one value: a 4-byte leaf header
/// and a 4-byte end offset of the value.
const LEAF_OVERHEAD_BYTES: usize = 8;

/// An entry of a packed table: one `u64`, or two as a pair ordered by the first.
///
/// The entry is also the key type of the table, since a fence is a bound on entries.
pub(crate) trait Entry:
    Copy
    + Ord
    + Send
    + std::fmt::LowerHex
    + redb::Key
    + for<'a> redb::Value<SelfType<'a> = Self>
    + 'static
{
    /// How many `u64`s an entry has.
    const LANES: usize;
    /// The smallest entry, and the first fence of every table.
    const MIN: Self;
    /// How many entries fill one page exactly.
    const CAPACITY: usize =
        (PAGE_BYTES - LEAF_OVERHEAD_BYTES - 8 * Self::LANES - HEADER_BYTES) / (8 * Self::LANES);

    /// The entry with these lanes; `second` counts only in a pair.
    fn from_lanes(first: u64, second: u64) -> Self;
    /// The first lane.
    fn first(self) -> u64;
    /// The second lane of a pair.
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

/// A pair the other way round.
pub(crate) fn swapped(entry: u128) -> u128 {
    pair(entry.second(), entry.first())
}

/// Writes chunks, reusing one buffer.
#[derive(Default)]
pub(crate) struct ChunkWriter {
    lanes: Vec<u64>,
}

impl ChunkWriter {
    /// The bytes of a chunk of `table` that holds `entries` under `fence`.
    ///
    /// # Panics
    /// If there are more entries than [`Entry::CAPACITY`]: a broken promise of the caller.
    pub(crate) fn encode<E: Entry>(&mut self, table: u8, fence: E, entries: &[E]) -> &[u8] {
        assert!(
            entries.len() <= E::CAPACITY,
            "a chunk holds at most {} entries",
            E::CAPACITY
        );
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

/// The checksum of a chunk: its bytes after the checksum itself, then its fence.
fn checksum<E: Entry>(bytes: &[u8], fence: E) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(bytes);
    hasher.update(&fence.first().to_le_bytes());
    hasher.update(&fence.second().to_le_bytes());
    hasher.finalize()
}

/// A chunk read from a table and found sound.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'b, E> {
    firsts: &'b [u8],
    seconds: &'b [u8],
    entry: PhantomData<E>,
}

impl<'b, E: Entry> Chunk<'b, E> {
    /// Reads what [`ChunkWriter::encode`] wrote.
    ///
    /// # Errors
    /// Says in words what is wrong with the bytes.
    pub(crate) fn decode(table: u8, fence: E, bytes: &'b [u8]) -> Result<Self, &'static str> {
        let Some((header, lanes)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err("it is shorter than a header");
        };
        let [c0, c1, c2, c3, n0, n1, version, stored_table] = *header;
        let count = usize::from(u16::from_le_bytes([n0, n1]));
        if lanes.len() != count * 8 * E::LANES {
            return Err("its length does not fit its number of entries");
        }
        if checksum(bytes.get(4..).unwrap_or_default(), fence)
            != u32::from_le_bytes([c0, c1, c2, c3])
        {
            return Err("its checksum does not fit its bytes");
        }
        if version != VERSION {
            return Err("its layout is of an unknown version");
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

    /// The first lane of every entry, as bytes for the Hamming kernel.
    pub(crate) fn firsts(&self) -> &'b [u8] {
        self.firsts
    }

    /// The entries, in order.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = E> + ExactSizeIterator + 'b {
        let (firsts, seconds) = (lanes(self.firsts), lanes(self.seconds));
        firsts.iter().enumerate().map(move |(position, first)| {
            let second = seconds
                .get(position)
                .map_or(0, |bytes| u64::from_le_bytes(*bytes));
            E::from_lanes(u64::from_le_bytes(*first), second)
        })
    }

    /// The last entry, if there is one.
    pub(crate) fn last(&self) -> Option<E> {
        self.entries().next_back()
    }

    /// The entries that are at least `from`, in order.
    pub(crate) fn entries_from(&self, from: E) -> impl Iterator<Item = E> + 'b {
        let below =
            lanes(self.firsts).partition_point(|bytes| u64::from_le_bytes(*bytes) < from.first());
        self.entries()
            .skip(below)
            .skip_while(move |entry| *entry < from)
    }
}

/// The `u64`s in the bytes, each still as bytes.
fn lanes(bytes: &[u8]) -> &[[u8; 8]] {
    bytes.as_chunks::<8>().0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_those_of_one_page() {
        assert_eq!(<u128 as Entry>::CAPACITY, 254);
        assert_eq!(<u64 as Entry>::CAPACITY, 509);
    }

    #[test]
    fn what_is_encoded_is_decoded() {
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
    fn every_flipped_bit_and_every_cut_is_noticed() {
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
    fn a_chunk_in_another_place_is_refused() {
        let bytes = ChunkWriter::default()
            .encode(3, 100_u64, &[100, 200])
            .to_vec();
        assert!(Chunk::<u64>::decode(3, 100, &bytes).is_ok());
        assert!(Chunk::<u64>::decode(3, 101, &bytes).is_err());
        assert!(Chunk::<u64>::decode(4, 100, &bytes).is_err());
    }
}
