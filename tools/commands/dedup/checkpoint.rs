//! [`CheckpointFile`]: the decisions of an interrupted run, beside its output.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use simdb::JoinCheckpoint;
use xxhash_rust::xxh3::xxh3_64;

use crate::console::file::replace_file;
use crate::console::note;

/// A file from which the repeated command continues.
pub struct CheckpointFile {
    path: PathBuf,
    /// The checkpoint of an earlier run.
    found: Option<JoinCheckpoint>,
}

/// File systems allow names of 255 bytes.
const MAX_NAME_BYTES: usize = 255;

const EXTENSION: &str = ".checkpoint";

/// The path of the checkpoint of an output.
pub fn path_of(output: &Path) -> PathBuf {
    let name = output.file_name().unwrap_or_default();
    if name.len() + EXTENSION.len() > MAX_NAME_BYTES {
        let hash = xxh3_64(name.as_encoded_bytes());
        return output.with_file_name(format!(".simdb-{hash:016x}{EXTENSION}"));
    }
    let mut name = name.to_owned();
    name.push(EXTENSION);
    output.with_file_name(name)
}

impl CheckpointFile {
    /// Reads the checkpoint of an earlier run with this output, if there is one. A run that compares no texts
    /// has no checkpoints.
    pub fn open(output: &Path, compares_texts: bool) -> Result<Self> {
        let path = path_of(output);
        let shown = path.display();
        let bytes = match compares_texts.then(|| std::fs::read(&path)) {
            None => None,
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Some(read) => Some(read.with_context(|| format!("cannot read {shown}"))?),
        };
        let found = bytes
            .map(|bytes| {
                let checkpoint = JoinCheckpoint::from_bytes(&bytes);
                checkpoint.with_context(|| {
                    format!("{shown} is not a whole checkpoint; remove it to begin anew")
                })
            })
            .transpose()?;
        if let Some(found) = &found {
            let percent = (found.share() * 100.0) as u32;
            note(format_args!(
                "continues from {shown}, where {percent} % of the texts are decided"
            ));
        }
        Ok(Self { path, found })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn found(&self) -> Option<&JoinCheckpoint> {
        self.found.as_ref()
    }

    /// Replaces the file. A failure is a note: the run can go on without a checkpoint.
    pub fn save(&self, checkpoint: &JoinCheckpoint) {
        let saved = replace_file(&self.path, |file| checkpoint.write_to(file));
        if let Err(error) = saved {
            note(format_args!("no checkpoint: {error}"));
        }
    }

    /// Removes the file after the run.
    pub fn remove(&self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.path.display()))
            }
            _ => Ok(()),
        }
    }
}
