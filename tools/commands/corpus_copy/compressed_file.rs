//! [`CompressedFile`]: an output file, compressed as its name says.

use std::io::Write;

use anyhow::Result;
use flate2::write::GzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

use crate::console::file::OutputFile;
use crate::formats::input::Compression;

pub enum CompressedFile {
    Plain(OutputFile),
    Gzip(GzEncoder<OutputFile>),
    Zstd(Box<ZstdEncoder<'static, OutputFile>>),
}

impl CompressedFile {
    pub fn new(file: OutputFile, compression: Compression) -> Result<Self> {
        Ok(match compression {
            Compression::None => Self::Plain(file),
            Compression::Gzip => Self::Gzip(GzEncoder::new(file, Default::default())),
            Compression::Zstd => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                Self::Zstd(Box::new(ZstdEncoder::new(file, level)?))
            }
        })
    }

    pub fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
        }
    }

    pub fn publish(self) -> Result<()> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        Ok(file.publish()?)
    }
}
