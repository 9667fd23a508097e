//! Outputs that get their names when they are complete: [`OutputFile`], [`OutputFolder`] and
//! databases. Until then an output has a temporary name in the same folder, and a file that has the
//! final name is not changed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use simdb::{Builder, Database};
use tempfile::{NamedTempFile, TempDir, TempPath};

use super::paths::{Destination, OutputPath, cannot_write, folder_of};

/// A file under a temporary name, or a stream. Errors contain its path.
pub struct OutputFile {
    output: OutputPath,
    writer: BufWriter<Box<dyn Write + Send>>,
    /// The temporary file, which is removed unless it is published. `None` for a stream.
    unnamed: Option<(File, TempPath)>,
}

impl OutputFile {
    /// Creates a temporary file, or opens a stream.
    pub fn create(output: OutputPath) -> Result<Self> {
        let create = || -> io::Result<(Box<dyn Write + Send>, _)> {
            Ok(match output.destination {
                Destination::Stdout => (Box::new(io::stdout()), None),
                Destination::Stream => {
                    let stream = File::options().append(true).open(&output.path)?;
                    (Box::new(stream), None)
                }
                Destination::File => {
                    let (file, temporary) = temporary_file(&output.target)?.into_parts();
                    (Box::new(file.try_clone()?), Some((file, temporary)))
                }
            })
        };
        let (writer, unnamed) = create().map_err(|error| cannot_write(&output.path, error))?;
        Ok(Self {
            output,
            writer: BufWriter::with_capacity(1 << 16, writer),
            unnamed,
        })
    }

    /// Writes the buffer, syncs the file, and gives it its name.
    pub fn publish(mut self) -> io::Result<()> {
        self.flush()?;
        let Some((file, temporary)) = self.unnamed else {
            return Ok(());
        };
        let OutputPath {
            path,
            target,
            is_replaced,
            ..
        } = self.output;
        // Without the sync before the rename, a power failure could replace an old file by an empty
        // one.
        file.sync_all()
            .and_then(|()| publish(temporary, &target, is_replaced))
            .map_err(|error| cannot_write(&path, error))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes);
        written.map_err(|error| cannot_write(&self.output.path, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| cannot_write(&self.output.path, error))
    }
}

/// Writes a file under a temporary name, syncs it, and gives it its name. An existing file is
/// replaced. Errors contain its path.
pub fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let replace = || {
        let (mut file, temporary) = temporary_file(path)?.into_parts();
        write(&mut file)?;
        file.sync_all()?;
        publish(temporary, path, true)
    };
    replace().map_err(|error| cannot_write(path, error))
}

/// A folder of files under a temporary name.
pub struct OutputFolder {
    temporary: TempDir,
    output: OutputPath,
}

impl OutputFolder {
    pub fn create(output: OutputPath) -> Result<Self> {
        let prefix = temporary_prefix(&output.target);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".new");
        // The umask decides the permissions, as for other new folders; tempfile would set 0o700.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let temporary = builder
            .tempdir_in(folder_of(&output.target))
            .with_context(|| format!("cannot create the folder {}", output.path.display()))?;
        Ok(Self { temporary, output })
    }

    /// The path that the folder will have.
    pub fn path(&self) -> &Path {
        &self.output.path
    }

    /// Creates a file in the folder.
    pub fn file(&self, name: impl AsRef<Path>) -> io::Result<File> {
        File::create_new(self.temporary.path().join(name))
    }

    /// Gives the folder its name, and syncs the parent folder. The files in it must be synced.
    pub fn publish(self) -> Result<()> {
        let path = &self.output.target;
        let publish = || -> io::Result<()> {
            sync_folder(self.temporary.path())?;
            if self.output.is_replaced {
                // Two renames, because no rename replaces a folder that is not empty.
                let old = tempfile::Builder::new()
                    .prefix(&temporary_prefix(path))
                    .suffix(".old")
                    .tempdir_in(folder_of(path))?;
                std::fs::rename(path, old.path().join("old"))?;
                std::fs::rename(self.temporary.path(), path).or_else(|error| {
                    std::fs::rename(old.path().join("old"), path)?;
                    Err(error)
                })?;
            } else {
                // A folder that got the name meanwhile is replaced only if it is empty.
                std::fs::rename(self.temporary.path(), path)?;
            }
            sync_folder(folder_of(path))
        };
        publish().with_context(|| format!("cannot put {} in place", path.display()))?;
        let _ = self.temporary.keep();
        Ok(())
    }
}

/// Calls `make` to create and close a database in a temporary folder whose name begins with
/// `prefix`, and renames the database to `path`. `old` is the database that is replaced; it is open
/// until then, so that no process writes to it.
pub fn make_database<T>(
    path: &Path,
    prefix: &str,
    old: Option<Database>,
    make: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    let parent = folder_of(path);
    let folder = tempfile::Builder::new()
        .prefix(prefix)
        .tempdir_in(parent)
        .with_context(|| format!("cannot create a folder in {}", parent.display()))?;
    let temporary = folder.path().join("new.simdb");
    let made = make(&temporary)?;
    let is_replacing = old.is_some();
    if let Some(old) = old {
        old.close()?;
    }
    TempPath::try_from_path(temporary)
        .and_then(|temporary| publish(temporary, path, is_replacing))
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => simdb::Error::AlreadyExists {
                path: path.to_path_buf(),
            }
            .into(),
            _ => anyhow::Error::new(error).context(format!(
                "cannot put the new database in place as {}",
                path.display()
            )),
        })?;
    Ok(made)
}

/// Calls `make` to create a database at the path of `output`. An existing database is replaced only
/// if `builder` opens it: then no process has it open, and no journal of it is left beside the new
/// database.
pub fn make_or_replace_database<T>(
    output: &OutputPath,
    builder: Builder,
    make: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    let OutputPath { path, target, .. } = output;
    if !output.is_replaced {
        return make(path);
    }
    let old = builder.open(target);
    let old = old.with_context(|| format!("cannot replace {}", path.display()))?;
    make_database(target, &temporary_prefix(target), Some(old), make)
}

/// Renames a complete file to its name, and syncs the folder. Without `is_replacing` an existing
/// file is an error.
fn publish(temporary: TempPath, path: &Path, is_replacing: bool) -> io::Result<()> {
    let outcome = if is_replacing {
        temporary.persist(path)
    } else {
        temporary.persist_noclobber(path)
    };
    outcome.map_err(|refused| refused.error)?;
    sync_folder(folder_of(path))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

/// Creates `.NAME.XXXXXX.new` in the folder of `path`. It is removed unless it is persisted.
fn temporary_file(path: &Path) -> io::Result<NamedTempFile> {
    let prefix = temporary_prefix(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".new");
    // The umask decides the permissions, as for other new files; tempfile would set 0o600.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder_of(path))
}

/// At most 240 bytes of a name go into a temporary name, which is 12 bytes longer: file systems
/// allow 255 bytes.
const MAX_NAME_BYTES: usize = 240;

/// The prefix of the temporary name of a file or folder: `.NAME.`, or `.simdb-` for long names.
fn temporary_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.len() <= MAX_NAME_BYTES {
        format!(".{name}.")
    } else {
        ".simdb-".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::paths::{OutputPaths, Overwrite};
    use simdb::DocId;

    fn names(folder: &TempDir) -> usize {
        std::fs::read_dir(folder.path()).unwrap().count()
    }

    fn output(path: &Path) -> OutputPath {
        let mut paths = OutputPaths::new(Overwrite { force: true });
        paths.file("-o", path).unwrap()
    }

    #[test]
    fn file_exists_only_after_publish() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        for earlier in [None, Some("earlier")] {
            let before = names(&folder);
            let read = || std::fs::read_to_string(&path).ok();
            let mut file = OutputFile::create(output(&path)).unwrap();
            file.write_all(b"lost").unwrap();
            drop(file);
            assert_eq!((names(&folder), read().as_deref()), (before, earlier));

            let mut file = OutputFile::create(output(&path)).unwrap();
            file.write_all(b"earlier").unwrap();
            assert_eq!(read().as_deref(), earlier);
            file.publish().unwrap();
            assert_eq!((names(&folder), read().as_deref()), (1, Some("earlier")));
        }
    }

    #[test]
    fn publish_fails_if_name_is_taken_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let file = OutputFile::create(output(&path)).unwrap();
        std::fs::write(&path, "other").unwrap();
        assert!(file.publish().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"other");
        assert_eq!(names(&folder), 1);
    }

    #[test]
    fn create_error_contains_path() {
        let folder = tempfile::tempdir().unwrap();
        let output = output(&folder.path().join("new"));
        folder.close().unwrap();
        let error = OutputFile::create(output).err().unwrap().to_string();
        assert!(error.contains("/new"), "{error}");
    }

    #[test]
    fn folder_exists_only_after_publish() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        for name in ["a.npy", "b.npy"] {
            let mut paths = OutputPaths::new(Overwrite { force: true });
            let output = paths.folder("-o", &path, "npy").unwrap();
            let before = names(&folder);
            let new = OutputFolder::create(output.clone()).unwrap();
            new.file(name).unwrap();
            drop(new);
            assert_eq!(names(&folder), before);
            let new = OutputFolder::create(output).unwrap();
            new.file(name).unwrap();
            assert!(!path.join(name).exists());
            new.publish().unwrap();
            let files: Vec<_> = path
                .read_dir()
                .unwrap()
                .map(|file| file.unwrap().file_name())
                .collect();
            assert_eq!((names(&folder), files), (1, vec![name.into()]));
        }
    }

    #[test]
    fn open_database_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let make = || {
            let mut paths = OutputPaths::new(Overwrite { force: true });
            let output = paths.database("TO", &path)?;
            make_or_replace_database(&output, Database::builder(), |path| {
                let database = Database::builder().keep_texts(true).create(path)?;
                let document = database.document(1, "a text")?;
                assert!(database.insert(document)?.is_inserted());
                Ok(database.close()?)
            })
        };
        let old = Database::builder().create(&path).unwrap();
        assert!(make().unwrap_err().to_string().contains("cannot replace"));
        let document = old.document(7, "another text").unwrap();
        assert!(old.insert(document).unwrap().is_inserted());
        drop(old);
        for _ in 0..2 {
            make().unwrap();
            assert_eq!(names(&folder), 1);
            let new = Database::open(&path).unwrap();
            assert_eq!(new.len().unwrap(), 1);
            assert!(new.get(DocId(1)).unwrap().is_some());
        }
        std::fs::write(&path, "no database").unwrap();
        assert!(make().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"no database");
    }
}
