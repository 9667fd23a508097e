//! [`CheckpointFile`]: the decisions of an interrupted run, beside its output.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use simdb::join::JoinCheckpoint;
use xxhash_rust::xxh3::xxh3_64;

use crate::console::file::replace_file;
use crate::console::note;

/// A file from which the repeated command continues.
pub struct CheckpointFile {
    path: PathBuf,
    /// The checkpoint of an earlier run.
    found: Option<JoinCheckpoint>,
    /// The file is of this command: it was found or saved.
    is_own: AtomicBool,
}

/// File systems allow names of 255 bytes.
const MAX_NAME_BYTES: usize = 255;

const EXTENSION: &str = ".checkpoint";

/// The path of the checkpoint of an output.
pub fn path_of(output: &Path) -> PathBuf {
    let name = output.file_name().unwrap_or_default();
    if name.len() + EXTENSION.len() > MAX_NAME_BYTES {
        // Two outputs of long names in one folder need two checkpoints.
        let hash = xxh3_64(name.as_encoded_bytes());
        return output.with_file_name(format!(".simdb-{hash:016x}{EXTENSION}"));
    }
    let mut name = name.to_owned();
    name.push(EXTENSION);
    output.with_file_name(name)
}

impl CheckpointFile {
    /// Reads the checkpoint of an earlier run with this output, if there is one. A run that
    /// compares no texts saves none, and removes it.
    pub fn open(output: &Path, compares_texts: bool) -> Result<Self> {
        let path = path_of(output);
        let shown = path.display();
        let found = match std::fs::read(&path) {
            Ok(bytes) => {
                let found = JoinCheckpoint::from_bytes(&bytes);
                ensure!(
                    found.is_some() || !compares_texts,
                    "{shown} is not a whole checkpoint; remove it to begin anew"
                );
                found
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound || !compares_texts => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
        };
        let is_own = AtomicBool::new(found.is_some());
        Ok(Self {
            path,
            found,
            is_own,
        })
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
        match saved {
            Ok(()) => self.is_own.store(true, Ordering::Relaxed),
            Err(error) => note(format_args!("no checkpoint: {error}")),
        }
    }

    /// Returns `true` if the file is a checkpoint of this output, from which a run that compares
    /// texts continues.
    pub fn is_own(&self) -> bool {
        self.is_own.load(Ordering::Relaxed)
    }

    /// Removes the file after the run, if this command found or saved it. A failure is a note: the
    /// outputs are complete.
    pub fn remove(&self) {
        if !self.is_own() {
            return;
        }
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                note(format_args!(
                    "cannot remove {}: {error}",
                    self.path.display()
                ));
            }
            _ => {}
        }
    }
}
