//! Recovery: opening the write path replays the journals of a database that was not closed.

use std::path::Path;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use rayon::prelude::*;

use super::{Memtables, Store};
use crate::advice::Advice;
use crate::analysis::Analysed;
use crate::analysis::frames::TextEnds;
use crate::error::{Error, Result};
use crate::ids::scope::ScopeNumber;
use crate::record::Record;
use crate::store::commit::flush_options::FlushOptions;
use crate::store::commit::write_lock::{ActiveLog, WriteLock};
use crate::store::journal::{Identity, Journal, Lookup};
use crate::store::memtable::Memtable;
use crate::store::tables::edit::{DocumentEdit, TextEdit, Totals};
use crate::store::tables::meta;
use crate::store::tables::schema::Keeps;
use crate::store::view::table_store::TableStore;

impl Store {
    /// Replays the journals of a database into memtables. If the database is open for writing, also
    /// prepares the journals for the next commit.
    pub(in crate::store) fn recover(tables: TableStore) -> Result<Self> {
        let db_path = &tables.db_path;
        // Links are resolved: the journals of one file must have one name, whatever path it is
        // opened by.
        let file = db_path.disk().resolve(db_path.path());
        let file = file.map_err(db_path.io("find"))?;
        let file_info = db_path.disk().info(&file).map_err(db_path.io("find"))?;
        let meta = tables.meta()?;
        let mark = meta::read_journal_mark(&meta, db_path)?;
        let identity = meta::read_identity(&meta, db_path)?;
        let journals = Journals {
            tables: &tables,
            file: &file,
            identity,
            flushed: mark.merged_generation,
        };
        let (memtables, active) = if mark.open {
            journals.recover(meta::read_counters(&meta, db_path)?.counts())?
        } else {
            journals.refuse_newer_journal()?;
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
            write_lock: WriteLock::new(active),
            flush_options: FlushOptions::new(
                tables.limits.flush_changes(tables.header.keeps().text_keys),
            ),
            identity,
            file,
            file_identity: file_info.identity,
            tables: Arc::new(tables),
        })
    }
}

/// The journals beside a database file.
struct Journals<'t> {
    tables: &'t TableStore,
    file: &'t Path,
    identity: u64,
    /// The last generation that the tables hold. At most the next two can have journals.
    flushed: u64,
}

/// The content of a journal.
struct Replayed {
    memtable: Arc<Memtable>,
    /// The number of edits in the memtable.
    visible: u32,
    /// The totals after the last commit; `None` without a commit.
    counts: Option<Totals>,
    /// `true` if the next generation has begun.
    is_sealed: bool,
    /// The journal to append to; `None` if the database is open for reading only.
    journal: Option<Journal>,
}

/// Makes the keys of a text, which the journal leaves out.
fn add_keys(edit: &mut DocumentEdit, keeps: Keeps) {
    if let TextEdit::Put(text) = &edit.text {
        let scope = keeps.scope_of(edit.id);
        edit.text = TextEdit::Put(Arc::new(
            Analysed::keyed(text.record().clone()).in_scope(scope),
        ));
    }
}

impl Journals<'_> {
    /// Replays the journals of a file that is marked as having journals. `counts` are the totals of
    /// the tables.
    fn recover(&self, mut counts: Totals) -> Result<(Memtables, Option<ActiveLog>)> {
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

        // The file was marked after its first journal had been created, so the journal must exist.
        let Lookup::Found(sealed) = self.replay(first)? else {
            return Err(self.journal_missing(first));
        };
        counts = sealed.counts.unwrap_or(counts);
        memtables.sealed = Some(sealed.memtable);

        match self.replay(second)? {
            Lookup::Found(active) => {
                counts = active.counts.unwrap_or(counts);
                memtables.generation = second;
                memtables.active = Some((Arc::clone(&active.memtable), active.visible));
                active_log = active.journal.map(|journal| ActiveLog {
                    journal,
                    memtable: active.memtable,
                    counts,
                });
            }
            // The first journal was sealed after the second had been created, so the second must
            // exist.
            Lookup::Missing | Lookup::Other(_) if sealed.is_sealed => {
                return Err(self.journal_missing(second));
            }
            // The file was restored from a copy that is older than its journals. The flushes after
            // the copy are lost; without this check, documents would be missing silently.
            Lookup::Other(other)
                if other.database == self.identity && other.generation > second =>
            {
                return Err(self.newer_journal(second));
            }
            // A journal that was flushed, or the journal of an earlier database of this name. The
            // next generation overwrites the file.
            Lookup::Missing | Lookup::Other(_) => {}
        }
        memtables.counts = Some(counts);
        log::info!(
            "replayed {} changes from the journals of {}, which was not closed",
            memtables.sealed.as_ref().map_or(0, |sealed| sealed.len())
                + memtables
                    .active
                    .as_ref()
                    .map_or(0, |(active, _)| active.len()),
            self.tables.db_path.path().display()
        );

        if let Some(mut sealed) = sealed.journal {
            // A crash may have interrupted a flush of the first generation. The tables then hold
            // some of its edits, so exactly these edits must be flushed again: new commits go to
            // the second generation, never to the first.
            let active = match active_log.take() {
                Some(active) => Ok(active),
                None => Journal::begin(
                    self.file,
                    self.journal_identity(second),
                    &self.tables.db_path,
                )
                .map(|journal| ActiveLog::new(journal, counts)),
            };
            match active.and_then(|active| sealed.seal().map(|()| active)) {
                Ok(active) => {
                    memtables.generation = second;
                    memtables
                        .active
                        .get_or_insert_with(|| active.empty_memtable());
                    active_log = Some(active);
                }
                // Without space for a journal the database can still be read. The next writer
                // returns the error.
                Err(error) => {
                    log::error!(
                        "{} can only be read: {error}",
                        self.tables.db_path.path().display()
                    );
                    memtables.is_poisoned = true;
                    memtables.background_error = Some(error);
                }
            }
        }
        Ok((memtables, active_log))
    }

    /// Refuses a file that is marked as closed if a journal of a later generation holds commits:
    /// the file is older than the journal.
    fn refuse_newer_journal(&self) -> Result<()> {
        let db_path = &self.tables.db_path;
        // A crash can leave an empty later journal, which is created before the file is marked. It
        // cannot leave commits, which are appended after.
        for number in [1, 2] {
            let is_newer = |owner: Identity| {
                owner.database == self.identity && owner.generation > self.flushed
            };
            // A file that is no journal is removed when a journal is created under its name.
            if let Ok(true) = Journal::has_commits(self.file, number, is_newer, db_path) {
                let path = Journal::path(self.file, number);
                return Err(db_path.corrupt_advising(
                    format!(
                        "the file is marked as closed, but its journal {} holds commits",
                        path.display()
                    ),
                    Advice::RemoveNewerJournal,
                ));
            }
        }
        Ok(())
    }

    fn replay(&self, generation: u64) -> Result<Lookup<Replayed>> {
        let (mut edits, mut counts) = (Vec::new(), None);
        let mut append = |mut commit: Vec<DocumentEdit>, after| {
            self.add_scopes(&commit)?;
            edits.append(&mut commit);
            counts = Some(after);
            Ok(())
        };
        let (identity, db_path) = (self.journal_identity(generation), &self.tables.db_path);
        let is_writable = self.tables.backend.is_writable();
        let file = self.file;
        let found = Journal::read(file, identity, db_path, is_writable, &mut append, &mut Err)?;
        Ok(found.map(|journal| {
            let memtable = Arc::new(Memtable::new());
            let visible = self.tables.pool.run(|| {
                let keeps = self.tables.header.keeps();
                self.learn(&edits);
                if keeps.text_keys {
                    (edits.par_iter_mut()).for_each(|edit| add_keys(edit, keeps));
                }
                memtable.append(&edits)
            });
            Replayed {
                memtable,
                visible,
                counts,
                is_sealed: journal.is_sealed(),
                journal: Some(journal).filter(|_| is_writable),
            }
        }))
    }

    /// Counts the ends of the texts of a journal. The file has what was learned until the last
    /// flush, perhaps some of these texts too, which are then counted twice; their bodies are not.
    fn learn(&self, edits: &[DocumentEdit]) {
        let header = &self.tables.header;
        if header.frames == 0 {
            return;
        }
        let ends = |edit: &DocumentEdit| {
            let record = edit.text.record().filter(|record| record.has_text())?;
            let scope = header.keeps().scope_of(edit.id);
            Some((scope.0, TextEnds::new(record.text())))
        };
        let texts = edits.par_iter().filter_map(ends).collect();
        // `check` reports damaged frames. The documents can be read without them.
        if let Err(error) = self.tables.learn(texts) {
            log::error!("no frames are learned: {error}");
        }
    }

    /// Restores the names of scopes whose first documents are in a journal.
    fn add_scopes(&self, edits: &[DocumentEdit]) -> Result<()> {
        if !self.tables.header.scopes {
            return Ok(());
        }
        for edit in edits {
            let scope = ScopeNumber::of(edit.id);
            if let Some(name) = edit.text.record().and_then(Record::scope)
                && !self.tables.scopes.set(scope, name)
            {
                let what = format!("a journal has document {} in scope {name:?}", edit.id);
                return Err(self.tables.db_path.corrupt(what));
            }
        }
        Ok(())
    }

    fn journal_identity(&self, generation: u64) -> Identity {
        Identity {
            database: self.identity,
            generation,
        }
    }

    fn newer_journal(&self, number: u64) -> Error {
        let path = Journal::path(self.file, number);
        self.tables.db_path.corrupt_advising(
            format!("its journal {} is newer than the file", path.display()),
            Advice::RemoveNewerJournal,
        )
    }

    fn journal_missing(&self, generation: u64) -> Error {
        Error::JournalMissing {
            path: self.tables.db_path.path().to_path_buf(),
            journal: Journal::path(self.file, generation),
        }
    }
}
