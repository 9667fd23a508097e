//! The pager: redb's pages with a superblock and checksums. Every page that redb reads is verified.
//!
//! | in the file | content |
//! |---|---|
//! | first page | [`superblock`]: the kind of the file and the format version |
//! | then repeated: one page | [`checksums`] of the pages that follow |
//! | and 1024 pages | pages of redb, in order |
//!
//! redb compares its own checksums only in a repair or an integrity check. Without the checksums of
//! the pager, a flipped bit in an inner page of redb's B-tree would lead a query to wrong but sound
//! leaves, and the query would silently miss documents.
//!
//! A crash may keep a page and lose its checksum, or the reverse, because they are written apart.
//! Both are harmless: redb never overwrites a page of the last durable commit, and a sync writes
//! pages and checksums before a commit counts as durable. Only redb's first page, its header, is
//! written in place. The header has no checksum here; [`redb_header`] verifies its fields.
//!
//! redb writes some commits in one phase, header and pages before one sync: commits during an
//! integrity check, and the first commit after it. After a crash redb verifies such a commit and
//! falls back to the commit before if a page is missing. Here the missing page would fail its
//! checksum, and the file would count as damaged. So the header of a one-phase commit is deferred
//! until its pages are durable.
//!
//! This folder uses [`disk`](super::disk) and does not know the tables. [`backend`] and
//! [`abort_on_drop`] contain panics of redb; [`cow`] serves read-only databases.

pub(crate) mod abort_on_drop;
pub(crate) mod backend;
mod checksums;
mod cow;
mod layout;
mod redb_header;
mod superblock;

use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};

use super::disk::DiskFile;
use crate::error::Result;
use crate::store::disk::PAGE_BYTES;
use crate::store::disk::path::{Damage, DbPath, unwind_or_return};
use checksums::Checksums;
pub(crate) use cow::CowFile;
use layout::{PAGE, file_bytes, pieces, redb_bytes};

/// An open database file as redb's storage. All clones share the file and its checksums.
#[derive(Clone, Debug)]
pub(crate) struct PageFile {
    file: Arc<dyn DiskFile>,
    checksums: Arc<Checksums>,
    /// The header of a one-phase commit, which [`sync`](Self::sync) writes after the pages.
    deferred_header: Arc<Mutex<Option<[u8; redb_header::BYTES]>>>,
    /// The number of writes of redb's header, including failed writes.
    header_writes: Arc<AtomicU64>,
}

impl PageFile {
    /// Writes the superblock into an empty file.
    pub(super) fn create(file: Arc<dyn DiskFile>, has_options: bool) -> io::Result<Self> {
        file.set_len(file_bytes(0))?;
        file.write_at(0, &superblock::encode(has_options))?;
        Ok(Self::wrap(file))
    }

    /// Opens a file, and verifies its superblock and its redb header.
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
            .map_err(|cause| opening(eof_to_damage(cause)))?;
        redb_header::verify(&header, redb_bytes(info.len_bytes))
            .map_err(|what| db_path.corrupt(what))?;
        Ok(opened)
    }

    /// Opens a file without verification, for salvage.
    pub(crate) fn open_damaged(file: Arc<dyn DiskFile>) -> Self {
        Self::wrap(file)
    }

    fn header_writes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.header_writes)
    }

    /// The number of whole redb pages in the file.
    pub(crate) fn pages(&self) -> io::Result<u64> {
        Ok(redb_bytes(self.file.info()?.len_bytes) / PAGE)
    }

    /// Reads a page, damaged or not; returns `true` if the page matches its checksum.
    pub(crate) fn read_and_check(&self, number: u64, page: &mut [u8]) -> io::Result<bool> {
        self.read_pieces(number * PAGE, page)?;
        self.checksums.matches(number, page)
    }

    /// Fills `bytes` from byte `from` of page `number` on, without verification.
    pub(crate) fn read_unchecked(
        &self,
        number: u64,
        from: usize,
        bytes: &mut [u8],
    ) -> io::Result<()> {
        self.read_pieces(number * PAGE + from as u64, bytes)
    }

    fn wrap(file: Arc<dyn DiskFile>) -> Self {
        Self {
            checksums: Arc::new(Checksums::new(Arc::clone(&file))),
            file,
            deferred_header: Arc::default(),
            header_writes: Arc::default(),
        }
    }

    /// Makes all written pages and their checksums durable, then the deferred header.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.checksums.write()?;
        self.file.sync()?;
        // The second sync makes the commit durable only after its pages are.
        if let Some(header) = self.deferred_header.lock().take() {
            self.header_writes.fetch_add(1, Ordering::Relaxed);
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

    /// Writes redb's header, or defers the header of a one-phase commit to [`sync`](Self::sync).
    fn write_header(&self, header: &[u8; redb_header::BYTES]) -> io::Result<()> {
        let header = redb_header::without_aborted_slot(header);
        let mut deferred_header = self.deferred_header.lock();
        if redb_header::is_one_phase(&header) {
            *deferred_header = Some(header);
            return Ok(());
        }
        // In a two-phase commit redb itself syncs the pages before it makes the slot primary.
        *deferred_header = None;
        self.header_writes.fetch_add(1, Ordering::Relaxed);
        self.write_pieces(0, &header)
    }

    fn read_verified(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_pieces(offset, out).map_err(eof_to_damage)?;
        for (number, page) in (offset / PAGE..).zip(out.chunks(PAGE_BYTES)) {
            if number > 0 && !self.checksums.matches(number, page)? {
                let offset = layout::page_offset(number);
                let what = format!("the page at byte {offset} does not match its checksum");
                return Err(Damage(what).into());
            }
        }
        Ok(())
    }
}

/// Maps an unexpected end of the file to [`Damage`]: the file was cut.
fn eof_to_damage(cause: io::Error) -> io::Error {
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
        self.read_verified(offset, out).map_err(unwind_or_return)?;
        // redb has to read back the header that it wrote, even if the header is still deferred.
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
        self.checksums.truncate(len / PAGE)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        // Page 0 holds the header, which has no checksum here.
        for (number, page) in (offset / PAGE..).zip(data.chunks(PAGE_BYTES)) {
            if number > 0 {
                self.checksums.record(number, page)?;
            }
        }
        // redb writes its header, and nothing else, as 320 bytes at offset 0.
        match <&[u8; redb_header::BYTES]>::try_from(data) {
            Ok(header) if offset == 0 => self.write_header(header),
            _ => self.write_pieces(offset, data),
        }
    }

    fn close(&self) -> io::Result<()> {
        self.checksums.write()
    }

    /// Always succeeds: the store has locked the file before it opened redb, or has just created
    /// the file under a temporary name.
    fn try_lock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn unlock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}
