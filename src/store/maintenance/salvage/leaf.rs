//! Leaf pages of redb, read without the tree above them.
//!
//! | bytes | content |
//! |---|---|
//! | 0 | 1 in a leaf |
//! | 1 | any value |
//! | 2..4 | the number of rows, a `u16` |
//! | then | the end of each key, a `u32` offset in the page; absent if all keys have one length |
//! | then | the end of each value, a `u32` offset in the page |
//! | then | all keys, then all values |

use std::ops::Range;

use crate::store::tables::packed::entry::Entry;

const LEAF: u8 = 1;
/// 512 MiB, the largest page for a text. A larger offset belongs to no leaf.
const MAX_PAGE_BYTES: usize = 512 << 20;

/// A key, and the range of its value, which may extend into the pages behind.
pub(super) type LeafRow<'p> = (&'p [u8], Range<usize>);

pub(super) fn is_leaf(page: &[u8]) -> bool {
    page.first() == Some(&LEAF)
}

/// The rows of a leaf with keys of `key_bytes` bytes, or of any length; `None` if the page is no
/// such leaf.
pub(super) fn rows(page: &[u8], key_bytes: Option<usize>) -> Option<Vec<LeafRow<'_>>> {
    let count = usize::from(u16::from_le_bytes(word(page, 2)?));
    let key_ends = if key_bytes.is_none() { 4 * count } else { 0 };
    let (value_ends, keys) = (4 + key_ends, 4 + key_ends + 4 * count);
    let mut key_start = keys;
    let mut value_start = match key_bytes {
        Some(bytes) => keys + bytes * count,
        // The end of the last key.
        None => offset(page, 4 * count)?,
    };
    let rows = (0..count).map(|row| {
        let key_end = match key_bytes {
            Some(bytes) => key_start + bytes,
            None => offset(page, 4 + 4 * row)?,
        };
        let value_end = offset(page, value_ends + 4 * row)?;
        if value_end < value_start || value_end > MAX_PAGE_BYTES {
            return None;
        }
        let row = (page.get(key_start..key_end)?, value_start..value_end);
        (key_start, value_start) = (key_end, value_end);
        Some(row)
    });
    rows.collect()
}

/// The fence and the bytes of a chunk, the only row of its leaf.
pub(super) fn chunk<E: Entry>(page: &[u8]) -> Option<(E, &[u8])> {
    let rows = rows(page, Some(8 * E::LANES))?;
    let [(fence, bytes)] = rows.as_slice() else {
        return None;
    };
    Some((E::from_bytes(fence), page.get(bytes.clone())?))
}

fn offset(page: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(word(page, at)?) as usize)
}

fn word<const BYTES: usize>(page: &[u8], at: usize) -> Option<[u8; BYTES]> {
    page.get(at..)?.first_chunk().copied()
}
