//! The journal: commits that are durable, and not yet in the tables.
//!
//! A commit of the storage engine writes hundreds of pages and syncs twice. So what a commit
//! changes is appended, as one *record*, to a file beside the database, and many commits are
//! merged into the tables at once. Records overwrite zeros that were written before: then a sync
//! has nothing to write but the record, where a file that grows or has reserved blocks that were
//! never written would have its metadata to write as well.
//!
//! The commits that are merged together are a *generation*. There are two files, used in turns:
//! one takes the commits of a generation while those of the one before are merged. A file whose
//! generation is merged is not emptied; the next but one takes it over and writes over it.
//!
//! What the bytes mean is in [`frame`] and [`payload`]. Nobody but the one who has the database
//! open for writing touches the files, and readers are kept out meanwhile by the lock of the
//! database file. About the disk this assumes what the engine does: that what is written leaves the
//! bytes beside it alone, even if power fails.

mod file;
mod frame;
mod payload;
mod reader;

use std::io::{BufWriter, ErrorKind, IntoInnerError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::DiskFile;
use crate::error::{Error, Result};
use crate::store::disk::folder::sync_folder;
use crate::store::disk::path::DbPath;
use crate::store::tables::edit::{Counts, DocumentEdit};
use file::{Summed, begin, create_like, open_existing, refuse_unless_older, write_zeros};
use frame::{FIRST_RECORD, HEADER_BYTES, RecordHeader};
use reader::{LogEnd, LogOwner, Reader};

pub(crate) use frame::Identity;
pub(crate) use reader::Visitor;

/// The least by which a file grows.
const LEAST_GROWTH_BYTES: u64 = 1 << 20;
/// The most by which a file grows beyond what is asked of it; less than that it doubles.
const MOST_GROWTH_BYTES: u64 = 16 << 20;

/// Bytes that are gathered before they are written: more than most records have.
const BUFFER_BYTES: usize = 64 << 10;

/// The journal file of one generation, to which records are appended.
#[derive(Debug)]
pub(crate) struct Journal {
    file: Arc<dyn DiskFile>,
    identity: Identity,
    records: u64,
    /// Where the next record begins.
    end: u64,
    /// How far the file is written, if only with zeros.
    length: u64,
    /// The next generation has begun: nothing more comes into this one.
    goes_on: bool,
    /// A record was perhaps written and perhaps not.
    failed: bool,
    db_path: DbPath,
}

/// What is under the name of a journal file.
#[derive(Debug)]
pub(crate) enum Found<T> {
    /// No file, or one that was never begun.
    Missing,
    /// A journal of another generation or database. Nothing of it was read.
    Other(Identity),
    /// The journal that was looked for.
    Sought(T),
}

impl<T> Found<T> {
    /// The same, made of what was looked for.
    pub(crate) fn map<U>(self, make: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::Missing => Found::Missing,
            Self::Other(identity) => Found::Other(identity),
            Self::Sought(found) => Found::Sought(make(found)),
        }
    }
}

impl Journal {
    /// The file for the journal of a generation.
    pub(crate) fn path(database: &Path, generation: u64) -> PathBuf {
        let mut path = database.as_os_str().to_os_string();
        path.push(if generation % 2 == 1 {
            ".journal-1"
        } else {
            ".journal-2"
        });
        path.into()
    }

    /// Begins the journal of a generation that has none, whatever is in its place: what a crash or
    /// a full disk left of one that was not begun, or that of a database that had the name before.
    pub(crate) fn begin(database: &Path, identity: Identity, db_path: &DbPath) -> Result<Self> {
        Self::create(database, identity, db_path).or_else(|_| {
            Self::remove(database, identity.generation, db_path)?;
            let created = Self::create(database, identity, db_path);
            if created.is_err() {
                Self::remove(database, identity.generation, db_path)?;
            }
            created
        })
    }

    /// Begins the journal of a new generation, in a new file or in that of an older generation of
    /// the same database. What is of any other kind is refused.
    fn create(database: &Path, identity: Identity, db_path: &DbPath) -> Result<Self> {
        let path = Self::path(database, identity.generation);
        let file = match open_existing(&path, db_path, true)? {
            Some(file) => {
                refuse_unless_older(&*file, &path, identity, db_path)?;
                Ok(file)
            }
            None => create_like(database, &path, db_path),
        };
        let (file, length) = file
            .and_then(|file| begin(&*file, identity).map(|length| (file, length)))
            .map_err(|source| Error::Io {
                action: "create",
                path: path.clone(),
                source,
            })?;
        // Also where the file was found: whoever created it may have come no further.
        sync_folder(db_path.disk(), &path)?;
        let extent = LogEnd {
            records: 0,
            end: FIRST_RECORD,
            goes_on: false,
        };
        Ok(Self::at(file, identity, extent, length, db_path))
    }

    /// Hands over what the commits of a generation changed, one after the other in their order,
    /// and returns its journal to append more.
    ///
    /// A commit that a killed process wrote and did not live to acknowledge is handed over like
    /// the others, and is durable then.
    pub(crate) fn replay(
        database: &Path,
        identity: Identity,
        db_path: &DbPath,
        visitor: &mut Visitor<'_>,
    ) -> Result<Found<Self>> {
        let read = match read(database, identity, db_path, true, visitor)? {
            Found::Sought(found) => found,
            Found::Other(identity) => return Ok(Found::Other(identity)),
            Found::Missing => return Ok(Found::Missing),
        };
        read.file.sync().map_err(|source| Error::Io {
            action: "make durable",
            path: Self::path(database, identity.generation),
            source,
        })?;
        let journal = Self::at(read.file, identity, read.extent, read.length, db_path);
        if journal.records > 0 {
            // A crash may have come before what is behind the last record.
            journal.mark_end();
        }
        Ok(Found::Sought(journal))
    }

    /// Like [`replay`](Self::replay), for a database that is opened for reading only: writes
    /// nothing. Returns whether the next generation has begun.
    pub(crate) fn read(
        database: &Path,
        identity: Identity,
        db_path: &DbPath,
        visitor: &mut Visitor<'_>,
    ) -> Result<Found<bool>> {
        let found = read(database, identity, db_path, false, visitor)?;
        Ok(found.map(|read| read.extent.goes_on))
    }

    /// Whether the next generation has begun.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Notes, durably, that the next generation has begun: after that its journal is missed if it
    /// is lost. Nothing more can be written to this one.
    ///
    /// # Errors
    /// [`Error::Storage`]: perhaps it is noted.
    pub(crate) fn go_on(&mut self) -> Result<()> {
        if self.goes_on {
            return Ok(());
        }
        self.goes_on = true;
        let noted = self
            .grow_to(RecordHeader::beyond_end(self.end))
            .and_then(|()| self.file.write_at(self.end, &self.encoded_end()))
            .and_then(|()| self.file.sync());
        noted.map_err(|cause| self.refusal(cause))
    }

    /// Whose journal is in the file that generations of this number, odd or even, have.
    pub(crate) fn owner_of(
        database: &Path,
        number: u64,
        db_path: &DbPath,
    ) -> Result<Option<Identity>> {
        let path = Self::path(database, number);
        let Some(file) = open_existing(&path, db_path, false)? else {
            return Ok(None);
        };
        Ok(match Reader::new(&*file, &path, db_path)?.owner()? {
            LogOwner::Known(identity) => Some(identity),
            LogOwner::Unknown => None,
        })
    }

    /// Removes the file for the journal of a generation, whatever is in it, if there is one.
    pub(crate) fn remove(database: &Path, generation: u64, db_path: &DbPath) -> Result<()> {
        let path = Self::path(database, generation);
        match db_path.disk().remove(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(Error::Io {
                action: "remove",
                path,
                source,
            }),
            _ => sync_folder(db_path.disk(), &path),
        }
    }

    fn at(
        file: Arc<dyn DiskFile>,
        identity: Identity,
        extent: LogEnd,
        length: u64,
        db_path: &DbPath,
    ) -> Self {
        Self {
            file,
            identity,
            records: extent.records,
            end: extent.end,
            goes_on: extent.goes_on,
            length,
            failed: false,
            db_path: db_path.clone(),
        }
    }

    /// Makes a commit durable: what it changed, and the totals after it.
    ///
    /// # Errors
    /// [`Error::Storage`]: nothing was written. [`Error::CommitUnknown`]: all or nothing was, and
    /// from then on everything is refused.
    pub(crate) fn append(&mut self, edits: &[DocumentEdit], counts: Counts) -> Result<()> {
        if self.failed {
            return Err(self.refusal(std::io::Error::other("a commit before this one failed")));
        }
        if self.goes_on {
            return Err(self.refusal(std::io::Error::other("the next generation has begun")));
        }
        let Ok(payload_bytes) = u32::try_from(payload::encoded_bytes(edits)) else {
            return Err(self.refusal(std::io::Error::other(
                "one commit can change no more than 4 GiB; make it several",
            )));
        };
        let mut header = RecordHeader {
            sequence: self.records,
            payload_bytes,
            payload_crc: 0,
            // Fewer than bytes.
            edits: edits.len() as u32,
        };
        let next = header.next(self.end);
        self.grow_to(RecordHeader::beyond_end(next))
            .map_err(|cause| self.refusal(cause))?;
        if let Err(cause) = self.write(&mut header, edits, counts) {
            self.give_up();
            return Err(Error::CommitUnknown {
                path: self.db_path.path().to_path_buf(),
                source: Box::new(cause),
            });
        }
        self.records += 1;
        self.end = next;
        self.mark_end();
        Ok(())
    }

    /// Bytes that are in use.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.end
    }

    /// Writes a record over what is at the end of the others: zeros, what an older generation
    /// left, or a record of this generation that was cut short.
    ///
    /// Such a record has the same number and began at the same place, so its header is gone. If
    /// it was longer, the rest of it stays behind the new one. That is a part of a payload and
    /// has no header, so the next record is not found there until it is written.
    fn write(
        &self,
        header: &mut RecordHeader,
        edits: &[DocumentEdit],
        counts: Counts,
    ) -> std::io::Result<()> {
        let summed = Summed::from(&*self.file, self.end + HEADER_BYTES as u64);
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, summed);
        payload::encode(&mut out, edits, counts)?;
        let summed = out.into_inner().map_err(IntoInnerError::into_error)?;
        header.payload_crc = summed.crc();
        self.file
            .write_at(self.end, &header.encode(self.identity))?;
        self.file.sync()
    }

    /// Refuses all later records. One after this would pass for damage if this is not on the disk.
    fn give_up(&mut self) {
        self.failed = true;
        // Whoever opens the database after a failed sync would read the record out of memory and
        // take it for durable, although no sync will write it any more. If this fails too, there
        // is nothing left to do.
        self.mark_end();
    }

    /// Writes what is behind the last record. If that fails, damage to this record will pass for a
    /// crash.
    fn mark_end(&self) {
        if RecordHeader::beyond_end(self.end) <= self.length {
            let _ = self.file.write_at(self.end, &self.encoded_end());
        }
    }

    fn encoded_end(&self) -> Vec<u8> {
        RecordHeader::encode_end(self.records, self.end, self.goes_on, self.identity)
    }

    /// Makes the file long enough. A disk that is full is noticed here, where it does no harm.
    fn grow_to(&mut self, end: u64) -> std::io::Result<()> {
        if end > self.length {
            let more = self.length.clamp(LEAST_GROWTH_BYTES, MOST_GROWTH_BYTES);
            write_zeros(&*self.file, self.length, end + more)?;
            // Else a file that was cut could not be told from one that did not grow in time.
            self.file.sync()?;
            self.length = end + more;
        }
        Ok(())
    }

    /// Nothing was written of a record.
    fn refusal(&self, cause: std::io::Error) -> Error {
        Error::Storage {
            action: "write",
            path: self.db_path.path().to_path_buf(),
            source: Box::new(cause),
        }
    }
}

/// A journal file that was read.
struct ReadFile {
    file: Arc<dyn DiskFile>,
    extent: LogEnd,
    length: u64,
}

/// Reads a journal file.
fn read(
    database: &Path,
    identity: Identity,
    db_path: &DbPath,
    to_write: bool,
    visitor: &mut Visitor<'_>,
) -> Result<Found<ReadFile>> {
    let path = Journal::path(database, identity.generation);
    let Some(file) = open_existing(&path, db_path, to_write)? else {
        return Ok(Found::Missing);
    };
    let mut reader = Reader::new(&*file, &path, db_path)?;
    match reader.owner()? {
        LogOwner::Known(found) if found == identity => {
            let extent = reader.replay(identity, visitor)?;
            let length = reader.length();
            Ok(Found::Sought(ReadFile {
                file,
                extent,
                length,
            }))
        }
        LogOwner::Known(found) => Ok(Found::Other(found)),
        LogOwner::Unknown => {
            reader.refuse_records(identity)?;
            Ok(Found::Missing)
        }
    }
}

#[cfg(test)]
mod tests;
