//! [`KeyOptions`]: the fields that hold the key, the scope and the kept fields of a document.

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use clap::Args;
use simdb::Settings;

use crate::formats::DocumentFields;

/// The options of documents with keys, scopes and fields.
#[derive(Clone, Debug, Args)]
pub struct KeyOptions {
    /// The field or column that holds the key of a document, such as its URL, in place of an id
    ///
    /// A key is a string of 1 to 1,024 bytes, or an integer. A new database has keys if this option
    /// is given, and simdb gives the ids, in ascending order. A key that is stored already is
    /// treated as a stored id.
    #[arg(
        long,
        value_name = "FIELD",
        conflicts_with = "id",
        help_heading = "Input"
    )]
    pub key: Option<String>,

    /// The field or column that holds the scope of a document, such as its language or its tenant
    ///
    /// A scope is a string of at most 64 bytes; a document without it, or with null, is in the
    /// empty scope. Queries can be limited to scopes, and --unique compares a document with the
    /// documents of its scope. A new database has scopes if this option is given.
    #[arg(long, value_name = "FIELD", requires = "key", help_heading = "Input")]
    pub scope: Option<String>,

    /// Fields to keep with each document, separated by commas: title,meta.source
    ///
    /// A field of JSON Lines may hold an object, as `fields` in an export: each field of the object
    /// is kept, as of a column `fields` of CSV and TSV that is a JSON object. Two fields of one
    /// name are an error. The inputs are JSON Lines, CSV or TSV. Nulls are not kept, nor
    /// empty values of CSV and TSV. At most 64 KiB for each document. A new database keeps fields
    /// if this option is given.
    #[arg(
        long,
        value_name = "FIELD",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub keep: Vec<String>,

    /// The field or column that holds the copies of a document, as `copies` in an export, or the
    /// fields of their number, first time and last time, as `dedup --with-copies` writes them
    ///
    /// An object, its JSON in a string, or a number; null or an empty string without a copy.
    /// Without times, copies were seen when the document arrived. With --unique, a document that is
    /// dropped brings its copies to the document that it repeats. The database must count copies:
    /// see --copies.
    #[arg(
        long,
        value_name = "FIELD[,FIRST,LAST]",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub copies_from: Vec<String>,
}

impl KeyOptions {
    /// The fields of documents with these keys and kept fields.
    pub fn fields(&self, fields: DocumentFields) -> Result<DocumentFields> {
        let names = [&fields.fingerprint, &fields.features, &fields.time].into_iter();
        let names: Vec<_> = names.flatten().chain(fields.text_names()).collect();
        let is_named =
            |name: &Option<String>| name.as_ref().is_some_and(|name| names.contains(&name));
        ensure!(
            !is_named(&self.key),
            "--key, --text, --fingerprint, --features and --time must name different fields"
        );
        ensure!(
            self.scope.is_none() || self.scope != self.key && !is_named(&self.scope),
            "--scope names a field of another option; it must be a field of its own"
        );
        let others = names
            .into_iter()
            .chain([&self.key, &self.scope].into_iter().flatten());
        let own_id = self.key.is_none().then_some(&fields.id);
        let mut seen: HashSet<&String> = others.chain(own_id).collect();
        ensure!(
            self.copies_from.iter().all(|name| seen.insert(name)),
            "--copies-from names a field twice, or a field of another option; each must be a field of its own"
        );
        let (copies, copies_times) = match &self.copies_from[..] {
            [] => (None, None),
            [copies] => (Some(copies.clone()), None),
            [copies, first, last] => (Some(copies.clone()), Some([first.clone(), last.clone()])),
            _ => bail!("--copies-from takes one field, or three: COPIES,FIRST,LAST"),
        };
        Ok(DocumentFields {
            key: self.key.clone(),
            scope: self.scope.clone(),
            keep: self.keep.clone(),
            copies,
            copies_times,
            ..fields
        })
    }

    /// The settings of a new database for such documents.
    pub fn settings(&self, settings: Settings) -> Settings {
        Settings {
            keys: self.key.is_some(),
            scopes: self.scope.is_some(),
            fields: !self.keep.is_empty(),
            ..settings
        }
    }

    /// Refuses a database with ids if keys are read, one with keys if ids are, and one without
    /// scopes or fields if they are read.
    pub fn refuse_unkept(&self, settings: &Settings) -> Result<()> {
        match (&self.key, settings.keys) {
            (Some(_), false) => bail!(
                "--key needs a database whose documents have keys; load into a new database, or name \
                 the field of the ids with --id"
            ),
            (None, true) => bail!(
                "the documents of this database have keys; name the field of the keys with --key"
            ),
            _ => {}
        }
        ensure!(
            self.scope.is_none() || settings.scopes,
            "--scope needs a database with scopes; load into a new database, or leave --scope out"
        );
        ensure!(
            self.keep.is_empty() || settings.fields,
            "--keep needs a database that keeps fields; load into a new database, or leave --keep out"
        );
        ensure!(
            self.copies_from.is_empty() || settings.copies.is_some(),
            "--copies-from needs a database that counts copies; load into a new database with --copies"
        );
        Ok(())
    }
}
