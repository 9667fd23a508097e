//! A file that is only read: what the storage engine writes stays in memory.
//!
//! The engine notes in the header that it has a file open, and mends one that was not closed. So a
//! file can be read that nobody may write, and one that a crash left as it stands.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{BackendError, StorageBackend};

use super::PageFile;
use crate::store::pager::layout::PAGE;
use crate::store::tables::packed::chunk::PAGE_BYTES;

/// A file of pages with what was written over it. All clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct CowFile {
    under: PageFile,
    over: Arc<Mutex<Over>>,
    is_closing: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Over {
    len_bytes: u64,
    /// Whole pages, by number.
    pages: BTreeMap<u64, Box<[u8; PAGE_BYTES]>>,
}

impl CowFile {
    pub(in crate::store) fn over(under: PageFile) -> io::Result<Self> {
        let over = Over {
            len_bytes: under.len()?,
            pages: BTreeMap::new(),
        };
        Ok(Self {
            under,
            over: Arc::new(Mutex::new(over)),
            is_closing: Arc::default(),
        })
    }

    /// From now on nothing can be written: the engine need not tidy up what nobody will see.
    pub(in crate::store) fn close_soon(&self) {
        self.is_closing.store(true, Ordering::Release);
    }
}

/// The parts of so many bytes from `offset` on: the page each is in, where it begins there, and
/// how long it is.
fn parts(offset: u64, count: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + count as u64;
    let mut from = offset;
    std::iter::from_fn(move || {
        (from < end).then(|| {
            let (page, db_path) = (from / PAGE, from % PAGE);
            let count = (PAGE - db_path).min(end - from);
            from += count;
            (page, db_path as usize, count as usize)
        })
    })
}

impl StorageBackend for CowFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.over.lock().len_bytes)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let over = self.over.lock();
        let is_over = |(page, _, _)| over.pages.contains_key(&page);
        if !parts(offset, out.len()).any(is_over) {
            drop(over);
            return self.under.read(offset, out);
        }
        let mut rest = out;
        for (page, db_path, count) in parts(offset, rest.len()) {
            let (part, others) = rest.split_at_mut(count);
            match over.pages.get(&page) {
                Some(bytes) => part.copy_from_slice(&bytes[db_path..db_path + count]),
                None => self.under.read(page * PAGE + db_path as u64, part)?,
            }
            rest = others;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut over = self.over.lock();
        over.pages.split_off(&len.div_ceil(PAGE));
        over.len_bytes = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.is_closing.load(Ordering::Acquire) {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        let mut over = self.over.lock();
        let under_bytes = self.under.len()?;
        let mut rest = data;
        for (page, db_path, count) in parts(offset, data.len()) {
            let (part, others) = rest.split_at(count);
            let bytes = match over.pages.entry(page) {
                Entry::Occupied(bytes) => bytes.into_mut(),
                Entry::Vacant(none) => {
                    let mut bytes = Box::new([0; PAGE_BYTES]);
                    let begins = page * PAGE;
                    let left = under_bytes.saturating_sub(begins).min(PAGE) as usize;
                    if count < PAGE_BYTES {
                        self.under.read(begins, &mut bytes[..left])?;
                    }
                    none.insert(bytes)
                }
            };
            bytes[db_path..db_path + count].copy_from_slice(part);
            rest = others;
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
