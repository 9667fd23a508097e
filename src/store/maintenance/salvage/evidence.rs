//! [`Evidence`]: what the readable parts of a damaged file show of its settings.

use std::collections::BTreeSet;

use super::join::key_facts;
use super::wal_overlay::WalOverlay;
use crate::copies::Copies;
use crate::ids::DocId;
use crate::ids::scope::ScopeNumber;
use crate::record::Record;
use crate::store::disk::path::DbPath;
use crate::store::tables::keys::FIRST_GROUP;
use crate::store::tables::meta::Header;
use crate::store::tables::schema::{COPIED, KEYS, REFUSED, TEXT_KEYS, TIMES};
use crate::store::tables::{text_keys, texts};

#[derive(Default)]
pub(super) struct Evidence {
    /// The names of tables that the file has, or of which a chunk is found.
    tables: BTreeSet<String>,
    texts: bool,
    arrivals: bool,
    keys: bool,
    fields: bool,
    scopes: bool,
    copies: bool,
    /// The most copies that a document has stored.
    newest_copies: usize,
}

impl Evidence {
    /// Takes a table that the file has.
    pub(super) fn take_table(&mut self, name: &str) {
        if !self.tables.contains(name) {
            self.tables.insert(name.to_owned());
        }
    }

    /// Takes a row of table `texts` that matches its checksum.
    pub(super) fn take_row(&mut self, row: u64, sealed: &[u8], db_path: &DbPath) {
        let keys = match row {
            FIRST_GROUP.. => key_facts(DocId(row), sealed, db_path).unwrap_or_default(),
            _ => Vec::new(),
        };
        for (id, _) in &keys {
            self.take_key(DocId(*id));
        }
        if keys.is_empty()
            && let Ok(record) = texts::decode(DocId(row), sealed, db_path)
        {
            self.take_record(&record);
        }
    }

    fn take_key(&mut self, id: DocId) {
        self.keys = true;
        self.scopes |= ScopeNumber::of(id) != ScopeNumber::default();
    }

    fn take_record(&mut self, record: &Record) {
        self.texts |= record.has_text();
        self.fields |= record.fields().is_some();
        if let Some(copies) = record.copies() {
            self.take_copies(&copies);
        }
    }

    fn take_copies(&mut self, copies: &Copies) {
        self.copies = true;
        self.newest_copies = self.newest_copies.max(copies.newest.len());
    }

    /// Takes the documents of the journals.
    pub(super) fn take_journals(&mut self, overlay: &WalOverlay) {
        self.copies |= !overlay.refused.is_empty();
        for (id, document) in &overlay.documents {
            let arrival = document.state.and_then(|state| state.arrival);
            self.arrivals |= arrival.is_some();
            if let Some(copies) = &document.copies {
                self.take_copies(copies);
            }
            if let Some(record) = document.text.record() {
                self.take_record(record);
                if record.key().is_some() {
                    self.take_key(DocId(*id));
                }
            }
        }
    }

    /// Returns `true` for a table that was taken.
    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// The settings that the parts show, and those asked for.
    pub(super) fn header(&self, asked: Header) -> Header {
        let has_text_keys = self.has(TEXT_KEYS.id.name);
        let has_arrivals = self.arrivals || self.has(TIMES.id.name);
        let has_copies = self.copies || self.has(COPIED.id.name) || self.has(REFUSED.id.name);
        Header {
            keep_texts: asked.keep_texts || self.texts || has_text_keys,
            text_keys: (asked.text_keys).or_else(|| has_text_keys.then(text_keys::description)),
            retention: (asked.retention).or_else(|| has_arrivals.then(Default::default)),
            keys: asked.keys || self.keys || self.has(KEYS.id.name),
            fields: asked.fields || self.fields,
            copies: match asked.copies {
                0 if has_copies => self.newest_copies.max(1) as u16,
                newest => newest,
            },
            scopes: asked.scopes || self.scopes,
            ..asked
        }
    }
}
