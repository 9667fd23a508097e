//! Reads a journal file from its beginning to the end of what was acknowledged.

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

/// Bytes that are read at a time, where it is not more that is asked for.
const BUFFER_BYTES: u64 = 256 << 10;

/// What takes the changes of one commit after the other.
pub(crate) type Visitor<'v> = dyn FnMut(Vec<DocumentEdit>, Counts) -> Result<()> + 'v;

/// The records of a journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    pub(super) records: u64,
    /// Where the next one will begin.
    pub(super) end: u64,
    /// The next generation has begun.
    pub(super) goes_on: bool,
}

/// Whose journal a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogOwner {
    Known(Identity),
    /// The file was never begun, or its header is damaged.
    Unknown,
}

/// A journal file that is read. No more of it is in memory at once than the largest record.
pub(super) struct Reader<'f> {
    file: &'f dyn DiskFile,
    length: u64,
    /// What was read last, and where in the file it begins.
    buffer: Vec<u8>,
    buffer_begin: u64,
    path: &'f Path,
    db_path: &'f DbPath,
}

impl<'f> Reader<'f> {
    /// A file that was just opened, of the database at `place`.
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

    /// Whose journal the file is. Refuses what is no journal, or one that is not understood.
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

    /// Hands over what each commit changed, in their order.
    ///
    /// The first place where no sound record is that could be the next one is the end: a record
    /// that was cut short by a crash was never acknowledged. But each record is durable before
    /// there is anything behind it. So if there is, it is damage that made this one
    /// unreadable, and what follows cannot be applied without it.
    pub(super) fn replay(
        &mut self,
        identity: Identity,
        visitor: &mut Visitor<'_>,
    ) -> Result<LogEnd> {
        let mut extent = LogEnd {
            records: 0,
            end: FIRST_RECORD,
            goes_on: false,
        };
        let mut payload = Vec::new();
        while let Some(header) = self.record_at(extent.end, identity)?
            && header.sequence == extent.records
            && !header.is_end()
            && self.read_payload(header, extent.end, &mut payload)?
        {
            let number = extent.records;
            let (edits, counts) = payload::decode(&payload, header.edits).ok_or_else(|| {
                self.corrupt(&format!("holds no changes of documents in record {number}"))
            })?;
            visitor(edits, counts)?;
            extent.records += 1;
            extent.end = header.next(extent.end);
        }
        let number = extent.records;
        if let Some(later) = self.find_record(extent.end, number + 1, identity)? {
            return Err(self.corrupt(&format!(
                "has lost record {number}, which is before record {later}"
            )));
        }
        if self.length < LEAST_BYTES.max(extent.end + HEADER_BYTES as u64) {
            return Err(self.corrupt("was cut"));
        }
        for end in [extent.end, RecordHeader::second_end(extent.end)] {
            let header = self.record_at(end, identity)?;
            extent.goes_on |=
                header.is_some_and(|end| end.sequence == extent.records && end.goes_on());
        }
        Ok(extent)
    }

    /// Refuses a file that holds records of this identity although its header does not say so.
    pub(super) fn refuse_records(&mut self, identity: Identity) -> Result<()> {
        match self.find_record(FIRST_RECORD, 0, identity)? {
            Some(_) => Err(self.corrupt("has lost its header")),
            None => Ok(()),
        }
    }

    /// The sequence number of the first record in the file, at `from` or later, that has at least
    /// the number `least`. Looks at every place where one could begin.
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

    /// Reads the payload of the record whose header was just read; whether it is sound.
    fn read_payload(
        &mut self,
        header: RecordHeader,
        start: u64,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        // A file is made long enough, and that is durable, before a record is written.
        if header.payload_end(start) > self.length {
            return Err(self.corrupt("was cut"));
        }
        // It fits into the file, so a length is not allocated only because it was read.
        payload.resize(header.payload_bytes as usize, 0);
        self.read(start + HEADER_BYTES as u64, payload)?;
        Ok(checksum_on(0, payload) == header.payload_crc)
    }

    /// As many bytes as a header has, if there are so many.
    fn header_at(&mut self, start: u64) -> Result<Option<[u8; HEADER_BYTES]>> {
        let mut bytes = [0; HEADER_BYTES];
        if start + bytes.len() as u64 > self.length {
            return Ok(None);
        }
        self.read(start, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Reads what is in the file, and some of what follows.
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

/// A read of a journal file failed.
fn reading(path: &Path, cause: std::io::Error) -> Error {
    Error::Storage {
        action: "read",
        path: path.to_path_buf(),
        source: Box::new(cause),
    }
}
