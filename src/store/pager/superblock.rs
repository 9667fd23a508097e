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

use crate::error::{Error, Result};
use crate::store::disk::page::{PAGE_BYTES, crc32_append};
use crate::store::disk::path::DbPath;

/// The version of the file format that this library reads and writes.
pub(crate) const FORMAT_VERSION: u32 = 4;

/// The name, then as in PNG a non-ASCII byte, CR LF, the DOS end-of-file character, and LF.
const MAGIC: &[u8; 12] = b"simdb\x89\r\n\x1a\n\0\0";
const VERSION: std::ops::Range<usize> = 12..16;
const CRC: std::ops::Range<usize> = 16..20;

pub(super) fn encode() -> Vec<u8> {
    let mut page = MAGIC.to_vec();
    page.extend(FORMAT_VERSION.to_le_bytes());
    page.extend(crc32_append(0, &page).to_le_bytes());
    page.resize(PAGE_BYTES, 0);
    page
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
        let is_redb = page.starts_with(b"redb");
        let why = "it is a plain redb file, of another program or of simdb before format 4";
        return Err(Error::NotADatabase {
            path: path(),
            source: is_redb.then(|| why.into()),
        });
    };
    if crc32_append(0, &page[..CRC.start]) != crc {
        return Err(db_path.corrupt("its first page does not match its checksum"));
    }
    if version != FORMAT_VERSION {
        return Err(Error::FormatVersion {
            path: path(),
            found: version,
            supported: FORMAT_VERSION,
        });
    }
    // The rest of the page is unused.
    Ok(())
}
