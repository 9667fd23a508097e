//! The superblock: the first page of a file, written once.
//!
//! | bytes | content |
//! |---|---|
//! | 0..12 | `simdb`, then bytes that a text-mode transfer would change |
//! | 12..16 | version of the file format |
//! | 16..20 | crc32 of bytes 0..16 |
//! | 20.. | zeros |
//!
//! The first 20 bytes have this layout in every format. A newer format may use the bytes behind.

use crate::advice::ForeignFile;
use crate::error::{Error, Result};
use crate::store::disk::PAGE_BYTES;
use crate::store::disk::checksum::crc32_append;
use crate::store::disk::path::DbPath;

/// The newest version of the file format that this library reads and writes.
pub(crate) const FORMAT_VERSION: u32 = 6;
/// The version of a file without options, which older versions of this library read too.
const WITHOUT_OPTIONS: u32 = 5;

/// The name, then as in PNG a non-ASCII byte, CR LF, the DOS end-of-file character, and LF.
const MAGIC: &[u8; 12] = b"simdb\x89\r\n\x1a\n\0\0";
const VERSION: std::ops::Range<usize> = 12..16;
const CRC: std::ops::Range<usize> = 16..20;

/// The superblock of a file, in format 6 with `has_options`.
pub(super) fn encode(has_options: bool) -> Vec<u8> {
    let version = match has_options {
        true => FORMAT_VERSION,
        false => WITHOUT_OPTIONS,
    };
    let mut page = MAGIC.to_vec();
    page.extend(version.to_le_bytes());
    page.extend(crc32_append(0, &page).to_le_bytes());
    page.resize(PAGE_BYTES, 0);
    page
}

/// The program that wrote a file, by its first page.
fn foreign_file(page: &[u8]) -> ForeignFile {
    let is_text_byte = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    // The end of the page may cut the last character.
    let is_utf8 = match std::str::from_utf8(page) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    match page {
        [] => ForeignFile::Empty,
        page if page.starts_with(b"redb\x1a") => ForeignFile::Redb,
        page if page.starts_with(b"SQLite format 3\0") => ForeignFile::Sqlite,
        page if page.starts_with(b"simdbjnl") => ForeignFile::Journal,
        page if is_utf8 && page.iter().all(is_text_byte) => ForeignFile::Text,
        _ => ForeignFile::Other,
    }
}

/// Returns an error unless `page` is the superblock of a database in this format.
pub(super) fn verify(page: &[u8], db_path: &DbPath) -> Result<()> {
    let path = || db_path.path().to_path_buf();
    let word = |range| {
        let bytes = page.get::<std::ops::Range<usize>>(range)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    };
    let (Some(version), Some(crc), true) = (word(VERSION), word(CRC), page.starts_with(MAGIC))
    else {
        return Err(Error::NotADatabase {
            path: path(),
            found: foreign_file(page),
        });
    };
    if crc32_append(0, &page[..CRC.start]) != crc {
        return Err(db_path.corrupt("its first page does not match its checksum"));
    }
    if !(WITHOUT_OPTIONS..=FORMAT_VERSION).contains(&version) {
        return Err(Error::FormatVersion {
            path: path(),
            found: version,
            supported: FORMAT_VERSION,
        });
    }
    // The rest of the page is unused.
    Ok(())
}
