//! The headers in a journal file: of the file, and of each record.
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
//! The *end marker* behind the last record is a header without a payload, with the sequence number of
//! the next record. It is written once the last record is durable, so an unreadable last record with
//! an end marker behind it was damaged, and one without was never finished. The end marker need not be
//! durable itself. It is repeated in the next sector, because a lost sector may hold both the end of
//! the record and the first copy. An end marker with one change *seals* the journal: the next
//! generation has begun, in the other file. The seal is durable before anything is written there, so
//! the loss of that whole file is noticed.
//!
//! All integers are little-endian. Each header begins at a multiple of 64 bytes. The bytes between the
//! end of a payload and the next header have no meaning.
//!
//! A record names its database, its generation and its sequence number, so a record that an earlier
//! generation left in the file is never taken for one of this generation. Its header alone, without
//! the payload, tells a record from other bytes, so searching a file takes time in proportion to the
//! file.

use crate::store::disk::page::checksum_on;

/// The length of a new file.
pub(super) const LEAST_BYTES: u64 = 1 << 20;
/// Bytes of the header of a file, and of a record.
pub(super) const HEADER_BYTES: usize = 32;
/// Headers begin at multiples of this many bytes.
pub(super) const ALIGNMENT_BYTES: u64 = 64;
/// The unit that a disk loses.
const SECTOR_BYTES: u64 = 512;
/// The offset of the first record.
pub(super) const FIRST_RECORD: u64 = ALIGNMENT_BYTES;

/// The version of the journal that this library reads and writes.
pub(super) const FORMAT_VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"simdbjnl";

/// The database and the generation of a journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The number the database was given when it was created.
    pub(crate) database: u64,
    /// The first generation is 1.
    pub(crate) generation: u64,
}

/// The header of a journal file, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileHeader {
    Sound(Identity),
    /// A journal of a version that this library does not know.
    Version(u32),
    /// A journal whose header is damaged, or was cut short as it was written.
    Damaged,
    /// All zeros: nothing was written yet.
    Blank,
    /// Something that is not a journal.
    Foreign,
}

impl FileHeader {
    /// The header of a file of this identity.
    pub(super) fn encode(identity: Identity) -> Vec<u8> {
        let mut bytes = [
            &MAGIC[..],
            &FORMAT_VERSION.to_le_bytes(),
            &identity.database.to_le_bytes(),
            &identity.generation.to_le_bytes(),
        ]
        .concat();
        let crc = checksum_on(0, &bytes);
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
        Self::decode_own(bytes).unwrap_or(Self::Damaged)
    }

    fn decode_own(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (covered, crc) = bytes.split_last_chunk::<4>()?;
        if checksum_on(0, covered) != u32::from_le_bytes(*crc) {
            return None;
        }
        let mut fields = Fields(covered.get(MAGIC.len()..)?);
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
    /// The number of records of the generation before this one.
    pub(super) sequence: u64,
    pub(super) payload_bytes: u32,
    pub(super) payload_crc: u32,
    /// The number of changes in the payload.
    pub(super) edits: u32,
}

impl RecordHeader {
    /// The end marker behind `sequence` records.
    fn end(sequence: u64, goes_on: bool) -> Self {
        Self {
            sequence,
            payload_bytes: 0,
            payload_crc: 0,
            edits: u32::from(goes_on),
        }
    }

    /// The bytes at offset `next`, behind `sequence` records: the end marker twice, the second copy in a
    /// sector of its own. `goes_on` seals the journal.
    pub(super) fn encode_end(
        sequence: u64,
        next: u64,
        goes_on: bool,
        identity: Identity,
    ) -> Vec<u8> {
        let end = Self::end(sequence, goes_on).encode(identity);
        let mut bytes = vec![0; Self::beyond_end(next).saturating_sub(next) as usize];
        bytes[..HEADER_BYTES].copy_from_slice(&end);
        let again = bytes.len() - HEADER_BYTES;
        bytes[again..].copy_from_slice(&end);
        bytes
    }

    /// The end of both end markers.
    pub(super) fn beyond_end(next: u64) -> u64 {
        Self::second_end(next) + HEADER_BYTES as u64
    }

    /// The offset of the second end marker.
    pub(super) fn second_end(next: u64) -> u64 {
        (next + HEADER_BYTES as u64).next_multiple_of(SECTOR_BYTES)
    }

    /// Returns `true` for an end marker. The payload of a record is never empty: it has the totals.
    pub(super) fn is_end(&self) -> bool {
        self.payload_bytes == 0
    }

    /// Returns `true` for an end marker that seals the journal.
    pub(super) fn goes_on(&self) -> bool {
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
        let mut fields = Fields(covered);
        let payload_crc = fields.u32()?;
        // A search over a whole file mostly ends here, before the checksum.
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

    /// The offset of the record behind a record at offset `start`.
    pub(super) fn next(&self, start: u64) -> u64 {
        self.payload_end(start).next_multiple_of(ALIGNMENT_BYTES)
    }
}

fn checksum(identity: Identity, covered: &[u8]) -> u32 {
    checksum_on(checksum_on(0, &identity.database.to_le_bytes()), covered)
}

/// Reads fields from the front of a byte slice; `None` if too few bytes are left.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Fields<'b> {
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
    fn headers_come_back() {
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
    fn every_flipped_bit_of_a_header_is_noticed() {
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
    fn a_record_of_another_database_or_generation_is_none_of_this_one() {
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
    fn a_file_of_another_version_is_known_as_such() {
        let mut bytes = file_header();
        bytes[8] = 2;
        let crc = checksum_on(0, &bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(FileHeader::decode(&bytes), FileHeader::Version(2));
    }

    #[test]
    fn what_was_never_begun_is_blank() {
        assert_eq!(FileHeader::decode(&[0; HEADER_BYTES]), FileHeader::Blank);
    }
}
