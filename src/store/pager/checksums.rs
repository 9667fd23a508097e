//! The checksums of pages: the crc32 of the page and of its number, four bytes each.
//!
//! The number makes a page at the wrong offset fail its checksum. A stored 0 means that the page
//! was never written; a crc32 of 0 is stored as 1.

use std::io;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::store::disk::DiskFile;
use crate::store::disk::PAGE_BYTES;
use crate::store::disk::checksum::crc32_append;
use crate::store::pager::layout::{GROUP, PAGE, group_offset};

/// Bytes of a checksum.
const SUM_BYTES: usize = 4;
/// Bytes of a disk sector: changed checksums are written in whole sectors.
const SECTOR_BYTES: usize = 512;

/// The checksums of all pages. A group is read from the file when first used, and stays in memory.
#[derive(Debug)]
pub(super) struct Checksums {
    file: Arc<dyn DiskFile>,
    /// Groups by number; `None` until a group is read.
    groups: RwLock<Vec<Option<Box<ChecksumPage>>>>,
}

/// The checksum page of one group.
#[derive(Debug)]
struct ChecksumPage {
    sums: [u8; PAGE_BYTES],
    /// The byte range that differs from the file.
    changed: Option<(usize, usize)>,
}

impl Checksums {
    pub(super) fn new(file: Arc<dyn DiskFile>) -> Self {
        Self {
            file,
            groups: RwLock::default(),
        }
    }

    /// Returns `true` if `page` matches the checksum of page `number`.
    pub(super) fn matches(&self, number: u64, page: &[u8]) -> io::Result<bool> {
        let sum = sum_of(number, page);
        let (group, index) = group_and_index(number);
        if let Some(Some(group)) = self.groups.read().get(group) {
            return Ok(group.sum(index) == sum);
        }
        let read = self.read_group(group)?;
        let matches = read.sum(index) == sum;
        let mut groups = self.groups.write();
        let slot = slot(&mut groups, group);
        // Another thread may have read the group meanwhile, and changed it. Its copy is kept.
        slot.get_or_insert(read);
        Ok(matches)
    }

    /// Records the checksum of a page that is about to be written.
    pub(super) fn record(&self, number: u64, page: &[u8]) -> io::Result<()> {
        let sum = sum_of(number, page);
        let (group, index) = group_and_index(number);
        if let Some(Some(group)) = self.groups.write().get_mut(group) {
            group.set(index, sum);
            return Ok(());
        }
        // The read does not hold the lock, so readers of other groups need not wait for the disk.
        let read = self.read_group(group)?;
        slot(&mut self.groups.write(), group)
            .get_or_insert(read)
            .set(index, sum);
        Ok(())
    }

    /// Drops the checksums of all pages from number `pages` on, after the file was cut there.
    pub(super) fn truncate(&self, pages: u64) -> io::Result<()> {
        let (last, index) = group_and_index(pages);
        let mut groups = self.groups.write();
        // The group that contains the cut keeps the checksums before the cut.
        groups.truncate(last + usize::from(index > 0));
        if index > 0 {
            let group = match slot(&mut groups, last) {
                Some(group) => group,
                empty => empty.insert(self.read_group(last)?),
            };
            group.clear_from(index);
        }
        Ok(())
    }

    /// Writes the changed checksums; the caller syncs the file.
    pub(super) fn write(&self) -> io::Result<()> {
        let count = self.groups.read().len();
        for number in 0..count {
            // The bytes are copied, so that the lock is not held during the write.
            let changed = self.groups.write().get_mut(number).and_then(|group| {
                let group = group.as_mut()?;
                let (from, to) = group.changed.take()?;
                let from = from / SECTOR_BYTES * SECTOR_BYTES;
                let to = to.next_multiple_of(SECTOR_BYTES);
                Some((from, to, group.sums.get(from..to)?.to_vec()))
            });
            let Some((from, to, bytes)) = changed else {
                continue;
            };
            let offset = group_offset(number as u64) + from as u64;
            if let Err(error) = self.file.write_at(offset, &bytes) {
                // The range stays marked as changed, so that the next sync writes it.
                if let Some(Some(group)) = self.groups.write().get_mut(number) {
                    group.mark_changed(from, to);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn read_group(&self, number: usize) -> io::Result<Box<ChecksumPage>> {
        let mut group = Box::new(ChecksumPage {
            sums: [0; PAGE_BYTES],
            changed: None,
        });
        let offset = group_offset(number as u64);
        // The checksum page of a new group may lie behind the end of the file: its checksums are 0.
        let left = self.file.info()?.len_bytes.saturating_sub(offset);
        let count = left.min(PAGE) as usize;
        self.file.read_at(offset, &mut group.sums[..count])?;
        Ok(group)
    }
}

impl ChecksumPage {
    fn sum(&self, index: usize) -> u32 {
        self.sums
            .as_chunks::<SUM_BYTES>()
            .0
            .get(index)
            .map_or(0, |sum| u32::from_le_bytes(*sum))
    }

    fn set(&mut self, index: usize, sum: u32) {
        let sums = self.sums.as_chunks_mut::<SUM_BYTES>().0;
        if let Some(stored) = sums.get_mut(index) {
            *stored = sum.to_le_bytes();
            self.mark_changed(index * SUM_BYTES, (index + 1) * SUM_BYTES);
        }
    }

    fn clear_from(&mut self, index: usize) {
        let from = index * SUM_BYTES;
        let cut = self.sums.get_mut(from..).unwrap_or_default();
        let Some(last) = cut.iter().rposition(|byte| *byte != 0) else {
            return;
        };
        cut.fill(0);
        self.mark_changed(from, from + last + 1);
    }

    fn mark_changed(&mut self, from: usize, to: usize) {
        let (first, last) = self.changed.unwrap_or((from, to));
        self.changed = Some((first.min(from), last.max(to)));
    }
}

/// The group of a page, and the index of the page in the group.
fn group_and_index(number: u64) -> (usize, usize) {
    ((number / GROUP) as usize, (number % GROUP) as usize)
}

fn slot(
    groups: &mut Vec<Option<Box<ChecksumPage>>>,
    number: usize,
) -> &mut Option<Box<ChecksumPage>> {
    if groups.len() <= number {
        groups.resize_with(number + 1, || None);
    }
    &mut groups[number]
}

fn sum_of(number: u64, page: &[u8]) -> u32 {
    crc32_append(crc32_append(0, page), &number.to_le_bytes()).max(1)
}
