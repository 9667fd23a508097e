//! [`Chunk`]: the bytes of a column in a row group, as the crate `parquet` asks for them.
//!
//! A page says how many bytes it unpacks to, and the crate makes room for so many at once; those of
//! gzip and Brotli it unpacks to their end, whatever they say. So the header of a page is looked at
//! when the crate asks for it, and what could unpack without end is measured first.

use std::io::{self, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::positioned::Positioned;
use super::thrift::Walk;

/// The most bytes that a page may have, unpacked: four texts of the largest size.
pub const MOST_PAGE_BYTES: u64 = 512 << 20;

/// Bytes that are read to find the header of a page: few have more.
const HEADER_BYTES: usize = 512;

/// The bytes of a column in a row group.
pub struct Chunk {
    bytes: Arc<Positioned>,
    compression: Compression,
    /// What was announced where pages were looked for last, the latest at the end.
    announced: Mutex<[Option<Announced>; 2]>,
}

/// What may be the header of a page.
#[derive(Clone, Copy, Debug)]
struct Announced {
    /// Where it is.
    offset: u64,
    sizes: Option<Sizes>,
}

/// How long a page says it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sizes {
    unpacked_bytes: u64,
    /// How many of these are not packed.
    levels_bytes: u64,
    is_plain: bool,
}

impl Chunk {
    /// The bytes of a column that is packed so.
    pub fn new(bytes: Arc<Positioned>, compression: Compression) -> Self {
        Self {
            bytes,
            compression,
            announced: Mutex::new([None; 2]),
        }
    }

    /// What was announced by the header that ends where a page starts. The crate also looks at that
    /// place itself, where there is no header.
    fn sizes_before(&self, start: u64) -> Option<Sizes> {
        let announced = self
            .announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut latest = announced.iter().rev().flatten();
        latest.find(|header| header.offset < start)?.sizes
    }

    /// Refuses a page that unpacks to more than it says.
    fn refuse_bomb(&self, page: &[u8], sizes: Sizes) -> Result<()> {
        // Where all values are null, there is nothing behind the levels, and the crate unpacks nothing.
        if sizes.is_plain || sizes.unpacked_bytes <= sizes.levels_bytes {
            return Ok(());
        }
        let packed = page.get(sizes.levels_bytes as usize..).unwrap_or_default();
        let mut unpacked: Box<dyn Read + '_> = match self.compression {
            Compression::GZIP(_) => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            Compression::BROTLI(_) => {
                Box::new(brotli_decompressor::Decompressor::new(packed, HEADER_BYTES))
            }
            _ => return Ok(()),
        };
        let most = sizes.unpacked_bytes;
        let found = io::copy(&mut (&mut unpacked).take(most + 1), &mut io::sink())?;
        if found > most {
            return Err(damaged("a page unpacks to more than it says"));
        }
        Ok(())
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.bytes.len_bytes()
    }
}

impl ChunkReader for Chunk {
    type T = BufReader<Rest>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let rest = Rest {
            bytes: Arc::clone(&self.bytes),
            offset: start,
        };
        let mut reader = BufReader::with_capacity(HEADER_BYTES, rest);
        let sizes = io::BufRead::fill_buf(&mut reader).ok().and_then(sizes_of);
        let mut announced = self
            .announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        announced[0] = announced[1].replace(Announced {
            offset: start,
            sizes,
        });
        Ok(reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.bytes.len_bytes()) {
            return Err(damaged("a page reaches beyond the end of the file"));
        }
        // Without sizes the crate finds no header either, or one whose first fields are long.
        let sizes = self
            .sizes_before(start)
            .ok_or_else(|| damaged("a page has no header that can be read"))?;
        if sizes.unpacked_bytes > MOST_PAGE_BYTES || length as u64 > MOST_PAGE_BYTES {
            return Err(ParquetError::General(format!(
                "a page has {} bytes; at most {MOST_PAGE_BYTES} are read: write it with smaller \
                 pages",
                sizes.unpacked_bytes.max(length as u64)
            )));
        }
        let mut page = vec![0; length];
        self.bytes.read_exact_at(start, &mut page)?;
        self.bytes.count(length as u64);
        self.refuse_bomb(&page, sizes)?;
        Ok(page.into())
    }
}

/// What is wrong with a file.
pub fn damaged(what: &str) -> ParquetError {
    ParquetError::General(format!("it is damaged: {what}"))
}

/// The sizes that the header of a page says, if this is one.
fn sizes_of(header: &[u8]) -> Option<Sizes> {
    let mut walk = Walk::new(header);
    let mut last = 0;
    let (mut unpacked, mut sizes) = (None, Sizes::default());
    // A long statistic may lie behind what is of interest, beyond what was read.
    while let Some(Some(field)) = walk.field(&mut last) {
        let passed = match field.number {
            2 if field.is_i32() => {
                unpacked = u64::try_from(walk.integer()?).ok();
                Some(())
            }
            8 if field.is_struct() => levels_of(&mut walk, &mut sizes),
            _ => walk.skip(field),
        };
        if passed.is_none() {
            break;
        }
    }
    sizes.unpacked_bytes = unpacked?;
    Some(sizes)
}

/// The second form of data pages has levels that are not packed.
fn levels_of(walk: &mut Walk<'_>, sizes: &mut Sizes) -> Option<()> {
    let mut last = 0;
    // What is said twice counts as it was said last, as it does for the crate.
    let mut levels = [0; 2];
    (sizes.levels_bytes, sizes.is_plain) = (0, false);
    while let Some(field) = walk.field(&mut last)? {
        match field.number {
            5 | 6 if field.is_i32() => {
                levels[usize::from(field.number == 6)] = u64::try_from(walk.integer()?).ok()?;
            }
            7 => sizes.is_plain = field.boolean() == Some(false),
            _ => walk.skip(field)?,
        }
        sizes.levels_bytes = levels[0].saturating_add(levels[1]);
    }
    Some(())
}

/// A file from some place on.
pub struct Rest {
    bytes: Arc<Positioned>,
    offset: u64,
}

impl Read for Rest {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.bytes.read_at(self.offset, buffer)?;
        self.offset += bytes as u64;
        Ok(bytes)
    }
}
