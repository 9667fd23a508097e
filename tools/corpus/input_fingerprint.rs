//! [`InputFingerprints`]: the detection of inputs that change between two readings.

use std::time::SystemTime;

use anyhow::{Context, Result, ensure};

use super::inputs::Input;
use crate::console::paths::{FileNode, file_node};

/// The state of each input before the first reading; `None` for standard input.
pub struct InputFingerprints(Vec<Option<InputFingerprint>>);

/// The properties that change when a file is written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InputFingerprint {
    node: Option<FileNode>,
    len_bytes: u64,
    /// `None` if the file system does not store modification times.
    modified: Option<SystemTime>,
}

impl InputFingerprints {
    /// The current state of these inputs.
    pub fn new(inputs: &[Input]) -> Result<Self> {
        inputs
            .iter()
            .map(fingerprint)
            .collect::<Result<_>>()
            .map(Self)
    }

    /// An error that names the first input that has changed.
    pub fn check(&self, inputs: &[Input]) -> Result<()> {
        for (before, input) in self.0.iter().zip(inputs) {
            ensure!(
                fingerprint(input)? == *before,
                "{} has changed while it was read; nothing was changed; repeat the command when \
                 no process writes to the file",
                input.source.name()
            );
        }
        Ok(())
    }
}

fn fingerprint(input: &Input) -> Result<Option<InputFingerprint>> {
    let Some(path) = input.source.path() else {
        return Ok(None);
    };
    let metadata =
        std::fs::metadata(path).with_context(|| format!("cannot read {}", input.source.name()))?;
    Ok(Some(InputFingerprint {
        node: file_node(&metadata),
        len_bytes: metadata.len(),
        modified: metadata.modified().ok(),
    }))
}
