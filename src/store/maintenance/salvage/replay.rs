//! The replay of the journals of a damaged database.

use std::cell::Cell;
use std::path::Path;

use super::journals::owners;
use super::source::DamagedFile;
use super::wal_overlay::WalOverlay;
use crate::ids::scope::ScopeNumber;
use crate::record::Record;
use crate::store::disk::path::message_without_path;
use crate::store::journal::{Identity, Journal, Lookup};
use crate::store::tables::edit::{DocumentEdit, Totals};

impl DamagedFile {
    /// Replays the journals, except for the commits that cannot be read.
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
        let has_lost_commits = Cell::new(false);
        for generation in self.generations(&file) {
            let Some(database) = self.identity else {
                break;
            };
            let wanted = Identity {
                database,
                generation,
            };
            let mut visitor = |edits: Vec<DocumentEdit>, totals: Totals| {
                overlay.latest_arrival = overlay.latest_arrival.max(totals.latest_arrival);
                for edit in edits {
                    if let Some(name) = edit.text.record().and_then(Record::scope) {
                        // A name of a damaged table that is not right stays: the scope has a name.
                        self.scopes.set(ScopeNumber::of(edit.id), name);
                    }
                    overlay.add(edit, has_lost_commits.get());
                }
                Ok(())
            };
            let mut on_damage = |error| {
                has_lost_commits.set(true);
                self.damage.push(message_without_path(&error));
                Ok(())
            };
            let db_path = &self.db_path;
            match Journal::read(&file, wanted, db_path, false, &mut visitor, &mut on_damage) {
                Ok(Lookup::Found(journal)) => {
                    missing.retain(|missing| *missing != generation);
                    missing.extend(journal.is_sealed().then_some(generation + 1));
                }
                // The successor of an unsealed journal need not exist.
                Ok(Lookup::Missing | Lookup::Other(_)) => {
                    has_lost_commits.set(has_lost_commits.get() || missing.contains(&generation));
                }
                Err(error) => {
                    has_lost_commits.set(true);
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
