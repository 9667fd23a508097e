//! [`Named`]: what is written to, with its name in everything that goes wrong.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A writer under a name.
pub struct Named<W> {
    pub name: PathBuf,
    pub writer: W,
}

impl<W: Write> Named<W> {
    pub fn new(name: &Path, writer: W) -> Self {
        let name = name.to_owned();
        Self { name, writer }
    }
}

impl<W: Write> Write for Named<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes);
        written.map_err(|error| cannot_write(&self.name, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| cannot_write(&self.name, error))
    }
}

/// An error of the same kind that says what could not be written.
pub fn cannot_write(name: &Path, error: io::Error) -> io::Error {
    let said = format!("cannot write {}: {error}", name.display());
    io::Error::new(error.kind(), said)
}
