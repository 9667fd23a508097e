//! The journal, a write-ahead log: commits that are durable and not yet in the tables.
//!
//! A redb commit writes hundreds of pages and syncs twice. So the changes of a commit are appended
//! as one *record* to a file beside the database, and many commits are flushed into the tables at
//! once. Records overwrite zeros that were written before: a sync then writes the record only. In a
//! file that grows, or in reserved blocks that were never written, a sync would write metadata too.
//!
//! The commits that are flushed together are a *generation*. Two files take turns: one file takes
//! the commits of a generation while the generation before is flushed. The file of a flushed
//! generation is not emptied; the next generation but one overwrites it.
//!
//! [`frame`] and [`payload`] describe the bytes. Only a process that has the database open for
//! writing touches the files; meanwhile the lock of the database file keeps readers out. Like redb,
//! the journal assumes that a write never changes bytes outside its range, even if power fails.

mod file;
mod frame;
mod payload;
mod reader;

use std::io::{BufWriter, ErrorKind, IntoInnerError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::DiskFile;
use crate::error::{Error, Result};
use crate::store::disk::folder::{is_gone, sync_folder};
use crate::store::disk::path::DbPath;
use crate::store::tables::edit::{DocumentEdit, Totals};
use file::{
    ChecksumWriter, create_like, open_existing, owner_of_commits, refuse_unless_older,
    refuse_with_commits, write_header, write_zeros,
};
use frame::{FIRST_RECORD, HEADER_BYTES, RecordHeader};
use reader::{LogEnd, Reader};

pub(crate) use frame::Identity;
pub(crate) use reader::{OnDamage, Visitor};

/// At least 1 MiB of zeros is written when a file grows.
const MIN_GROWTH_BYTES: u64 = 1 << 20;
/// At most 2 MiB of zeros are written beyond the need when a file doubles.
// The zeros are written bytes too, and commits wait for them.
const MAX_GROWTH_BYTES: u64 = 2 << 20;

/// Bytes of the write buffer: 64 KiB. Most payloads are shorter and take one write.
const BUFFER_BYTES: usize = 64 << 10;

/// The journal file of one generation, to which records are appended.
#[derive(Debug)]
pub(crate) struct Journal {
    file: Arc<dyn DiskFile>,
    identity: Identity,
    records: u64,
    /// The offset of the next record.
    end: u64,
    /// The length of the file, including the zeros after the records.
    length: u64,
    /// `true` after [`seal`](Self::seal): no record can be appended.
    is_sealed: bool,
    /// `true` after a failed write: it is unknown if its record is durable, and no record can be
    /// appended.
    is_poisoned: bool,
    db_path: DbPath,
}

/// The result of looking up the journal of a generation.
#[derive(Debug)]
pub(crate) enum Lookup<T> {
    /// No file, or a file without a header.
    Missing,
    /// A journal of another generation or database. Only its header was read.
    Other(Identity),
    /// The journal of the generation.
    Found(T),
}

impl<T> Lookup<T> {
    pub(crate) fn map<U>(self, make: impl FnOnce(T) -> U) -> Lookup<U> {
        match self {
            Self::Missing => Lookup::Missing,
            Self::Other(identity) => Lookup::Other(identity),
            Self::Found(found) => Lookup::Found(make(found)),
        }
    }
}

impl Journal {
    /// The path of the journal of a generation: one path for odd generations, one for even ones.
    pub(crate) fn path(database: &Path, generation: u64) -> PathBuf {
        let mut path = database.as_os_str().to_os_string();
        path.push(if generation % 2 == 1 {
            ".journal-1"
        } else {
            ".journal-2"
        });
        path.into()
    }

    /// Creates the journal of a generation that has no journal yet.
    pub(crate) fn begin(database: &Path, identity: Identity, db_path: &DbPath) -> Result<Self> {
        // Commits of another database may be in its journal only.
        refuse_with_commits(
            &Self::path(database, identity.generation),
            identity,
            db_path,
        )?;
        // A file that `create` refuses then is left over from a crash or a full disk, or is the
        // journal without commits of a deleted database that had the same path.
        Self::create(database, identity, db_path).or_else(|_| {
            Self::remove(database, identity.generation, db_path)?;
            let created = Self::create(database, identity, db_path);
            // After a full disk, the half-written file would only take space.
            if created.is_err() {
                Self::remove(database, identity.generation, db_path)?;
            }
            created
        })
    }

    /// Creates the journal of a generation, in a new file, in the file of an older generation of
    /// the same database, or in a file without a sound header. Refuses any other file.
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
            .and_then(|file| write_header(&*file, identity).map(|length| (file, length)))
            .map_err(Error::io("create", &path))?;
        // An existing file needs the sync too: the process that created it may have died before.
        sync_folder(db_path.disk(), &path)?;
        let log_end = LogEnd {
            records: 0,
            end: FIRST_RECORD,
            is_sealed: false,
        };
        Ok(Self::with_end(file, identity, log_end, length, db_path))
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
            is_sealed: log_end.is_sealed,
            length,
            is_poisoned: false,
            db_path: db_path.clone(),
        }
    }

    /// Passes the changes of each commit of a generation to `visitor`, in order, and returns the
    /// journal; with `to_write`, for appending. The visited commits include those that a killed
    /// process wrote completely and did not acknowledge.
    ///
    /// An [`Error::Corrupt`] goes to `on_damage` for a lost header and for each record that cannot
    /// be read. A later commit holds the whole state of the documents that it changes, except for
    /// texts and fields that it does not change.
    pub(crate) fn read(
        database: &Path,
        identity: Identity,
        db_path: &DbPath,
        to_write: bool,
        visitor: &mut Visitor<'_>,
        on_damage: &mut OnDamage<'_>,
    ) -> Result<Lookup<Self>> {
        let path = Self::path(database, identity.generation);
        let Some(file) = open_existing(&path, db_path, to_write)? else {
            return Ok(Lookup::Missing);
        };
        let mut reader = Reader::new(&*file, &path, db_path)?;
        match reader.owner()? {
            Some(found) if found == identity => {}
            Some(found) => return Ok(Lookup::Other(found)),
            // A crash during `begin` leaves a file without a header. Records of this generation
            // prove that the file once had a header.
            None => match reader.refuse_records(identity) {
                Ok(()) => return Ok(Lookup::Missing),
                Err(error @ Error::Corrupt { .. }) => on_damage(error)?,
                Err(error) => return Err(error),
            },
        }
        let log_end = reader.replay(identity, visitor, on_damage)?;
        let length = reader.length();
        let journal = Self::with_end(file, identity, log_end, length, db_path);
        if to_write {
            // An unacknowledged commit may be in the page cache only. Queries will see it from now
            // on, so it has to be durable first.
            journal.file.sync().map_err(Error::io("sync", &path))?;
            // A crash may have come between the last record and its end marker. The end marker
            // proves that the record before it was complete, so without records it proves nothing.
            if journal.records > 0 {
                journal.write_end_marker();
            }
        }
        Ok(Lookup::Found(journal))
    }

    /// Returns `true` if the path of the journal no longer names the open file.
    pub(crate) fn is_lost(&self, database: &Path) -> bool {
        let path = Self::path(database, self.identity.generation);
        let open = self.file.info();
        open.is_ok_and(|open| is_gone(self.db_path.disk(), &path, open.identity))
    }

    /// Returns `true` after [`seal`](Self::seal), also by an earlier process.
    pub(crate) fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// Seals the journal durably: the journal of the next generation must exist from then on, and
    /// no record can be appended.
    ///
    /// # Errors
    /// [`Error::Storage`]: the seal may or may not be durable. The caller must stop writing,
    /// because a second call returns `Ok` without a sync.
    pub(crate) fn seal(&mut self) -> Result<()> {
        if self.is_sealed {
            return Ok(());
        }
        // Set before the write, for two reasons: `encoded_end` encodes the flag, and after a failed
        // write the seal may be on disk, so no record may follow.
        self.is_sealed = true;
        let sealed = self
            .grow_to(RecordHeader::beyond_end(self.end))
            .and_then(|()| self.file.write_at(self.end, &self.encoded_end()))
            .and_then(|()| self.file.sync());
        sealed.map_err(|cause| self.write_error(cause))
    }

    /// The identity in the header of the journal file at the path of `generation`, which may be of
    /// another generation; `None` if there is no file or no sound header.
    pub(crate) fn owner_of(
        database: &Path,
        generation: u64,
        db_path: &DbPath,
    ) -> Result<Option<Identity>> {
        let path = Self::path(database, generation);
        let Some(file) = open_existing(&path, db_path, false)? else {
            return Ok(None);
        };
        Reader::new(&*file, &path, db_path)?.owner()
    }

    /// Returns `true` if the journal file at the path of `generation` is of one of these owners and
    /// may hold commits.
    pub(crate) fn has_commits(
        database: &Path,
        generation: u64,
        is_of: impl Fn(Identity) -> bool,
        db_path: &DbPath,
    ) -> Result<bool> {
        let path = Self::path(database, generation);
        Ok(owner_of_commits(&path, is_of, db_path)?.is_some())
    }

    /// Refuses to create a database beside a journal with commits. They may be of a file that was
    /// deleted or moved after a crash, and every write of the new database would be refused.
    pub(crate) fn refuse_left_behind(db_path: &DbPath) -> Result<()> {
        for generation in [1, 2] {
            let path = Self::path(db_path.path(), generation);
            // Any other error is reported when the file is created.
            if db_path.disk().link_info(&path).is_ok()
                && Self::has_commits(db_path.path(), generation, |_| true, db_path)?
            {
                let what = format!(
                    "{} holds commits of another database; move that journal to the file that it \
                     belongs to, or remove it if that file was deleted",
                    path.display()
                );
                return Err(db_path.io("create")(std::io::Error::other(what)));
            }
        }
        Ok(())
    }

    /// Removes the journal file at the path of `generation`, if it exists.
    pub(crate) fn remove(database: &Path, generation: u64, db_path: &DbPath) -> Result<()> {
        let path = Self::path(database, generation);
        match db_path.disk().remove(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", &path)(source))
            }
            _ => sync_folder(db_path.disk(), &path),
        }
    }

    /// Appends the changes of a commit and the totals after it, durably.
    ///
    /// # Errors
    /// [`Error::Storage`]: nothing was written. [`Error::CommitUnknown`]: the record may or may not
    /// be durable, and all later records are refused.
    pub(crate) fn append(&mut self, edits: &[DocumentEdit], counts: Totals) -> Result<()> {
        // If an earlier record is not on the disk, recovery would take its gap for damage.
        if self.is_poisoned {
            return Err(self.write_error(std::io::Error::other("an earlier journal write failed")));
        }
        if self.is_sealed {
            return Err(self.write_error(std::io::Error::other("the journal is sealed")));
        }
        let Ok(payload_bytes) = u32::try_from(payload::encoded_bytes(edits)) else {
            return Err(self.write_error(std::io::Error::other(
                "a commit is limited to 4 GiB of changes; split the commit",
            )));
        };
        let mut header = RecordHeader {
            sequence: self.records,
            payload_bytes,
            payload_crc: 0,
            // Fits in 32 bits: each edit takes at least 9 bytes of a payload below 4 GiB.
            edits: edits.len() as u32,
        };
        let next = header.next(self.end);
        // A full disk fails here, before any byte of the record is written.
        self.grow_to(RecordHeader::beyond_end(next))
            .map_err(|cause| self.write_error(cause))?;
        if let Err(cause) = self.write_record(&mut header, edits, counts) {
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

    /// Writes a record after the last record, durably. The record overwrites zeros, records of an
    /// older generation, or an unfinished record of this generation.
    fn write_record(
        &self,
        header: &mut RecordHeader,
        edits: &[DocumentEdit],
        counts: Totals,
    ) -> std::io::Result<()> {
        // An unfinished record began at the same offset, so the new header replaces its header. If
        // the unfinished record was longer, the rest of its payload stays; without a header of its
        // own the rest is not read as a record.
        let checksummed = ChecksumWriter::new(&*self.file, self.end + HEADER_BYTES as u64);
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, checksummed);
        payload::encode(&mut out, edits, counts)?;
        let checksummed = out.into_inner().map_err(IntoInnerError::into_error)?;
        // The header comes last, because it holds the checksum of the payload. One sync is enough:
        // a header without its payload fails that checksum.
        header.payload_crc = checksummed.crc();
        self.file
            .write_at(self.end, &header.encode(self.identity))?;
        self.file.sync()
    }

    /// Refuses all later records, and hides the record that failed.
    fn poison(&mut self) {
        self.is_poisoned = true;
        // After a failed sync the page cache may hold a record that no later sync writes. Without
        // an end marker over its header, the next process to open the database would take the
        // record for durable. If this write fails too, there is no further remedy.
        self.write_end_marker();
    }

    /// Writes the end marker after the last record, not durably. A failure is ignored: without an
    /// end marker, damage to the last record only looks like a crash.
    fn write_end_marker(&self) {
        // Without space for the end marker in the file, the end marker is left out. A write beyond
        // the end would grow the file without the sync of `grow_to`.
        if RecordHeader::beyond_end(self.end) <= self.length {
            let _ = self.file.write_at(self.end, &self.encoded_end());
        }
    }

    fn encoded_end(&self) -> Vec<u8> {
        RecordHeader::encode_end(self.records, self.end, self.is_sealed, self.identity)
    }

    /// Extends the file with zeros to at least `end` bytes, durably.
    fn grow_to(&mut self, end: u64) -> std::io::Result<()> {
        if end > self.length {
            let more = self.length.clamp(MIN_GROWTH_BYTES, MAX_GROWTH_BYTES);
            write_zeros(&*self.file, self.length, end + more)?;
            // Without this sync, a file that was cut would look like a file that had not grown yet.
            self.file.sync()?;
            self.length = end + more;
        }
        Ok(())
    }

    /// The error of a failed seal, or of a record that was refused before it was written.
    fn write_error(&self, cause: std::io::Error) -> Error {
        // Links are resolved: the journal is beside the file itself.
        let named = self.db_path.path();
        let database = self
            .db_path
            .disk()
            .resolve(named)
            .unwrap_or_else(|_| named.into());
        Error::Storage {
            action: "write",
            path: Self::path(&database, self.identity.generation),
            source: Box::new(cause),
        }
    }

    /// Bytes of the header and the records.
    #[cfg(test)]
    pub(crate) fn used_bytes(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests;
