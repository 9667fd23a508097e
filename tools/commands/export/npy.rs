//! Documents as two arrays of NumPy in one order: ids and fingerprints.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use anyhow::{Context, Result};
use simdb::Document;

use crate::console::file::OutputFolder;
use crate::formats::npy_header::header_of_u64;

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

struct NpyFile {
    name: &'static str,
    writer: BufWriter<File>,
    len: u64,
}

impl NpyFile {
    fn new(folder: &OutputFolder, name: &'static str) -> Result<Self> {
        let start = || {
            let mut writer = BufWriter::new(folder.file(name)?);
            // Replaced when the number of documents is known.
            writer.write_all(&header_of_u64(0))?;
            Ok::<_, io::Error>(writer)
        };
        let writer = start().with_context(|| format!("cannot write {name}"))?;
        let len = 0;
        Ok(Self { name, writer, len })
    }

    fn push(&mut self, word: u64) -> Result<()> {
        self.len += 1;
        let written = self.writer.write_all(&word.to_le_bytes());
        written.with_context(|| format!("cannot write {}", self.name))
    }

    fn finish(self) -> Result<()> {
        let Self { name, writer, len } = self;
        let finish = || {
            let mut file = writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?;
            file.rewind()?;
            file.write_all(&header_of_u64(len))?;
            file.sync_all()
        };
        finish().with_context(|| format!("cannot write {name}"))
    }
}
