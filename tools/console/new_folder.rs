//! [`NewFolder`]: a folder of files that is there when all of them are whole.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::files::{folder_of, refuse_existing, sync_folder_of, temporary_prefix};

/// A folder under a temporary name, `.NAME.XXXXXX.new`, which is removed unless it is finished.
pub struct NewFolder {
    temporary: TempDir,
    target: PathBuf,
}

impl NewFolder {
    /// Makes a folder that is to get this name, which nothing may have yet.
    pub fn create(target: &Path) -> Result<Self> {
        // Without a `/.` at the end, which is no name.
        let target: &Path = &target.components().collect::<PathBuf>();
        let cannot = || format!("cannot create the folder {}", target.display());
        refuse_existing(target)?;
        target.file_name().with_context(cannot)?;
        let prefix = temporary_prefix(target);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".new");
        #[cfg(unix)]
        let everyone = {
            use std::os::unix::fs::PermissionsExt;
            std::fs::Permissions::from_mode(0o777)
        };
        // What the umask allows, as for any other new folder.
        #[cfg(unix)]
        builder.permissions(everyone);
        let temporary = builder.tempdir_in(folder_of(target)).with_context(cannot)?;
        Ok(Self {
            temporary,
            target: target.to_owned(),
        })
    }

    /// The name that it is to get.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// A new file in it.
    pub fn file(&self, name: impl AsRef<Path>) -> io::Result<File> {
        File::create_new(self.temporary.path().join(name))
    }

    /// Gives the folder its name, and makes that durable. Its files must be durable.
    pub fn finish(self) -> Result<()> {
        let cannot = || format!("cannot put {} in place", self.target.display());
        if cfg!(unix) {
            let folder = File::open(self.temporary.path()).with_context(cannot)?;
            folder.sync_all().with_context(cannot)?;
        }
        // Of what somebody else put there meanwhile, only an empty folder is replaced.
        std::fs::rename(self.temporary.path(), &self.target).with_context(cannot)?;
        let _ = self.temporary.keep();
        sync_folder_of(&self.target).with_context(cannot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_when_it_is_finished_and_leaves_nothing_otherwise() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("new");
        let folder = NewFolder::create(&target).unwrap();
        folder.file("a").unwrap();
        assert!(!target.exists());
        drop(folder);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);

        let folder = NewFolder::create(&target).unwrap();
        folder.file("a").unwrap();
        folder.finish().unwrap();
        assert!(target.join("a").exists());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        let error = NewFolder::create(&target).err().unwrap();
        assert!(error.to_string().contains("already exists"), "{error}");
    }
}
