//! [`ReportFile`]: lines of JSON about single documents, to a file or standard output.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use tempfile::TempPath;

use crate::console::files::temporary_beside;

/// Whether a report of that name goes to standard output.
pub fn is_stdout(path: &Path) -> bool {
    // The other names of it are not opened: what is written to a file opened anew would be
    // written over by the summary.
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .iter()
        .any(|name| path == Path::new(name))
}

/// Where a report goes.
enum Destination {
    /// To standard output.
    Stdout,
    /// To something that is there and cannot be replaced: a pipe, a terminal, an open file.
    Stream,
    /// To a file that is there when all of it is written.
    File,
}

fn destination(path: &Path) -> Destination {
    let is_other = |metadata: std::fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    if is_stdout(path) {
        Destination::Stdout
    } else if path.starts_with("/dev/fd")
        || path.starts_with("/proc")
        || path == Path::new("/dev/stderr")
        || std::fs::metadata(path).is_ok_and(is_other)
    {
        Destination::Stream
    } else {
        Destination::File
    }
}

/// The file that a report of that name will replace or become, if it is to be a file.
pub fn target_of(path: &Path) -> io::Result<Option<PathBuf>> {
    match destination(path) {
        Destination::File => replaceable(path).map(Some),
        Destination::Stdout | Destination::Stream => Ok(None),
    }
}

/// A file of JSON Lines that is written while the load goes on. It gets its name when it is
/// finished; until then, whatever has that name stays as it is.
pub struct ReportFile {
    name: PathBuf,
    /// `None`: whoever read it has seen enough, which is no reason to stop a load.
    writer: Option<Box<dyn Write>>,
    unnamed: Option<Unnamed>,
}

/// A file that is removed unless it gets its name.
struct Unnamed {
    temporary: TempPath,
    target: PathBuf,
}

impl ReportFile {
    /// Opens a report of that name; `-` is standard output.
    pub fn create(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot create {}", path.display());
        let (writer, unnamed): (Box<dyn Write>, _) = match destination(path) {
            Destination::Stdout => (Box::new(BufWriter::new(io::stdout())), None),
            Destination::Stream => {
                let stream = OpenOptions::new()
                    .append(true)
                    .open(path)
                    .with_context(cannot)?;
                (Box::new(BufWriter::new(stream)), None)
            }
            Destination::File => {
                let target = replaceable(path).with_context(cannot)?;
                let (file, temporary) =
                    temporary_beside(&target).with_context(cannot)?.into_parts();
                let unnamed = Unnamed { temporary, target };
                (Box::new(BufWriter::new(file)), Some(unnamed))
            }
        };
        Ok(Self {
            name: path.to_owned(),
            writer: Some(writer),
            unnamed,
        })
    }

    /// Writes one object as one line.
    pub fn line(&mut self, object: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(object)?;
        line.push(b'\n');
        self.with_writer(|writer| writer.write_all(&line))
    }

    /// Writes what is still buffered and gives the file its name, because what it says has come
    /// to pass.
    pub fn finish(&mut self) -> Result<()> {
        let name = self.name.display().to_string();
        let without_it = || format!("the documents are loaded, but {name} is not written");
        self.with_writer(|writer| writer.flush())
            .with_context(without_it)?;
        match self.unnamed.take() {
            None => Ok(()),
            Some(Unnamed { temporary, target }) => temporary
                .persist(target)
                .map_err(|refused| refused.error)
                .with_context(without_it),
        }
    }

    fn with_writer(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        match write(writer) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.writer = None;
                Ok(())
            }
            outcome => outcome.with_context(|| format!("cannot write to {}", self.name.display())),
        }
    }
}

/// The file that a report of that name will replace or become: where symbolic links lead to, so
/// that they stay.
fn replaceable(path: &Path) -> io::Result<PathBuf> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path.to_owned()),
        Err(error) => return Err(error),
    };
    if metadata.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else if metadata.permissions().readonly() {
        // To rename a file to its name would be allowed, but it is not what its owner meant.
        Err(io::ErrorKind::PermissionDenied.into())
    } else {
        path.canonicalize()
    }
}
