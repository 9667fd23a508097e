//! Where what is kept goes: a new file, or, of Parquet, a new folder with a file for each input.

use std::path::Path;

use anyhow::Result;

use super::output::NewCorpus;
use crate::console::new_file::WholeFile;
#[cfg(feature = "parquet")]
use crate::console::new_folder::NewFolder;
use crate::formats::Format;

/// What is in the making, under a temporary name.
pub enum Target {
    File(NewCorpus),
    #[cfg(feature = "parquet")]
    Folder(NewFolder),
}

/// What is whole and durable, and still without its name.
pub enum Whole {
    File(WholeFile),
    #[cfg(feature = "parquet")]
    Folder(NewFolder),
}

/// Whether an output of this name is a folder.
#[cfg(feature = "parquet")]
pub fn is_folder(path: &Path, format: Format) -> bool {
    let has_extension = path.extension().is_some() || path.ends_with(".parquet");
    format == Format::Parquet && !has_extension
}

impl Target {
    /// Starts what is to have this name. Nothing may have it yet.
    #[cfg_attr(
        not(feature = "parquet"),
        allow(unused_variables, reason = "nothing else comes in folders")
    )]
    pub fn create(path: &Path, format: Format) -> Result<Self> {
        #[cfg(feature = "parquet")]
        if is_folder(path, format) {
            return Ok(Self::Folder(NewFolder::create(path)?));
        }
        Ok(Self::File(NewCorpus::create(path)?))
    }

    /// The one file that is written.
    pub fn file(&mut self) -> Result<&mut NewCorpus> {
        match self {
            Self::File(file) => Ok(file),
            #[cfg(feature = "parquet")]
            Self::Folder(folder) => anyhow::bail!("{} is a folder", folder.target().display()),
        }
    }

    /// Makes it durable. The files of a folder are already.
    pub fn finish(self) -> Result<Whole> {
        Ok(match self {
            Self::File(file) => Whole::File(file.finish()?),
            #[cfg(feature = "parquet")]
            Self::Folder(folder) => Whole::Folder(folder),
        })
    }
}

impl Whole {
    /// Gives it its name.
    pub fn persist(self) -> Result<()> {
        match self {
            Self::File(file) => file.persist(),
            #[cfg(feature = "parquet")]
            Self::Folder(folder) => folder.finish(),
        }
    }
}
