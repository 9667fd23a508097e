//! [`CorpusOutput`]: the new corpus, which gets its name when it is complete.

use std::ffi::OsStr;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::compressed_file::CompressedFile;
use super::text_copy::TextCopy;
use crate::console::file::{OutputFile, OutputFolder};
use crate::console::paths::OutputPath;
use crate::corpus::inputs::Input;
use crate::corpus::records::InputRecords;
use crate::formats::copy::{AddedField, CopyDecision, NextDecision};
use crate::formats::input::Compression;
use crate::formats::parquet::ParquetFile;
use crate::formats::parquet::copy::ParquetCopy;
use crate::formats::{Format, Item};

pub enum CorpusOutput<'o> {
    /// Lines of text.
    Text(Box<TextCopy<'o>>),
    /// One Parquet file.
    Parquet(Box<ParquetCopy<OutputFile>>),
    /// A folder with a Parquet file for each input.
    Folder {
        folder: OutputFolder,
        added: Vec<AddedField<'o>>,
        text: String,
    },
}

/// Returns `true` if an output of this name is a folder of Parquet files.
pub fn is_folder(path: &Path, format: Format) -> bool {
    let has_extension = path.extension().is_some() || path.ends_with(".parquet");
    format == Format::Parquet && !has_extension
}

/// The file name of an input, which is the name of its copy too.
pub fn file_name(input: &Input) -> Result<&OsStr> {
    let name = input.source.path().and_then(Path::file_name);
    name.with_context(|| format!("{} has no name of a file", input.source.name()))
}

fn open(input: &Input) -> Result<Arc<ParquetFile>> {
    ParquetFile::open(&input.source, &Arc::default()).map(Arc::new)
}

impl<'o> CorpusOutput<'o> {
    /// Creates the output for a copy of these inputs, with these fields added. `text` is the field
    /// of texts that are replaced.
    pub fn create(
        output: OutputPath,
        format: Format,
        inputs: &[Input],
        added: Vec<AddedField<'o>>,
        text: String,
    ) -> Result<Self> {
        if is_folder(output.path(), format) {
            let folder = OutputFolder::create(output)?;
            return Ok(Self::Folder {
                folder,
                added,
                text,
            });
        }
        let compression = Compression::of(output.path());
        let file = OutputFile::create(output)?;
        if format != Format::Parquet {
            let file = CompressedFile::new(file, compression)?;
            return Ok(Self::Text(Box::new(TextCopy::new(
                file, format, added, text,
            ))));
        }
        let first = open(inputs.first().context("there is nothing to read")?)?;
        // A file without rows has no compression to copy.
        let mut packed_like = Arc::clone(&first);
        for input in inputs {
            if packed_like.metadata().num_row_groups() > 0 {
                break;
            }
            packed_like = open(input)?;
        }
        let copy = ParquetCopy::new(&first, &packed_like, &added, file)?;
        let copy = copy.rewriting(&text);
        Ok(Self::Parquet(Box::new(copy)))
    }

    /// Copies the records of all inputs, as `decide` returns for the index of the input and the
    /// record.
    pub fn copy_all(
        &mut self,
        records: &InputRecords<'_>,
        decide: &mut dyn FnMut(usize, Item) -> Result<CopyDecision>,
    ) -> Result<()> {
        records.for_each_input("writing", |index, input, next| {
            self.copy(input, &mut || match next()? {
                Some(item) => Ok(Some((item.number(), decide(index, item)?))),
                None => Ok(None),
            })
        })
    }

    fn copy(&mut self, input: &Input, next: &mut NextDecision<'_>) -> Result<()> {
        match self {
            Self::Text(copy) => copy.copy(input, next),
            Self::Parquet(copy) => copy.copy(&*open(input)?, next),
            Self::Folder {
                folder,
                added,
                text,
            } => {
                let name = file_name(input)?;
                let cannot = || {
                    let folder = folder.path().display();
                    format!("cannot write {} in {folder}", name.display())
                };
                let file = open(input)?;
                let output = BufWriter::new(folder.file(name).with_context(cannot)?);
                let copy = ParquetCopy::new(&file, &file, added, output)?;
                let mut copy = copy.rewriting(text);
                copy.copy(&file, next)?;
                let output = copy.finish()?.into_inner().with_context(cannot)?;
                // The folder gets its name after the last file, and a crash must not find an empty
                // file under it.
                output.sync_all().with_context(cannot)
            }
        }
    }

    pub fn publish(self) -> Result<()> {
        match self {
            Self::Text(copy) => copy.file.publish(),
            Self::Parquet(copy) => Ok(copy.finish()?.publish()?),
            Self::Folder { folder, .. } => folder.publish(),
        }
    }
}
