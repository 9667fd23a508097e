//! Loading one document after another, leaving out near-duplicates of those that are there.
//!
//! Everything is one transaction. A new database is built under a temporary name beside its own,
//! which it gets when it is whole.

use std::path::Path;

use anyhow::Result;
use simdb::{
    Change, Database, DocId, Document, Error, Fingerprint, Outcome, Settings, Transaction,
};

use super::duplicates::{Duplicate, Duplicates};
use super::options::Options;
use super::plan::LoadTarget;
use crate::console::duplicate::DuplicateOf;
use crate::console::file::NewDatabase;
use crate::console::interrupt::Interrupt;
use crate::corpus::bulk;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::pipeline::{Entry, Pipeline};
use crate::corpus::statistics::Statistics;
use crate::formats::Reject;
use crate::options::Rule;

/// The most documents applied at a time. An interruption waits for them.
const APPLY_DOCUMENTS: usize = 1 << 18;

/// The memory of a document with bands, beside its text, while it is applied: its keys, those by which
/// others of the same batch find it, and their changes in the table.
const SIMILAR_BYTES: usize = 8 << 10;

/// The start of the names of temporary folders.
const TEMPORARY_PREFIX: &str = ".simdb-load-";

/// A load that leaves out near-duplicates.
pub struct UniqueLoad<'l> {
    pub options: &'l Options,
    pub memory: MemoryBudget,
    pub rule: Rule,
    pub pipeline: Pipeline,
    pub statistics: &'l mut Statistics,
    pub duplicates: Duplicates,
    pub interrupt: Interrupt,
}

/// Documents that wait to be applied.
#[derive(Default)]
struct Waiting {
    documents: Vec<WaitingDocument>,
    changes: Vec<Change>,
    bytes: u64,
}

/// The parts of a document that are reported if it is a duplicate.
struct WaitingDocument {
    input: usize,
    number: u64,
    id: DocId,
    fingerprint: Fingerprint,
    text: Option<String>,
}

impl UniqueLoad<'_> {
    /// Loads everything that comes out of the pipeline.
    pub fn run(&mut self, target: LoadTarget) -> Result<()> {
        match target {
            LoadTarget::Existing(database) => self.apply_all(&database),
            LoadTarget::New(settings) => {
                let created = self.create(&settings);
                created.map_err(|error| not_created(error, &self.options.database))
            }
        }
    }

    /// Builds a new database in a temporary folder and gives it its name.
    fn create(&mut self, settings: &Settings) -> Result<()> {
        let new = NewDatabase::create(&self.options.database, TEMPORARY_PREFIX)?;
        // Nothing can be added to a frozen database, so freezing comes last.
        let growing = Settings {
            frozen: false,
            ..settings.clone()
        };
        let database = self.memory.builder(&growing).create(new.temporary_path())?;
        self.apply_all(&database)?;
        if settings.frozen {
            return self.freeze(&database, settings);
        }
        // The journal may hold what was committed, and is no part of the file.
        database.close()?;
        new.publish()
    }

    /// Copies a database into a new one that is packed as tightly as can be.
    fn freeze(&self, database: &Database, settings: &Settings) -> Result<()> {
        let bar = self.options.progress.work();
        bar.set_prefix("writing");
        let mut bulk = self
            .memory
            .builder(settings)
            .bulk_create(&self.options.database, self.memory.sort_bytes())?;
        for document in database.snapshot()?.documents() {
            bulk.push(document?)?;
            self.interrupt.check()?;
        }
        let written = bulk::write(bulk, &bar, &self.interrupt, |_, id, _| {
            unreachable!("document {id} is there once")
        });
        written.map(drop)
    }

    /// Applies all documents in one transaction.
    fn apply_all(&mut self, database: &Database) -> Result<()> {
        let keep_texts = database.settings().keep_texts;
        let mut transaction = database.begin()?;
        let mut waiting = Waiting::default();
        while let Some(batch) = self.pipeline.next()? {
            for entry in batch.records {
                self.statistics.counts.read += 1;
                let outcome = match entry {
                    Entry::Reject(reject) => Err(reject),
                    Entry::Document(number, document) => {
                        self.waiting_document((batch.input, number), document, keep_texts)
                    }
                };
                match outcome {
                    Ok((document, change)) => waiting.push(document, change),
                    Err(reject) => self.statistics.reject(batch.input, &reject)?,
                }
                if waiting.is_full(self.memory.waiting_bytes()) {
                    self.apply(&mut waiting, &mut transaction)?;
                }
            }
        }
        self.apply(&mut waiting, &mut transaction)?;
        let bar = self.options.progress.work();
        bar.set_prefix("writing");
        transaction.commit()?;
        bar.finish_and_clear();
        Ok(())
    }

    fn waiting_document(
        &mut self,
        (input, number): (usize, u64),
        document: Document,
        keep_texts: bool,
    ) -> Result<(WaitingDocument, Change), Reject> {
        let id = document.id;
        let refused = |reason| Reject {
            number,
            id: Some(id),
            reason,
        };
        let mut document = self.rule.refuse_without_text(document).map_err(refused)?;
        self.statistics.counts.unreliable += u64::from(!document.reliable);
        let waiting = WaitingDocument {
            input,
            number,
            id,
            fingerprint: document.fingerprint,
            text: self.duplicates.text_of(&mut document, keep_texts),
        };
        Ok((waiting, self.rule.change(document)))
    }

    /// Applies the documents that wait, and counts and reports the outcome of each.
    fn apply(&mut self, waiting: &mut Waiting, transaction: &mut Transaction<'_>) -> Result<()> {
        waiting.bytes = 0;
        let outcomes = transaction.apply(waiting.changes.drain(..))?;
        for (document, outcome) in waiting.documents.drain(..).zip(outcomes) {
            let WaitingDocument {
                input, number, id, ..
            } = document;
            let counts = &mut self.statistics.counts;
            match (DuplicateOf::in_outcome(&outcome), outcome) {
                (Some(of), _) => {
                    counts.duplicates += 1;
                    let location = self.statistics.inputs[input].location(number);
                    let WaitingDocument {
                        fingerprint, text, ..
                    } = document;
                    let duplicate = Duplicate {
                        id,
                        fingerprint,
                        of,
                        text,
                    };
                    self.duplicates.push(duplicate, location)?;
                }
                (None, Outcome::Exists { stored }) if stored == document.fingerprint => {
                    counts.present += 1;
                }
                (None, Outcome::Exists { stored }) => {
                    self.statistics.conflict(input, number, id, stored)?;
                }
                (None, _) => counts.inserted += 1,
            }
        }
        self.interrupt.check()
    }
}

impl Waiting {
    fn push(&mut self, document: WaitingDocument, change: Change) {
        let kept = match &change {
            Change::InsertUnique { document, .. } => document.text.as_ref().map_or(0, String::len),
            Change::InsertUnlessSimilar { document, .. } => {
                document.text.as_ref().map_or(0, String::len) + SIMILAR_BYTES
            }
            _ => 0,
        };
        let shown = document.text.as_ref().map_or(0, String::len);
        self.bytes += (kept + shown + size_of::<WaitingDocument>() + size_of::<Change>()) as u64;
        self.documents.push(document);
        self.changes.push(change);
    }

    fn is_full(&self, most_bytes: u64) -> bool {
        self.changes.len() >= APPLY_DOCUMENTS || self.bytes >= most_bytes
    }
}

/// The error about a file under its temporary name, as one about the path it would have got: whatever
/// became of the temporary file, there is no database at the path.
fn not_created(error: anyhow::Error, target: &Path) -> anyhow::Error {
    let cause = match error.downcast::<Error>() {
        Ok(Error::CommitUnknown { source, .. } | Error::Storage { source, .. }) => {
            anyhow::Error::from_boxed(source)
        }
        Ok(Error::Io { source, .. }) => source.into(),
        Ok(error) => return error.into(),
        Err(error) => return error,
    };
    cause.context(format!(
        "{} was not created; fix the cause and load again",
        target.display()
    ))
}
