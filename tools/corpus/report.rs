//! [`RecordReport`]: a line of JSON for each of many records, to a file or a stream.

use std::io::{self, Write};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::console::file::OutputFile;
use crate::console::paths::OutputPath;

/// A file of JSON Lines that is written while a command works.
pub struct RecordReport {
    name: String,
    /// `None` if the reader of a stream has closed it, which does not stop the command.
    file: Option<OutputFile>,
}

impl RecordReport {
    /// Starts a report, or opens the stream that it goes to.
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

    /// Gives the report its name, after everything that it reports is done.
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
