//! [`WalOverlay`]: the documents that the journals of a damaged database change.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::journals::owners;
use super::source::DamagedFile;
use crate::copies::Copies;
use crate::document::Document;
use crate::ids::scope::ScopeNumber;
use crate::ids::{DocId, Timestamp};
use crate::record::Record;
use crate::store::disk::path::message_without_path;
use crate::store::journal::{Identity, Journal, Lookup};
use crate::store::tables::edit::{DocumentEdit, Refused, StoredDocument, TextEdit};

#[derive(Default)]
pub(super) struct WalOverlay {
    /// By id.
    pub(super) documents: BTreeMap<u64, JournaledDocument>,
    /// The refused documents, the last refusal last.
    pub(super) refused: Vec<Refused>,
    pub(super) latest_arrival: Option<Timestamp>,
}

/// The edits of one document, added up.
pub(super) struct JournaledDocument {
    /// `None` if the document is removed.
    pub(super) state: Option<StoredDocument>,
    pub(super) text: TextEdit,
    /// The copies, if an edit sets them.
    pub(super) copies: Option<Arc<Copies>>,
    /// The text or the record in the tables, if `text` keeps that.
    pub(super) kept_text: Option<Record>,
    /// The key in the tables, if `text` keeps the record.
    pub(super) kept_key: Option<String>,
}

impl JournaledDocument {
    /// The document; `None` if it is removed.
    pub(super) fn into_document(self, id: DocId) -> Option<Document> {
        let state = self.state?;
        let record = match self.text {
            TextEdit::Put(keyed) => Some(keyed.record().clone()),
            TextEdit::Keep => self.kept_text,
            TextEdit::Remove => None,
        };
        let document = Document {
            reliable: state.reliable,
            arrival: state.arrival,
            ..Document::new(id, state.fingerprint)
        };
        let mut document = document.with_record(record);
        document.key = document.key.or(self.kept_key);
        document.copies = self.copies.map(Arc::unwrap_or_clone).or(document.copies);
        Some(document)
    }
}

impl DamagedFile {
    /// Replays the journals, a damaged one up to the damage.
    pub(super) fn wal_overlay(&mut self) -> WalOverlay {
        let mut overlay = WalOverlay::default();
        let file = match self.db_path.disk().resolve(self.db_path.path()) {
            Ok(file) => file,
            Err(error) => {
                self.damage
                    .push(format!("its journals cannot be found: {error}"));
                return overlay;
            }
        };
        // The first unflushed journal must exist, and the successor of each sealed one.
        let mut missing: Vec<u64> = self.first_unflushed().into_iter().collect();
        for generation in self.generations(&file) {
            let Some(database) = self.identity else {
                break;
            };
            let wanted = Identity {
                database,
                generation,
            };
            let read = Journal::read(&file, wanted, &self.db_path, &mut |edits, totals| {
                overlay.latest_arrival = overlay.latest_arrival.max(totals.latest_arrival);
                for edit in edits {
                    if let Some(name) = edit.text.record().and_then(Record::scope) {
                        // A name of a damaged table that is not right stays: the scope has a name.
                        self.scopes.set(ScopeNumber::of(edit.id), name);
                    }
                    add(&mut overlay, edit);
                }
                Ok(())
            });
            match read {
                Ok(Lookup::Found(is_sealed)) => {
                    missing.retain(|missing| *missing != generation);
                    missing.extend(is_sealed.then_some(generation + 1));
                }
                // The successor of an unsealed journal need not exist.
                Ok(Lookup::Missing | Lookup::Other(_)) => {}
                Err(error) => {
                    missing.retain(|missing| *missing != generation);
                    self.damage.push(message_without_path(&error));
                }
            }
        }
        self.damage.extend(missing.into_iter().map(|generation| {
            let path = Journal::path(&file, generation);
            format!("the journal {} is missing", path.display())
        }));
        overlay
    }

    /// The generations to replay, in order. All of them without a journal mark: replaying a flushed
    /// generation is harmless.
    fn generations(&mut self, file: &Path) -> Vec<u64> {
        let mut found = Vec::new();
        for owner in owners(file, &self.db_path) {
            match owner {
                Ok(Some(owner)) if self.identity.is_none_or(|own| own == owner.database) => {
                    self.identity = Some(owner.database);
                    found.push(owner.generation);
                }
                Ok(_) => {}
                Err(error) => self.damage.push(message_without_path(&error)),
            }
        }
        if let Some(mark) = self.mark {
            found.retain(|generation| *generation > mark.merged_generation);
        }
        // A journal with a damaged header has no owner, and must be named as damaged.
        if let Some(first) = self.first_unflushed() {
            found.extend([first, first + 1]);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn first_unflushed(&self) -> Option<u64> {
        let mark = self.mark.filter(|mark| mark.open)?;
        Some(mark.merged_generation + 1)
    }
}

fn add(overlay: &mut WalOverlay, edit: DocumentEdit) {
    overlay.refused.extend(edit.refused());
    let document = overlay
        .documents
        .entry(edit.id.0)
        .or_insert(JournaledDocument {
            state: None,
            text: TextEdit::Keep,
            copies: None,
            kept_text: None,
            kept_key: None,
        });
    document.state = edit.after;
    let copies = edit.new_copies().cloned();
    if edit.text != TextEdit::Keep {
        document.text = edit.text;
        document.copies = None;
    }
    document.copies = copies.or(document.copies.take());
}
