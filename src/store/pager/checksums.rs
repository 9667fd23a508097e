//! The checksums of pages: of each four bytes, the crc32 of its bytes and of its number.
//!
//! The number is in it so that a page that turns up in the place of another is noticed. A sum of 0
//! stands for a page that was never written, and is stored as 1 where it is one.

use parking_lot::RwLock;
use std::io;
use std::sync::Arc;

use crate::store::disk::DiskFile;
use crate::store::pager::layout::{GROUP, PAGE, of_group};
use crate::store::tables::packed::chunk::{PAGE_BYTES, checksum_on};

/// Bytes of a checksum.
const SUM_BYTES: usize = 4;
/// What a disk writes at a time: checksums are written by as much.
const SECTOR_BYTES: usize = 512;

/// The checksums of all pages, read from the file as they are asked for.
#[derive(Debug)]
pub(super) struct Checksums {
    file: Arc<dyn DiskFile>,
    /// By number; nothing where a group was not read yet.
    groups: RwLock<Vec<Option<Box<Group>>>>,
}

/// The checksums of the pages of a group, as they are in the file but for `changed`.
#[derive(Debug)]
struct Group {
    sums: [u8; PAGE_BYTES],
    /// The bytes from the first that is not written to the last.
    changed: Option<(usize, usize)>,
}

impl Checksums {
    pub(super) fn of(file: Arc<dyn DiskFile>) -> Self {
        Self {
            file,
            groups: RwLock::default(),
        }
    }

    /// Whether a page is what was written last under this number.
    pub(super) fn fits(&self, number: u64, page: &[u8]) -> io::Result<bool> {
        let sum = sum_of(number, page);
        let (group, db_path) = place_of(number);
        if let Some(Some(group)) = self.groups.read().get(group) {
            return Ok(group.sum(db_path) == sum);
        }
        let read = self.read_group(group)?;
        let fits = read.sum(db_path) == sum;
        let mut groups = self.groups.write();
        let slot = slot(&mut groups, group);
        // Somebody else may have read it meanwhile, and changed it.
        slot.get_or_insert(read);
        Ok(fits)
    }

    /// Notes what is about to be written under this number.
    pub(super) fn note(&self, number: u64, page: &[u8]) -> io::Result<()> {
        let sum = sum_of(number, page);
        let (group, db_path) = place_of(number);
        if let Some(Some(group)) = self.groups.write().get_mut(group) {
            group.set(db_path, sum);
            return Ok(());
        }
        // Nobody waits for this.
        let read = self.read_group(group)?;
        slot(&mut self.groups.write(), group)
            .get_or_insert(read)
            .set(db_path, sum);
        Ok(())
    }

    /// Forgets pages from this number on, which were cut off.
    pub(super) fn cut(&self, pages: u64) -> io::Result<()> {
        let (last, db_path) = place_of(pages);
        let mut groups = self.groups.write();
        // What is at most begun stays, without what is cut off.
        groups.truncate(last + usize::from(db_path > 0));
        if db_path > 0 {
            let group = match slot(&mut groups, last) {
                Some(group) => group,
                nothing => nothing.insert(self.read_group(last)?),
            };
            group.forget_from(db_path);
        }
        Ok(())
    }

    /// Writes what has changed, as a commit is made durable.
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
            let db_path = of_group(number as u64) + from as u64;
            if let Err(error) = self.file.write_at(db_path, &bytes) {
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
        let db_path = of_group(number as u64);
        let left = self.file.info()?.len_bytes.saturating_sub(db_path);
        let count = left.min(PAGE) as usize;
        self.file.read_at(db_path, &mut group.sums[..count])?;
        Ok(group)
    }
}

impl Group {
    fn sum(&self, db_path: usize) -> u32 {
        self.sums
            .as_chunks::<SUM_BYTES>()
            .0
            .get(db_path)
            .map_or(0, |sum| u32::from_le_bytes(*sum))
    }

    fn set(&mut self, db_path: usize, sum: u32) {
        let sums = self.sums.as_chunks_mut::<SUM_BYTES>().0;
        if let Some(stored) = sums.get_mut(db_path) {
            *stored = sum.to_le_bytes();
            self.change(db_path * SUM_BYTES, (db_path + 1) * SUM_BYTES);
        }
    }

    fn forget_from(&mut self, db_path: usize) {
        let from = db_path * SUM_BYTES;
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

/// The group of a page, and its place there.
fn place_of(number: u64) -> (usize, usize) {
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
