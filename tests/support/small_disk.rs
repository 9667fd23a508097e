//! A small file system, for tests of a full disk.

#![allow(clippy::print_stderr)]

use std::path::Path;
use std::process::Command;

/// A small file system, which is unmounted when dropped.
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts a file system. `None` if the user may not mount one: the test is skipped. A failure
    /// if `SIMDB_TEST_MUST_MOUNT` is set.
    pub fn new(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .output();
        if mounted.as_ref().is_ok_and(|mount| mount.status.success()) {
            return Some(Self { folder });
        }
        let must = std::env::var_os("SIMDB_TEST_MUST_MOUNT").is_some();
        assert!(!must, "no small file system: {mounted:?}");
        None
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}
