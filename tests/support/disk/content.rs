//! The bytes of a file in pages. Copies share pages until a write, and also share the page
//! directory in groups, since a file may have a million pages.

use std::io;
use std::sync::Arc;

pub const PAGE_BYTES: u64 = 4096;

/// Pages in one group of the directory.
const GROUP_PAGES: usize = 1024;

const ZEROS: Page = [0; PAGE_BYTES as usize];

type Page = [u8; PAGE_BYTES as usize];
type Group = Vec<Option<Arc<Page>>>;

/// The bytes of a file. Unwritten bytes are zero and take no memory.
#[derive(Clone, Debug, Default)]
pub struct Content {
    len: u64,
    groups: Vec<Arc<Group>>,
}

impl Content {
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Fills `bytes` from `offset`. Fails if the file ends before.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (page, from, part) in parts(offset, bytes.len()) {
            let out = &mut bytes[part.clone()];
            match self.page(page) {
                Some(page) => out.copy_from_slice(&page[from..from + out.len()]),
                None => out.fill(0),
            }
        }
        Ok(())
    }

    /// Writes all of `bytes`, extending the file if necessary.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.len = self.len.max(offset + bytes.len() as u64);
        for (page, from, part) in parts(offset, bytes.len()) {
            let bytes = &bytes[part];
            if self.page(page).is_none() && *bytes == ZEROS[..bytes.len()] {
                continue;
            }
            let page = self
                .slot(page)
                .get_or_insert_with(|| Arc::new([0; PAGE_BYTES as usize]));
            Arc::make_mut(page)[from..from + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Truncates the file, or extends it with zeros.
    pub fn set_len(&mut self, len: u64) {
        if len < self.len {
            let pages = len.div_ceil(PAGE_BYTES) as usize;
            self.groups.truncate(pages.div_ceil(GROUP_PAGES));
            if let Some(group) = self.groups.get_mut(pages / GROUP_PAGES) {
                Arc::make_mut(group).truncate(pages % GROUP_PAGES);
            }
            let kept = (len % PAGE_BYTES) as usize;
            let last = (len / PAGE_BYTES) as usize;
            if kept > 0
                && self.page(last).is_some()
                && let Some(page) = self.slot(last)
            {
                Arc::make_mut(page)[kept..].fill(0);
            }
        }
        self.len = len;
    }

    /// Shares the pages of another file that hold these bytes.
    pub fn take_over(&mut self, other: &Self, offset: u64, count: u64) {
        if count == 0 {
            return;
        }
        self.len = self.len.max(offset + count);
        let (first, last) = (offset / PAGE_BYTES, (offset + count - 1) / PAGE_BYTES);
        for page in first as usize..=last as usize {
            let theirs = other.page(page).cloned();
            if theirs.is_some() || self.page(page).is_some() {
                *self.slot(page) = theirs;
            }
        }
    }

    fn page(&self, number: usize) -> Option<&Arc<Page>> {
        let group = self.groups.get(number / GROUP_PAGES)?;
        group.get(number % GROUP_PAGES)?.as_ref()
    }

    /// The directory entry of a page.
    fn slot(&mut self, number: usize) -> &mut Option<Arc<Page>> {
        let (group, place) = (number / GROUP_PAGES, number % GROUP_PAGES);
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, Arc::default);
        }
        let group = Arc::make_mut(&mut self.groups[group]);
        if group.len() <= place {
            group.resize(place + 1, None);
        }
        &mut group[place]
    }
}

/// The parts of a byte range that lie in one page each: page number, offset within the page, and
/// range within the bytes.
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
