//! Files that are written: under a temporary name until they are whole, and never over another
//! that is meant to stay.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

/// The folder a file is in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Refuses the path of a database that leads to a pipe or a device: to open a pipe would wait for
/// ever.
pub fn refuse_special(path: &Path) -> anyhow::Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => anyhow::bail!(
            "cannot open {}: it is a device or a pipe, not a file",
            path.display()
        ),
        // Whatever else is wrong will be said when it is opened.
        _ => Ok(()),
    }
}

/// Refuses a name that no file can get: one that ends as only the name of a folder does.
pub fn refuse_folder_name(path: &Path) -> io::Result<()> {
    let is_end = |byte: &u8| std::path::is_separator(char::from(*byte));
    let bytes = path.as_os_str().as_encoded_bytes();
    let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
    match path.file_name().is_none() || bytes.last().is_some_and(is_end) {
        true => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is the name of a folder, and a file is to be written",
        )),
        false => Ok(()),
    }
}

/// Refuses a name that something has already, be it a link that leads nowhere.
pub fn refuse_existing(path: &Path) -> anyhow::Result<()> {
    match path.symlink_metadata() {
        Ok(_) => anyhow::bail!(
            "{} already exists; remove it, or choose another name",
            path.display()
        ),
        // Whatever else is wrong will be said when it is made.
        Err(_) => Ok(()),
    }
}

/// The most bytes of a name that stands in a temporary one, which has 12 more: names of more than 255
/// bytes are none.
const MOST_NAME_BYTES: usize = 240;

/// How the temporary name of a file or folder begins that is to get this name: `.NAME.`, or `.simdb-`
/// for names that are too long for that. Random letters and `.new` follow.
pub fn temporary_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.len() <= MOST_NAME_BYTES {
        true => format!(".{name}."),
        false => ".simdb-".to_owned(),
    }
}

/// A new file beside a name, `.NAME.XXXXXX.new`, that gets the name when it is persisted and is
/// removed otherwise.
pub fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let prefix = temporary_prefix(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".new");
    #[cfg(unix)]
    let everyone = {
        use std::os::unix::fs::PermissionsExt;
        std::fs::Permissions::from_mode(0o666)
    };
    // What the umask allows, as for any other new file, not what suits a secret.
    #[cfg(unix)]
    builder.permissions(everyone);
    builder.tempfile_in(folder_of(path))
}

/// Gives a whole file its name, unless somebody else took that meanwhile, and makes that durable.
pub fn persist_new(temporary: TempPath, target: &Path) -> io::Result<()> {
    temporary
        .persist_noclobber(target)
        .map_err(|refused| refused.error)?;
    sync_folder_of(target)
}

/// Makes a name durable that something has got in its folder.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => File::open(folder_of(path))?.sync_all(),
        false => Ok(()),
    }
}

/// Which file a name means, whether it is there or not.
#[derive(Debug)]
pub struct Identity {
    path: PathBuf,
    /// Device and number of the file.
    node: Option<(u64, u64)>,
}

impl Identity {
    /// The file of that name.
    pub fn of(path: &Path) -> Self {
        let node = std::fs::metadata(path).ok().as_ref().and_then(node);
        let missing = || {
            let folder = folder_of(path).canonicalize()?;
            Ok::<_, io::Error>(folder.join(path.file_name().unwrap_or_default()))
        };
        Self {
            path: path
                .canonicalize()
                .or_else(|_| missing())
                // A file whose folder is missing is like no other.
                .unwrap_or_else(|_| path.to_owned()),
            node,
        }
    }

    /// Whether both are one file, by their paths or by a hard link.
    pub fn is(&self, other: &Self) -> bool {
        self.path == other.path || (self.node.is_some() && self.node == other.node)
    }
}

/// Device and number of a file, where files have them.
#[cfg(unix)]
pub fn node(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// Device and number of a file, where files have them.
#[cfg(not(unix))]
pub fn node(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_under_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("sub")).unwrap();
        for is_there in [false, true] {
            let same = Identity::of(&path("sub/../a")).is(&Identity::of(&path("a")));
            assert!(same, "{is_there}");
            assert!(!Identity::of(&path("b")).is(&Identity::of(&path("a"))));
            std::fs::write(path("a"), "a").unwrap();
        }
        std::fs::hard_link(path("a"), path("linked")).unwrap();
        assert_eq!(
            Identity::of(&path("linked")).is(&Identity::of(&path("a"))),
            cfg!(unix)
        );
    }

    #[test]
    fn a_temporary_file_is_gone_unless_it_is_persisted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        drop(temporary_beside(&path).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        temporary_beside(&path).unwrap().persist(&path).unwrap();
        assert!(path.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
