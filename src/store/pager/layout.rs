//! Offsets in the file: of redb's pages and of the checksum pages between them.

use crate::store::disk::PAGE_BYTES;

/// Bytes of a page, as an offset.
pub(super) const PAGE: u64 = PAGE_BYTES as u64;
/// redb pages of a group: 1024, whose checksums of 4 bytes fill one page.
pub(super) const GROUP: u64 = PAGE / 4;
/// Pages of a group in the file: one checksum page, then [`GROUP`] pages of redb.
const GROUP_IN_FILE: u64 = GROUP + 1;
/// Pages before the first group.
const SUPERBLOCK_PAGES: u64 = 1;

/// The offset of a page of redb.
pub(super) fn page_offset(number: u64) -> u64 {
    group_offset(number / GROUP) + (1 + number % GROUP) * PAGE
}

/// The offset of the checksum page of a group.
pub(super) fn group_offset(group: u64) -> u64 {
    (SUPERBLOCK_PAGES + group * GROUP_IN_FILE) * PAGE
}

/// The length of a file that holds `redb_bytes` for redb.
pub(super) fn file_bytes(redb_bytes: u64) -> u64 {
    let pages = redb_bytes.div_ceil(PAGE);
    let whole = (SUPERBLOCK_PAGES + pages + pages.div_ceil(GROUP)) * PAGE;
    // A partial last page stays partial, so `redb_bytes` inverts this function for any length.
    whole - (pages * PAGE - redb_bytes)
}

/// The number of bytes that a file of `file_bytes` holds for redb.
pub(crate) fn redb_bytes(file_bytes: u64) -> u64 {
    let behind = file_bytes.saturating_sub(SUPERBLOCK_PAGES * PAGE);
    let group_bytes = GROUP_IN_FILE * PAGE;
    let rest = (behind % group_bytes).saturating_sub(PAGE);
    behind / group_bytes * GROUP * PAGE + rest
}

/// Splits `count` bytes from redb's `offset` on at group boundaries, into offset in the file and
/// length.
pub(super) fn pieces(offset: u64, count: usize) -> impl Iterator<Item = (u64, usize)> {
    let end = offset + count as u64;
    let mut from = offset;
    std::iter::from_fn(move || {
        (from < end).then(|| {
            let group_end = (from / (GROUP * PAGE) + 1) * GROUP * PAGE;
            let file_offset = page_offset(from / PAGE) + from % PAGE;
            let count = group_end.min(end) - from;
            from += count;
            (file_offset, count as usize)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_checksum_pages_do_not_overlap() {
        let mut next = PAGE;
        for number in 0..3 * GROUP + 5 {
            if number % GROUP == 0 {
                assert_eq!(group_offset(number / GROUP), next);
                next += PAGE;
            }
            assert_eq!(page_offset(number), next);
            next += PAGE;
            assert_eq!(file_bytes((number + 1) * PAGE), next);
            assert_eq!(redb_bytes(next), (number + 1) * PAGE);
        }
        assert_eq!((file_bytes(0), redb_bytes(PAGE)), (PAGE, 0));
        assert_eq!(redb_bytes(file_bytes(7 * PAGE + 100)), 7 * PAGE + 100);
        assert_eq!(redb_bytes(0), 0);
    }

    #[test]
    fn range_across_two_groups_is_split_in_two_pieces() {
        let last = (GROUP - 1) * PAGE;
        let found: Vec<_> = pieces(last, 2 * PAGE_BYTES).collect();
        let expected = [
            (page_offset(GROUP - 1), PAGE_BYTES),
            (page_offset(GROUP), PAGE_BYTES),
        ];
        assert_eq!(found, expected);
        assert_eq!(pieces(0, 320).collect::<Vec<_>>(), [(2 * PAGE, 320)]);
        assert_eq!(pieces(PAGE, 0).count(), 0);
    }
}
