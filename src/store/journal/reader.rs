//! [`Reader`]: reads a journal file up to the last acknowledged record.

use std::path::Path;

use super::frame::{
    ALIGNMENT_BYTES, FIRST_RECORD, FORMAT_VERSION, FileHeader, HEADER_BYTES, Identity, LEAST_BYTES,
    RecordHeader,
};
use super::payload;
use crate::error::{Error, Result};
use crate::store::disk::DiskFile;
use crate::store::disk::page::checksum_on;
use crate::store::disk::path::DbPath;
use crate::store::tables::edit::{Counts, DocumentEdit};

/// Bytes read at a time, unless a record is longer.
const BUFFER_BYTES: u64 = 256 << 10;

/// Receives the changes of each commit, and the totals after it.
pub(crate) type Visitor<'v> = dyn FnMut(Vec<DocumentEdit>, Counts) -> Result<()> + 'v;

/// Where the records of a journal file end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    pub(super) records: u64,
    /// The offset of the next record.
    pub(super) end: u64,
    /// `true` if the journal is sealed: the next generation has begun.
    pub(super) goes_on: bool,
}

/// The identity of a journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogOwner {
    Known(Identity),
    /// The file has no header, or a damaged one.
    Unknown,
}

/// A reader of a journal file. It holds at most the largest record in memory.
pub(super) struct Reader<'f> {
    file: &'f dyn DiskFile,
    length: u64,
    /// The bytes read last, and their offset in the file.
    buffer: Vec<u8>,
    buffer_begin: u64,
    path: &'f Path,
    db_path: &'f DbPath,
}

impl<'f> Reader<'f> {
    /// A reader of a file that was just opened.
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

    /// The identity in the header. Returns an error for a file that is no journal, or a journal of an
    /// unknown version.
    pub(super) fn owner(&mut self) -> Result<LogOwner> {
        let header = self.header_at(0)?;
        match header.map_or(FileHeader::Blank, |bytes| FileHeader::decode(&bytes)) {
            FileHeader::Sound(identity) => Ok(LogOwner::Known(identity)),
            FileHeader::Blank | FileHeader::Damaged => Ok(LogOwner::Unknown),
            FileHeader::Version(found) => Err(Error::FormatVersion {
                path: self.path.to_path_buf(),
                found,
                supported: FORMAT_VERSION,
            }),
            FileHeader::Foreign => Err(self.corrupt("does not begin like one")),
        }
    }

    /// Passes the changes of each commit to `visitor`, in order.
    ///
    /// The records end at the first offset without a sound next record: a record that a crash cut short
    /// was never acknowledged. But each record is durable before anything is written behind it. So if
    /// a later record exists, the missing one was damaged, and the later ones cannot be applied
    /// without it: that is an error.
    pub(super) fn replay(
        &mut self,
        identity: Identity,
        visitor: &mut Visitor<'_>,
    ) -> Result<LogEnd> {
        let mut log_end = LogEnd {
            records: 0,
            end: FIRST_RECORD,
            goes_on: false,
        };
        let mut payload = Vec::new();
        while let Some(header) = self.record_at(log_end.end, identity)?
            && header.sequence == log_end.records
            && !header.is_end()
            && self.read_payload(header, log_end.end, &mut payload)?
        {
            let number = log_end.records;
            let (edits, counts) = payload::decode(&payload, header.edits).ok_or_else(|| {
                self.corrupt(&format!("holds no changes of documents in record {number}"))
            })?;
            visitor(edits, counts)?;
            log_end.records += 1;
            log_end.end = header.next(log_end.end);
        }
        let number = log_end.records;
        if let Some(later) = self.find_record(log_end.end, number + 1, identity)? {
            return Err(self.corrupt(&format!(
                "has lost record {number}, which is before record {later}"
            )));
        }
        if self.length < LEAST_BYTES.max(log_end.end + HEADER_BYTES as u64) {
            return Err(self.corrupt("was cut"));
        }
        for end in [log_end.end, RecordHeader::second_end(log_end.end)] {
            let header = self.record_at(end, identity)?;
            log_end.goes_on |=
                header.is_some_and(|end| end.sequence == log_end.records && end.goes_on());
        }
        Ok(log_end)
    }

    /// Returns an error if the file holds records of this identity although its header does not name it.
    pub(super) fn refuse_records(&mut self, identity: Identity) -> Result<()> {
        match self.find_record(FIRST_RECORD, 0, identity)? {
            Some(_) => Err(self.corrupt("has lost its header")),
            None => Ok(()),
        }
    }

    /// The sequence number of the first record at or behind `from` whose number is at least `least`.
    /// Tries every offset at which a record can begin.
    fn find_record(&mut self, from: u64, least: u64, identity: Identity) -> Result<Option<u64>> {
        let mut start = from;
        while let Some(bytes) = self.header_at(start)? {
            if let Some(header) = RecordHeader::decode(&bytes, identity)
                && header.sequence >= least
            {
                return Ok(Some(header.sequence));
            }
            start += ALIGNMENT_BYTES;
        }
        Ok(None)
    }

    fn record_at(&mut self, start: u64, identity: Identity) -> Result<Option<RecordHeader>> {
        let bytes = self.header_at(start)?;
        Ok(bytes.and_then(|bytes| RecordHeader::decode(&bytes, identity)))
    }

    /// Reads the payload of the record whose header was just read; returns `true` if it is sound.
    fn read_payload(
        &mut self,
        header: RecordHeader,
        start: u64,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        // The file is extended, durably, before a record is written: a shorter file was cut.
        if header.payload_end(start) > self.length {
            return Err(self.corrupt("was cut"));
        }
        // The length was checked against the file, so a damaged length cannot allocate much.
        payload.resize(header.payload_bytes as usize, 0);
        self.read(start + HEADER_BYTES as u64, payload)?;
        Ok(checksum_on(0, payload) == header.payload_crc)
    }

    /// The bytes of a header, or `None` if the file ends before.
    fn header_at(&mut self, start: u64) -> Result<Option<[u8; HEADER_BYTES]>> {
        let mut bytes = [0; HEADER_BYTES];
        if start + bytes.len() as u64 > self.length {
            return Ok(None);
        }
        self.read(start, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Fills `bytes` from the buffer, which reads ahead.
    fn read(&mut self, start: u64, bytes: &mut [u8]) -> Result<()> {
        let count = bytes.len() as u64;
        let buffer_end = self.buffer_begin + self.buffer.len() as u64;
        if start < self.buffer_begin || start + count > buffer_end {
            let buffered = count.max(BUFFER_BYTES).min(self.length - start);
            self.buffer.resize(buffered as usize, 0);
            self.buffer_begin = start;
            if let Err(cause) = self.file.read_at(start, &mut self.buffer) {
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
