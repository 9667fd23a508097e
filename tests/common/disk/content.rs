//! The bytes of a file, in pages that copies share until one of them is written to.

use std::io;
use std::sync::Arc;

pub const PAGE_BYTES: u64 = 4096;

type Page = [u8; PAGE_BYTES as usize];

/// The bytes of a file. What was never written is zero and takes no memory.
#[derive(Clone, Debug, Default)]
pub struct Content {
    len: u64,
    pages: Vec<Option<Arc<Page>>>,
}

impl Content {
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Fills `bytes` from a place; an error where the file ends before.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (page, from, part) in parts(offset, bytes.len()) {
            let out = &mut bytes[part.clone()];
            match self.pages.get(page).and_then(Option::as_ref) {
                Some(page) => out.copy_from_slice(&page[from..from + out.len()]),
                None => out.fill(0),
            }
        }
        Ok(())
    }

    /// Writes all of `bytes`; the file grows if it must.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.len = self.len.max(offset + bytes.len() as u64);
        for (page, from, part) in parts(offset, bytes.len()) {
            let bytes = &bytes[part];
            if self.pages.len() <= page {
                self.pages.resize(page + 1, None);
            }
            let slot = &mut self.pages[page];
            if slot.is_none() && bytes.iter().all(|byte| *byte == 0) {
                continue;
            }
            let page = slot.get_or_insert_with(|| Arc::new([0; PAGE_BYTES as usize]));
            Arc::make_mut(page)[from..from + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Cuts the file, or makes it longer with zeros.
    pub fn set_len(&mut self, len: u64) {
        if len < self.len {
            self.pages.truncate(len.div_ceil(PAGE_BYTES) as usize);
            let kept = (len % PAGE_BYTES) as usize;
            if kept > 0
                && let Some(Some(page)) = self.pages.get_mut((len / PAGE_BYTES) as usize)
            {
                Arc::make_mut(page)[kept..].fill(0);
            }
        }
        self.len = len;
    }

    /// Takes over the pages of another file that hold these bytes.
    pub fn take_over(&mut self, other: &Self, offset: u64, count: u64) {
        if count == 0 {
            return;
        }
        self.len = self.len.max(offset + count);
        let (first, last) = (offset / PAGE_BYTES, (offset + count - 1) / PAGE_BYTES);
        for page in first as usize..=last as usize {
            let theirs = other.pages.get(page).cloned().flatten();
            if self.pages.len() <= page {
                self.pages.resize(page + 1, None);
            }
            self.pages[page] = theirs;
        }
    }
}

/// The parts of so many bytes from `offset` on that are in one page each: the page, where in it
/// the part begins, and which of the bytes it is.
fn parts(
    offset: u64,
    count: usize,
) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < count).then(|| {
            let at = offset + done as u64;
            let from = (at % PAGE_BYTES) as usize;
            let begin = done;
            done = count.min(done + PAGE_BYTES as usize - from);
            ((at / PAGE_BYTES) as usize, from, begin..done)
        })
    })
}
