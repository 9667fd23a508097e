//! [`NewFile`]: a file that is there when it is whole.

use std::fs::File;
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use tempfile::TempPath;

use super::files::{persist_new, refuse_existing, refuse_folder_name, temporary_beside};
use super::interrupt::Interrupt;
use super::named::{Named, cannot_write};

/// A file in the making, under a temporary name beside its own. What goes wrong names the file.
pub struct NewFile {
    writer: Named<BufWriter<File>>,
    temporary: TempPath,
}

/// A file that is whole and durable, and still without its name.
pub struct WholeFile {
    path: PathBuf,
    temporary: TempPath,
}

impl NewFile {
    /// Starts a file that is to get this name, which nothing may have yet.
    pub fn create(path: &Path) -> Result<Self> {
        refuse_existing(path)?;
        refuse_folder_name(path).map_err(|error| cannot_write(path, error))?;
        let made = temporary_beside(path).map_err(|error| cannot_write(path, error))?;
        let (file, temporary) = made.into_parts();
        let file = BufWriter::with_capacity(1 << 16, file);
        Ok(Self {
            writer: Named::new(path, file),
            temporary,
        })
    }

    /// Lets `make` write a whole file, which gets its name unless somebody interrupts that.
    pub fn make<T>(
        path: &Path,
        interrupt: &Interrupt,
        make: impl FnOnce(&mut dyn Write) -> Result<T>,
    ) -> Result<T> {
        let mut file = Self::create(path)?;
        let made = make(&mut file)?;
        let whole = file.finish()?;
        interrupt.check()?;
        whole.persist()?;
        Ok(made)
    }

    /// Writes what is still buffered and makes the file durable.
    pub fn finish(self) -> Result<WholeFile> {
        let Named { name, writer } = self.writer;
        let file = writer.into_inner().map_err(IntoInnerError::into_error);
        file.and_then(|file| file.sync_all())
            .map_err(|error| cannot_write(&name, error))?;
        Ok(WholeFile {
            path: name,
            temporary: self.temporary,
        })
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl WholeFile {
    /// Gives it its name.
    pub fn persist(self) -> Result<()> {
        let named = persist_new(self.temporary, &self.path);
        Ok(named.map_err(|error| cannot_write(&self.path, error))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_when_it_has_its_name_and_leaves_nothing_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"a").unwrap();
        drop(file.finish().unwrap());
        assert_eq!(names(), 0);

        let write = |file: &mut dyn Write| Ok(file.write_all(b"whole")?);
        let interrupted = Interrupt::default();
        interrupted.set();
        assert!(NewFile::make(&path, &interrupted, write).is_err());
        assert_eq!(names(), 0);

        NewFile::make(&path, &Interrupt::default(), write).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(), 1);
        let error = NewFile::make(&path, &Interrupt::default(), write).unwrap_err();
        assert!(error.to_string().contains("already exists"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn what_goes_wrong_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing/new");
        let error = NewFile::create(&path).err().unwrap().to_string();
        assert!(error.contains("missing/new"), "{error}");
    }
}
