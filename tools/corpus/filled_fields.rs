//! [`FilledFields`]: the optional fields that have a value in some record.

use crate::console::note;
use crate::formats::DocumentFields;

/// The optional fields that have a value in some record.
#[derive(Debug, Default)]
pub struct FilledFields {
    has_records: bool,
    has_kept: bool,
    has_scope: bool,
    has_copies: bool,
    /// A bit for each of several fields of texts.
    texts: u8,
}

impl FilledFields {
    /// Adds a record that has kept fields, a scope, copies.
    pub fn add(&mut self, has_kept: bool, has_scope: bool, has_copies: bool) {
        self.has_records = true;
        self.has_kept |= has_kept;
        self.has_scope |= has_scope;
        self.has_copies |= has_copies;
    }

    /// Adds the fields of the text of a record: a bit for each that is not empty.
    pub fn add_texts(&mut self, text_fields: u8) {
        self.texts |= text_fields;
    }

    /// Adds a bad record: the copies that its reason names are there.
    pub fn add_bad(&mut self, reason: &str, fields: &DocumentFields) {
        let copies = fields.copies.as_ref();
        self.has_copies |= copies.is_some_and(|name| reason.contains(&format!("{name:?}")));
    }

    /// Warns of each option whose fields have no value in any record. A name that is misspelt would
    /// lose the values of all documents without a word.
    pub fn warn_of_empty(&self, fields: &DocumentFields) {
        for (index, name) in fields.text_names().enumerate() {
            if self.texts > 0 && self.texts & 1 << index == 0 {
                note(format_args!(
                    "warning: no record has a text in the field of --text: {name}"
                ));
            }
        }
        for (option, names, is_found, value) in [
            ("--keep", &fields.keep[..], self.has_kept, "a value"),
            (
                "--scope",
                fields.scope.as_slice(),
                self.has_scope,
                "a value",
            ),
            // A number of 0 is no copy.
            (
                "--copies-from",
                fields.copies.as_slice(),
                self.has_copies,
                "copies",
            ),
        ] {
            if self.has_records && !is_found && !names.is_empty() {
                let names = names.join(", ");
                note(format_args!(
                    "warning: no record has {value} in the field of {option}: {names}"
                ));
            }
        }
    }
}
