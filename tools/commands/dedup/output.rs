//! A new corpus, compressed or not by its name, that appears when it is whole.

use std::io::{self, Write};

use anyhow::Result;
use flate2::write::GzEncoder;

use crate::console::file::NewFile;
use crate::console::paths::OutputPath;
use crate::formats::input::Compression;

/// A corpus in the making, under a temporary name beside its own.
pub enum NewCorpus {
    Plain(NewFile),
    Gzip(GzEncoder<NewFile>),
    Zstd(Box<zstd::stream::write::Encoder<'static, NewFile>>),
}

impl NewCorpus {
    /// Starts a corpus.
    pub fn create(output: OutputPath) -> Result<Self> {
        let compression = Compression::of(output.path());
        let file = NewFile::create(output)?;
        Ok(match compression {
            Compression::None => Self::Plain(file),
            Compression::Gzip => Self::Gzip(GzEncoder::new(file, Default::default())),
            Compression::Zstd => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                Self::Zstd(Box::new(zstd::stream::write::Encoder::new(file, level)?))
            }
        })
    }

    /// Writes what is still buffered and gives the file its name.
    pub fn publish(self) -> Result<()> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        Ok(file.publish()?)
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
