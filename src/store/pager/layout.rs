//! Offsets in the file: of redb's pages and of the checksum pages between them.

use crate::store::disk::page::PAGE_BYTES;

/// Bytes of a page.
pub(super) const PAGE: u64 = PAGE_BYTES as u64;
/// Pages of redb in a group: their checksums fill one page.
pub(super) const GROUP: u64 = PAGE / 4;
/// Pages of a group including its checksum page.
const GROUP_IN_FILE: u64 = GROUP + 1;
/// Pages in front of the first group: the superblock.
const IN_FRONT: u64 = 1;

/// The offset of a page.
pub(super) fn of_page(number: u64) -> u64 {
    of_group(number / GROUP) + (1 + number % GROUP) * PAGE
}

/// The offset of the checksum page of a group.
pub(super) fn of_group(group: u64) -> u64 {
    (IN_FRONT + group * GROUP_IN_FILE) * PAGE
}

/// The length of a file that holds this many bytes for redb.
pub(super) fn file_bytes(redb_bytes: u64) -> u64 {
    let pages = redb_bytes.div_ceil(PAGE);
    let whole = (IN_FRONT + pages + pages.div_ceil(GROUP)) * PAGE;
    // A length that is no multiple of a page maps to one that is none either.
    whole - (pages * PAGE - redb_bytes)
}

/// The bytes that a file of this length holds for redb.
pub(crate) fn redb_bytes(file_bytes: u64) -> u64 {
    let behind = file_bytes.saturating_sub(IN_FRONT * PAGE);
    let group_bytes = GROUP_IN_FILE * PAGE;
    let rest = (behind % group_bytes).saturating_sub(PAGE);
    behind / group_bytes * GROUP * PAGE + rest
}

/// Splits `count` bytes of redb from `offset` on at group boundaries: offset in the file, length.
pub(super) fn pieces(offset: u64, count: usize) -> impl Iterator<Item = (u64, usize)> {
    let end = offset + count as u64;
    let mut from = offset;
    std::iter::from_fn(move || {
        (from < end).then(|| {
            let group_end = (from / (GROUP * PAGE) + 1) * GROUP * PAGE;
            let file_offset = of_page(from / PAGE) + from % PAGE;
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
                assert_eq!(of_group(number / GROUP), next);
                next += PAGE;
            }
            assert_eq!(of_page(number), next);
            next += PAGE;
            assert_eq!(file_bytes((number + 1) * PAGE), next);
            assert_eq!(redb_bytes(next), (number + 1) * PAGE);
        }
        assert_eq!((file_bytes(0), redb_bytes(PAGE)), (PAGE, 0));
        assert_eq!(redb_bytes(file_bytes(7 * PAGE + 100)), 7 * PAGE + 100);
        assert_eq!(redb_bytes(0), 0);
    }

    #[test]
    fn what_crosses_from_one_group_to_the_next_is_in_two_pieces() {
        let last = (GROUP - 1) * PAGE;
        let found: Vec<_> = pieces(last, 2 * PAGE_BYTES).collect();
        let expected = [
            (of_page(GROUP - 1), PAGE_BYTES),
            (of_page(GROUP), PAGE_BYTES),
        ];
        assert_eq!(found, expected);
        assert_eq!(pieces(0, 320).collect::<Vec<_>>(), [(2 * PAGE, 320)]);
        assert_eq!(pieces(PAGE, 0).count(), 0);
    }
}
