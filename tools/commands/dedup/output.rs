//! [`CorpusOutput`]: the new corpus, which gets its name when it is whole.

use std::ffi::OsStr;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use flate2::write::GzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

use super::options::Dedup;
use super::text_copy::TextCopy;
use crate::console::file::{NewFile, NewFolder};
use crate::console::paths::OutputPath;
use crate::corpus::inputs::Input;
use crate::formats::Format;
use crate::formats::copy::{MarkNames, NextDecision};
use crate::formats::input::Compression;
use crate::formats::parquet::ParquetFile;
use crate::formats::parquet::copy::ParquetCopy;

/// A new corpus, under a temporary name.
pub enum CorpusOutput<'o> {
    /// Lines of text.
    Text(TextCopy<'o>),
    /// One Parquet file.
    Parquet(Box<ParquetCopy<NewFile>>),
    /// A folder with a Parquet file for each input.
    Folder(NewFolder, Option<MarkNames<'o>>),
}

/// Returns `true` if an output of this name is a folder of Parquet files.
pub fn is_folder(path: &Path, format: Format) -> bool {
    let has_extension = path.extension().is_some() || path.ends_with(".parquet");
    format == Format::Parquet && !has_extension
}

/// The name of an input in its folder, and of its copy.
pub fn file_name(input: &Input) -> Result<&OsStr> {
    let name = input.source.path().and_then(Path::file_name);
    name.with_context(|| format!("{} has no name of a file", input.source.name()))
}

fn open(input: &Input) -> Result<Arc<ParquetFile>> {
    ParquetFile::open(&input.source, &Arc::default()).map(Arc::new)
}

impl<'o> CorpusOutput<'o> {
    /// Starts a corpus of these inputs.
    pub fn create(
        options: &'o Dedup,
        output: OutputPath,
        format: Format,
        inputs: &[Input],
    ) -> Result<Self> {
        let marks = options.marks();
        if is_folder(output.path(), format) {
            return Ok(Self::Folder(NewFolder::create(output)?, marks));
        }
        let compression = Compression::of(output.path());
        let file = NewFile::create(output)?;
        if format != Format::Parquet {
            let file = CompressedFile::new(file, compression)?;
            return Ok(Self::Text(TextCopy::new(file, format, marks)));
        }
        let first = open(inputs.first().context("there is nothing to read")?)?;
        // A file without rows does not say how they are compressed.
        let mut packed_like = Arc::clone(&first);
        for input in inputs {
            if packed_like.metadata().num_row_groups() > 0 {
                break;
            }
            packed_like = open(input)?;
        }
        let copy = ParquetCopy::new(&first, &packed_like, marks, file)?;
        Ok(Self::Parquet(Box::new(copy)))
    }

    /// Copies records of the next input.
    pub fn copy(&mut self, input: &Input, next: &mut NextDecision<'_>) -> Result<()> {
        match self {
            Self::Text(copy) => copy.copy(input, next),
            Self::Parquet(copy) => copy.copy(&*open(input)?, next),
            Self::Folder(folder, marks) => {
                let name = file_name(input)?;
                let cannot = || {
                    let folder = folder.path().display();
                    format!("cannot write {} in {folder}", name.display())
                };
                let file = open(input)?;
                let output = BufWriter::new(folder.file(name).with_context(cannot)?);
                let mut copy = ParquetCopy::new(&file, &file, *marks, output)?;
                copy.copy(&file, next)?;
                let output = copy.finish()?.into_inner().with_context(cannot)?;
                output.sync_all().with_context(cannot)
            }
        }
    }

    /// Writes the rest, and gives the corpus its name.
    pub fn publish(self) -> Result<()> {
        match self {
            Self::Text(copy) => copy.finish().publish(),
            Self::Parquet(copy) => Ok(copy.finish()?.publish()?),
            Self::Folder(folder, _) => folder.publish(),
        }
    }
}

/// A new file, compressed or not.
pub enum CompressedFile {
    Plain(NewFile),
    Gzip(GzEncoder<NewFile>),
    Zstd(Box<ZstdEncoder<'static, NewFile>>),
}

impl CompressedFile {
    fn new(file: NewFile, compression: Compression) -> Result<Self> {
        Ok(match compression {
            Compression::None => Self::Plain(file),
            Compression::Gzip => Self::Gzip(GzEncoder::new(file, Default::default())),
            Compression::Zstd => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                Self::Zstd(Box::new(ZstdEncoder::new(file, level)?))
            }
        })
    }

    fn publish(self) -> Result<()> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        Ok(file.publish()?)
    }
}

impl Write for CompressedFile {
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
