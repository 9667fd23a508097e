//! Where what is kept goes: a new file, or, of Parquet, a new folder with a file for each input.

use std::path::Path;

use anyhow::{Result, bail};

use super::output::NewCorpus;
use crate::console::new_file::WholeFile;
use crate::console::new_folder::NewFolder;
use crate::formats::Format;

/// What is in the making, under a temporary name.
pub enum Target {
    File(NewCorpus),
    Folder(NewFolder),
}

/// What is whole and durable, and still without its name.
pub enum Whole {
    File(WholeFile),
    Folder(NewFolder),
}

/// Whether an output of this name is a folder.
pub fn is_folder(path: &Path, format: Format) -> bool {
    let has_extension = path.extension().is_some() || path.ends_with(".parquet");
    format == Format::Parquet && !has_extension
}

impl Target {
    /// Starts what is to have this name. Nothing may have it yet.
    pub fn create(path: &Path, format: Format) -> Result<Self> {
        if is_folder(path, format) {
            return Ok(Self::Folder(NewFolder::create(path)?));
        }
        Ok(Self::File(NewCorpus::create(path)?))
    }

    /// The one file that is written.
    pub fn file(&mut self) -> Result<&mut NewCorpus> {
        match self {
            Self::File(file) => Ok(file),
            Self::Folder(folder) => bail!("{} is a folder", folder.target().display()),
        }
    }

    /// Makes it durable. The files of a folder are already.
    pub fn finish(self) -> Result<Whole> {
        Ok(match self {
            Self::File(file) => Whole::File(file.finish()?),
            Self::Folder(folder) => Whole::Folder(folder),
        })
    }
}

impl Whole {
    /// Gives it its name.
    pub fn persist(self) -> Result<()> {
        match self {
            Self::File(file) => file.persist(),
            Self::Folder(folder) => folder.finish(),
        }
    }
}
