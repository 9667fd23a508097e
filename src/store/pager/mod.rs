//! The file as the storage engine sees it: pages, each of which is read only with its checksum.
//!
//! | where in the file | what |
//! |---|---|
//! | first page | what kind of file this is: see [`frontpage`] |
//! | then, again and again: one page | checksums of the pages that follow, see [`checksums`] |
//! | and 1024 pages | pages of the storage engine, in their order |
//!
//! The engine compares the checksums that it has of its own only when it repairs a file or is told
//! to prove it. Without these here, a bit that flips in one of its inner pages sends a query to
//! the wrong chunks, all of which are sound.
//!
//! A page and its checksum are written apart, and a crash may keep one and lose the other. That
//! does no harm: the engine never writes over a page that the last durable commit needs, and what
//! a commit wrote is all there when it is durable. Only its first page is written in place; that
//! has no checksum here, and [`engine_header`] proves it by what it must say.
//!
//! Some commits the engine makes in one step, header and pages together (as it checks a file, and
//! the first after that), and looks after a crash whether all pages are there. It would find pages
//! that do not fit their checksums, which is an error here. So such a header is held back until the
//! pages that it names are durable.

pub(crate) mod abort_on_drop;
pub(crate) mod backend;
mod checksums;
mod cow;
mod layout;
pub(crate) mod redb_handle;
mod redb_header;
mod superblock;

use parking_lot::Mutex;
use std::io;
use std::ops::Bound;
use std::sync::Arc;

use redb::{BackendError, StorageBackend};

use super::disk::DiskFile;
use crate::error::Result;
use crate::store::disk::path::{Damage, DbPath, raised};
use crate::store::tables::packed::chunk::PAGE_BYTES;
use checksums::Checksums;
pub(crate) use cow::CowFile;
use layout::{PAGE, engine_bytes, file_bytes, pieces};

/// An open file of pages. All clones are the same file.
#[derive(Clone, Debug)]
pub(crate) struct PageFile {
    file: Arc<dyn DiskFile>,
    checksums: Arc<Checksums>,
    /// A header that is to be written when all that was written before is durable.
    deferred_header: Arc<Mutex<Option<[u8; redb_header::BYTES]>>>,
}

impl PageFile {
    /// Begins a file that is empty.
    pub(super) fn create(file: Arc<dyn DiskFile>) -> io::Result<Self> {
        file.set_len(file_bytes(0))?;
        file.write_at(0, &superblock::encode())?;
        Ok(Self::over(file))
    }

    /// A file that is there.
    pub(super) fn open(file: Arc<dyn DiskFile>, db_path: &DbPath) -> Result<Self> {
        let opening = |cause: io::Error| db_path.reading(redb::StorageError::Io(cause));
        let info = file.info().map_err(opening)?;
        let mut first = vec![0; PAGE_BYTES.min(info.len_bytes as usize)];
        file.read_at(0, &mut first).map_err(opening)?;
        superblock::prove(&first, db_path)?;
        let opened = Self::over(file);
        let mut header = [0; redb_header::BYTES];
        opened
            .read_pieces(0, &mut header)
            .map_err(|cause| opening(ended(cause)))?;
        redb_header::prove(&header, engine_bytes(info.len_bytes))
            .map_err(|what| db_path.corrupt(what))?;
        Ok(opened)
    }

    /// A file of which nothing is proved, to look at its pages one by one.
    pub(crate) fn over_damaged(file: Arc<dyn DiskFile>) -> Self {
        Self::over(file)
    }

    /// How many pages there are.
    pub(crate) fn pages(&self) -> io::Result<u64> {
        Ok(engine_bytes(self.file.info()?.len_bytes) / PAGE)
    }

    /// Reads a page, whether it is damaged or not; whether it fits its checksum.
    pub(crate) fn look_at(&self, number: u64, page: &mut [u8]) -> io::Result<bool> {
        self.read_pieces(number * PAGE, page)?;
        self.checksums.fits(number, page)
    }

    /// Reads so many bytes, `from` so many behind the beginning of a page.
    pub(crate) fn look_into(&self, number: u64, from: usize, bytes: &mut [u8]) -> io::Result<()> {
        self.read_pieces(number * PAGE + from as u64, bytes)
    }

    fn over(file: Arc<dyn DiskFile>) -> Self {
        Self {
            checksums: Arc::new(Checksums::of(Arc::clone(&file))),
            file,
            deferred_header: Arc::default(),
        }
    }

    /// Makes durable everything that was written.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.checksums.write()?;
        self.file.sync()?;
        if let Some(header) = self.deferred_header.lock().take() {
            self.write_pieces(0, &header)?;
            self.file.sync()?;
        }
        Ok(())
    }

    fn read_pieces(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut rest = out;
        for (db_path, count) in pieces(offset, rest.len()) {
            let (piece, others) = rest.split_at_mut(count);
            self.file.read_at(db_path, piece)?;
            rest = others;
        }
        Ok(())
    }

    fn write_pieces(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut rest = data;
        for (db_path, count) in pieces(offset, rest.len()) {
            let (piece, others) = rest.split_at(count);
            self.file.write_at(db_path, piece)?;
            rest = others;
        }
        Ok(())
    }

    /// Writes the header, or holds it back.
    fn write_header(&self, header: &[u8; redb_header::BYTES]) -> io::Result<()> {
        let header = redb_header::without_given_up(header);
        let mut deferred_header = self.deferred_header.lock();
        if redb_header::is_of_one_step(&header) {
            *deferred_header = Some(header);
            return Ok(());
        }
        *deferred_header = None;
        self.write_pieces(0, &header)
    }

    fn read_proved(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_pieces(offset, out).map_err(ended)?;
        for (number, page) in (offset / PAGE..).zip(out.chunks(PAGE_BYTES)) {
            if number > 0 && !self.checksums.fits(number, page)? {
                let offset = layout::of_page(number);
                let what = format!("the page at byte {offset} does not fit its checksum");
                return Err(Damage(what).into());
            }
        }
        Ok(())
    }
}

/// A file that ends too early was cut.
fn ended(cause: io::Error) -> io::Error {
    match cause.kind() {
        io::ErrorKind::UnexpectedEof => Damage("the file was cut".to_owned()).into(),
        _ => cause,
    }
}

impl StorageBackend for PageFile {
    fn len(&self) -> io::Result<u64> {
        Ok(engine_bytes(self.file.info()?.len_bytes))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_proved(offset, out).map_err(raised)?;
        if offset == 0
            && let Some(header) = *self.deferred_header.lock()
        {
            let count = out.len().min(header.len());
            out[..count].copy_from_slice(&header[..count]);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(file_bytes(len))?;
        self.checksums.cut(len / PAGE)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        for (number, page) in (offset / PAGE..).zip(data.chunks(PAGE_BYTES)) {
            if number > 0 {
                self.checksums.note(number, page)?;
            }
        }
        match <&[u8; redb_header::BYTES]>::try_from(data) {
            Ok(header) if offset == 0 => self.write_header(header),
            _ => self.write_pieces(offset, data),
        }
    }

    fn close(&self) -> io::Result<()> {
        self.checksums.write()
    }

    /// Whoever opened the file has locked it, or has just created it under a name that nobody else
    /// knows. The lock is gone when the file is closed.
    fn try_lock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn unlock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}
