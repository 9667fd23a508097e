//! The headers of a journal file and of its records.
//!
//! The header of the file:
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | `simdbjnl` |
//! | 8..12 | version of the format, 1 |
//! | 12..20 | identity of the database |
//! | 20..28 | generation |
//! | 28..32 | crc32 of bytes 0..28 |
//!
//! The header of a record:
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | crc32 of the identity of the database and of bytes 4..32 |
//! | 4..8 | crc32 of the payload |
//! | 8..16 | generation |
//! | 16..24 | sequence number: the number of records of the generation before this one |
//! | 24..28 | bytes of the payload, which follows the header |
//! | 28..32 | number of changes in the payload |
//!
//! The *end marker* after the last record is a header without a payload, with the sequence number
//! of the next record. The end marker is written when the last record is durable. So an unreadable
//! last record is damage if an end marker follows, and an unfinished write if none does. The end
//! marker itself need not be durable. A second copy is in the next sector, because one lost sector
//! may hold both the end of the record and the first copy.
//!
//! An end marker with one change *seals* the journal: the next generation has begun, in the other
//! file. The seal is durable before the other file is written, so the loss of the other file is
//! noticed.
//!
//! All integers are little-endian. Each header begins at a multiple of 64 bytes. The bytes between
//! a payload and the next header have no meaning.
//!
//! The checksum of a record covers its database, generation and sequence number, so a record that
//! an older generation left in the file is not read as a record of this generation. The header has
//! its own checksum, so a search for records reads no payloads, and takes time linear in the file.

use crate::store::disk::checksum::crc32_append;

/// The length of a new file: 1 MiB. A shorter file with a header was cut.
pub(super) const MIN_FILE_BYTES: u64 = 1 << 20;
/// Bytes of the header of a file, and of the header of a record.
pub(super) const HEADER_BYTES: usize = 32;
/// The alignment of headers in bytes: a search for records tries every multiple.
pub(super) const ALIGNMENT_BYTES: u64 = 64;
/// Bytes of a disk sector, the smallest unit that a disk loses.
const SECTOR_BYTES: u64 = 512;
/// The offset of the first record.
pub(super) const FIRST_RECORD: u64 = ALIGNMENT_BYTES;

/// The version of the journal that this library reads and writes.
pub(super) const FORMAT_VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"simdbjnl";

/// The database and the generation of a journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The random number of the database, drawn at its creation.
    pub(crate) database: u64,
    /// The generation, counted from 1.
    pub(crate) generation: u64,
}

/// The header of a journal file, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileHeader {
    Sound(Identity),
    /// A journal of an unknown format version.
    Version(u32),
    /// A journal whose header is damaged or unfinished.
    Damaged,
    /// All zeros: the header was not written yet.
    Blank,
    /// Not a journal.
    Foreign,
}

impl FileHeader {
    pub(super) fn encode(identity: Identity) -> Vec<u8> {
        let mut bytes = [
            &MAGIC[..],
            &FORMAT_VERSION.to_le_bytes(),
            &identity.database.to_le_bytes(),
            &identity.generation.to_le_bytes(),
        ]
        .concat();
        let crc = crc32_append(0, &bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Self {
        if bytes.iter().all(|byte| *byte == 0) {
            return Self::Blank;
        }
        if !bytes.starts_with(&MAGIC) {
            return Self::Foreign;
        }
        Self::decode_journal(bytes).unwrap_or(Self::Damaged)
    }

    /// Decodes a header with the right magic number; `None` if its checksum is wrong.
    fn decode_journal(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (covered, crc) = bytes.split_last_chunk::<4>()?;
        if crc32_append(0, covered) != u32::from_le_bytes(*crc) {
            return None;
        }
        let mut fields = FieldReader(covered.get(MAGIC.len()..)?);
        let version = fields.u32()?;
        if version != FORMAT_VERSION {
            return Some(Self::Version(version));
        }
        Some(Self::Sound(Identity {
            database: fields.u64()?,
            generation: fields.u64()?,
        }))
    }
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    /// The number of earlier records of the generation.
    pub(super) sequence: u64,
    pub(super) payload_bytes: u32,
    pub(super) payload_crc: u32,
    /// The number of changes in the payload.
    pub(super) edits: u32,
}

impl RecordHeader {
    /// The end marker after `sequence` records.
    fn end(sequence: u64, is_sealed: bool) -> Self {
        Self {
            sequence,
            payload_bytes: 0,
            payload_crc: 0,
            edits: u32::from(is_sealed),
        }
    }

    /// The bytes to be written at offset `next`, after `sequence` records: both copies of the end
    /// marker.
    pub(super) fn encode_end(
        sequence: u64,
        next: u64,
        is_sealed: bool,
        identity: Identity,
    ) -> Vec<u8> {
        let end = Self::end(sequence, is_sealed).encode(identity);
        let mut bytes = vec![0; Self::beyond_end(next).saturating_sub(next) as usize];
        bytes[..HEADER_BYTES].copy_from_slice(&end);
        let again = bytes.len() - HEADER_BYTES;
        bytes[again..].copy_from_slice(&end);
        bytes
    }

    /// The offset after both copies of an end marker at offset `next`.
    pub(super) fn beyond_end(next: u64) -> u64 {
        Self::second_end(next) + HEADER_BYTES as u64
    }

    /// The offset of the second copy of an end marker at offset `next`: the next sector boundary.
    pub(super) fn second_end(next: u64) -> u64 {
        (next + HEADER_BYTES as u64).next_multiple_of(SECTOR_BYTES)
    }

    /// Returns `true` for an end marker. The payload of a record is never empty, because of the
    /// totals.
    pub(super) fn is_end(&self) -> bool {
        self.payload_bytes == 0
    }

    /// Returns `true` for an end marker that seals the journal.
    pub(super) fn is_seal(&self) -> bool {
        self.is_end() && self.edits > 0
    }

    pub(super) fn encode(&self, identity: Identity) -> Vec<u8> {
        let covered = [
            &self.payload_crc.to_le_bytes()[..],
            &identity.generation.to_le_bytes(),
            &self.sequence.to_le_bytes(),
            &self.payload_bytes.to_le_bytes(),
            &self.edits.to_le_bytes(),
        ]
        .concat();
        let crc = checksum(identity, &covered);
        [&crc.to_le_bytes()[..], &covered].concat()
    }

    /// The header of a record of this identity, or `None` for any other bytes.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES], identity: Identity) -> Option<Self> {
        let (crc, covered) = bytes.split_first_chunk::<4>()?;
        let mut fields = FieldReader(covered);
        let payload_crc = fields.u32()?;
        // A search tries every 64 bytes of the file. Nearly all of them fail here, without the cost
        // of a checksum.
        if fields.u64()? != identity.generation
            || checksum(identity, covered) != u32::from_le_bytes(*crc)
        {
            return None;
        }
        Some(Self {
            sequence: fields.u64()?,
            payload_bytes: fields.u32()?,
            payload_crc,
            edits: fields.u32()?,
        })
    }

    /// The end of the payload of a record at offset `start`.
    pub(super) fn payload_end(&self, start: u64) -> u64 {
        start + HEADER_BYTES as u64 + u64::from(self.payload_bytes)
    }

    /// The offset of the record that follows a record at offset `start`.
    pub(super) fn next(&self, start: u64) -> u64 {
        self.payload_end(start).next_multiple_of(ALIGNMENT_BYTES)
    }
}

fn checksum(identity: Identity, covered: &[u8]) -> u32 {
    crc32_append(crc32_append(0, &identity.database.to_le_bytes()), covered)
}

/// Reads fields from the front of a byte slice; `None` if too few bytes are left.
pub(super) struct FieldReader<'b>(pub(super) &'b [u8]);

impl<'b> FieldReader<'b> {
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: Identity = Identity {
        database: 0x1234_5678_9abc_def0,
        generation: 3,
    };
    const RECORD: RecordHeader = RecordHeader {
        sequence: 7,
        payload_bytes: 100,
        payload_crc: 0xdead_beef,
        edits: 4,
    };

    fn file_header() -> [u8; HEADER_BYTES] {
        FileHeader::encode(IDENTITY).try_into().unwrap()
    }

    fn record_header() -> [u8; HEADER_BYTES] {
        RECORD.encode(IDENTITY).try_into().unwrap()
    }

    #[test]
    fn encoded_headers_decode_to_themselves() {
        assert_eq!(
            FileHeader::decode(&file_header()),
            FileHeader::Sound(IDENTITY)
        );
        assert_eq!(
            RecordHeader::decode(&record_header(), IDENTITY),
            Some(RECORD)
        );
    }

    #[test]
    fn flipped_bit_in_header_is_detected() {
        for bit in 0..HEADER_BYTES * 8 {
            let mut file = file_header();
            file[bit / 8] ^= 1 << (bit % 8);
            let expected = match bit / 8 {
                0..8 => FileHeader::Foreign,
                _ => FileHeader::Damaged,
            };
            assert_eq!(FileHeader::decode(&file), expected, "bit {bit}");
            let mut record = record_header();
            record[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(RecordHeader::decode(&record, IDENTITY), None, "bit {bit}");
        }
    }

    #[test]
    fn record_of_another_database_or_generation_is_not_decoded() {
        let (Identity { database, .. }, Identity { generation, .. }) = (IDENTITY, IDENTITY);
        for other in [
            Identity {
                database: database + 1,
                generation,
            },
            Identity {
                database,
                generation: generation + 2,
            },
        ] {
            assert_eq!(RecordHeader::decode(&record_header(), other), None);
        }
    }

    #[test]
    fn unknown_format_version_is_reported() {
        let mut bytes = file_header();
        bytes[8] = 2;
        let crc = crc32_append(0, &bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(FileHeader::decode(&bytes), FileHeader::Version(2));
    }

    #[test]
    fn zeroed_file_header_is_blank() {
        assert_eq!(FileHeader::decode(&[0; HEADER_BYTES]), FileHeader::Blank);
    }
}
