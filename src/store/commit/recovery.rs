//! What a database that was not closed finds in its journals.

use parking_lot::{Condvar, Mutex};
use std::path::Path;
use std::sync::Arc;

use super::{CommitState, Memtables};
use crate::error::{Error, Result};
use crate::store::commit::write_lock::{ActiveLog, WriteLock, WriteState};
use crate::store::disk::path::DbPath;
use crate::store::journal::{Found, Identity, Journal};
use crate::store::memtable::Memtable;
use crate::store::tables::edit::{Counts, DocumentEdit};
use crate::store::tables::schema::JournalMark;
use crate::store::view::pool::Pool;

/// What to do about a journal that is newer than its file.
const REMOVE_NEWER_JOURNAL: &str = "if it is a copy that was put back, remove that journal; if not, \
                                    save what is left with `simdb-cli salvage`";

impl CommitState {
    /// Reads what journals there are. `for_writing` they are written on.
    pub(in crate::store) fn recover(
        identity: u64,
        mark: JournalMark,
        mut counts: Counts,
        db_path: &DbPath,
        pool: &Pool,
        for_writing: bool,
    ) -> Result<Self> {
        let file = db_path.disk().resolve(db_path.path());
        let file = file.map_err(db_path.io("find"))?;
        let mut memtables = Memtables {
            generation: mark.merged_generation,
            ..Memtables::default()
        };
        let mut state = WriteState::default();
        let merged = mark.merged_generation;
        // The journal of what is set aside.
        let mut before = None;
        // Whether the next must be there: the file says so of the first, and that of the second.
        let mut is_due = true;
        if !mark.open {
            refuse_if_in_use(&file, identity, merged, db_path)?;
        }
        for generation in merged.saturating_add(1)..=merged.saturating_add(2) {
            let sought = Identity {
                database: identity,
                generation,
            };
            if !mark.open {
                break;
            }
            match read_journal(&file, sought, db_path, for_writing)? {
                Found::Sought(found) => {
                    let memtable = Arc::new(Memtable::new());
                    let visible = pool.run(|| memtable.append(&found.edits));
                    counts = found.counts.unwrap_or(counts);
                    memtables.counts = Some(counts);
                    memtables.generation = generation;
                    if memtables.older.is_none() {
                        memtables.older = Some(memtable);
                        before = found.journal;
                        is_due = found.goes_on;
                    } else {
                        memtables.current = Some((Arc::clone(&memtable), visible));
                        state.active = found.journal.map(|journal| ActiveLog {
                            journal,
                            memtable,
                            counts,
                        });
                    }
                }
                Found::Missing | Found::Other(_) if is_due => {
                    return Err(Error::JournalMissing {
                        path: db_path.path().to_path_buf(),
                        journal: Journal::path(&file, generation),
                    });
                }
                Found::Other(other)
                    if other.database == identity && other.generation > generation =>
                {
                    let path = Journal::path(&file, generation);
                    return Err(db_path.corrupt_advising(
                        format!("its journal {} is of a later time", path.display()),
                        REMOVE_NEWER_JOURNAL,
                    ));
                }
                Found::Missing | Found::Other(_) => {}
            }
        }
        memtables.has_files = memtables.older.is_some();
        if let Some(before) = &mut before {
            // A merge of the first may have come half way: what it holds must stay as it is, and
            // what comes from now on goes into the next.
            let next = Identity {
                database: identity,
                generation: merged + 2,
            };
            let begun = match state.active.take() {
                Some(active) => Ok(active),
                None => Journal::begin(&file, next, db_path).map(|journal| {
                    let active = ActiveLog::new(journal, counts);
                    memtables.generation = next.generation;
                    memtables.current = Some(active.empty_memtable());
                    active
                }),
            };
            match begun.and_then(|active| before.go_on().map(|()| active)) {
                Ok(active) => state.active = Some(active),
                Err(error) => {
                    // All can be read.
                    memtables.is_poisoned = true;
                    memtables.background_error = Some(error);
                }
            }
        }
        Ok(Self {
            memtables: Mutex::new(memtables),
            memtables_changed: Condvar::new(),
            merging: Mutex::default(),
            write_lock: WriteLock::new(state),
            identity,
            file,
        })
    }
}

/// Refuses a later journal of a file that says there is none, if there are commits in it. It is
/// begun before the file is marked, but nothing is written to it before that: so it is the file
/// that is not what it was.
fn refuse_if_in_use(file: &Path, database: u64, merged: u64, db_path: &DbPath) -> Result<()> {
    for number in [1, 2] {
        // What is no journal, or another's, is in nobody's way before there is something to write.
        let Ok(Some(owner)) = Journal::owner_of(file, number, db_path) else {
            continue;
        };
        if owner.database != database || owner.generation <= merged {
            continue;
        }
        let mut holds_commits = false;
        let mut note = |_, _| {
            holds_commits = true;
            Ok(())
        };
        let _ = Journal::read(file, owner, db_path, &mut note);
        if holds_commits {
            let path = Journal::path(file, number);
            return Err(db_path.corrupt_advising(
                format!(
                    "it says that it was closed, but its journal {} holds commits",
                    path.display()
                ),
                REMOVE_NEWER_JOURNAL,
            ));
        }
    }
    Ok(())
}

/// What a journal holds.
struct Read {
    edits: Vec<DocumentEdit>,
    /// Nothing if it holds nothing.
    counts: Option<Counts>,
    /// Whether the next generation has begun.
    goes_on: bool,
    /// To be written on.
    journal: Option<Journal>,
}

fn read_journal(
    file: &Path,
    sought: Identity,
    db_path: &DbPath,
    for_writing: bool,
) -> Result<Found<Read>> {
    let (mut edits, mut counts) = (Vec::new(), None);
    let mut take = |mut batch: Vec<DocumentEdit>, after| {
        edits.append(&mut batch);
        counts = Some(after);
        Ok(())
    };
    let found = if for_writing {
        let found = Journal::replay(file, sought, db_path, &mut take)?;
        found.map(|journal| (journal.goes_on(), Some(journal)))
    } else {
        let found = Journal::read(file, sought, db_path, &mut take)?;
        found.map(|goes_on| (goes_on, None))
    };
    Ok(found.map(|(goes_on, journal)| Read {
        edits,
        counts,
        goes_on,
        journal,
    }))
}
