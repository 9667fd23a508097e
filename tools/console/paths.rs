//! [`OutputPaths`]: the output paths of a command, checked before the command reads its inputs.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use simdb::{Database, Error};

/// The permission to replace existing outputs.
#[derive(Args, Clone, Copy, Debug)]
pub struct Overwrite {
    /// Replace existing outputs, which are otherwise an error
    ///
    /// The old output stays unchanged until the new output is complete. Inputs are never replaced.
    /// A database is replaced only by a database, and a folder only if it holds no other files than
    /// the command writes. A process that is killed while it replaces a folder may leave the old
    /// folder in .NAME.XXXXXX.old.
    #[arg(long)]
    pub force: bool,
}

/// The outputs of one command. An output is refused if it exists and `--force` is not given, if it
/// is an input or another output, or if its folder is missing.
pub struct OutputPaths {
    overwrite: Overwrite,
    taken: Vec<(FileIdentity, String)>,
}

/// A checked output path.
#[derive(Clone, Debug)]
pub struct OutputPath {
    /// The path on the command line.
    pub(super) path: PathBuf,
    /// The target of a symbolic link, so that the link stays; otherwise the path.
    pub(super) target: PathBuf,
    pub(super) destination: Destination,
    /// `true` if an existing file or folder is replaced.
    pub(super) is_replaced: bool,
}

/// The destination of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    Stdout,
    /// A pipe, a terminal or an open file, which cannot be replaced.
    Stream,
    /// A file or a folder, which gets its name when it is complete.
    File,
}

impl OutputPaths {
    pub fn new(overwrite: Overwrite) -> Self {
        Self {
            overwrite,
            taken: Vec::new(),
        }
    }

    /// Adds a path that no output may have. Errors call the path `what`.
    pub fn reserve(&mut self, path: &Path, what: &str) {
        let identity = FileIdentity::new(path);
        self.taken.push((identity, what.to_owned()));
    }

    /// Checks the file that an option names.
    pub fn file(&mut self, option: &str, path: &Path) -> Result<OutputPath> {
        let output = self.check(option, path)?;
        if !output.is_file() {
            return Ok(output);
        }
        refuse_unwritable_name(path).map_err(|error| cannot_write(path, error))?;
        if output.is_replaced {
            ensure!(
                !path.is_dir(),
                "cannot write {}: it is a folder",
                path.display()
            );
            match Database::builder().open_read_only(path) {
                Err(Error::NotADatabase { .. }) => {}
                Err(Error::Io { source, .. }) => return Err(cannot_write(path, source).into()),
                _ => bail!(
                    "{} is a database, which {option} does not replace; choose another name",
                    path.display()
                ),
            }
        }
        Ok(output)
    }

    /// Checks the folder that an option names, for files with this extension.
    pub fn folder(&mut self, option: &str, path: &Path, extension: &str) -> Result<OutputPath> {
        // Strips `/.` from the end: a folder of that name cannot be created.
        let path: &Path = &path.components().collect::<PathBuf>();
        let output = self.check(option, path)?;
        if !output.is_file() {
            return Ok(output);
        }
        path.file_name()
            .with_context(|| format!("cannot create the folder {}", path.display()))?;
        if output.is_replaced {
            let cannot = || format!("cannot replace {}", path.display());
            for entry in path.read_dir().with_context(cannot)? {
                let entry = entry.with_context(cannot)?.path();
                ensure!(
                    entry.is_file() && entry.extension().is_some_and(|ending| ending == extension),
                    "{}: {} is not a file that a folder of {option} has; remove it, or choose \
                     another name",
                    cannot(),
                    entry.display()
                );
            }
        }
        Ok(output)
    }

    /// Checks the database that an option or argument names.
    pub fn database(&mut self, option: &str, path: &Path) -> Result<OutputPath> {
        refuse_special(path)?;
        self.check(option, path)
    }

    /// The checks of all outputs. A stream passes.
    fn check(&mut self, option: &str, path: &Path) -> Result<OutputPath> {
        let mut output = OutputPath {
            path: path.to_owned(),
            target: path.to_owned(),
            destination: destination(path),
            is_replaced: false,
        };
        if !output.is_file() {
            return Ok(output);
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder
            && matches!(folder.metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
        {
            let (path, folder) = (path.display(), folder.display());
            bail!("cannot write {path}: there is no folder {folder}; create it");
        }
        let identity = FileIdentity::new(path);
        let taken = self.taken.iter().find(|(taken, _)| taken.is_in(&identity));
        if let Some((taken, what)) = taken {
            let is = if identity.is_in(taken) { "is" } else { "holds" };
            let path = path.display();
            bail!("{option} {path} {is} {what}; choose another name");
        }
        let exists = path.symlink_metadata().is_ok();
        ensure!(
            !exists || self.overwrite.force,
            "{} already exists; choose another name, or give --force to replace it",
            path.display()
        );
        self.taken
            .push((identity, format!("the output of {option}")));
        output.is_replaced = exists;
        if let Ok(target) = path.canonicalize() {
            output.target = target;
        }
        Ok(output)
    }
}

impl OutputPath {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `true` for a file or a folder, `false` for a stream.
    pub fn is_file(&self) -> bool {
        self.destination == Destination::File
    }
}

/// Returns `true` if the path means standard output.
pub fn is_stdout(path: &Path) -> bool {
    // To open /dev/stdout of a redirected output would write from the start of the file, over the
    // results that the tool prints.
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .iter()
        .any(|name| path == Path::new(name))
}

fn destination(path: &Path) -> Destination {
    let is_special = |metadata: Metadata| !metadata.is_file() && !metadata.is_dir();
    if is_stdout(path) {
        Destination::Stdout
    } else if path.starts_with("/dev/fd")
        || path.starts_with("/proc")
        || path == Path::new("/dev/stderr")
        || std::fs::metadata(path).is_ok_and(is_special)
    {
        Destination::Stream
    } else {
        Destination::File
    }
}

/// The folder that holds a file.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Refuses a pipe or a device as a database: to open a pipe blocks until another process opens its
/// other end. Refuses the address of a server, without its token, if no file has this name. Refuses
/// the name of a stream.
pub fn refuse_special(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        _ if path == Path::new("-") => bail!(
            "a database is a file, not standard input or output: give its path, or ./- for a file of \
             this name"
        ),
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => bail!(
            "cannot open {}: it is a device or a pipe, not a file",
            path.display()
        ),
        Err(_) if is_server_address(path) => bail!(
            "this verb needs the path of a database file, not the address of a server; run it on a \
             backup (POST /v1/backup), or on the file of the server while the server is stopped"
        ),
        // Other errors are reported when the file is opened.
        _ => Ok(()),
    }
}

fn is_server_address(path: &Path) -> bool {
    let prefixes = ["http://", "https://", "unix:"];
    path.to_str()
        .is_some_and(|path| prefixes.iter().any(|prefix| path.starts_with(prefix)))
}

/// Refuses a path that ends like the path of a folder, and a dangling symbolic link.
pub fn refuse_unwritable_name(path: &Path) -> io::Result<()> {
    let is_separator = |byte: &u8| std::path::is_separator(char::from(*byte));
    let bytes = path.as_os_str().as_encoded_bytes();
    let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
    if path.file_name().is_none() || bytes.last().is_some_and(is_separator) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is the name of a folder, and a file is to be written",
        ));
    }
    if path.is_symlink() && !path.exists() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "it is a symbolic link to a file that is not there; name that file",
        ));
    }
    Ok(())
}

/// Adds the path of the output to an error.
pub fn cannot_write(path: &Path, error: io::Error) -> io::Error {
    let text = format!("cannot write {}: {error}", path.display());
    io::Error::new(error.kind(), text)
}

/// The identity of a file that may not exist.
#[derive(Debug)]
struct FileIdentity {
    path: PathBuf,
    node: Option<FileNode>,
}

/// Device and number of a file, on file systems that have them.
pub type FileNode = (u64, u64);

impl FileIdentity {
    fn new(path: &Path) -> Self {
        let of_missing = || {
            let folder = folder_of(path).canonicalize()?;
            Ok::<_, io::Error>(folder.join(path.file_name().unwrap_or_default()))
        };
        Self {
            path: path
                .canonicalize()
                .or_else(|_| of_missing())
                // A path in a missing folder equals no other path.
                .unwrap_or_else(|_| path.to_owned()),
            node: std::fs::metadata(path).ok().as_ref().and_then(file_node),
        }
    }

    /// Returns `true` if both are one file, by path or by hard link, or if `other` is a folder that
    /// contains this file.
    fn is_in(&self, other: &Self) -> bool {
        self.path.starts_with(&other.path) || (self.node.is_some() && self.node == other.node)
    }
}

/// Device and number of a file, on file systems that have them.
#[cfg(unix)]
pub fn file_node(metadata: &Metadata) -> Option<FileNode> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// Device and number of a file, on file systems that have them.
#[cfg(not(unix))]
pub fn file_node(_: &Metadata) -> Option<FileNode> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of<T>(outcome: Result<T>) -> String {
        outcome.err().expect("it is refused").to_string()
    }

    #[test]
    fn identity_sees_through_paths_and_hard_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("sub")).unwrap();
        let is_same =
            |a: &str, b: &str| FileIdentity::new(&path(a)).is_in(&FileIdentity::new(&path(b)));
        for exists in [false, true] {
            assert!(is_same("sub/../a", "a"), "{exists}");
            assert!(!is_same("b", "a"));
            std::fs::write(path("a"), "a").unwrap();
        }
        assert!(is_same("sub/a", "sub") && !is_same("sub", "sub/a"));
        std::fs::hard_link(path("a"), path("linked")).unwrap();
        assert_eq!(is_same("linked", "a"), cfg!(unix));
    }

    #[test]
    fn existing_output_is_refused_without_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a", "out/1.npy", "other/1.npy", "other/notes.txt"] {
            std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            std::fs::write(path(name), "a").unwrap();
        }
        Database::builder()
            .create(path("db"))
            .unwrap()
            .close()
            .unwrap();
        let paths = |force| OutputPaths::new(Overwrite { force });
        assert!(!paths(false).file("-o", &path("new")).unwrap().is_replaced);
        for name in ["a", "out", "db"] {
            let error = error_of(paths(false).file("-o", &path(name)));
            assert!(
                error.contains("already exists") && error.contains("--force"),
                "{error}"
            );
        }
        assert!(paths(true).file("-o", &path("a")).unwrap().is_replaced);
        assert!(error_of(paths(true).file("-o", &path("out"))).contains("it is a folder"));
        assert!(error_of(paths(true).file("-o", &path("db"))).contains("is a database"));
        assert!(
            paths(true)
                .folder("-o", &path("out/."), "npy")
                .unwrap()
                .is_replaced
        );
        let error = error_of(paths(true).folder("-o", &path("other"), "npy"));
        assert!(error.contains("notes.txt is not a file"), "{error}");
        assert!(paths(true).folder("-o", &path("a"), "npy").is_err());
    }

    #[test]
    fn input_or_other_output_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("in")).unwrap();
        std::fs::write(path("in/1.npy"), "a").unwrap();
        let mut paths = OutputPaths::new(Overwrite { force: true });
        paths.reserve(&path("in/1.npy"), "an input");
        paths.file("--report", &path("r")).unwrap();
        assert!(error_of(paths.file("-o", &path("in/1.npy"))).contains("is an input"));
        assert!(error_of(paths.folder("-o", &path("in"), "npy")).contains("holds an input"));
        assert!(error_of(paths.file("-o", &path("in/../r"))).contains("is the output of --report"));
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_link_is_followed_and_dangling_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("target", path("link")).unwrap();
        let check = || OutputPaths::new(Overwrite { force: true }).file("-o", &path("link"));
        assert!(error_of(check()).contains("symbolic link"));
        std::fs::write(path("target"), "").unwrap();
        assert!(check().unwrap().target.ends_with("target"));
    }
}
