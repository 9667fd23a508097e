//! [`Reader`]: reads the records of a journal file, and tells damage from an unfinished write.

use std::path::Path;

use super::frame::{
    ALIGNMENT_BYTES, FIRST_RECORD, FORMAT_VERSION, FileHeader, HEADER_BYTES, Identity,
    MIN_FILE_BYTES, RecordHeader,
};
use super::payload;
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::store::disk::DiskFile;
use crate::store::disk::checksum::crc32_append;
use crate::store::disk::path::DbPath;
use crate::store::tables::edit::{DocumentEdit, Totals};

/// Bytes of a read: 256 KiB, unless a record is longer.
const BUFFER_BYTES: u64 = 256 << 10;

/// Receives the changes of each commit, and the totals of the database after the commit.
pub(crate) type Visitor<'v> = dyn FnMut(Vec<DocumentEdit>, Totals) -> Result<()> + 'v;

/// Receives the error of a record that cannot be read. `Ok` goes on behind the record.
pub(crate) type OnDamage<'v> = dyn FnMut(Error) -> Result<()> + 'v;

/// The end of the records in a journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    pub(super) records: u64,
    /// The offset of the next record.
    pub(super) end: u64,
    /// `true` if the journal is sealed: the next generation has begun.
    pub(super) is_sealed: bool,
}

/// A reader of a journal file. It holds at most the largest record in memory.
pub(super) struct Reader<'f> {
    file: &'f dyn DiskFile,
    length: u64,
    /// The bytes of the last read.
    buffer: Vec<u8>,
    /// The offset of the buffer in the file.
    buffer_begin: u64,
    path: &'f Path,
    db_path: &'f DbPath,
}

impl<'f> Reader<'f> {
    pub(super) fn new(file: &'f dyn DiskFile, path: &'f Path, db_path: &'f DbPath) -> Result<Self> {
        let info = file.info().map_err(|cause| reading(path, cause))?;
        Ok(Self {
            file,
            length: info.len_bytes,
            buffer: Vec::new(),
            buffer_begin: 0,
            path,
            db_path,
        })
    }

    /// Bytes of the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The identity in the header of the file: the database and generation that the file belongs
    /// to. `None` for a file without a header, or with a damaged header.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file is not a journal, [`Error::FormatVersion`] if its version is
    /// unknown.
    pub(super) fn owner(&mut self) -> Result<Option<Identity>> {
        let header = self.header_at(0)?;
        match header.map_or(FileHeader::Blank, |bytes| FileHeader::decode(&bytes)) {
            FileHeader::Sound(identity) => Ok(Some(identity)),
            FileHeader::Blank | FileHeader::Damaged => Ok(None),
            FileHeader::Version(found) => Err(Error::FormatVersion {
                path: self.path.to_path_buf(),
                found,
                supported: FORMAT_VERSION,
            }),
            FileHeader::Foreign => Err(self.db_path.corrupt_advising(
                format!(
                    "its journal {} does not begin with a journal header",
                    self.path.display()
                ),
                Advice::MoveJournal,
            )),
        }
    }

    /// Passes the changes of each commit to `visitor`, in order, up to the last record, and an
    /// [`Error::Corrupt`] to `on_damage` for each acknowledged record that cannot be read.
    pub(super) fn replay(
        &mut self,
        identity: Identity,
        visitor: &mut Visitor<'_>,
        on_damage: &mut OnDamage<'_>,
    ) -> Result<LogEnd> {
        let mut log_end = LogEnd {
            records: 0,
            end: FIRST_RECORD,
            is_sealed: false,
        };
        let mut payload = Vec::new();
        loop {
            let number = log_end.records;
            if let Some(header) = self.record_at(log_end.end, identity)?
                && header.sequence == number
                && !header.is_end()
                && self.read_payload(header, log_end.end, &mut payload)?
            {
                match payload::decode(&payload, header.edits) {
                    Some((edits, counts)) => visitor(edits, counts)?,
                    None => {
                        let what = format!("holds a record {number} that cannot be decoded");
                        on_damage(self.corrupt(&what))?;
                    }
                }
                log_end.records += 1;
                log_end.end = header.next(log_end.end);
                continue;
            }
            // A record that a crash cut short was never acknowledged, and ends the journal. But
            // each record is durable before the next is written. So if a later record exists, this
            // one was damaged.
            let found = self.find_record(log_end.end, number, number + 1, identity)?;
            let Some((end, later)) = found else {
                break;
            };
            on_damage(self.corrupt(&format!(
                "has lost record {number}, which is before record {later}"
            )))?;
            (log_end.records, log_end.end) = (later, end);
        }
        // The file is extended, durably, before records are written to it, so no crash leaves a
        // file that ends within an end marker.
        if self.length < MIN_FILE_BYTES.max(log_end.end + HEADER_BYTES as u64) {
            return Err(self.corrupt("was cut"));
        }
        // One lost sector may hold the first copy of the end marker, so either copy seals.
        for end in [log_end.end, RecordHeader::second_end(log_end.end)] {
            let header = self.record_at(end, identity)?;
            log_end.is_sealed |=
                header.is_some_and(|end| end.sequence == log_end.records && end.is_seal());
        }
        Ok(log_end)
    }

    /// Returns an error if a file without a sound header holds records of this identity.
    pub(super) fn refuse_records(&mut self, identity: Identity) -> Result<()> {
        match self.find_record(FIRST_RECORD, 0, 0, identity)? {
            Some(_) => Err(self.corrupt("has lost its header")),
            None => Ok(()),
        }
    }

    /// The offset and the sequence number of the first record, from offset `from` on, with a number
    /// of at least `least`. Tries every aligned offset. The record at `from` would have the number
    /// `number`; a number that no records between could lead to belongs to no record.
    fn find_record(
        &mut self,
        from: u64,
        number: u64,
        least: u64,
        identity: Identity,
    ) -> Result<Option<(u64, u64)>> {
        let mut start = from;
        while let Some(bytes) = self.header_at(start)? {
            let most = number + (start - from) / ALIGNMENT_BYTES;
            if let Some(header) = RecordHeader::decode(&bytes, identity)
                && (least..=most).contains(&header.sequence)
            {
                return Ok(Some((start, header.sequence)));
            }
            start += ALIGNMENT_BYTES;
        }
        Ok(None)
    }

    fn record_at(&mut self, start: u64, identity: Identity) -> Result<Option<RecordHeader>> {
        let bytes = self.header_at(start)?;
        Ok(bytes.and_then(|bytes| RecordHeader::decode(&bytes, identity)))
    }

    /// Reads the payload of a record; returns `true` if the payload matches its checksum.
    fn read_payload(
        &mut self,
        header: RecordHeader,
        start: u64,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        if header.payload_end(start) > self.length {
            return Err(self.corrupt("was cut"));
        }
        // The payload lies within the file, so a damaged length cannot allocate more than the file.
        payload.resize(header.payload_bytes as usize, 0);
        self.read(start + HEADER_BYTES as u64, payload)?;
        Ok(crc32_append(0, payload) == header.payload_crc)
    }

    /// The bytes of a header at offset `start`, or `None` if the file is too short.
    fn header_at(&mut self, start: u64) -> Result<Option<[u8; HEADER_BYTES]>> {
        let mut bytes = [0; HEADER_BYTES];
        if start + bytes.len() as u64 > self.length {
            return Ok(None);
        }
        self.read(start, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Fills `bytes` from offset `start` on, through the read-ahead buffer.
    fn read(&mut self, start: u64, bytes: &mut [u8]) -> Result<()> {
        let count = bytes.len() as u64;
        let buffer_end = self.buffer_begin + self.buffer.len() as u64;
        if start < self.buffer_begin || start + count > buffer_end {
            let buffered = count.max(BUFFER_BYTES).min(self.length - start);
            self.buffer.resize(buffered as usize, 0);
            self.buffer_begin = start;
            if let Err(cause) = self.file.read_at(start, &mut self.buffer) {
                // A failed read leaves undefined bytes in the buffer.
                self.buffer.clear();
                return Err(reading(self.path, cause));
            }
        }
        let from = (start - self.buffer_begin) as usize;
        bytes.copy_from_slice(&self.buffer[from..from + bytes.len()]);
        Ok(())
    }

    fn corrupt(&self, what: &str) -> Error {
        self.db_path
            .corrupt(format!("its journal {} {what}", self.path.display()))
    }
}

/// The error for a failed read of a journal file.
fn reading(path: &Path, cause: std::io::Error) -> Error {
    Error::Storage {
        action: "read",
        path: path.to_path_buf(),
        source: Box::new(cause),
    }
}
