//! [`ReportFile`]: lines of JSON about single documents, to a file or standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::console::content::Content;
use crate::console::output_file::OutputFile;

/// A file of JSON Lines that is written while the load goes on. It gets its name when it is
/// finished; until then, whatever has that name stays as it is.
pub struct ReportFile {
    name: PathBuf,
    /// `None`: whoever read it has seen enough, which is no reason to stop a load.
    file: Option<OutputFile>,
}

impl ReportFile {
    /// Opens a report of that name; `-` is standard output.
    pub fn create(path: &Path, content: Content) -> Result<Self> {
        let file = OutputFile::create(path, content)
            .with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self {
            name: path.to_owned(),
            file: Some(file),
        })
    }

    /// Writes one object as one line.
    pub fn line(&mut self, object: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(object)?;
        line.push(b'\n');
        self.with_file(|file| file.write_all(&line))
            .with_context(|| format!("cannot write to {}", self.name.display()))
    }

    /// Writes what is still buffered and gives the file its name, because what it says has come
    /// to pass.
    pub fn finish(&mut self) -> Result<()> {
        self.with_file(OutputFile::finish).with_context(|| {
            let name = self.name.display();
            format!("everything else is done, but {name} is not written")
        })
    }

    fn with_file(
        &mut self,
        write: impl FnOnce(&mut OutputFile) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        match write(file) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.file = None;
                Ok(())
            }
            outcome => outcome,
        }
    }
}
