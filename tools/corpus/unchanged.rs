//! [`Unchanged`]: whether inputs that are read more than once stay what they were.

use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use super::ledger::Input;
use crate::console::files::node;

/// What files were like before they were read.
pub struct Unchanged(Vec<Option<State>>);

/// What is another where a file was written to, or another file has got its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// Device and number, where files have them.
    node: Option<(u64, u64)>,
    len_bytes: u64,
    /// Nothing where the file system does not keep it.
    modified: Option<SystemTime>,
}

impl Unchanged {
    /// Notes what these inputs are like now.
    pub fn since_now(inputs: &[Input]) -> Result<Self> {
        inputs.iter().map(state).collect::<Result<_>>().map(Self)
    }

    /// An error that names the first of the same inputs that is another now.
    pub fn check(&self, inputs: &[Input]) -> Result<()> {
        for (before, input) in self.0.iter().zip(inputs) {
            if state(input)? != *before {
                bail!(
                    "{} has changed while it was read; nothing was changed; repeat the command when \
                     nobody writes to it",
                    input.source.name()
                );
            }
        }
        Ok(())
    }
}

/// What an input is like; nothing of standard input.
fn state(input: &Input) -> Result<Option<State>> {
    let Some(path) = input.source.path() else {
        return Ok(None);
    };
    let metadata = std::fs::metadata(path);
    let metadata = metadata.with_context(|| format!("cannot read {}", input.source.name()))?;
    Ok(Some(State {
        node: node(&metadata),
        len_bytes: metadata.len(),
        modified: metadata.modified().ok(),
    }))
}
