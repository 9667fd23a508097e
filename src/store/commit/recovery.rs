//! Opening the write path: the journals that a database has which was not closed.

use std::path::Path;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::{Committer, Memtables};
use crate::error::{Error, Result};
use crate::store::commit::flush_options::FlushOptions;
use crate::store::commit::write_lock::{ActiveLog, WriteLock};
use crate::store::journal::{Found, Identity, Journal};
use crate::store::memtable::Memtable;
use crate::store::tables::edit::{Counts, DocumentEdit};
use crate::store::tables::schema;
use crate::store::view::table_store::TableStore;

/// The advice about a journal that is newer than its database file.
const REMOVE_NEWER_JOURNAL: &str = "if it is a copy that was put back, remove that journal; if not, \
                                    save what is left with `simdb-cli salvage`";

impl Committer {
    /// Reads the journals of a database into memtables. If the database is open for writing, makes
    /// the journals ready for the next commit.
    pub(in crate::store) fn recover(tables: TableStore) -> Result<Self> {
        let db_path = &tables.db_path;
        let file = db_path.disk().resolve(db_path.path());
        let file = file.map_err(db_path.io("find"))?;
        let meta = tables.meta()?;
        let mark = schema::read_journal_mark(&meta, db_path)?;
        let identity = schema::read_identity(&meta, db_path)?;
        let journals = Journals {
            tables: &tables,
            file: &file,
            identity,
            flushed: mark.merged_generation,
        };
        let (memtables, active) = if mark.open {
            journals.recover(schema::read_counters(&meta, db_path)?.counts())?
        } else {
            journals.refuse_commits()?;
            let generation = mark.merged_generation;
            let memtables = Memtables {
                generation,
                ..Memtables::default()
            };
            (memtables, None)
        };
        Ok(Self {
            memtables: Mutex::new(memtables),
            memtables_changed: Condvar::new(),
            flush_lock: Mutex::default(),
            write_lock: Arc::new(WriteLock::new(active)),
            flush_options: FlushOptions::new(tables.limits.min_flush_changes),
            identity,
            file,
            tables: Arc::new(tables),
        })
    }
}

/// The journals beside a database file.
struct Journals<'t> {
    tables: &'t TableStore,
    file: &'t Path,
    /// The identity of the database.
    identity: u64,
    /// The last generation that the tables hold in full. There can be two more.
    flushed: u64,
}

/// The content of a journal.
struct Replayed {
    memtable: Arc<Memtable>,
    visible: u32,
    /// The counts after the last commit; `None` without a commit.
    counts: Option<Counts>,
    /// `true` if the next generation has begun.
    is_sealed: bool,
    /// The journal to append to; `None` if the database is open for reading only.
    journal: Option<Journal>,
}

impl Journals<'_> {
    /// Reads the journals of a file that is marked as having some. `counts` are those of the tables.
    fn recover(&self, mut counts: Counts) -> Result<(Memtables, Option<ActiveLog>)> {
        let (first, second) = (
            self.flushed.saturating_add(1),
            self.flushed.saturating_add(2),
        );
        let mut memtables = Memtables {
            generation: first,
            has_files: true,
            ..Memtables::default()
        };
        let mut active_log = None;

        // The file was marked after its first journal had been created.
        let Found::Sought(sealed) = self.replay(first)? else {
            return Err(self.missing(first));
        };
        counts = sealed.counts.unwrap_or(counts);
        memtables.sealed = Some(sealed.memtable);

        match self.replay(second)? {
            Found::Sought(active) => {
                counts = active.counts.unwrap_or(counts);
                memtables.generation = second;
                memtables.active = Some((Arc::clone(&active.memtable), active.visible));
                active_log = active.journal.map(|journal| ActiveLog {
                    journal,
                    memtable: active.memtable,
                    counts,
                });
            }
            // The first journal was sealed after the second had been created.
            Found::Missing | Found::Other(_) if sealed.is_sealed => {
                return Err(self.missing(second));
            }
            // The file was put back from a copy that is older than its journals. The flushes since
            // are lost, so the first journal must not be taken for the last one.
            Found::Other(other) if other.database == self.identity && other.generation > second => {
                let path = Journal::path(self.file, second);
                return Err(self.tables.db_path.corrupt_advising(
                    format!("its journal {} is of a later time", path.display()),
                    REMOVE_NEWER_JOURNAL,
                ));
            }
            // A flushed journal, or that of a database that had the name before. The next
            // generation writes over it.
            Found::Missing | Found::Other(_) => {}
        }
        memtables.counts = Some(counts);

        if let Some(mut sealed) = sealed.journal {
            // A crash may have cut a flush of the first generation short. The flush is repeated, so
            // the generation must stay as it is: the next commits go to the second.
            let active = match active_log.take() {
                Some(active) => Ok(active),
                None => Journal::begin(self.file, self.named(second), &self.tables.db_path)
                    .map(|journal| ActiveLog::new(journal, counts)),
            };
            match active.and_then(|active| sealed.go_on().map(|()| active)) {
                Ok(active) => {
                    memtables.generation = second;
                    memtables
                        .active
                        .get_or_insert_with(|| active.empty_memtable());
                    active_log = Some(active);
                }
                // Everything can be read. The next writer returns the error.
                Err(error) => {
                    memtables.is_poisoned = true;
                    memtables.background_error = Some(error);
                }
            }
        }
        Ok((memtables, active_log))
    }

    /// Refuses a file that is marked as having no journal, beside a journal of a later generation
    /// with commits. A crash can leave a later journal behind, which is created before the file is
    /// marked, but no commits in it, which come after. So the file is older than the journal.
    fn refuse_commits(&self) -> Result<()> {
        let db_path = &self.tables.db_path;
        for number in [1, 2] {
            // A file that is no journal is refused when its name is needed.
            let Ok(Some(owner)) = Journal::owner_of(self.file, number, db_path) else {
                continue;
            };
            if owner.database != self.identity || owner.generation <= self.flushed {
                continue;
            }
            let mut has_commits = false;
            let mut note = |_, _| {
                has_commits = true;
                Ok(())
            };
            // A damaged end does not matter: one commit is enough.
            let _ = Journal::read(self.file, owner, db_path, &mut note);
            if has_commits {
                let path = Journal::path(self.file, number);
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

    /// Reads the journal of a generation into a memtable.
    fn replay(&self, generation: u64) -> Result<Found<Replayed>> {
        let (mut edits, mut counts) = (Vec::new(), None);
        let mut append = |mut commit: Vec<DocumentEdit>, after| {
            edits.append(&mut commit);
            counts = Some(after);
            Ok(())
        };
        let (identity, db_path) = (self.named(generation), &self.tables.db_path);
        let found = if self.tables.backend.is_writable() {
            let found = Journal::replay(self.file, identity, db_path, &mut append)?;
            found.map(|journal| (journal.goes_on(), Some(journal)))
        } else {
            let found = Journal::read(self.file, identity, db_path, &mut append)?;
            found.map(|is_sealed| (is_sealed, None))
        };
        Ok(found.map(|(is_sealed, journal)| {
            let memtable = Arc::new(Memtable::new());
            let visible = self.tables.pool.run(|| memtable.append(&edits));
            Replayed {
                memtable,
                visible,
                counts,
                is_sealed,
                journal,
            }
        }))
    }

    fn named(&self, generation: u64) -> Identity {
        Identity {
            database: self.identity,
            generation,
        }
    }

    fn missing(&self, generation: u64) -> Error {
        Error::JournalMissing {
            path: self.tables.db_path.path().to_path_buf(),
            journal: Journal::path(self.file, generation),
        }
    }
}
