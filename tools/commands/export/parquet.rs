//! Documents as columns of Parquet: a file, or a folder of them, each of a bounded number of rows.

use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result};
use simdb::{Document, Recipe};

use crate::console::file::NewFolder;
use crate::formats::RELIABLE_FIELD;
use crate::formats::parquet::metadata::{
    DOCUMENTS_KEY, FINGERPRINT_COLUMN, FORMAT, FORMAT_KEY, ID_COLUMN, UNRELIABLE_KEY, recipe_pairs,
};
use crate::formats::parquet::write::{GROUP_ROWS, NewColumn, ParquetWriter, Values};

/// The most documents of a file in a folder: some 150 MB.
pub const PART_ROWS: u64 = 16 * GROUP_ROWS as u64;

/// What comes of documents.
pub enum Piece<'b> {
    /// The next bytes of a file.
    Bytes(&'b [u8]),
    /// The file is whole.
    End,
}

/// Documents on their way into files.
pub struct Table {
    recipe: Recipe,
    part_rows: u64,
    /// Whether those whose fingerprints say nothing are written, and marked.
    with_unreliable: bool,
    ids: Vec<i64>,
    fingerprints: Vec<i64>,
    reliable: Vec<bool>,
    /// The file in the making, and how many documents are in it.
    file: Option<(ParquetWriter, u64)>,
    has_ended: bool,
}

impl Table {
    /// A table whose files have at most so many rows.
    pub fn new(recipe: Recipe, with_unreliable: bool, part_rows: u64) -> Self {
        Self {
            recipe,
            part_rows,
            with_unreliable,
            ids: Vec::new(),
            fingerprints: Vec::new(),
            reliable: Vec::new(),
            file: None,
            has_ended: false,
        }
    }

    /// Takes a document.
    pub fn push(
        &mut self,
        document: &Document,
        take: &mut dyn FnMut(Piece<'_>) -> Result<()>,
    ) -> Result<()> {
        // The bits stay as they are: Spark would make decimal numbers of unsigned ones.
        self.ids.push(document.id.0 as i64);
        self.fingerprints.push(document.fingerprint.bits() as i64);
        if self.with_unreliable {
            self.reliable.push(document.reliable);
        }
        match self.ids.len() {
            GROUP_ROWS => self.write_group(take),
            _ => Ok(()),
        }
    }

    /// Writes what is left. There is a file even if there is no document.
    pub fn finish(&mut self, take: &mut dyn FnMut(Piece<'_>) -> Result<()>) -> Result<()> {
        if !self.ids.is_empty() || (self.file.is_none() && !self.has_ended) {
            self.write_group(take)?;
        }
        self.end(take)
    }

    fn write_group(&mut self, take: &mut dyn FnMut(Piece<'_>) -> Result<()>) -> Result<()> {
        let (mut writer, written) = match self.file.take() {
            Some(file) => file,
            None => (self.start()?, 0),
        };
        let rows = self.ids.len() as u64;
        if rows > 0 {
            let mut columns = vec![Values::Int64(&self.ids), Values::Int64(&self.fingerprints)];
            if self.with_unreliable {
                columns.push(Values::Boolean(&self.reliable));
            }
            take(Piece::Bytes(&writer.group(&columns)?))?;
        }
        self.ids.clear();
        self.fingerprints.clear();
        self.reliable.clear();
        self.file = Some((writer, written + rows));
        match written + rows >= self.part_rows {
            true => self.end(take),
            false => Ok(()),
        }
    }

    fn start(&self) -> Result<ParquetWriter> {
        let mut columns = vec![
            NewColumn::ascending(ID_COLUMN),
            NewColumn::bits(FINGERPRINT_COLUMN),
        ];
        if self.with_unreliable {
            columns.push(NewColumn::boolean(RELIABLE_FIELD));
        }
        let mut writer = ParquetWriter::new(&columns, recipe_pairs(&self.recipe))?;
        writer.note(FORMAT_KEY, FORMAT.to_owned());
        let unreliable = match self.with_unreliable {
            true => "marked",
            false => "left out",
        };
        writer.note(UNRELIABLE_KEY, unreliable.to_owned());
        Ok(writer)
    }

    fn end(&mut self, take: &mut dyn FnMut(Piece<'_>) -> Result<()>) -> Result<()> {
        if let Some((mut writer, documents)) = self.file.take() {
            writer.note(DOCUMENTS_KEY, documents.to_string());
            take(Piece::Bytes(&writer.finish()?))?;
            take(Piece::End)?;
            self.has_ended = true;
        }
        Ok(())
    }
}

/// The files of a folder, `part-00000.parquet` and so on.
pub struct Parts<'f> {
    folder: &'f NewFolder,
    file: Option<File>,
    ended: u32,
}

impl<'f> Parts<'f> {
    /// None yet.
    pub fn new(folder: &'f NewFolder) -> Self {
        Self {
            folder,
            file: None,
            ended: 0,
        }
    }

    /// Writes the next bytes.
    pub fn take(&mut self, piece: Piece<'_>) -> Result<()> {
        let name = format!("part-{:05}.parquet", self.ended);
        let cannot = || format!("cannot write {name} in {}", self.folder.path().display());
        match piece {
            Piece::Bytes(bytes) => {
                let file = match &mut self.file {
                    Some(file) => file,
                    none => none.insert(self.folder.file(&name).with_context(cannot)?),
                };
                file.write_all(bytes).with_context(cannot)
            }
            Piece::End => {
                if let Some(file) = self.file.take() {
                    file.sync_all().with_context(cannot)?;
                }
                self.ended += 1;
                Ok(())
            }
        }
    }
}
