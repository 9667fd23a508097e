//! The journal, a write-ahead log: commits that are durable and not yet in the tables.
//!
//! A commit of redb writes hundreds of pages and syncs twice. So the changes of a commit are appended
//! as one *record* to a file beside the database, and many commits are flushed into the tables at
//! once. Records overwrite zeros that were written before: a sync then writes the record only, where
//! a file that grows, or reserved blocks that were never written, would need a write of metadata too.
//!
//! The commits that are flushed together are a *generation*. Two files take turns: one takes the
//! commits of a generation while the generation before is flushed. The file of a flushed generation
//! is not emptied; the next generation but one overwrites it.
//!
//! The bytes are described in [`frame`] and [`payload`]. Only the process that has the database open
//! for writing touches the files; the lock of the database file keeps readers out meanwhile. Like
//! redb, the journal assumes that a write leaves the bytes beside it as they are, even if power fails.

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
use file::{ChecksumWriter, begin, create_like, open_existing, refuse_unless_older, write_zeros};
use frame::{FIRST_RECORD, HEADER_BYTES, RecordHeader};
use reader::{LogEnd, LogOwner, Reader};

pub(crate) use frame::Identity;
pub(crate) use reader::Visitor;

/// A file grows by at least 1 MiB.
const LEAST_GROWTH_BYTES: u64 = 1 << 20;
/// A file doubles, but grows by at most 16 MiB more than needed.
const MOST_GROWTH_BYTES: u64 = 16 << 20;

/// The write buffer in bytes: most records are shorter and take one write.
const BUFFER_BYTES: usize = 64 << 10;

/// The journal file of one generation, to which records are appended.
#[derive(Debug)]
pub(crate) struct Journal {
    file: Arc<dyn DiskFile>,
    identity: Identity,
    records: u64,
    /// Where the next record begins.
    end: u64,
    /// The length of the file, zeros behind the records included.
    length: u64,
    /// Sealed: the next generation has begun, and no record is appended any more.
    goes_on: bool,
    /// Poisoned: a record may have been written or not.
    failed: bool,
    db_path: DbPath,
}

/// The content of a journal file, compared with the generation that was looked up.
#[derive(Debug)]
pub(crate) enum Found<T> {
    /// No file, or a file without a header.
    Missing,
    /// A journal of another generation or database, of which only the header was read.
    Other(Identity),
    /// The journal that was looked up.
    Sought(T),
}

impl<T> Found<T> {
    /// Maps the value of `Sought`.
    pub(crate) fn map<U>(self, make: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::Missing => Found::Missing,
            Self::Other(identity) => Found::Other(identity),
            Self::Sought(found) => Found::Sought(make(found)),
        }
    }
}

impl Journal {
    /// The path of the journal of a generation: odd and even generations share one each.
    pub(crate) fn path(database: &Path, generation: u64) -> PathBuf {
        let mut path = database.as_os_str().to_os_string();
        path.push(if generation % 2 == 1 {
            ".journal-1"
        } else {
            ".journal-2"
        });
        path.into()
    }

    /// Creates the journal of a generation that has none. Replaces a file in its place: the remains of a
    /// crash or of a full disk, or the journal of a database that had the path before.
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

    /// Creates the journal of a new generation, in a new file or in the file of an older generation of
    /// the same database. Any other file is refused.
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
        // Also for an existing file: the process that created it may have died before its own sync.
        sync_folder(db_path.disk(), &path)?;
        let log_end = LogEnd {
            records: 0,
            end: FIRST_RECORD,
            goes_on: false,
        };
        Ok(Self::with_end(file, identity, log_end, length, db_path))
    }

    /// Passes the changes of each commit of a generation to `visitor`, in order, and returns the journal
    /// for appending.
    ///
    /// A commit that a killed process wrote and did not acknowledge is passed on like the others; it
    /// is made durable first.
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
        let journal = Self::with_end(read.file, identity, read.log_end, read.length, db_path);
        if journal.records > 0 {
            // A crash may have come between the last record and its end marker.
            journal.write_end_marker();
        }
        Ok(Found::Sought(journal))
    }

    /// Like [`replay`](Self::replay) for a read-only database: writes nothing. Returns `true` if the
    /// journal is sealed.
    pub(crate) fn read(
        database: &Path,
        identity: Identity,
        db_path: &DbPath,
        visitor: &mut Visitor<'_>,
    ) -> Result<Found<bool>> {
        let found = read(database, identity, db_path, false, visitor)?;
        Ok(found.map(|read| read.log_end.goes_on))
    }

    /// Returns `true` if the journal is sealed: the next generation has begun.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Seals the journal, durably: from then on the journal of the next generation must exist, and
    /// its loss is noticed. No record can be appended any more.
    ///
    /// # Errors
    /// [`Error::Storage`]: the journal may or may not be sealed.
    pub(crate) fn go_on(&mut self) -> Result<()> {
        if self.goes_on {
            return Ok(());
        }
        self.goes_on = true;
        let sealed = self
            .grow_to(RecordHeader::beyond_end(self.end))
            .and_then(|()| self.file.write_at(self.end, &self.encoded_end()))
            .and_then(|()| self.file.sync());
        sealed.map_err(|cause| self.refusal(cause))
    }

    /// The identity in the file of the generations that are odd or even like `number`.
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

    /// Removes the file of the journal of a generation, if it exists.
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

    fn with_end(
        file: Arc<dyn DiskFile>,
        identity: Identity,
        log_end: LogEnd,
        length: u64,
        db_path: &DbPath,
    ) -> Self {
        Self {
            file,
            identity,
            records: log_end.records,
            end: log_end.end,
            goes_on: log_end.goes_on,
            length,
            failed: false,
            db_path: db_path.clone(),
        }
    }

    /// Makes a commit durable: its changes, and the totals after it.
    ///
    /// # Errors
    /// [`Error::Storage`]: nothing was written. [`Error::CommitUnknown`]: the record was written or
    /// not, and all later records are refused.
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
            // Fits: each edit takes more than one byte of the payload.
            edits: edits.len() as u32,
        };
        let next = header.next(self.end);
        self.grow_to(RecordHeader::beyond_end(next))
            .map_err(|cause| self.refusal(cause))?;
        if let Err(cause) = self.write(&mut header, edits, counts) {
            self.poison();
            return Err(Error::CommitUnknown {
                path: self.db_path.path().to_path_buf(),
                source: Box::new(cause),
            });
        }
        self.records += 1;
        self.end = next;
        self.write_end_marker();
        Ok(())
    }

    /// Bytes in use.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.end
    }

    /// Writes a record behind the others, over zeros, over records of an older generation, or over a
    /// record of this generation that was cut short.
    ///
    /// A record that was cut short began at the same offset, so the new header replaces its header. If
    /// it was longer, a part of its payload stays behind the new record; that part has no header, so it
    /// is not taken for a record.
    fn write(
        &self,
        header: &mut RecordHeader,
        edits: &[DocumentEdit],
        counts: Counts,
    ) -> std::io::Result<()> {
        let checksummed = ChecksumWriter::new(&*self.file, self.end + HEADER_BYTES as u64);
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, checksummed);
        payload::encode(&mut out, edits, counts)?;
        let checksummed = out.into_inner().map_err(IntoInnerError::into_error)?;
        header.payload_crc = checksummed.crc();
        self.file
            .write_at(self.end, &header.encode(self.identity))?;
        self.file.sync()
    }

    /// Refuses all later records: if this record is not on the disk, a later one would look like
    /// damage.
    fn poison(&mut self) {
        self.failed = true;
        // After a failed sync the page cache may hold the record although no sync will write it any
        // more. Without this end marker over its header, the next process to open the database would
        // take the record for durable. If this write fails too, nothing is left to do.
        self.write_end_marker();
    }

    /// Writes the end marker behind the last record. Without an end marker, damage to the last record
    /// looks like a crash; so a failure here is ignored.
    fn write_end_marker(&self) {
        if RecordHeader::beyond_end(self.end) <= self.length {
            let _ = self.file.write_at(self.end, &self.encoded_end());
        }
    }

    fn encoded_end(&self) -> Vec<u8> {
        RecordHeader::encode_end(self.records, self.end, self.goes_on, self.identity)
    }

    /// Extends the file to at least `end` bytes. A full disk is noticed here, before anything of the
    /// record is written.
    fn grow_to(&mut self, end: u64) -> std::io::Result<()> {
        if end > self.length {
            let more = self.length.clamp(LEAST_GROWTH_BYTES, MOST_GROWTH_BYTES);
            write_zeros(&*self.file, self.length, end + more)?;
            // Without this sync, a file that was cut would look like one that had not grown yet.
            self.file.sync()?;
            self.length = end + more;
        }
        Ok(())
    }

    /// The error for a record of which nothing was written.
    fn refusal(&self, cause: std::io::Error) -> Error {
        Error::Storage {
            action: "write",
            path: self.db_path.path().to_path_buf(),
            source: Box::new(cause),
        }
    }
}

/// A journal file, and where its records end.
struct ReadFile {
    file: Arc<dyn DiskFile>,
    log_end: LogEnd,
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
            let log_end = reader.replay(identity, visitor)?;
            let length = reader.length();
            Ok(Found::Sought(ReadFile {
                file,
                log_end,
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
