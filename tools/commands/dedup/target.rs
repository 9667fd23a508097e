//! Where what is kept goes: a new file, or, of Parquet, a new folder with a file for each input.

use std::path::Path;

use anyhow::Result;

use super::output::NewCorpus;
#[cfg(feature = "parquet")]
use crate::console::file::NewFolder;
use crate::console::paths::OutputPath;
use crate::formats::Format;

/// What is in the making, under a temporary name.
pub enum Target {
    File(NewCorpus),
    #[cfg(feature = "parquet")]
    Folder(NewFolder),
}

/// Whether an output of this name is a folder.
#[cfg(feature = "parquet")]
pub fn is_folder(path: &Path, format: Format) -> bool {
    let has_extension = path.extension().is_some() || path.ends_with(".parquet");
    format == Format::Parquet && !has_extension
}

/// Nothing else comes in folders.
#[cfg(not(feature = "parquet"))]
pub fn is_folder(_: &Path, _: Format) -> bool {
    false
}

impl Target {
    /// Starts what is to have this name.
    #[cfg_attr(
        not(feature = "parquet"),
        allow(unused_variables, reason = "nothing else comes in folders")
    )]
    pub fn create(output: OutputPath, format: Format) -> Result<Self> {
        #[cfg(feature = "parquet")]
        if is_folder(output.path(), format) {
            return Ok(Self::Folder(NewFolder::create(output)?));
        }
        Ok(Self::File(NewCorpus::create(output)?))
    }

    /// The one file that is written.
    pub fn file(&mut self) -> Result<&mut NewCorpus> {
        match self {
            Self::File(file) => Ok(file),
            #[cfg(feature = "parquet")]
            Self::Folder(folder) => anyhow::bail!("{} is a folder", folder.path().display()),
        }
    }

    /// Gives it its name. The files of a folder must be durable.
    pub fn publish(self) -> Result<()> {
        match self {
            Self::File(file) => file.publish(),
            #[cfg(feature = "parquet")]
            Self::Folder(folder) => folder.publish(),
        }
    }
}
