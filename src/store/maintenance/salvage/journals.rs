//! What the journals of a damaged database hold.

use std::collections::BTreeMap;

use super::open::Damaged;
use crate::store::disk::path::message_without_path;
use crate::store::journal::{Identity, Journal, Lookup};
use crate::store::tables::edit::{DocumentEdit, StoredDocument, TextEdit};

/// What the last changes of a document come to.
pub(super) struct WalOverlay {
    /// Nothing if it was removed.
    pub(super) state: Option<StoredDocument>,
    pub(super) text: TextEdit,
    /// The text it had before, where it keeps that.
    pub(super) kept: Option<String>,
}

impl Damaged {
    /// The documents that were changed last, by their ids. Of a journal that is damaged, what comes
    /// before the damage.
    pub(super) fn late_changes(&mut self) -> BTreeMap<u64, WalOverlay> {
        let mut late = BTreeMap::new();
        let file = match self.db_path.disk().resolve(self.db_path.path()) {
            Ok(file) => file,
            Err(error) => {
                self.damage
                    .push(format!("its journals cannot be found: {error}"));
                return late;
            }
        };
        // There must be the first, and each that the one before it says follows.
        let mut missed: Vec<u64> = self.first_open().into_iter().collect();
        for generation in self.generations(&file) {
            let sought = match self.identity {
                Some(database) => Identity {
                    database,
                    generation,
                },
                None => continue,
            };
            let mut take = |edits: Vec<DocumentEdit>, _| {
                edits.into_iter().for_each(|edit| note(&mut late, edit));
                Ok(())
            };
            match Journal::read(&file, sought, &self.db_path, &mut take) {
                Ok(Lookup::Found(is_sealed)) => {
                    missed.retain(|missed| *missed != generation);
                    missed.extend(is_sealed.then_some(generation + 1));
                }
                // There need not be a second one.
                Ok(Lookup::Missing | Lookup::Other(_)) => {}
                Err(error) => {
                    missed.retain(|missed| *missed != generation);
                    self.damage.push(message_without_path(&error));
                }
            }
        }
        for generation in missed {
            let path = Journal::path(&file, generation);
            self.damage
                .push(format!("the journal {} is missing", path.display()));
        }
        late
    }

    /// Whether a journal lies beside the file, whosever it is.
    pub(super) fn has_journal(&self) -> bool {
        let Ok(file) = self.db_path.disk().resolve(self.db_path.path()) else {
            return false;
        };
        let is_there =
            |number| matches!(Journal::owner_of(&file, number, &self.db_path), Ok(Some(_)));
        [1, 2].into_iter().any(is_there)
    }

    /// The generations to be read, in order. Where the file does not say which they are, all there
    /// are: what was merged already comes to the same.
    fn generations(&mut self, file: &std::path::Path) -> Vec<u64> {
        let mut found = Vec::new();
        for number in [1, 2] {
            match Journal::owner_of(file, number, &self.db_path) {
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
        // Also where what is in the file does not say that it is one of them.
        if let Some(first) = self.first_open() {
            found.extend([first, first + 1]);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The first generation that is not merged, if the file says that there is one.
    fn first_open(&self) -> Option<u64> {
        let mark = self.mark.filter(|mark| mark.open)?;
        Some(mark.merged_generation + 1)
    }
}

fn note(late: &mut BTreeMap<u64, WalOverlay>, edit: DocumentEdit) {
    let DocumentEdit {
        id, after, text, ..
    } = edit;
    match late.get_mut(&id.0) {
        Some(known) => {
            known.state = after;
            if text != TextEdit::Keep {
                known.text = text;
            }
        }
        None => {
            let state = after;
            let kept = None;
            late.insert(id.0, WalOverlay { state, text, kept });
        }
    }
}
