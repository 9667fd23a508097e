//! The pager: redb's pages in a file of ours, each read only with its checksum.
//!
//! | in the file | content |
//! |---|---|
//! | first page | the [`superblock`]: which kind of file, which format |
//! | repeated: one page | [`checksums`] of the pages that follow |
//! | and 1024 pages | pages of redb, in order |
//!
//! redb compares its own checksums only when it repairs a file or is asked to. Without the checksums
//! here, a flipped bit in an inner page of redb leads a query to the wrong chunks, all of which are
//! sound.
//!
//! A page and its checksum are written apart, and a crash may keep one and lose the other. That does
//! no harm: redb never overwrites a page that the last durable commit needs, and all pages of a
//! commit are in the file when the commit is durable. Only redb's first page is written in place; it
//! has no checksum here, [`redb_header`] verifies it field by field.
//!
//! redb makes some commits in one phase, header and pages together (during a check, and the first
//! commit after it), and looks after a crash whether all pages arrived. A page that did not arrive
//! would fail its checksum here. So the header of such a commit is deferred until its pages are
//! durable.
//!
//! This folder uses [`disk`](super::disk) and knows nothing of the tables. [`redb_handle`] and
//! [`abort_on_drop`] keep panics of redb away from its callers, [`cow`] serves read-only databases.

pub(crate) mod abort_on_drop;
pub(crate) mod backend;
mod checksums;
mod cow;
mod layout;
pub(crate) mod redb_handle;
mod redb_header;
mod superblock;

use std::io;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};

use super::disk::DiskFile;
use crate::error::Result;
use crate::store::disk::page::PAGE_BYTES;
use crate::store::disk::path::{Damage, DbPath, raised};
use checksums::Checksums;
pub(crate) use cow::CowFile;
use layout::{PAGE, file_bytes, pieces, redb_bytes};

/// An open page file. All clones share it.
#[derive(Clone, Debug)]
pub(crate) struct PageFile {
    file: Arc<dyn DiskFile>,
    checksums: Arc<Checksums>,
    /// A header to be written once the pages written before it are durable.
    deferred_header: Arc<Mutex<Option<[u8; redb_header::BYTES]>>>,
}

impl PageFile {
    /// Writes the superblock of an empty file.
    pub(super) fn create(file: Arc<dyn DiskFile>) -> io::Result<Self> {
        file.set_len(file_bytes(0))?;
        file.write_at(0, &superblock::encode())?;
        Ok(Self::wrap(file))
    }

    /// Opens a file after verifying its superblock and its redb header.
    pub(super) fn open(file: Arc<dyn DiskFile>, db_path: &DbPath) -> Result<Self> {
        let opening = |cause: io::Error| db_path.reading(redb::StorageError::Io(cause));
        let info = file.info().map_err(opening)?;
        let mut first = vec![0; PAGE_BYTES.min(info.len_bytes as usize)];
        file.read_at(0, &mut first).map_err(opening)?;
        superblock::verify(&first, db_path)?;
        let opened = Self::wrap(file);
        let mut header = [0; redb_header::BYTES];
        opened
            .read_pieces(0, &mut header)
            .map_err(|cause| opening(cut_is_damage(cause)))?;
        redb_header::verify(&header, redb_bytes(info.len_bytes))
            .map_err(|what| db_path.corrupt(what))?;
        Ok(opened)
    }

    /// Wraps a file without verifying anything, to read its pages one by one.
    pub(crate) fn open_damaged(file: Arc<dyn DiskFile>) -> Self {
        Self::wrap(file)
    }

    /// The number of redb's pages.
    pub(crate) fn pages(&self) -> io::Result<u64> {
        Ok(redb_bytes(self.file.info()?.len_bytes) / PAGE)
    }

    /// Reads a page, damaged or not; returns `true` if it matches its checksum.
    pub(crate) fn look_at(&self, number: u64, page: &mut [u8]) -> io::Result<bool> {
        self.read_pieces(number * PAGE, page)?;
        self.checksums.fits(number, page)
    }

    /// Fills `bytes` from byte `from` of a page on, without its checksum.
    pub(crate) fn look_into(&self, number: u64, from: usize, bytes: &mut [u8]) -> io::Result<()> {
        self.read_pieces(number * PAGE + from as u64, bytes)
    }

    fn wrap(file: Arc<dyn DiskFile>) -> Self {
        Self {
            checksums: Arc::new(Checksums::new(Arc::clone(&file))),
            file,
            deferred_header: Arc::default(),
        }
    }

    /// Makes all writes durable, then the deferred header.
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
        for (file_offset, count) in pieces(offset, rest.len()) {
            let (piece, others) = rest.split_at_mut(count);
            self.file.read_at(file_offset, piece)?;
            rest = others;
        }
        Ok(())
    }

    fn write_pieces(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut rest = data;
        for (file_offset, count) in pieces(offset, rest.len()) {
            let (piece, others) = rest.split_at(count);
            self.file.write_at(file_offset, piece)?;
            rest = others;
        }
        Ok(())
    }

    /// Writes the header, or defers it to the next [`sync`](Self::sync).
    fn write_header(&self, header: &[u8; redb_header::BYTES]) -> io::Result<()> {
        let header = redb_header::without_aborted_slot(header);
        let mut deferred_header = self.deferred_header.lock();
        if redb_header::is_one_phase(&header) {
            *deferred_header = Some(header);
            return Ok(());
        }
        *deferred_header = None;
        self.write_pieces(0, &header)
    }

    fn read_verified(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_pieces(offset, out).map_err(cut_is_damage)?;
        for (number, page) in (offset / PAGE..).zip(out.chunks(PAGE_BYTES)) {
            if number > 0 && !self.checksums.fits(number, page)? {
                let offset = layout::of_page(number);
                let what = format!("the page at byte {offset} does not match its checksum");
                return Err(Damage(what).into());
            }
        }
        Ok(())
    }
}

/// An unexpected end of the file is damage: the file was cut.
fn cut_is_damage(cause: io::Error) -> io::Error {
    match cause.kind() {
        io::ErrorKind::UnexpectedEof => Damage("the file was cut".to_owned()).into(),
        _ => cause,
    }
}

impl StorageBackend for PageFile {
    fn len(&self) -> io::Result<u64> {
        Ok(redb_bytes(self.file.info()?.len_bytes))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_verified(offset, out).map_err(raised)?;
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

    /// Always succeeds: the store locked the file before it opened redb, or has just created it under
    /// a temporary name.
    fn try_lock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn unlock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}
