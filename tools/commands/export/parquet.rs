//! Documents as columns of Parquet: one file, or a folder of files of bounded size.

use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result};
use simdb::{Document, Recipe};

use crate::console::file::OutputFolder;
use crate::formats::RELIABLE_FIELD;
use crate::formats::parquet::metadata::{
    DOCUMENTS_KEY, FINGERPRINT_COLUMN, FORMAT, FORMAT_KEY, ID_COLUMN, UNRELIABLE_KEY, pair,
    recipe_pairs,
};
use crate::formats::parquet::write::{ByteSink, GROUP_ROWS, NewColumn, ParquetWriter};

/// At most 16,777,216 documents in a file of a folder: some 150 MB.
const PART_ROWS: u64 = 16 * GROUP_ROWS as u64;

pub struct ParquetDocuments(ParquetWriter);

impl ParquetDocuments {
    /// Starts a file of fingerprints of this recipe. `with_unreliable` adds a column that marks
    /// documents with unreliable fingerprints.
    pub fn new(recipe: &Recipe, with_unreliable: bool) -> Result<Self> {
        let mut columns = vec![
            NewColumn::Ascending(ID_COLUMN),
            NewColumn::Bits(FINGERPRINT_COLUMN),
        ];
        let mut unreliable = "left out";
        if with_unreliable {
            columns.push(NewColumn::Boolean(RELIABLE_FIELD));
            unreliable = "marked";
        }
        let mut keys = recipe_pairs(recipe);
        keys.push(pair(FORMAT_KEY, FORMAT));
        keys.push(pair(UNRELIABLE_KEY, unreliable));
        Ok(Self(ParquetWriter::new(&columns, keys)?))
    }

    pub fn push(&mut self, document: &Document, sink: &mut ByteSink<'_>) -> Result<()> {
        let (id, fingerprint) = (document.id.0, document.fingerprint.bits());
        self.0
            .push(&[id, fingerprint, document.reliable.into()], sink)
    }

    pub fn finish(mut self, sink: &mut ByteSink<'_>) -> Result<()> {
        let documents = self.0.rows().to_string();
        self.0.add_key(pair(DOCUMENTS_KEY, documents));
        self.0.finish(sink)
    }
}

/// The files `part-00000.parquet` and so on of a folder.
pub struct ParquetFolder<'f> {
    folder: &'f OutputFolder,
    recipe: &'f Recipe,
    with_unreliable: bool,
    part: Option<(ParquetDocuments, File)>,
    /// The number of the open file, or of the next file.
    number: u32,
}

impl<'f> ParquetFolder<'f> {
    pub fn new(folder: &'f OutputFolder, recipe: &'f Recipe, with_unreliable: bool) -> Self {
        Self {
            folder,
            recipe,
            with_unreliable,
            part: None,
            number: 0,
        }
    }

    pub fn push(&mut self, document: &Document) -> Result<()> {
        if self.part.is_none() {
            self.start_part()?;
        }
        if let Some((documents, file)) = &mut self.part {
            documents
                .push(document, &mut |bytes| Ok(file.write_all(bytes)?))
                .with_context(|| cannot_write(self.folder, self.number))?;
            if documents.0.rows() == PART_ROWS {
                self.finish_part()?;
            }
        }
        Ok(())
    }

    /// Writes the end of the last file. Without documents, the folder gets one empty file.
    pub fn finish(mut self) -> Result<()> {
        if self.number == 0 && self.part.is_none() {
            self.start_part()?;
        }
        self.finish_part()
    }

    fn start_part(&mut self) -> Result<()> {
        let name = part_name(self.number);
        let cannot = || cannot_write(self.folder, self.number);
        let documents = ParquetDocuments::new(self.recipe, self.with_unreliable)?;
        self.part = Some((documents, self.folder.file(&name).with_context(cannot)?));
        Ok(())
    }

    fn finish_part(&mut self) -> Result<()> {
        let cannot = || cannot_write(self.folder, self.number);
        if let Some((documents, mut file)) = self.part.take() {
            let sink = &mut |bytes: &[u8]| Ok(file.write_all(bytes)?);
            documents.finish(sink).with_context(cannot)?;
            file.sync_all().with_context(cannot)?;
            self.number += 1;
        }
        Ok(())
    }
}

fn part_name(number: u32) -> String {
    format!("part-{number:05}.parquet")
}

fn cannot_write(folder: &OutputFolder, number: u32) -> String {
    let folder = folder.path().display();
    format!("cannot write {} in {folder}", part_name(number))
}
