//! [`RecordReport`]: JSON Lines about records, to a file or standard output.

use std::io::{self, Write};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::console::file::OutputFile;
use crate::console::paths::OutputPath;

/// A file of JSON Lines that is written while a command runs.
pub struct RecordReport {
    name: String,
    /// `None` if the reader of a stream has closed it, which does not stop the command.
    file: Option<OutputFile>,
}

impl RecordReport {
    /// Creates the file or opens the stream.
    pub fn create(output: OutputPath) -> Result<Self> {
        Ok(Self {
            name: output.path().display().to_string(),
            file: Some(OutputFile::create(output)?),
        })
    }

    /// Writes one object as one line.
    pub fn line(&mut self, object: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(object)?;
        line.push(b'\n');
        if let Some(file) = &mut self.file {
            let written = file.write_all(&line);
            if is_closed(&written) {
                self.file = None;
            } else {
                written?;
            }
        }
        Ok(())
    }

    /// Renames the file to its final name, after all that it reports is done.
    pub fn publish(self) -> Result<()> {
        let published = self.file.map_or(Ok(()), OutputFile::publish);
        if is_closed(&published) {
            return Ok(());
        }
        let name = &self.name;
        published.with_context(|| format!("everything else is done, but {name} is not written"))
    }
}

fn is_closed(outcome: &io::Result<()>) -> bool {
    matches!(outcome, Err(error) if error.kind() == io::ErrorKind::BrokenPipe)
}
