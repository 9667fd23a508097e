//! A new corpus, compressed or not by its name, that appears when it is whole.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use flate2::write::GzEncoder;

use crate::console::new_file::{NewFile, WholeFile};
use crate::formats::input::Compression;

/// A corpus in the making, under a temporary name beside its own.
pub enum NewCorpus {
    Plain(NewFile),
    Gzip(GzEncoder<NewFile>),
    Zstd(Box<zstd::stream::write::Encoder<'static, NewFile>>),
}

impl NewCorpus {
    /// Starts a corpus. A file that is there already is refused.
    pub fn create(path: &Path) -> Result<Self> {
        let file = NewFile::create(path)?;
        Ok(match Compression::of(path) {
            Compression::None => Self::Plain(file),
            Compression::Gzip => Self::Gzip(GzEncoder::new(file, Default::default())),
            Compression::Zstd => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                Self::Zstd(Box::new(zstd::stream::write::Encoder::new(file, level)?))
            }
        })
    }

    /// Writes what is still buffered and makes the file durable.
    pub fn finish(self) -> Result<WholeFile> {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        }
        .finish()
    }
}

impl Write for NewCorpus {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}
