//! A copy-on-write layer for read-only databases: pages that redb writes stay in memory.
//!
//! redb marks the header of each file that it opens, and repairs a file that was not closed.
//! Without this layer, a file without write permission could not be opened, and opening a file
//! after a crash would change the file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};

use super::PageFile;
use crate::store::disk::PAGE_BYTES;
use crate::store::pager::layout::PAGE;

/// A page file, and the pages that redb has written over it. All clones share both.
#[derive(Clone, Debug)]
pub(crate) struct CowFile {
    under: PageFile,
    written: Arc<Mutex<Written>>,
    refuses_writes: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Written {
    len_bytes: u64,
    /// Whole pages by number.
    pages: BTreeMap<u64, Box<[u8; PAGE_BYTES]>>,
}

impl CowFile {
    pub(crate) fn new(under: PageFile) -> io::Result<Self> {
        let written = Written {
            len_bytes: under.len()?,
            pages: BTreeMap::new(),
        };
        Ok(Self {
            under,
            written: Arc::new(Mutex::new(written)),
            refuses_writes: Arc::default(),
        })
    }

    /// Makes later writes fail. Reads are unaffected.
    ///
    /// redb writes its free lists at close. In this layer they would only be dropped.
    pub(crate) fn refuse_writes(&self) {
        self.refuses_writes.store(true, Ordering::Release);
    }
}

/// Splits `count` bytes from `offset` on at page boundaries. Each item is a page number, the start
/// within the page, and a length.
fn split_at_pages(offset: u64, count: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + count as u64;
    let mut from = offset;
    std::iter::from_fn(move || {
        (from < end).then(|| {
            let (page, start) = (from / PAGE, from % PAGE);
            let count = (PAGE - start).min(end - from);
            from += count;
            (page, start as usize, count as usize)
        })
    })
}

impl StorageBackend for CowFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written.lock().len_bytes)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written.lock();
        // Most reads touch no written page. They need not hold the lock during the disk read.
        let is_written = |(page, _, _)| written.pages.contains_key(&page);
        if !split_at_pages(offset, out.len()).any(is_written) {
            drop(written);
            return self.under.read(offset, out);
        }
        let mut rest = out;
        for (page, start, count) in split_at_pages(offset, rest.len()) {
            let (part, after) = rest.split_at_mut(count);
            match written.pages.get(&page) {
                Some(bytes) => part.copy_from_slice(&bytes[start..start + count]),
                None => self.under.read(page * PAGE + start as u64, part)?,
            }
            rest = after;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written.lock();
        // Drops the pages beyond the new end: `split_off` returns them.
        drop(written.pages.split_off(&len.div_ceil(PAGE)));
        written.len_bytes = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        // Written pages are in memory only.
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.refuses_writes.load(Ordering::Acquire) {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        let mut written = self.written.lock();
        let under_bytes = self.under.len()?;
        let mut rest = data;
        for (page, start, count) in split_at_pages(offset, data.len()) {
            let (part, after) = rest.split_at(count);
            let bytes = match written.pages.entry(page) {
                Entry::Occupied(bytes) => bytes.into_mut(),
                Entry::Vacant(vacant) => {
                    let mut bytes = Box::new([0; PAGE_BYTES]);
                    // Only a partial write needs the old bytes of its page. The file may end within
                    // the page or before it; the bytes beyond its end are zeros.
                    if count < PAGE_BYTES {
                        let start_of_page = page * PAGE;
                        let old_bytes = under_bytes.saturating_sub(start_of_page).min(PAGE);
                        self.under
                            .read(start_of_page, &mut bytes[..old_bytes as usize])?;
                    }
                    vacant.insert(bytes)
                }
            };
            bytes[start..start + count].copy_from_slice(part);
            rest = after;
        }
        Ok(())
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.under.try_lock_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.under.unlock_range(start, end)
    }
}
