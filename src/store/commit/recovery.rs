//! What a database that was not closed finds in its journals.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use super::{Online, Tails};
use crate::error::{Error, Result};
use crate::store::commit::write_lock::{Ink, PenHolder, Writing};
use crate::store::disk::fault::Place;
use crate::store::journal::{Found, Identity, Journal};
use crate::store::memtable::Tail;
use crate::store::tables::edit::{Counts, DocumentEdit};
use crate::store::tables::schema::JournalMark;
use crate::store::view::pool::Workers;

/// What to do about a journal that is newer than its file.
const REMOVE_NEWER_JOURNAL: &str = "if it is a copy that was put back, remove that journal; if not, \
                                    save what is left with `simdb-cli salvage`";

impl Online {
    /// Reads what journals there are. `for_writing` they are written on.
    pub(in crate::store) fn recover(
        identity: u64,
        mark: JournalMark,
        mut counts: Counts,
        place: &Place,
        workers: &Workers,
        for_writing: bool,
    ) -> Result<Self> {
        let file = place.disk().resolve(place.path());
        let file = file.map_err(place.io("find"))?;
        let mut tails = Tails {
            generation: mark.merged_generation,
            ..Tails::default()
        };
        let mut ink = Ink::default();
        let merged = mark.merged_generation;
        // The journal of what is set aside.
        let mut before = None;
        // Whether the next must be there: the file says so of the first, and that of the second.
        let mut is_due = true;
        if !mark.open {
            refuse_if_in_use(&file, identity, merged, place)?;
        }
        for generation in merged.saturating_add(1)..=merged.saturating_add(2) {
            let sought = Identity {
                database: identity,
                generation,
            };
            if !mark.open {
                break;
            }
            match read_journal(&file, sought, place, for_writing)? {
                Found::Sought(found) => {
                    let tail = Arc::new(Tail::new());
                    let visible = workers.run(|| tail.append(&found.edits));
                    counts = found.counts.unwrap_or(counts);
                    tails.counts = Some(counts);
                    tails.generation = generation;
                    if tails.older.is_none() {
                        tails.older = Some(tail);
                        before = found.journal;
                        is_due = found.goes_on;
                    } else {
                        tails.current = Some((Arc::clone(&tail), visible));
                        ink.writing = found.journal.map(|journal| Writing {
                            journal,
                            tail,
                            counts,
                        });
                    }
                }
                Found::Missing | Found::Other(_) if is_due => {
                    return Err(Error::JournalMissing {
                        path: place.path().to_path_buf(),
                        journal: Journal::path(&file, generation),
                    });
                }
                Found::Other(other)
                    if other.database == identity && other.generation > generation =>
                {
                    let path = Journal::path(&file, generation);
                    return Err(place.corrupt_advising(
                        format!("its journal {} is of a later time", path.display()),
                        REMOVE_NEWER_JOURNAL,
                    ));
                }
                Found::Missing | Found::Other(_) => {}
            }
        }
        tails.has_files = tails.older.is_some();
        if let Some(before) = &mut before {
            // A merge of the first may have come half way: what it holds must stay as it is, and
            // what comes from now on goes into the next.
            let next = Identity {
                database: identity,
                generation: merged + 2,
            };
            let begun = match ink.writing.take() {
                Some(writing) => Ok(writing),
                None => Journal::begin(&file, next, place).map(|journal| {
                    let writing = Writing::new(journal, counts);
                    tails.generation = next.generation;
                    tails.current = Some(writing.empty_tail());
                    writing
                }),
            };
            match begun.and_then(|writing| before.go_on().map(|()| writing)) {
                Ok(writing) => ink.writing = Some(writing),
                Err(error) => {
                    // All can be read.
                    tails.has_failed = true;
                    tails.untold = Some(error);
                }
            }
        }
        Ok(Self {
            tails: Mutex::new(tails),
            tails_changed: Condvar::new(),
            merging: Mutex::default(),
            pen: PenHolder::new(ink),
            identity,
            file,
        })
    }
}

/// Refuses a later journal of a file that says there is none, if there are commits in it. It is
/// begun before the file is marked, but nothing is written to it before that: so it is the file
/// that is not what it was.
fn refuse_if_in_use(file: &Path, database: u64, merged: u64, place: &Place) -> Result<()> {
    for number in [1, 2] {
        // What is no journal, or another's, is in nobody's way before there is something to write.
        let Ok(Some(owner)) = Journal::owner_of(file, number, place) else {
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
        let _ = Journal::read(file, owner, place, &mut note);
        if holds_commits {
            let path = Journal::path(file, number);
            return Err(place.corrupt_advising(
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
    place: &Place,
    for_writing: bool,
) -> Result<Found<Read>> {
    let (mut edits, mut counts) = (Vec::new(), None);
    let mut take = |mut batch: Vec<DocumentEdit>, after| {
        edits.append(&mut batch);
        counts = Some(after);
        Ok(())
    };
    let found = if for_writing {
        let found = Journal::replay(file, sought, place, &mut take)?;
        found.map(|journal| (journal.goes_on(), Some(journal)))
    } else {
        let found = Journal::read(file, sought, place, &mut take)?;
        found.map(|goes_on| (goes_on, None))
    };
    Ok(found.map(|(goes_on, journal)| Read {
        edits,
        counts,
        goes_on,
        journal,
    }))
}
