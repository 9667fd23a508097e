//! [`Restorer`]: makes documents of what was found, and writes them to a new database.

use std::ops::ControlFlow;

use super::Salvage;
use super::join::{JoinedDocument, SourceJoin};
use super::scopes::LostScopes;
use super::wal_overlay::WalOverlay;
use crate::document::Document;
use crate::error::Result;
use crate::ids::{DocId, Fingerprint};
use crate::progress::{ProgressHandler, ProgressReporter};
use crate::record::Record;
use crate::store::bulk::Load;
use crate::store::disk::path::DbPath;
use crate::store::tables::edit::TextEdit;
use crate::store::tables::schema::Keeps;
use crate::store::tables::texts;

/// At most 100 ids of lost documents are reported, so a large loss takes no memory.
const MAX_LOST_IDS: usize = 100;

pub(super) struct Restorer<'s> {
    pub(super) db_path: &'s DbPath,
    /// Applies the recipe to a text, and returns `true` beside a reliable fingerprint.
    pub(super) fingerprint: &'s dyn Fn(&str) -> Option<(Fingerprint, bool)>,
    pub(super) keeps: Keeps,
    /// Keeps the keys of documents without a key apart from the keys that an earlier salvage of
    /// another file gave.
    pub(super) identity: u64,
    pub(super) scopes: LostScopes,
    pub(super) load: Load,
    pub(super) salvage: Salvage,
    pub(super) texts_of_lost_commits: u64,
}

impl Restorer<'_> {
    /// Writes the documents of the tables, then the documents that the journals change, when their
    /// texts in the tables are known. Returns the number of rows with a text.
    pub(super) fn push_all(
        &mut self,
        documents: &mut SourceJoin<'_>,
        overlay: WalOverlay,
        reporter: &mut ProgressReporter,
    ) -> Result<u64> {
        let WalOverlay {
            documents: mut journaled,
            holders,
            ..
        } = overlay;
        // A lost commit has removed a document whose key a later one has.
        let is_removed = |id: u64, key: Option<&str>| {
            key.and_then(|key| holders.get(key))
                .is_some_and(|holder| *holder != id)
        };
        let mut rows = 0;
        while let Some(joined) = documents.next()? {
            rows += u64::from(joined.sealed_text.is_some());
            match journaled.get_mut(&joined.id.0) {
                None if is_removed(joined.id.0, joined.key.as_deref()) => {}
                None => self.push_joined(joined)?,
                Some(journaled) if journaled.text == TextEdit::Keep => {
                    let record = self.record(&joined);
                    let text = record.as_ref().filter(|record| record.has_text());
                    let made = || Some((self.fingerprint)(text?.text())?.0);
                    let own = joined.fingerprint.or_else(made);
                    journaled.keep(own, record, joined.key);
                }
                Some(_) => {}
            }
            reporter.step()?;
        }
        for (id, journaled) in journaled {
            let has_lost_text = self.keeps.has_texts_table() && journaled.has_lost_text();
            if let Some(document) = journaled.into_document(DocId(id))
                && !is_removed(id, document.key.as_deref())
            {
                self.texts_of_lost_commits += u64::from(has_lost_text);
                self.push(document)?;
            }
        }
        Ok(rows)
    }

    /// Makes the new file durable.
    pub(super) fn finish(
        mut self,
        damage: Vec<String>,
        progress: &ProgressHandler,
    ) -> Result<Salvage> {
        self.salvage.damage = damage;
        self.salvage.without_text += self.texts_of_lost_commits;
        // The join yields each id once, and each key has one holder, so there are no conflicts.
        let go_on = &mut |_| ControlFlow::Continue(());
        self.salvage.documents = self.load.finish(progress, go_on)?.inserted;
        Ok(self.salvage)
    }

    /// Writes the document of the facts in the tables, and counts a document without a fingerprint.
    fn push_joined(&mut self, joined: JoinedDocument) -> Result<()> {
        let Some(document) = self.document(joined) else {
            return Ok(());
        };
        let lacks_arrival = self.keeps.arrivals && document.arrival.is_none();
        self.salvage.without_arrival += u64::from(lacks_arrival);
        self.push(document)
    }

    /// Writes a document, and gives it a key if its key is lost.
    fn push(&mut self, mut document: Document) -> Result<()> {
        if self.keeps.keys && document.key.is_none() {
            let identity = self.identity;
            document.key = Some(format!("salvaged:{}:{identity:016x}", document.id));
            self.salvage.without_key += 1;
        }
        self.scopes.restore(&mut document, &self.load);
        self.load.push(document)
    }

    /// Returns the record of a document, and counts a lost or damaged one.
    fn record(&mut self, joined: &JoinedDocument) -> Option<Record> {
        let sealed = joined.sealed_text.as_ref();
        let text = sealed.map(|sealed| texts::decode(joined.id, sealed, self.db_path));
        let is_lost = joined.lost_text || matches!(text, Some(Err(_)));
        self.salvage.without_text += u64::from(is_lost);
        text?.ok()
    }

    fn document(&mut self, joined: JoinedDocument) -> Option<Document> {
        let record = self.record(&joined);
        let text = record.as_ref().filter(|record| record.has_text());
        let made = || (self.fingerprint)(text?.text());
        let (fingerprint, reliable) = match (joined.fingerprint, joined.reliable) {
            (Some(found), Some(reliable)) => (found, reliable),
            // Without a text to decide, reliable: most documents are.
            (Some(found), None) => (found, made().is_none_or(|(_, reliable)| reliable)),
            (None, found_reliable) => {
                let Some((made, reliable)) = made() else {
                    self.salvage.without_fingerprint += 1;
                    if self.salvage.lost_ids.len() < MAX_LOST_IDS {
                        self.salvage.lost_ids.push(joined.id);
                    }
                    return None;
                };
                self.salvage.from_text += 1;
                (made, reliable && found_reliable != Some(false))
            }
        };
        self.salvage.from_one_table += u64::from(joined.is_from_block0);
        self.salvage.ambiguous += u64::from(joined.is_ambiguous);
        let document = Document {
            reliable,
            arrival: joined.arrival,
            ..Document::new(joined.id, fingerprint)
        };
        let document = document.with_record(record);
        let key = joined.key;
        Some(Document { key, ..document })
    }
}
