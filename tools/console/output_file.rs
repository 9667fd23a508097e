//! [`OutputFile`]: what is written under a name from the command line while a tool works.
//!
//! A name may mean a file, standard output, or something that is there and cannot be replaced, such
//! as a pipe. A file gets its name when all of it is written. What already has the name is replaced
//! only if it looks like what a tool has written there before: a name that was mistyped, or a link
//! that somebody else has put in its place, must not cost anyone a file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::content::{Content, START_BYTES};
use super::files::{refuse_folder_name, sync_folder_of, temporary_beside};
use super::named::{Named, cannot_write};

/// Where something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To standard output.
    Stdout,
    /// To something that is there and cannot be replaced: a pipe, a terminal, an open file.
    Stream,
    /// To a file that is there when all of it is written.
    File,
}

/// Whether that name means standard output.
pub fn is_stdout(path: &Path) -> bool {
    // The other names of it are not opened: what is written to a file opened anew would be
    // written over by what the tool prints.
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .iter()
        .any(|name| path == Path::new(name))
}

/// Where what is written under that name goes.
pub fn destination(path: &Path) -> Destination {
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

/// Lets `make` write to what is there and cannot be replaced. What goes wrong names it.
pub fn write_stream<T>(
    path: &Path,
    make: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let stream = open_stream(path).map_err(|error| cannot_write(path, error))?;
    let mut stream = Named::new(path, stream);
    let made = make(&mut stream)?;
    stream.flush()?;
    Ok(made)
}

/// Opens what is there and cannot be replaced.
fn open_stream(path: &Path) -> io::Result<BufWriter<File>> {
    let stream = OpenOptions::new().append(true).open(path)?;
    Ok(BufWriter::new(stream))
}

/// The file that something of that name will replace or become, if it is to be a file.
pub fn target_of(path: &Path, content: Content) -> io::Result<Option<PathBuf>> {
    match destination(path) {
        Destination::File => replaceable(path, content).map(Some),
        Destination::Stdout | Destination::Stream => Ok(None),
    }
}

/// A file that is written while a tool works. It gets its name when it is finished; until then,
/// whatever has that name stays as it is.
pub struct OutputFile {
    writer: Box<dyn Write>,
    unnamed: Option<Unnamed>,
}

/// A file that is removed unless it gets its name.
struct Unnamed {
    file: File,
    temporary: TempPath,
    target: PathBuf,
}

impl OutputFile {
    /// Opens what is to be written under that name; `-` is standard output.
    pub fn create(path: &Path, content: Content) -> io::Result<Self> {
        let (writer, unnamed): (Box<dyn Write>, _) = match destination(path) {
            Destination::Stdout => (Box::new(BufWriter::new(io::stdout())), None),
            Destination::Stream => (Box::new(open_stream(path)?), None),
            Destination::File => {
                let target = replaceable(path, content)?;
                let (file, temporary) = temporary_beside(&target)?.into_parts();
                let writer = BufWriter::new(file.try_clone()?);
                let unnamed = Unnamed {
                    file,
                    temporary,
                    target,
                };
                (Box::new(writer), Some(unnamed))
            }
        };
        Ok(Self { writer, unnamed })
    }

    /// Writes what is still buffered and gives the file its name. It is durable before that: else a
    /// power cut could leave an empty file in the place of an earlier one that was whole.
    pub fn finish(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        let Some(unnamed) = self.unnamed.take() else {
            return Ok(());
        };
        unnamed.file.sync_all()?;
        let named = unnamed.temporary.persist(&unnamed.target);
        named.map_err(|refused| refused.error)?;
        sync_folder_of(&unnamed.target)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The file that one of that name will replace or become: where symbolic links lead to, so that
/// they stay.
fn replaceable(path: &Path, content: Content) -> io::Result<PathBuf> {
    let refused = |kind, what: String| Err(io::Error::new(kind, what));
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match path.symlink_metadata() {
                Ok(_) => refused(
                    io::ErrorKind::NotFound,
                    "it is a symbolic link to a file that is not there; name that file".to_owned(),
                ),
                Err(_) => refuse_folder_name(path).map(|()| path.to_owned()),
            };
        }
        Err(error) => return Err(error),
    };
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if metadata.permissions().readonly() {
        // To rename a file to its name would be allowed, but it is not what its owner meant.
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut start = Vec::new();
    File::open(path)?
        .take(START_BYTES as u64)
        .read_to_end(&mut start)?;
    if !start.is_empty() && !content.is_start(&start) {
        return refused(
            io::ErrorKind::AlreadyExists,
            format!(
                "the file that is there does not hold {}; remove it, or choose another name",
                content.name()
            ),
        );
    }
    path.canonicalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_an_earlier_one_is_replaced() {
        const EARLIER: &[u8] =
            b"{\"id\":2,\"keeper\":1,\"distance\":0,\"cluster\":1,\"against\":false}\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for (content, there, is_replaced) in [
            (Content::Rejects, &b""[..], true),
            (Content::Removed, EARLIER, true),
            (Content::Rejects, EARLIER, false),
            (Content::Removed, b"{\"id\":1,\"text\":\"a\"}\n", false),
            (Content::Removed, b"redb\x1a", false),
            (Content::Svg, b"<svg width=\"1\"/>", true),
            (Content::Svg, b"<html>", false),
        ] {
            std::fs::write(&path, there).unwrap();
            let written = OutputFile::create(&path, content).and_then(|mut file| {
                file.write_all(b"new")?;
                assert_eq!(std::fs::read(&path)?, there);
                file.finish()
            });
            assert_eq!(written.is_ok(), is_replaced, "{there:?}: {written:?}");
            let expected = if is_replaced { b"new" } else { there };
            assert_eq!(std::fs::read(&path).unwrap(), expected);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_leads_to_the_new_file_and_one_to_nothing_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("there", path("link")).unwrap();
        let refused = OutputFile::create(&path("link"), Content::Rejects).err();
        assert!(refused.is_some_and(|error| error.to_string().contains("symbolic link")));
        std::fs::write(path("there"), "").unwrap();
        let mut file = OutputFile::create(&path("link"), Content::Rejects).unwrap();
        file.write_all(b"{}").unwrap();
        file.finish().unwrap();
        assert!(path("link").is_symlink());
        assert_eq!(std::fs::read(path("there")).unwrap(), b"{}");
    }
}
