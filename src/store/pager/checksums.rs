//! The checksums of pages: four bytes each, the crc32 of the page and of its number.
//!
//! The number is included so that a page written to the wrong offset is noticed. A checksum of 0
//! means that the page was never written; a crc32 of 0 is stored as 1.

use std::io;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::store::disk::DiskFile;
use crate::store::disk::page::{PAGE_BYTES, checksum_on};
use crate::store::pager::layout::{GROUP, PAGE, of_group};

/// Bytes of a checksum.
const SUM_BYTES: usize = 4;
/// Checksums are written in whole disk sectors.
const SECTOR_BYTES: usize = 512;

/// The checksums of all pages, read from the file on demand.
#[derive(Debug)]
pub(super) struct Checksums {
    file: Arc<dyn DiskFile>,
    /// By group number; `None` if the group was not read yet.
    groups: RwLock<Vec<Option<Box<Group>>>>,
}

/// The checksum page of one group. All bytes outside `changed` are as in the file.
#[derive(Debug)]
struct Group {
    sums: [u8; PAGE_BYTES],
    /// The byte range that is not written to the file yet.
    changed: Option<(usize, usize)>,
}

impl Checksums {
    pub(super) fn new(file: Arc<dyn DiskFile>) -> Self {
        Self {
            file,
            groups: RwLock::default(),
        }
    }

    /// Returns `true` if `page` is what was last written under this number.
    pub(super) fn fits(&self, number: u64, page: &[u8]) -> io::Result<bool> {
        let sum = sum_of(number, page);
        let (group, index) = group_and_index(number);
        if let Some(Some(group)) = self.groups.read().get(group) {
            return Ok(group.sum(index) == sum);
        }
        let read = self.read_group(group)?;
        let fits = read.sum(index) == sum;
        let mut groups = self.groups.write();
        let slot = slot(&mut groups, group);
        // Another thread may have read the group meanwhile and changed it: keep that one.
        slot.get_or_insert(read);
        Ok(fits)
    }

    /// Records the checksum of a page that is about to be written under this number.
    pub(super) fn note(&self, number: u64, page: &[u8]) -> io::Result<()> {
        let sum = sum_of(number, page);
        let (group, index) = group_and_index(number);
        if let Some(Some(group)) = self.groups.write().get_mut(group) {
            group.set(index, sum);
            return Ok(());
        }
        // Read without the lock: readers of other groups need not wait.
        let read = self.read_group(group)?;
        slot(&mut self.groups.write(), group)
            .get_or_insert(read)
            .set(index, sum);
        Ok(())
    }

    /// Forgets the checksums of all pages from number `pages` on: the file was cut there.
    pub(super) fn cut(&self, pages: u64) -> io::Result<()> {
        let (last, index) = group_and_index(pages);
        let mut groups = self.groups.write();
        // The group that the cut falls into stays, without the checksums behind the cut.
        groups.truncate(last + usize::from(index > 0));
        if index > 0 {
            let group = match slot(&mut groups, last) {
                Some(group) => group,
                nothing => nothing.insert(self.read_group(last)?),
            };
            group.forget_from(index);
        }
        Ok(())
    }

    /// Writes the changed checksums; the caller syncs the file.
    pub(super) fn write(&self) -> io::Result<()> {
        let count = self.groups.read().len();
        for number in 0..count {
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
            let offset = of_group(number as u64) + from as u64;
            if let Err(error) = self.file.write_at(offset, &bytes) {
                if let Some(Some(group)) = self.groups.write().get_mut(number) {
                    group.change(from, to);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn read_group(&self, number: usize) -> io::Result<Box<Group>> {
        let mut group = Box::new(Group {
            sums: [0; PAGE_BYTES],
            changed: None,
        });
        let offset = of_group(number as u64);
        let left = self.file.info()?.len_bytes.saturating_sub(offset);
        let count = left.min(PAGE) as usize;
        self.file.read_at(offset, &mut group.sums[..count])?;
        Ok(group)
    }
}

impl Group {
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
            self.change(index * SUM_BYTES, (index + 1) * SUM_BYTES);
        }
    }

    fn forget_from(&mut self, index: usize) {
        let from = index * SUM_BYTES;
        let cut = self.sums.get_mut(from..).unwrap_or_default();
        let Some(last) = cut.iter().rposition(|byte| *byte != 0) else {
            return;
        };
        cut.fill(0);
        self.change(from, from + last + 1);
    }

    fn change(&mut self, from: usize, to: usize) {
        let (first, last) = self.changed.unwrap_or((from, to));
        self.changed = Some((first.min(from), last.max(to)));
    }
}

/// The group of a page, and the index of the page in the group.
fn group_and_index(number: u64) -> (usize, usize) {
    ((number / GROUP) as usize, (number % GROUP) as usize)
}

fn slot(groups: &mut Vec<Option<Box<Group>>>, number: usize) -> &mut Option<Box<Group>> {
    if groups.len() <= number {
        groups.resize_with(number + 1, || None);
    }
    &mut groups[number]
}

fn sum_of(number: u64, page: &[u8]) -> u32 {
    checksum_on(checksum_on(0, page), &number.to_le_bytes()).max(1)
}
