//! Parquet, by its columns.
//!
//! - [`positioned`], [`mod@file`], [`thrift`]: a file and its description, looked through before it
//!   is believed
//! - [`chunk`], [`pages`]: bytes of a column and its pages, with bounds
//! - [`kind`], [`schema`]: which columns are read, and what their types are good for
//! - [`mod@column`], [`cells`], [`records`]: values, rows, documents
//! - [`metadata`]: what simdb's own files say of themselves
//! - [`mod@write`]: columns of integers into a new file
//! - [`copy`]: some of the rows of a file into another, with all that belongs to them
//!
//! Whatever a file says of itself, memory is bounded: by its description (64 MiB) and, for each
//! column that is read, one page (512 MiB) with one dictionary.

mod cells;
mod chunk;
mod column;
pub mod copy;
#[cfg(test)]
mod damage;
mod file;
mod kind;
pub mod metadata;
mod pages;
mod positioned;
mod records;
mod schema;
mod thrift;
pub mod write;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Result, bail};

#[allow(unused_imports, reason = "each tool uses what it needs")]
pub use self::cells::Cells;
#[allow(unused_imports, reason = "each tool uses what it needs")]
pub use self::column::Cell;
pub use self::file::ParquetFile;
#[allow(unused_imports, reason = "each tool uses what it needs")]
pub use self::kind::Role;
pub use self::records::ParquetRecords;
#[allow(unused_imports, reason = "each tool uses what it needs")]
pub use self::records::reads_own;
use super::input::{Compression, Source};

/// Opens an input that must be a file, as it is.
pub fn open(source: &Source, bytes_read: &Arc<AtomicU64>) -> Result<ParquetFile> {
    let name = source.name();
    match source.path() {
        None => bail!("cannot read {name}: Parquet is read from its end; name a file"),
        Some(path) if Compression::of(path) != Compression::None => bail!(
            "cannot read {name}: Parquet is read from its end, so it cannot be compressed as a \
             whole; unpack it first"
        ),
        Some(path) => ParquetFile::open(path, bytes_read),
    }
}
