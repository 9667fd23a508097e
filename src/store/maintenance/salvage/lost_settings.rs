//! [`Evidence`]: the settings of a database that has lost them, as its readable parts show them.
//!
//! A setting that is missed loses the data of all documents, and turns rows of keys into documents.
//! The recipe, a window and the number of texts with a frame are in no other part of the file.

use std::collections::BTreeSet;

use redb::TableHandle;

use super::join::key_facts;
use super::source::{DamagedFile, OpenFile, SourceContent};
use super::wal_overlay::WalOverlay;
use crate::copies::Copies;
use crate::error::Result;
use crate::ids::DocId;
use crate::ids::scope::ScopeNumber;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::record::Record;
use crate::store::disk::path::DbPath;
use crate::store::tables::frames::FRAMES;
use crate::store::tables::keys::FIRST_GROUP;
use crate::store::tables::meta::Header;
use crate::store::tables::packed::damaged_ranges::{Part, rows_past_damage};
use crate::store::tables::schema::{COPIED, KEYS, REFUSED, TEXT_KEYS, TEXTS, TIMES};
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

    fn take_journals(&mut self, overlay: &WalOverlay) {
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

    fn has(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// The settings that the parts show, and those asked for.
    fn header(&self, asked: Header) -> Header {
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

/// The settings of a new database, as a list.
fn listed(header: &Header) -> String {
    let copies = format!("copies of which {} are stored", header.copies);
    let settings = [
        (header.keys, "keys"),
        (header.scopes, "scopes"),
        (header.fields, "fields"),
        (header.keep_texts, "texts"),
        (header.text_keys.is_some(), "similar search"),
        (header.retention.is_some(), "arrival times"),
        (header.copies > 0, &copies),
    ];
    let kept = settings.into_iter().filter(|(is_kept, _)| *is_kept);
    let names: Vec<&str> = kept.map(|(_, name)| name).collect();
    names.join(", ")
}

impl DamagedFile {
    /// The settings of a database whose header is lost: the settings that its readable parts show,
    /// and `asked`.
    pub(crate) fn lost_header(
        &mut self,
        asked: Header,
        target: &DbPath,
        progress: &ProgressHandler,
    ) -> Result<Header> {
        let reporter = ProgressReporter::new(progress, Stage::Salvage, None, target.path());
        let mut evidence = Evidence::default();
        match &self.content {
            SourceContent::Tables(file) => {
                file.show_settings(&mut evidence, &self.db_path, &reporter)?;
            }
            SourceContent::Pages(pages) => {
                pages.show_settings(&mut evidence, &self.db_path, &reporter)?;
            }
        }
        evidence.take_journals(&self.overlay);
        let (asked_window, asked_frames) = (asked.retention.is_some(), asked.frames > 0);
        let header = evidence.header(asked);
        let kept = match listed(&header) {
            empty if empty.is_empty() => "fingerprints alone".to_owned(),
            kept => kept,
        };
        (self.damage).push(format!(
            "the settings are lost: the new database keeps {kept}"
        ));
        self.lost_window = header.retention.is_some() && !asked_window;
        for (is_lost, what) in [
            (
                self.lost_window,
                "the window of the arrival times, if there was one, is lost; name it to keep it",
            ),
            (
                self.lost_window && header.copies > 0,
                "table refused is not read: its values depend on the window; name the window, or \
                 arrival times without one, to keep the refused documents",
            ),
            (
                evidence.has(FRAMES.name()) && !asked_frames,
                "the frames are lost; name the number of texts with a frame to learn them again",
            ),
        ] {
            self.damage.extend(is_lost.then(|| what.to_owned()));
        }
        Ok(header)
    }
}

impl OpenFile {
    fn show_settings(
        &self,
        evidence: &mut Evidence,
        db_path: &DbPath,
        reporter: &ProgressReporter,
    ) -> Result<()> {
        // A table that cannot be read is reported when its rows are.
        for name in db_path
            .catch_failed_reads(|| self.table_names(db_path))
            .unwrap_or_default()
        {
            evidence.take_table(&name);
        }
        let Some(rows) = self.table(TEXTS, db_path, &mut Vec::new()) else {
            return Ok(());
        };
        for part in rows_past_damage(&rows, 0, db_path) {
            if let Part::Read((id, sealed)) = part? {
                evidence.take_row(id, &sealed, db_path);
            }
            reporter.report()?;
        }
        Ok(())
    }
}
