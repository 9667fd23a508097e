//! Documents as columns of Parquet: one file, or a folder of files of bounded size.

use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result};
use simdb::external::SearchKeys;
use simdb::{Document, Recipe};

use super::rows::copies_text;
use crate::console::file::OutputFolder;
use crate::formats::RELIABLE_FIELD;
use crate::formats::parquet::metadata::{
    DOCUMENTS_KEY, FINGERPRINT_COLUMN, FORMAT, FORMAT_KEY, ID_COLUMN, SEARCH_KEYS_KEY,
    UNRELIABLE_KEY, pair, recipe_pairs,
};
use crate::formats::parquet::write::{ByteSink, GROUP_ROWS, NewColumn, ParquetWriter, Value};

/// At most 16,777,216 documents in a file of a folder: some 150 MB.
const PART_ROWS: u64 = 16 * GROUP_ROWS as u64;

/// The columns of an export beside ids and fingerprints.
#[derive(Clone, Copy, Default)]
pub struct MoreColumns {
    /// The column that marks documents with unreliable fingerprints.
    pub reliable: bool,
    /// The text and the columns of [`SearchKeys`].
    pub similar: bool,
    /// The column `key`.
    pub keys: bool,
    /// The column `scope`, empty for the empty scope.
    pub scopes: bool,
    /// The column `copies`, JSON, empty without a copy.
    pub copies: bool,
}

const SIMILAR_COLUMNS: [NewColumn; 15] = [
    NewColumn::Small("letters"),
    NewColumn::Small("classes"),
    NewColumn::Small("max_entries"),
    NewColumn::Small("max_seconds"),
    NewColumn::Small("max_sketch_distance"),
    NewColumn::Small("characters"),
    NewColumn::Bits("sketch_1"),
    NewColumn::Bits("sketch_2"),
    NewColumn::Bits("other_1"),
    NewColumn::Bits("other_2"),
    NewColumn::Bytes("wording"),
    NewColumn::Text("text"),
    NewColumn::List("keys"),
    NewColumn::List("seconds"),
    NewColumn::List("others"),
];

pub struct ParquetDocuments {
    file: ParquetWriter,
    more: MoreColumns,
}

impl ParquetDocuments {
    /// Starts a file of fingerprints of this recipe.
    pub fn new(recipe: &Recipe, more: MoreColumns) -> Result<Self> {
        let mut columns = vec![
            NewColumn::Ascending(ID_COLUMN),
            NewColumn::Bits(FINGERPRINT_COLUMN),
        ];
        let mut unreliable = "left out";
        if more.reliable {
            columns.push(NewColumn::Boolean(RELIABLE_FIELD));
            unreliable = "marked";
        }
        if more.keys {
            columns.push(NewColumn::Text("key"));
        }
        if more.scopes {
            columns.push(NewColumn::Text("scope"));
        }
        if more.copies {
            columns.push(NewColumn::Text("copies"));
        }
        let mut keys = recipe_pairs(recipe);
        keys.push(pair(FORMAT_KEY, FORMAT));
        keys.push(pair(UNRELIABLE_KEY, unreliable));
        if more.similar {
            columns.extend(SIMILAR_COLUMNS);
            keys.push(pair(SEARCH_KEYS_KEY, SearchKeys::description()));
        }
        let file = ParquetWriter::new(&columns, keys)?;
        Ok(Self { file, more })
    }

    pub fn push(&mut self, document: &Document, sink: &mut ByteSink<'_>) -> Result<()> {
        let (id, fingerprint) = (document.id.0, document.fingerprint.bits());
        let mut row = vec![Value::Word(id), Value::Word(fingerprint)];
        if self.more.reliable {
            row.push(Value::Word(document.reliable.into()));
        }
        if self.more.keys {
            let key = document.key.as_deref().unwrap_or_default();
            row.push(Value::Bytes(key.as_bytes()));
        }
        if self.more.scopes {
            let scope = document.scope.as_deref().unwrap_or_default();
            row.push(Value::Bytes(scope.as_bytes()));
        }
        let copies = copies_text(document)?;
        if self.more.copies {
            row.push(Value::Bytes(copies.as_bytes()));
        }
        if !self.more.similar {
            return self.file.push_values(row, sink);
        }
        let text = document.text.as_deref().unwrap_or_default();
        let made = SearchKeys::new(text);
        let small = [
            made.letters,
            made.classes.into(),
            made.max_entries,
            made.max_seconds,
            made.max_sketch_distance,
            made.characters.into(),
        ];
        row.extend(small.map(|number| Value::Word(number.into())));
        row.extend(made.sketch.map(Value::Word));
        row.extend(made.other_sketch.map(Value::Word));
        row.extend([
            Value::Bytes(&made.wording),
            Value::Bytes(text.as_bytes()),
            Value::List(&made.keys),
            Value::List(&made.seconds),
            Value::List(&made.others),
        ]);
        self.file.push_values(row, sink)
    }

    pub fn finish(mut self, sink: &mut ByteSink<'_>) -> Result<()> {
        let documents = self.file.rows().to_string();
        self.file.add_key(pair(DOCUMENTS_KEY, documents));
        self.file.finish(sink)
    }
}

/// The files `part-00000.parquet` and so on of a folder.
pub struct ParquetFolder<'f> {
    folder: &'f OutputFolder,
    recipe: &'f Recipe,
    more: MoreColumns,
    part: Option<(ParquetDocuments, File)>,
    /// The number of the open file, or of the next file.
    number: u32,
}

impl<'f> ParquetFolder<'f> {
    pub fn new(folder: &'f OutputFolder, recipe: &'f Recipe, more: MoreColumns) -> Self {
        Self {
            folder,
            recipe,
            more,
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
            if documents.file.rows() == PART_ROWS {
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
        let documents = ParquetDocuments::new(self.recipe, self.more)?;
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
