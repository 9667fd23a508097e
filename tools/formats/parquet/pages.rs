//! [`Pages`]: the pages of a column, each looked at before it is unpacked into values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Result;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::ReaderProperties;
use parquet::file::serialized_reader::SerializedPageReader;

use super::chunk::{Chunk, damaged};
use super::thrift::Walk;

/// The most records that are asked for at a time.
pub const MOST_RECORDS: usize = 1024;

/// The most values of a dictionary: each takes 32 bytes, however short it is.
const MOST_DICTIONARY_VALUES: u32 = 1 << 24;

/// The most values of a page whose lengths are a list of numbers, or that is made of lists itself: a
/// page that says so of itself in some bytes would take 8 bytes for each.
const MOST_LISTED: u32 = 1 << 24;

/// What values that are made anew, of parts of those before them, may take together.
const MADE_BYTES: usize = 64 << 20;

/// The pages of a column in a row group.
pub struct Pages {
    inner: SerializedPageReader<Chunk>,
    column: ColumnShape,
    gate: Arc<Gate>,
}

/// What decides how the values of a page lie in it.
struct ColumnShape {
    least_value_bytes: usize,
    /// How many kinds of levels stand before the values: repetition, definition.
    levels: [bool; 2],
}

/// Whether the next page may be read. Values are parts of their page, so as long as some of them
/// are held, so is all of it.
#[derive(Debug)]
pub struct Gate {
    is_kept: bool,
    is_open: AtomicBool,
    records: AtomicUsize,
}

impl Gate {
    /// Lets one more page through.
    pub fn open(&self) {
        self.records.store(1, Ordering::Relaxed);
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// How many records may be asked for at a time.
    pub fn records(&self) -> usize {
        self.records.load(Ordering::Relaxed)
    }
}

impl Pages {
    /// The pages that lie in a chunk. To be called at the edge.
    pub fn new(chunk: Chunk, column: &ColumnChunkMetaData, rows: usize) -> Result<Self> {
        let descriptor = column.column_descr();
        let shape = ColumnShape {
            least_value_bytes: match column.column_type() {
                Type::BOOLEAN => 0,
                Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
                Type::INT64 | Type::DOUBLE => 8,
                Type::INT96 => 12,
                Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(descriptor.type_length())?,
            },
            levels: [
                descriptor.max_rep_level() > 0,
                descriptor.max_def_level() > 0,
            ],
        };
        // What falls back to an older form of LZ4 unpacks without end.
        let properties = ReaderProperties::builder()
            .set_backward_compatible_lz4(false)
            .build();
        let inner = SerializedPageReader::new_with_properties(
            Arc::new(chunk),
            column,
            rows,
            None,
            Arc::new(properties),
        )?;
        Ok(Self {
            inner,
            gate: Arc::new(Gate {
                // A record that goes on in the next page is not told from one that ends.
                is_kept: !shape.levels[0],
                is_open: AtomicBool::new(true),
                // Of a page that was not looked at yet, one may be as much as there is room for.
                records: AtomicUsize::new(1),
            }),
            column: shape,
        })
    }

    /// What lets them through one by one. A column of lists has all of them let through.
    pub fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.gate)
    }

    /// Refuses a page that says it holds more than it has room for, since room is made for that.
    fn look_through(&self, page: &Page) -> ParquetResult<()> {
        let (encoding, values) = match page {
            Page::DictionaryPage {
                buf, num_values, ..
            } => {
                let least = (*num_values as usize).saturating_mul(self.column.least_value_bytes);
                if least > buf.len() || *num_values > MOST_DICTIONARY_VALUES {
                    return Err(damaged("a dictionary is shorter than it says"));
                }
                return Ok(());
            }
            Page::DataPage { encoding, .. } | Page::DataPageV2 { encoding, .. } => {
                (*encoding, page.num_values())
            }
        };
        let lists = match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => 0,
        };
        let has_lists = self.column.levels[0];
        if (lists > 0 || has_lists) && values > MOST_LISTED {
            return Err(damaged(
                "a page says that it holds more values than any does",
            ));
        }
        let made_at_once = match lists {
            2 => MADE_BYTES / page.buffer().len().max(1),
            _ => MOST_RECORDS,
        };
        let records = made_at_once.clamp(1, MOST_RECORDS);
        self.gate.records.store(records, Ordering::Relaxed);
        if lists > 0 {
            let checked = self.values_of(page).and_then(|mut bytes| {
                (0..lists).try_for_each(|_| {
                    bytes = bytes.get(deltas_bytes(bytes, values)?..)?;
                    Some(())
                })
            });
            if checked.is_none() {
                return Err(damaged("a page is shorter than it says"));
            }
        }
        Ok(())
    }

    /// The values of a data page, behind the levels.
    fn values_of<'p>(&self, page: &'p Page) -> Option<&'p [u8]> {
        match page {
            Page::DictionaryPage { buf, .. } => Some(buf),
            Page::DataPageV2 {
                buf,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => buf.get(*def_levels_byte_len as usize + *rep_levels_byte_len as usize..),
            Page::DataPage {
                buf,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let mut left = &buf[..];
                let encodings = [rep_level_encoding, def_level_encoding];
                for (encoding, is_there) in encodings.into_iter().zip(self.column.levels) {
                    if is_there {
                        // The older encoding of levels is older than that of these values.
                        let len = left.first_chunk().filter(|_| *encoding == Encoding::RLE)?;
                        let len = u32::from_le_bytes(*len) as usize;
                        left = left.get(len.checked_add(4)?..)?;
                    }
                }
                Some(left)
            }
        }
    }
}

/// How many bytes some integers take that are encoded as differences, if they are at most so many.
fn deltas_bytes(bytes: &[u8], most: u32) -> Option<usize> {
    let mut walk = Walk::new(bytes);
    let block = walk.varint()?;
    let parts = walk.varint()?;
    let count = walk.varint()?;
    walk.varint()?;
    if count > u64::from(most) || parts == 0 {
        return None;
    }
    let part = block / parts;
    let mut left = count.saturating_sub(1);
    while left > 0 && part > 0 {
        walk.varint()?;
        let mut block_bytes = 0_u64;
        for _ in 0..parts {
            let bits = u64::from(walk.byte()?);
            // Parts beyond the last value have a width, but no bytes.
            if left > 0 {
                block_bytes = block_bytes.checked_add(bits.checked_mul(part)? / 8)?;
            }
            left = left.saturating_sub(part);
        }
        walk.skip_bytes(usize::try_from(block_bytes).ok()?)?;
    }
    Some(bytes.len() - walk.left_bytes())
}

impl Iterator for Pages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        if self.gate.is_kept && !self.gate.is_open.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Some(page) = self.inner.get_next_page()? else {
            return Ok(None);
        };
        self.look_through(&page)?;
        if !matches!(page, Page::DictionaryPage { .. }) {
            self.gate.is_open.store(false, Ordering::Relaxed);
        }
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.inner.at_record_boundary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_differences_is_what_they_take_and_more_than_said_are_refused() {
        // Blocks of 128 in 4 parts, 3 values from 5 on; smallest difference 1, widths 2 0 0 0, and
        // 32 differences of two bits.
        let mut bytes = vec![0x80, 1, 4, 3, 10, 2, 2, 9, 9, 9];
        bytes.extend([0xff; 8]);
        bytes.extend(b"rest");
        assert_eq!(deltas_bytes(&bytes, 3), Some(18));
        assert_eq!(deltas_bytes(&bytes, 2), None);
        assert_eq!(deltas_bytes(&bytes[..17], 3), None);
        assert_eq!(deltas_bytes(&[0x80, 1, 4, 0, 0, 7], 3), Some(5));
    }
}
