//! A file that is read at places, by whoever holds it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};

/// A file that is read at places.
pub struct Positioned {
    file: Mutex<File>,
    len_bytes: u64,
    bytes_read: Arc<AtomicU64>,
}

impl Positioned {
    /// Opens it. Bytes read from it are added to `bytes_read`.
    pub fn open(path: &Path, bytes_read: &Arc<AtomicU64>) -> Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        ensure!(
            metadata.is_file(),
            "it is no file, and Parquet is read from its end; write it into a file first"
        );
        Ok(Self {
            file: Mutex::new(file),
            len_bytes: metadata.len(),
            bytes_read: Arc::clone(bytes_read),
        })
    }

    /// How long it is.
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// Notes bytes as read, for the progress bar.
    pub fn count(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Fills a buffer with what is there.
    pub fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }

    /// Reads some of what is there.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }
}
