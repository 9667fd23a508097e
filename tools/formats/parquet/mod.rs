//! Parquet files, read and written column by column with the crate `parquet`.
//!
//! - [`ParquetFile`]: an open file
//! - [`columns`]: the columns that are read, and their types
//! - [`rows`], [`ParquetRecords`]: these columns row by row; rows as documents
//! - [`metadata`]: the key-value metadata of simdb's own files
//! - [`mod@write`]: a new file of integer columns
//! - [`copy`], [`same_columns`]: a copy of some rows of several files
//!
//! Files are read without Arrow, for two reasons. Arrow cannot write INT96, the timestamps of
//! Spark, so a copy would change types. Arrow refuses a batch of a thousand rows for one string
//! that is not UTF-8, which here is one bad row.
//!
//! zstd, gzip and Snappy are read, the compressions that files have. LZ4 and Brotli would add five
//! crates. A file with one of them is refused when it is opened.
//!
//! A hostile file may make the crate allocate much memory. A panic of the crate becomes an error.

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
use parquet::basic::Compression as ColumnCompression;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

pub use self::records::ParquetRecords;
use super::catch_panics::catch_panics;
use super::input::{Compression, Source};

/// An open Parquet file.
pub struct ParquetFile {
    name: String,
    reader: SerializedFileReader<File>,
    len_bytes: u64,
    bytes_read: Arc<AtomicU64>,
}

impl ParquetFile {
    /// Opens an input and reads its footer. Rows that are read later add their bytes to
    /// `bytes_read`.
    pub fn open(source: &Source, bytes_read: &Arc<AtomicU64>) -> Result<Self> {
        let name = source.name().to_owned();
        let Some(path) = source.path() else {
            bail!("cannot read {name}: Parquet is read from its end; name a file");
        };
        ensure!(
            Compression::of(path) == Compression::None,
            "cannot read {name}: Parquet is read from its end, so a compressed file cannot be read; \
             unpack it first"
        );
        let opened = catch_panics(|| {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            ensure!(
                metadata.is_file(),
                "it is not a regular file, and Parquet is read from its end; write it into a file first"
            );
            let reader = SerializedFileReader::new(file);
            let reader = reader.context("it is no Parquet file, or is cut or damaged")?;
            check_compression(reader.metadata())?;
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

    /// The columns of the file, as a tree and as leaves.
    pub fn schema(&self) -> &SchemaDescriptor {
        self.metadata().file_metadata().schema_descr()
    }

    /// Returns `true` if the file has a top-level column of this name.
    pub fn has_column(&self, name: &str) -> bool {
        let mut fields = self.schema().root_schema().get_fields().iter();
        fields.any(|field| field.name() == name)
    }

    /// The value of a key of the metadata.
    pub fn value(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    fn row_group(&self, group: usize) -> Result<Box<dyn RowGroupReader + '_>> {
        Ok(self.reader.get_row_group(group)?)
    }

    /// Adds the bytes of some rows to the bytes read, estimated by their share of all rows.
    fn count_rows(&self, rows: usize) {
        let all = self.metadata().file_metadata().num_rows().max(1);
        let bytes = self.len_bytes as f64 * rows as f64 / all as f64;
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Refuses a file with a compression that simdb is built without, before the first row.
fn check_compression(metadata: &ParquetMetaData) -> Result<()> {
    for column in metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
    {
        match column.compression() {
            ColumnCompression::UNCOMPRESSED
            | ColumnCompression::SNAPPY
            | ColumnCompression::GZIP(_)
            | ColumnCompression::ZSTD(_) => {}
            other => bail!(
                "column {:?} is compressed with {}; zstd, gzip and Snappy can be read: write the \
                 file again with compression zstd",
                column.column_path().string(),
                // Without the level: BROTLI(BrotliLevel(1)).
                format!("{other:?}").split('(').next().unwrap_or_default(),
            ),
        }
    }
    Ok(())
}
