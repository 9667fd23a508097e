//! Parquet files, read and written column by column with the crate `parquet`.
//!
//! - [`ParquetFile`]: an open file, its schema and its row groups
//! - [`columns`]: the columns that are read, and the types that they may have
//! - [`rows`], [`ParquetRecords`]: the values of these columns row by row; rows as documents
//! - [`metadata`]: the keys beside the schema of files that simdb has written
//! - [`mod@write`]: columns of integers into a new file
//! - [`copy`], [`same_columns`]: some of the rows of a file into another
//!
//! Columns are read as Parquet stores them, without Arrow. Rows are copied with the types they have:
//! Arrow cannot write INT96, the timestamps of Spark. A string that is not UTF-8 is one bad row:
//! Arrow refuses the thousand rows that are read with it.
//!
//! A file is trusted as far as the crate trusts it: a file that is made to do harm may take much
//! memory. A panic of the crate becomes an error.

pub mod columns;
pub mod copy;
#[cfg(test)]
mod damage;
pub mod metadata;
mod records;
pub mod rows;
pub mod same_columns;
pub mod write;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail, ensure};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

pub use self::records::ParquetRecords;
use super::catch_panics::catch_panics;
use super::input::{Compression, Source};

/// A Parquet file that is open.
pub struct ParquetFile {
    name: String,
    reader: SerializedFileReader<File>,
    len_bytes: u64,
    bytes_read: Arc<AtomicU64>,
}

impl ParquetFile {
    /// Opens an input and reads its footer. Bytes of rows that are read later are added to
    /// `bytes_read`.
    pub fn open(source: &Source, bytes_read: &Arc<AtomicU64>) -> Result<Self> {
        let name = source.name().to_owned();
        let Some(path) = source.path() else {
            bail!("cannot read {name}: Parquet is read from its end; name a file");
        };
        ensure!(
            Compression::of(path) == Compression::None,
            "cannot read {name}: Parquet is read from its end, so it cannot be compressed as a \
             whole; unpack it first"
        );
        let opened = catch_panics(|| {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            ensure!(
                metadata.is_file(),
                "it is no file, and Parquet is read from its end; write it into a file first"
            );
            let reader = SerializedFileReader::new(file);
            let reader = reader.context("it is no Parquet file, or is cut or damaged")?;
            Ok((reader, metadata.len()))
        });
        let (reader, len_bytes) = opened.with_context(|| format!("cannot read {name}"))?;
        Ok(Self {
            name,
            reader,
            len_bytes,
            bytes_read: Arc::clone(bytes_read),
        })
    }

    /// The name of the file in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The footer of the file.
    pub fn metadata(&self) -> &ParquetMetaData {
        self.reader.metadata()
    }

    /// The columns of the file: all of them, and those that do not consist of others.
    pub fn schema(&self) -> &SchemaDescriptor {
        self.metadata().file_metadata().schema_descr()
    }

    /// Returns `true` if there is a column of this name, not counting columns within others.
    pub fn has_column(&self, name: &str) -> bool {
        let mut fields = self.schema().root_schema().get_fields().iter();
        fields.any(|field| field.name() == name)
    }

    /// The value of a key beside the schema.
    pub fn value(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    fn row_group(&self, group: usize) -> Result<Box<dyn RowGroupReader + '_>> {
        Ok(self.reader.get_row_group(group)?)
    }

    /// Adds the share of some rows in the file to the bytes that are read.
    fn count_rows(&self, rows: usize) {
        let all = self.metadata().file_metadata().num_rows().max(1);
        let bytes = self.len_bytes as f64 * rows as f64 / all as f64;
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
