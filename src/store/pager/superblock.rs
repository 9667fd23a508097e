//! The first page of a file, which is written once.
//!
//! | bytes | what |
//! |---|---|
//! | 0..12 | `simdb`, then bytes that show whether a program took the file for text |
//! | 12..16 | version of the file format |
//! | 16..20 | crc32 of all that precedes |
//! | 20.. | zeros |
//!
//! A newer format may have anything behind the version.

use crate::error::{Error, Result};
use crate::store::disk::path::DbPath;
use crate::store::tables::packed::chunk::{PAGE_BYTES, checksum_on};

/// The version of the file format that this library reads and writes.
pub(crate) const FORMAT_VERSION: u32 = 4;

/// As PNG has it: a byte that is no ASCII, both ways to end a line, and the end of a file in DOS.
const MAGIC: &[u8; 12] = b"simdb\x89\r\n\x1a\n\0\0";
const VERSION: std::ops::Range<usize> = 12..16;
const CRC: std::ops::Range<usize> = 16..20;

pub(super) fn encode() -> Vec<u8> {
    let mut page = MAGIC.to_vec();
    page.extend(FORMAT_VERSION.to_le_bytes());
    page.extend(checksum_on(0, &page).to_le_bytes());
    page.resize(PAGE_BYTES, 0);
    page
}

/// Refuses a file that begins otherwise.
pub(super) fn prove(page: &[u8], db_path: &DbPath) -> Result<()> {
    let path = || db_path.path().to_path_buf();
    let word = |range| {
        let bytes = page.get::<std::ops::Range<usize>>(range)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    };
    let (Some(version), Some(crc), true) = (word(VERSION), word(CRC), page.starts_with(MAGIC))
    else {
        let is_engine = page.starts_with(b"redb");
        let why = "it is a plain file of redb: another program's, or of simdb before version 4";
        return Err(Error::NotADatabase {
            path: path(),
            source: is_engine.then(|| why.into()),
        });
    };
    if checksum_on(0, &page[..CRC.start]) != crc {
        return Err(db_path.corrupt("its first page does not fit its checksum"));
    }
    if version != FORMAT_VERSION {
        return Err(Error::FormatVersion {
            path: path(),
            found: version,
            supported: FORMAT_VERSION,
        });
    }
    // The rest is not covered, and says nothing.
    Ok(())
}
