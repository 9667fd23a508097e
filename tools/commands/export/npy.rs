//! Documents as two arrays of NumPy in one order: ids and fingerprints.

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context, Result};
use npyz::{DType, NpyWriter, TypeStr, WriterBuilder};
use simdb::Document;

use crate::console::file::OutputFolder;

/// The files `ids.npy` and `fingerprints.npy` of a folder.
pub struct NpyFolder([NpyFile; 2]);

impl NpyFolder {
    pub fn new(folder: &OutputFolder) -> Result<Self> {
        let [ids, fingerprints] = ["ids.npy", "fingerprints.npy"];
        Ok(Self([
            NpyFile::new(folder, ids)?,
            NpyFile::new(folder, fingerprints)?,
        ]))
    }

    pub fn push(&mut self, document: &Document) -> Result<()> {
        self.0[0].push(document.id.0)?;
        self.0[1].push(document.fingerprint.bits())
    }

    /// Writes the lengths into the headers, and syncs both files.
    pub fn finish(self) -> Result<()> {
        self.0.into_iter().try_for_each(NpyFile::finish)
    }
}

/// The NumPy name of the type of both arrays.
const LITTLE_ENDIAN_U64: &str = "<u8";

struct NpyFile {
    name: &'static str,
    /// A second handle of the file of `writer`, to sync it.
    file: File,
    writer: NpyWriter<u64, BufWriter<File>>,
}

impl NpyFile {
    fn new(folder: &OutputFolder, name: &'static str) -> Result<Self> {
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
