//! The bytes of a chunk of a packed table.
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | crc32 of all bytes from 4 on and of the fence |
//! | 4..6 | number of entries |
//! | 6 | version of this layout, 2 |
//! | 7 | number of the packed table |
//! | 8 | *l*, the number of low bits of a first lane, 0 to 63 |
//! | 9 | *w*, the bits of a second lane, 0 to 64; 0 if entries are single `u64`s |
//! | then | low bits: bits 32 to *l* − 1 of each first lane, packed; all *l* bits if *l* is below 32 |
//! | then | high bits of each first lane, less the high bits of the fence, in [`unary`]; the last byte is not 0 |
//! | then | low plane: bits 0 to 31 of each first lane, 4 bytes each; absent if *l* is below 32 |
//! | then | if entries are pairs: the least second lane, 8 bytes, and the difference of each from it, packed |
//!
//! All integers are little-endian. Packed integers follow each other without gaps, the least
//! significant bit first; zeros fill up the last byte of each part. The checksum covers the fence
//! and the table, so a chunk at the wrong key or in the wrong table is refused as damage. The high
//! bits take the bytes that the other parts leave.
//!
//! The first lanes are in Elias-Fano: of *n* lanes in a range *r* from the fence, log2(*r* / *n*)
//! low bits are stored as they are, and the high bits, which ascend, in 2 to 3 bits each. Random
//! fingerprints have more than 32 low bits up to 4 billion documents. Ids have few, and dense ids
//! none.

use std::marker::PhantomData;
use std::ops::Range;

use crate::store::disk::PAGE_BYTES;
use crate::store::tables::packed::entry::Entry;
use crate::store::tables::packed::{fields, unary};

/// Bytes of the header of a chunk.
const HEADER_BYTES: usize = 10;
/// Version of the layout.
const VERSION: u8 = 2;

/// Low bits in the plane.
const PLANE_BITS: u32 = 32;
const PLANE_BYTES: usize = 4;

/// Bytes that redb adds to a leaf with one fixed-width key and one value: a 4-byte leaf header and
/// the 4-byte end offset of the value.
const LEAF_OVERHEAD_BYTES: usize = 8;

/// The bytes of a chunk that fills one page with its key.
pub(crate) const fn capacity_bytes<E: Entry>() -> usize {
    PAGE_BYTES - LEAF_OVERHEAD_BYTES - 8 * E::LANES
}

/// The numbers of the entries of a chunk that determine its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkShape<E> {
    fence: E,
    len: usize,
    last: u64,
    least_second: u64,
    most_second: u64,
}

impl<E: Entry> ChunkShape<E> {
    pub(crate) fn new(fence: E) -> Self {
        Self {
            fence,
            len: 0,
            last: fence.first(),
            least_second: u64::MAX,
            most_second: 0,
        }
    }

    pub(crate) fn fence(&self) -> E {
        self.fence
    }

    /// The shape of the chunk with one more entry, which is larger than all others.
    pub(crate) fn with(mut self, entry: E) -> Self {
        self.len += 1;
        self.last = entry.first();
        self.least_second = self.least_second.min(entry.second());
        self.most_second = self.most_second.max(entry.second());
        self
    }

    /// The shape of the chunk with more entries, in order and larger than all others.
    pub(crate) fn with_all(self, entries: &[E]) -> Self {
        entries.iter().fold(self, |shape, entry| shape.with(*entry))
    }

    /// The bytes of the chunk; may be more than [`capacity_bytes`].
    pub(crate) fn bytes(&self) -> usize {
        let low_bits = self.low_bits();
        let (packed_bits, plane_bytes) = split_low_bits(low_bits);
        HEADER_BYTES
            + fields::len_bytes(self.len, packed_bits)
            + self.unary_bytes(low_bits)
            + self.len * plane_bytes
            + seconds_bytes::<E>(self.len, self.width())
    }

    /// Returns `true` if the chunk and its key fit into one page.
    pub(crate) fn fits(&self) -> bool {
        self.bytes() <= capacity_bytes::<E>()
    }

    /// The low bits of each first lane: as many as leave at least as many high values as there are
    /// entries.
    fn low_bits(&self) -> u32 {
        let range = self.last - self.fence.first();
        let len = self.len.max(1) as u64;
        if range < len {
            return 0;
        }
        let bits = range.ilog2() - len.ilog2();
        // Rounds the logarithm of the quotient down, without a division.
        bits - u32::from(len << bits > range)
    }

    fn unary_bytes(&self, low_bits: u32) -> usize {
        let high = (self.last >> low_bits) - (self.fence.first() >> low_bits);
        // At most three bits for each entry; 0 without entries, because `last` is then the fence.
        (self.len + high as usize).div_ceil(8)
    }

    /// The bits of a second lane.
    fn width(&self) -> u32 {
        // Without entries, the least is more than the most.
        let range = self.most_second.saturating_sub(self.least_second);
        u64::BITS - range.leading_zeros()
    }
}

/// The packed bits of a first lane, and its bytes in the plane.
fn split_low_bits(low_bits: u32) -> (u32, usize) {
    match low_bits.checked_sub(PLANE_BITS) {
        Some(packed_bits) => (packed_bits, PLANE_BYTES),
        None => (low_bits, 0),
    }
}

/// The bytes of the second lanes.
fn seconds_bytes<E: Entry>(len: usize, width: u32) -> usize {
    match E::LANES {
        2 => 8 + fields::len_bytes(len, width),
        _ => 0,
    }
}

/// Encodes chunks into one reused buffer.
#[derive(Default)]
pub(crate) struct ChunkWriter {
    bytes: Vec<u8>,
}

impl ChunkWriter {
    /// The bytes of a chunk of table number `table`. The entries are in order, and not below the
    /// fence.
    ///
    /// # Panics
    /// If the chunk does not [fit](ChunkShape::fits) into a page.
    pub(crate) fn encode<E: Entry>(&mut self, table: u8, fence: E, entries: &[E]) -> &[u8] {
        let shape = ChunkShape::new(fence).with_all(entries);
        assert!(shape.fits(), "a chunk fits into one page");
        let low_bits = shape.low_bits();
        let width = if E::LANES == 2 { shape.width() } else { 0 };
        let (packed_bits, plane_bytes) = split_low_bits(low_bits);
        let firsts = || entries.iter().map(|entry| entry.first());

        let bytes = &mut self.bytes;
        bytes.clear();
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&(entries.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&[VERSION, table, low_bits as u8, width as u8]);
        let (plane_shift, mask) = (8 * plane_bytes, fields::below(packed_bits));
        let packed = firsts().map(|first| first >> plane_shift & mask);
        fields::push(bytes, packed_bits, packed);
        let start = bytes.len();
        bytes.resize(start + shape.unary_bytes(low_bits), 0);
        let fence_high = fence.first() >> low_bits;
        for (index, first) in firsts().enumerate() {
            let high = (first >> low_bits) - fence_high;
            unary::set(&mut bytes[start..], index, high as usize);
        }
        if plane_bytes > 0 {
            let start = bytes.len();
            bytes.resize(start + plane_bytes * entries.len(), 0);
            let (plane, _) = bytes[start..].as_chunks_mut::<PLANE_BYTES>();
            for (low, first) in plane.iter_mut().zip(firsts()) {
                *low = (first as u32).to_le_bytes();
            }
        }
        if E::LANES == 2 {
            let least = if entries.is_empty() {
                0
            } else {
                shape.least_second
            };
            bytes.extend_from_slice(&least.to_le_bytes());
            let seconds = entries.iter().map(|entry| entry.second() - least);
            fields::push(bytes, width, seconds);
        }
        let crc = checksum(&bytes[4..], fence);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
        bytes
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
    len: usize,
    /// The low bits of each first lane.
    low_bits: u32,
    /// The high bits of the fence.
    fence_high: u64,
    /// The packed low bits and all bytes behind them, because reads of 8 bytes are the fastest.
    packed: &'b [u8],
    unary: &'b [u8],
    /// Empty if there are fewer than [`PLANE_BITS`] low bits.
    plane: &'b [[u8; PLANE_BYTES]],
    least_second: u64,
    width: u32,
    seconds: &'b [u8],
    entry: PhantomData<E>,
}

impl<'b, E: Entry> Chunk<'b, E> {
    /// Decodes the bytes of [`ChunkWriter::encode`]; the error describes the damage.
    pub(crate) fn decode(table: u8, fence: E, bytes: &'b [u8]) -> Result<Self, &'static str> {
        let Some((header, packed)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err("it is shorter than a header");
        };
        if bytes.len() > PAGE_BYTES {
            return Err("it is longer than a page");
        }
        let [
            c0,
            c1,
            c2,
            c3,
            n0,
            n1,
            version,
            stored_table,
            low_bits,
            width,
        ] = *header;
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
        let len = usize::from(u16::from_le_bytes([n0, n1]));
        let (low_bits, width) = (u32::from(low_bits), u32::from(width));
        let max_width = if E::LANES == 2 { u64::BITS } else { 0 };
        if low_bits >= u64::BITS || width > max_width {
            return Err("its entries have too many bits");
        }
        const WRONG_LENGTH: &str = "its length does not match its number of entries";
        let (packed_bits, plane_bytes) = split_low_bits(low_bits);
        let packed_bytes = fields::len_bytes(len, packed_bits);
        let rest = packed.get(packed_bytes..).ok_or(WRONG_LENGTH)?;
        // Split from the end: the high bits take the bytes that are left.
        let split = |rest: &'b [u8], bytes: usize| {
            let start = rest.len().checked_sub(bytes);
            start.map(|start| rest.split_at(start)).ok_or(WRONG_LENGTH)
        };
        let (rest, seconds) = split(rest, seconds_bytes::<E>(len, width))?;
        let (unary, plane) = split(rest, len * plane_bytes)?;
        let (least_second, seconds) = match seconds.split_first_chunk() {
            Some((least, seconds)) => (u64::from_le_bytes(*least), seconds),
            None => (0, seconds),
        };
        if unary::count(unary) != len || unary.last() == Some(&0) {
            return Err("its high bits do not match its number of entries");
        }
        let chunk = Self {
            len,
            low_bits,
            fence_high: fence.first() >> low_bits,
            packed,
            unary,
            plane: plane.as_chunks().0,
            least_second,
            width,
            seconds,
            entry: PhantomData,
        };
        let last_high = chunk.last_bit().map_or(0, |bit| bit + 1 - len) as u64;
        if last_high > (u64::MAX >> low_bits) - chunk.fence_high {
            return Err("its last entry is larger than 64 bits");
        }
        Ok(chunk)
    }

    /// The first entry; `None` if the chunk is empty.
    pub(crate) fn first(&self) -> Option<E> {
        let bit = unary::ones_from(self.unary, 0).next()?;
        Some(self.entry(0, bit))
    }

    /// The last entry; `None` if the chunk is empty.
    pub(crate) fn last(&self) -> Option<E> {
        let bit = self.last_bit()?;
        Some(self.entry(self.len - 1, bit - (self.len - 1)))
    }

    /// All entries in order.
    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = E> + 'b {
        let mut firsts = Vec::new();
        self.push_firsts(0..self.len, &mut firsts);
        let chunk = *self;
        let entries = firsts.into_iter().enumerate();
        entries.map(move |(index, first)| E::from_lanes(first, chunk.second(index)))
    }

    /// The entries from `from` on, in order.
    pub(crate) fn entries_from(&self, from: E) -> impl Iterator<Item = E> + 'b {
        let chunk = *self;
        self.highs_from(from.first())
            .map(move |(index, high)| chunk.entry(index, high))
            .skip_while(move |entry| *entry < from)
    }

    /// Appends the first lanes of the entries whose first lane is in `from..=to` to `firsts`.
    pub(crate) fn push_firsts_within(&self, from: u64, to: u64, firsts: &mut Vec<u64>) {
        let end = to.checked_add(1).map_or(self.len, |to| self.index_of(to));
        self.push_firsts(self.index_of(from)..end, firsts);
    }

    /// The number of entries whose first lane is below `first`.
    pub(crate) fn index_of(&self, first: u64) -> usize {
        let below = |(index, high): &(usize, usize)| self.first_lane(*index, *high) < first;
        let mut from = self.highs_from(first).skip_while(below);
        from.next().map_or(self.len, |(index, _)| index)
    }

    /// The indices and high bits of the entries whose high bits are at least the high bits of
    /// `first`. The high bits of the fence are subtracted.
    fn highs_from(&self, first: u64) -> impl Iterator<Item = (usize, usize)> + 'b {
        let high = (first >> self.low_bits).saturating_sub(self.fence_high);
        let bits = 8 * self.unary.len();
        // More zeros than the chunk has bits: there is no such entry.
        let zeros = usize::try_from(high).unwrap_or(bits).min(bits + 1);
        let bit = unary::behind_zero(self.unary, zeros).unwrap_or(bits);
        unary::ones_from(self.unary, bit)
            .zip(bit.saturating_sub(zeros)..)
            .map(|(bit, index)| (index, bit - index))
    }

    /// Appends the first lanes of the entries with these indices to `firsts`.
    fn push_firsts(&self, indices: Range<usize>, firsts: &mut Vec<u64>) {
        if indices.is_empty() {
            return;
        }
        let mut highs = Vec::new();
        unary::decode(self.unary, self.len, &mut highs);
        let high_bits = |high: &u16| (self.fence_high + u64::from(*high)) << self.low_bits;
        let (packed_bits, plane_bytes) = split_low_bits(self.low_bits);
        // All entries are decoded, because the packed bits of eight are read at a time.
        let start = firsts.len();
        if plane_bytes == 0 {
            firsts.extend(highs.iter().map(high_bits));
        } else {
            let low = self.plane.iter().map(|low| u32::from_le_bytes(*low));
            let both = highs.iter().zip(low);
            firsts.extend(both.map(|(high, low)| high_bits(high) | u64::from(low)));
        }
        let left = 8 * plane_bytes as u32;
        fields::set_in(&mut firsts[start..], self.packed, packed_bits, left);
        firsts.truncate(start + indices.end);
        firsts.drain(start..start + indices.start);
    }

    fn entry(&self, index: usize, high: usize) -> E {
        E::from_lanes(self.first_lane(index, high), self.second(index))
    }

    /// The first lane of an entry. The high bits of the fence are subtracted from `high`.
    fn first_lane(&self, index: usize, high: usize) -> u64 {
        let (packed_bits, plane_bytes) = split_low_bits(self.low_bits);
        let packed = fields::get(self.packed, packed_bits, index) << (8 * plane_bytes);
        let plane = self
            .plane
            .get(index)
            .map_or(0, |low| u32::from_le_bytes(*low));
        (self.fence_high + high as u64) << self.low_bits | packed | u64::from(plane)
    }

    fn second(&self, index: usize) -> u64 {
        let difference = fields::get(self.seconds, self.width, index);
        self.least_second.wrapping_add(difference)
    }

    /// The last set bit of the high bits.
    fn last_bit(&self) -> Option<usize> {
        let last = self.unary.last()?;
        Some(8 * self.unary.len() - 1 - last.leading_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::tables::packed::entry::pair;

    const TABLE: u8 = 3;

    /// Random numbers of a fixed sequence.
    fn draws(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        }
    }

    /// First lanes that are not spread evenly, in order, with a name.
    fn spreads(len: usize, seed: u64) -> Vec<(&'static str, Vec<u64>)> {
        let mut draw = draws(seed);
        let mut of = |change: fn(u64) -> u64| -> Vec<u64> {
            let mut lanes: Vec<u64> = (0..len).map(|_| change(draw())).collect();
            lanes.sort_unstable();
            lanes
        };
        let mut far = of(|bits| bits >> 40);
        if let Some(last) = far.last_mut() {
            *last = u64::MAX;
        }
        vec![
            ("random", of(|bits| bits)),
            ("one high half", of(|bits| bits >> 32 | 7 << 40)),
            ("one key", of(|bits| bits >> 16 | 0x5aa5 << 48)),
            ("one low half", of(|bits| bits >> 32 << 32 | 9)),
            ("last key", of(|bits| bits | 0xffff << 48)),
            ("all equal", of(|_| 1 << 63)),
            ("runs", of(|bits| bits >> 57 << 40)),
            (
                "both ends",
                of(|bits| {
                    if bits & 1 == 0 {
                        bits >> 50
                    } else {
                        !(bits >> 50)
                    }
                }),
            ),
            ("dense", (0..len as u64).collect()),
            ("dense from the middle", (1 << 63..).take(len).collect()),
            ("one far", far),
        ]
    }

    /// Asserts that every read of the encoded entries equals the read of the plain entries.
    fn assert_equals_plain<E: Entry + std::fmt::Debug>(name: &str, fence: E, entries: &[E]) {
        let shape = ChunkShape::new(fence).with_all(entries);
        let mut writer = ChunkWriter::default();
        let bytes = writer.encode(TABLE, fence, entries).to_vec();
        let len = entries.len();
        assert_eq!(bytes.len(), shape.bytes(), "{name}, {len}");
        let chunk = Chunk::decode(TABLE, fence, &bytes).unwrap();
        assert!(chunk.entries().eq(entries.iter().copied()), "{name}, {len}");
        assert_eq!(chunk.first(), entries.first().copied());
        assert_eq!(chunk.last(), entries.last().copied());
        let mut draw = draws(5);
        let near = entries.iter().step_by(len / 20 + 1).flat_map(|entry| {
            let near = |by: u64| entry.first().wrapping_add(by);
            [near(0), near(1), near(u64::MAX), near(1 << 33)]
        });
        let lanes: Vec<u64> = near.chain([0, 1, draw(), draw() >> 30, u64::MAX]).collect();
        for first in lanes {
            for from in [E::from_lanes(first, 0), E::from_lanes(first, draw())] {
                let expected = entries.iter().copied().filter(|entry| *entry >= from);
                assert!(
                    chunk.entries_from(from).eq(expected),
                    "{name}, {len}, {from:#x}"
                );
            }
            for to in [first, first.saturating_add(1 << 40), u64::MAX, 0] {
                let mut found = Vec::new();
                chunk.push_firsts_within(first, to, &mut found);
                let expected = entries.iter().map(|entry| entry.first());
                let expected = expected.filter(|each| (first..=to).contains(each));
                assert!(found.into_iter().eq(expected), "{name}, {len}, {first:#x}");
            }
        }
    }

    /// As many of the first entries as fit into a chunk.
    fn fitting<E: Entry>(fence: E, entries: &[E]) -> &[E] {
        let fits = |len: &usize| ChunkShape::new(fence).with_all(&entries[..*len]).fits();
        let len = (0..=entries.len()).rev().find(fits).unwrap();
        &entries[..len]
    }

    #[test]
    fn chunk_of_any_spread_equals_plain_entries() {
        for len in [0, 1, 2, 3, 8, 9, 100, 254, 508, 986] {
            for (name, firsts) in spreads(len, len as u64) {
                let first = firsts.first().copied().unwrap_or(9);
                for fence in [first, first - first.min(999), first / 2, 0] {
                    assert_equals_plain(name, fence, fitting(fence, &firsts));
                    for width in [0, 1, 26, 57, 58, 63, 64] {
                        let mut draw = draws(u64::from(width));
                        let id =
                            |_: &u64| draw() & fields::below(width) | (5 & !fields::below(width));
                        let seconds: Vec<u64> = firsts.iter().map(id).collect();
                        let pairs = firsts.iter().zip(seconds);
                        let mut pairs: Vec<u128> = pairs.map(|(a, b)| pair(*a, b)).collect();
                        pairs.sort_unstable();
                        let fence = pair(fence, 0);
                        assert_equals_plain(name, fence, fitting(fence, &pairs));
                    }
                }
            }
        }
    }

    #[test]
    fn worst_entries_fill_a_page_as_raw_integers_do() {
        // Every length of the range: the number of low bits is longest just before it grows.
        let ranges = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, 3 << bit >> 1]);
        for range in ranges.chain([u64::MAX]) {
            for (len, width) in [(508, 0), (254, u64::MAX)] {
                let mut shape = ChunkShape::new(pair(0, 0)).with(pair(0, 0));
                shape.len = len;
                shape.last = range;
                shape.most_second = width;
                let spare = if width == 0 { 8 } else { 0 };
                assert!(
                    shape.bytes() <= capacity_bytes::<u128>() + spare,
                    "{len}, {range:#x}"
                );
            }
        }
    }

    #[test]
    fn ids_without_gaps_take_two_bits() {
        let ids: Vec<u64> = (0..16_000).collect();
        let len = |ids: &[u64]| ChunkShape::new(0).with_all(ids).bytes();
        assert_eq!(len(&ids), HEADER_BYTES + 4_000);
        // A page holds some 800 of 50 million random fingerprints.
        let fingerprints: Vec<u64> = (0..800).map(|n| n * (u64::MAX / 50_000_000)).collect();
        assert!(ChunkShape::new(0).with_all(&fingerprints).fits());
    }

    #[test]
    fn flipped_bit_and_cut_are_detected() {
        let entries: Vec<u64> = (0..20).map(|n| (n * n) << 40).collect();
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

    /// Reads everything of a chunk with a right checksum: an error, or as many entries as it says.
    fn read_hostile<E: Entry + std::fmt::Debug>(fence: E, mut bytes: Vec<u8>) -> bool {
        let crc = checksum(&bytes[4..], fence);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
        let Ok(chunk) = Chunk::decode(TABLE, fence, &bytes) else {
            return false;
        };
        let entries: Vec<E> = chunk.entries().collect();
        assert_eq!(entries.len(), chunk.len);
        assert!(chunk.entries_from(E::MIN).eq(entries.iter().copied()));
        assert_eq!(chunk.first(), entries.first().copied());
        assert_eq!(chunk.last(), entries.last().copied());
        let lanes = entries
            .iter()
            .map(|entry| entry.first())
            .chain([0, u64::MAX]);
        for from in lanes.step_by(entries.len() / 20 + 1) {
            assert!(chunk.entries_from(E::from_lanes(from, 7)).count() <= chunk.len);
            let mut found = Vec::new();
            chunk.push_firsts_within(from, u64::MAX, &mut found);
            chunk.push_firsts_within(0, from, &mut found);
            assert!(found.len() <= 2 * chunk.len);
        }
        true
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn hostile_bytes_with_right_checksum_are_refused_or_read(
            len in 0..1_000_u16,
            low_bits in 0..70_u8,
            width in 0..70_u8,
            rest in prop::collection::vec(any::<u8>(), 0..5_000),
            fence in any::<u64>(),
        ) {
            let mut bytes = vec![0; 4];
            bytes.extend(len.to_le_bytes());
            bytes.extend([VERSION, TABLE, low_bits, width]);
            bytes.extend(rest);
            read_hostile(pair(fence, 0), bytes.clone());
            bytes[9] = 0;
            read_hostile(fence, bytes);
        }

        #[test]
        fn edited_chunk_with_right_checksum_is_refused_or_read(
            spread in 0..11_usize,
            len in 0..300_usize,
            edits in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4),
            fence in any::<bool>(),
        ) {
            let (_, firsts) = spreads(len, 1).swap_remove(spread);
            let fence = if fence { firsts.first().copied().unwrap_or(3) } else { 0 };
            let pairs: Vec<u128> = (0..).zip(&firsts).map(|(id, first)| pair(*first, id)).collect();
            let mut writer = ChunkWriter::default();
            let edited = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                for (at, value) in &edits {
                    let at = at % bytes.len();
                    bytes[at] = *value;
                }
                bytes
            };
            let bytes = edited(writer.encode(TABLE, fence, &firsts));
            read_hostile(fence, bytes);
            let fence = pair(fence, 0);
            let bytes = edited(writer.encode(TABLE, fence, fitting(fence, &pairs)));
            read_hostile(fence, bytes);
        }
    }
}
