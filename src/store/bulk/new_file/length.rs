//! The length of a new file, which must have no free pages at its end.
//!
//! redb doubles a full file, and takes small free blocks before it divides a large one. If the
//! number of pages is a power of two, the new half is one block, whose pages are taken in order,
//! and closing the file cuts off the free ones. With any other number small blocks lie at the end,
//! and a used page there keeps the file up to twice as long as its content. So scratch values make
//! the number a power of two at first, and no commit before the last may cut the file.

use crate::store::disk::PAGE_BYTES;

/// redb divides a file, behind its first page, into regions of at most 4 GiB.
const REGION_BYTES: u64 = 4 << 30;

/// redb grows the file for the second scratch value, which takes the first free block of 128 pages:
/// the second 128 of the file. The first value and other small pages take some of the first 128,
/// and pages behind the second value. A compaction then empties those behind and cuts them off, and
/// the scratch values are removed: 256 pages are left.
pub(super) const SCRATCH: redb::TableDefinition<'static, u64, &[u8]> =
    redb::TableDefinition::new("scratch");
pub(super) const SCRATCH_BYTES: [usize; 2] = [0, 125 * PAGE_BYTES];

/// Returns `true` if a durable commit might cut the file, because the second half of the last
/// region is free. Pages are in use up to `end`, or up to `unknown` bytes more.
pub(super) fn may_shrink(length: u64, end: u64, unknown: u64) -> bool {
    let regions_bytes = length.saturating_sub(PAGE_BYTES as u64);
    let last_region_bytes = regions_bytes.saturating_sub(1) % REGION_BYTES + 1;
    let free = length.saturating_sub(end);
    // A transaction that finds the file full adds a half, or a region, that is free.
    free < unknown || free + unknown > last_region_bytes / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_may_cut_file_that_is_half_free_or_about_to_grow() {
        const PAGE: u64 = PAGE_BYTES as u64;
        let gib = |count: u64| count << 30;
        let unknown = 96 << 20;
        for (length, end, expected) in [
            (1 << 20, 1 << 16, true),
            (gib(2) + PAGE, gib(1), true),
            (gib(2) + PAGE, gib(1) + 2 * unknown, false),
            (gib(2) + PAGE, gib(2) - unknown / 2, true),
            // The second of two regions decides.
            (gib(8) + PAGE, gib(5), true),
            (gib(8) + PAGE, gib(7), false),
            (gib(4) + PAGE, gib(3), false),
        ] {
            assert_eq!(may_shrink(length, end, unknown), expected, "{length} {end}");
        }
    }
}
