//! Documents as two arrays of NumPy, ids and fingerprints in the same order.

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context, Result};
use npyz::{DType, NpyWriter, TypeStr, WriterBuilder};
use simdb::Document;

use crate::console::file::NewFolder;

/// The files `ids.npy` and `fingerprints.npy` of a folder.
pub struct NpyFolder {
    ids: NpyFile,
    fingerprints: NpyFile,
}

impl NpyFolder {
    /// Starts both files.
    pub fn new(folder: &NewFolder) -> Result<Self> {
        Ok(Self {
            ids: NpyFile::new(folder, "ids.npy")?,
            fingerprints: NpyFile::new(folder, "fingerprints.npy")?,
        })
    }

    /// Adds a document.
    pub fn push(&mut self, document: &Document) -> Result<()> {
        self.ids.push(document.id.0)?;
        self.fingerprints.push(document.fingerprint.bits())
    }

    /// Writes the lengths into the headers, and makes both files durable.
    pub fn finish(self) -> Result<()> {
        self.ids.finish()?;
        self.fingerprints.finish()
    }
}

/// The NumPy name of the type of both arrays.
const LITTLE_ENDIAN_U64: &str = "<u8";

struct NpyFile {
    name: &'static str,
    /// A second handle of the file that `writer` writes to, to sync it.
    file: File,
    writer: NpyWriter<u64, BufWriter<File>>,
}

impl NpyFile {
    fn new(folder: &NewFolder, name: &'static str) -> Result<Self> {
        let kind: TypeStr = LITTLE_ENDIAN_U64.parse()?;
        let start = || {
            let file = folder.file(name)?;
            let buffered = BufWriter::new(file.try_clone()?);
            let writer = npyz::WriteOptions::<u64>::new()
                .dtype(DType::new_scalar(kind))
                .writer(buffered)
                .begin_1d()?;
            Ok::<_, std::io::Error>((file, writer))
        };
        let (file, writer) = start().with_context(|| format!("cannot write {name}"))?;
        Ok(Self { name, file, writer })
    }

    fn push(&mut self, word: u64) -> Result<()> {
        let written = self.writer.push(&word);
        written.with_context(|| format!("cannot write {}", self.name))
    }

    fn finish(self) -> Result<()> {
        self.writer
            .finish()
            .and_then(|()| self.file.sync_all())
            .with_context(|| format!("cannot write {}", self.name))
    }
}
