//! [`InputOptions`]: the options of verbs that read a corpus.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use crate::corpus::inputs::{Input, inputs, refuse_unused_first_id};
use crate::formats::id_sequence::IdSequence;
use crate::formats::{DocumentFields, Format, Wanted, parse_id};
use crate::options::FieldNames;

/// The inputs of a corpus, and the fields of their records.
#[derive(Clone, Debug, Args)]
pub struct InputOptions {
    /// Files of documents, read in this order, and folders of Parquet files; `-` is standard input.
    /// .gz and .zst are decompressed
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// The format of the inputs: jsonl, csv, tsv, lines or parquet [default: by the extension of
    /// each; standard input: jsonl]
    #[arg(long, value_enum, help_heading = "Input")]
    format: Option<Format>,

    #[command(flatten)]
    pub fields: FieldNames,

    /// The records have no ids: the id of a record is its number, counted over all inputs
    #[arg(long, conflicts_with = "id", help_heading = "Input")]
    pub no_id: bool,

    /// The id of the first line in the format `lines`, or of the first record with --no-id; later
    /// ids count up, over all inputs [default: 1]
    #[arg(
        long,
        value_name = "ID",
        value_parser = parse_id,
        help_heading = "Input"
    )]
    first_id: Option<u64>,
}

/// Returns `true` if a file begins with the magic number of a database.
fn begins_as_database(path: &Path) -> bool {
    let mut start = [0; 6];
    // A pipe would lose its first bytes.
    path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start == *b"simdb\x89"
}

impl InputOptions {
    pub fn inputs(&self) -> Result<Vec<Input>> {
        let inputs = inputs(&self.inputs, self.format, &self.fields)?;
        refuse_unused_first_id(self.first_id, self.no_id, &inputs)?;
        Ok(inputs)
    }

    /// The input, if it is the only one and a database: `FILE.simdb`, or a file of another name
    /// that is no format and begins as a database.
    pub fn database(&self) -> Option<&Path> {
        let [path] = self.inputs.as_slice() else {
            return None;
        };
        let is_named = path.extension().is_some_and(|ending| ending == "simdb");
        let is_database = is_named || Format::of(path).is_err() && begins_as_database(path);
        (is_database && self.format.is_none()).then_some(path)
    }

    /// The fields of a document, which must differ.
    pub fn document_fields(&self) -> Result<DocumentFields> {
        Ok(DocumentFields {
            are_counted: self.no_id,
            ..self.fields.fields()?
        })
    }

    /// The parts of records that are read.
    pub fn wanted(&self, fields: DocumentFields) -> Wanted {
        Wanted {
            fields,
            // Formats with ids of their own ignore the counted ones.
            counted: Some(IdSequence::new(self.first_id.unwrap_or(1))),
            ids: None,
        }
    }

    /// Returns `true` if the records have texts, and neither fingerprints nor features.
    pub fn reads_texts(&self) -> bool {
        self.fields.reads_texts()
    }

    /// Returns `true` if the records have texts.
    pub fn has_texts(&self) -> bool {
        self.fields.fingerprint.is_none() || !self.fields.text.is_empty()
    }

    /// The field of the texts, the first of several.
    pub fn text_field(&self) -> String {
        let name = self.fields.text.first();
        name.map_or_else(|| "text".to_owned(), String::clone)
    }
}
