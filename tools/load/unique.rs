//! [`UniqueLoad`]: a load that drops near-duplicates of the documents before them.
//!
//! The load is one transaction, except for a load by [`by_index`](super::by_index) that passes its memory.
//! A new database is built under a temporary name and renamed when it is complete.

use std::io;
use std::path::Path;

use anyhow::Result;
use simdb::{Change, Database, Document, Error, Outcome, Settings, Timestamp, Transaction};

use super::duplicates::{DuplicateReport, ReportedDocument};
use super::plan::LoadTarget;
use crate::console::duplicate::DuplicateOf;
use crate::console::file::make_database;
use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;
use crate::corpus::bulk;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::pipeline::{Pipeline, PipelineRecord, RecordBatch};
use crate::corpus::statistics::Statistics;
use crate::formats::Reject;
use crate::formats::arrival_check::ArrivalCheck;
use crate::options::DuplicateRule;

/// At most 262,144 documents per call of `Transaction::apply`. Ctrl-C waits for the end of the call.
pub const APPLY_DOCUMENTS: usize = 1 << 18;

/// The memory of a document with a forest while it is applied, beside its text, in bytes: its forest keys,
/// their index for the other documents of the call, and their edits of the tables.
pub const SIMILAR_BYTES: usize = 8 << 10;

/// The start of the names of temporary folders.
const TEMPORARY_PREFIX: &str = ".simdb-load-";

/// Returns `true` if an index in memory may decide: it knows neither arrival times, nor the radius of a
/// database without a forest.
fn is_decided_by_index(settings: &Settings) -> bool {
    settings.similar && settings.retention.is_none()
}

/// A load with `--unique`.
pub struct UniqueLoad<'l> {
    pub database: &'l Path,
    pub progress: ProgressMode,
    pub memory: MemoryBudget,
    pub rule: DuplicateRule,
    pub pipeline: Pipeline,
    pub statistics: &'l mut Statistics,
    pub duplicates: &'l mut DuplicateReport,
    pub interrupt: Interrupt,
    /// The documents of the load that an existing database has, because the load was stored in parts.
    pub stored: u64,
}

/// Documents that are not applied yet.
#[derive(Default)]
struct Waiting {
    /// For each document the index of its input, its number there, its arrival, and the parts that are
    /// reported.
    documents: Vec<(usize, u64, Option<Timestamp>, ReportedDocument)>,
    /// Bad records among the documents, each with the index of its input and the number of documents
    /// before it. They wait so that the report has the order of the input.
    rejects: Vec<(usize, usize, Reject)>,
    changes: Vec<Change>,
    bytes: usize,
}

impl UniqueLoad<'_> {
    /// Loads all documents of the pipeline.
    pub fn run(&mut self, target: LoadTarget) -> Result<()> {
        match target {
            LoadTarget::Existing(database) => match self.rule {
                DuplicateRule::Similar(rule) if is_decided_by_index(database.settings()) => {
                    self.add_by_index(rule, &database)
                }
                _ => self.apply_all(&database),
            },
            LoadTarget::New(settings) => {
                let path = self.database;
                make_database(path, TEMPORARY_PREFIX, None, |path| match self.rule {
                    DuplicateRule::Similar(rule) if is_decided_by_index(&settings) => {
                        self.create_by_index(rule, &settings, path)
                    }
                    _ => self.create(&settings, path),
                })
                .map_err(|error| not_created(error, path))
            }
        }
    }

    /// Loads all documents into a new database.
    fn create(&mut self, settings: &Settings, path: &Path) -> Result<()> {
        if !settings.frozen {
            let database = self.memory.builder(settings).create(path)?;
            self.apply_all(&database)?;
            // Closing flushes the journal, which is not renamed with the file.
            return Ok(database.close()?);
        }
        // A frozen database cannot grow, so the documents go through one that can.
        let growing = Settings {
            frozen: false,
            ..settings.clone()
        };
        let builder = self.memory.builder(&growing);
        let database = builder.create(path.with_file_name("growing.simdb"))?;
        self.apply_all(&database)?;
        self.freeze(&database, settings, path)
    }

    /// Copies a database into a frozen one.
    pub fn freeze(&self, database: &Database, settings: &Settings, path: &Path) -> Result<()> {
        let builder = self.memory.builder(settings);
        let mut bulk = builder.bulk_create(path, self.memory.sort_bytes())?;
        let snapshot = database.snapshot()?;
        // Each arrival was checked with its line of the input.
        if let Some(latest) = snapshot.now() {
            bulk = bulk.with_latest_arrival(latest);
        }
        for document in snapshot.documents() {
            bulk.push(document?)?;
            self.interrupt.check()?;
        }
        let bar = self.progress.work();
        bar.set_prefix("writing");
        let written = bulk::write(bulk, &bar, &self.interrupt, |_, id, _| {
            unreachable!("document {id} is stored once")
        });
        written.map(drop)
    }

    /// Applies all documents in one transaction.
    fn apply_all(&mut self, database: &Database) -> Result<()> {
        let keep_texts = database.settings().keep_texts;
        let mut arrivals = ArrivalCheck::new(database)?;
        let mut transaction = database.begin()?;
        let mut waiting = Waiting::default();
        while let Some(RecordBatch { input, records }) = self.pipeline.next()? {
            for entry in records {
                self.statistics.counts.read += 1;
                match entry {
                    PipelineRecord::Reject(reject) => {
                        self.put_aside(&mut waiting, input, reject)?
                    }
                    PipelineRecord::Document(number, document) => {
                        if arrivals.depends_on_outcomes(&document) {
                            self.apply(&mut waiting, &mut transaction, &mut arrivals)?;
                        }
                        let checked = self.rule.check_text(&document);
                        if let Err(reason) = checked.and_then(|()| arrivals.check(&document)) {
                            let id = Some(document.id);
                            let reject = Reject { number, id, reason };
                            self.put_aside(&mut waiting, input, reject)?;
                            continue;
                        }
                        self.statistics.accept(document.reliable, document.arrival);
                        self.wait(&mut waiting, (input, number), document, keep_texts);
                    }
                }
                // Many documents at a time, because sorted edits touch each chunk of a table once.
                if waiting.changes.len() >= APPLY_DOCUMENTS
                    || waiting.bytes as u64 >= self.memory.waiting_bytes()
                {
                    self.apply(&mut waiting, &mut transaction, &mut arrivals)?;
                }
            }
        }
        self.apply(&mut waiting, &mut transaction, &mut arrivals)?;
        let bar = self.progress.work();
        bar.set_prefix("writing");
        transaction.commit()?;
        bar.finish_and_clear();
        Ok(())
    }

    /// Puts a bad record behind the documents that wait. The first one ends a load that stops at it.
    fn put_aside(&mut self, waiting: &mut Waiting, input: usize, reject: Reject) -> Result<()> {
        if self.statistics.is_aborting() {
            return self.statistics.reject(input, &reject);
        }
        waiting.bytes += size_of::<(usize, usize, Reject)>() + reject.reason.len();
        waiting
            .rejects
            .push((input, waiting.documents.len(), reject));
        Ok(())
    }

    fn wait(
        &self,
        waiting: &mut Waiting,
        (input, number): (usize, u64),
        mut document: Document,
        keep_texts: bool,
    ) {
        let text = self.duplicates.text_of(&mut document, keep_texts);
        let reported = ReportedDocument::new(&document, text);
        let text_bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        waiting.bytes += text_bytes(&document.text) + text_bytes(&reported.text);
        waiting.bytes += size_of::<ReportedDocument>() + size_of::<Change>();
        if self.rule.needs_texts() {
            waiting.bytes += SIMILAR_BYTES;
        }
        let arrival = document.arrival;
        waiting.documents.push((input, number, arrival, reported));
        waiting.changes.push(self.rule.change(document));
    }

    /// Applies the waiting documents, and counts and reports the outcome of each.
    fn apply(
        &mut self,
        waiting: &mut Waiting,
        transaction: &mut Transaction<'_>,
        arrivals: &mut ArrivalCheck,
    ) -> Result<()> {
        waiting.bytes = 0;
        let outcomes = transaction.apply(waiting.changes.drain(..))?;
        let mut rejects = std::mem::take(&mut waiting.rejects).into_iter().peekable();
        let documents = waiting.documents.drain(..).zip(outcomes);
        for (before, ((input, number, arrival, document), outcome)) in documents.enumerate() {
            arrivals.decided(arrival, &outcome);
            while let Some((input, _, reject)) = rejects.next_if(|(_, at, _)| *at <= before) {
                self.statistics.reject(input, &reject)?;
            }
            self.report(input, number, document, outcome)?;
        }
        arrivals.all_decided();
        for (input, _, reject) in rejects {
            self.statistics.reject(input, &reject)?;
        }
        self.interrupt.check()
    }

    /// Counts and reports the outcome of a document.
    pub fn report(
        &mut self,
        input: usize,
        number: u64,
        document: ReportedDocument,
        outcome: Outcome,
    ) -> Result<()> {
        let counts = &mut self.statistics.counts;
        match (DuplicateOf::in_outcome(&outcome), outcome) {
            (Some(of), _) => {
                counts.duplicates += 1;
                let location = self.statistics.inputs[input].location(number);
                self.duplicates.push(document, of, location)?;
            }
            (None, Outcome::Exists { stored }) if stored == document.fingerprint => {
                counts.present += 1;
            }
            (None, Outcome::Exists { stored }) => {
                let id = document.id;
                self.statistics.conflict(input, number, id, stored)?;
            }
            (None, Outcome::Expired { .. }) => counts.expired += 1,
            (None, Outcome::Supersedes(removed)) => {
                counts.inserted += 1;
                counts.replaced += removed.len() as u64;
                let location = self.statistics.inputs[input].location(number);
                for removed in removed {
                    let of = DuplicateOf::replacing(&removed, document.id);
                    let reported = ReportedDocument {
                        id: removed.id,
                        fingerprint: removed.fingerprint,
                        text: None,
                    };
                    self.duplicates.push(reported, of, location)?;
                }
            }
            (None, _) => counts.inserted += 1,
        }
        Ok(())
    }
}

/// Turns an error about the temporary file into an error about `target`. A commit whose outcome is
/// unknown is certain here: no database was renamed to `target`.
fn not_created(error: anyhow::Error, target: &Path) -> anyhow::Error {
    let cause = match error.downcast::<Error>() {
        Ok(Error::CommitUnknown { source, .. } | Error::Storage { source, .. }) => {
            // Unboxed, so that a full disk is recognised by its `io::Error`.
            match source.downcast::<io::Error>() {
                Ok(source) => (*source).into(),
                Err(source) => anyhow::Error::from_boxed(source),
            }
        }
        Ok(Error::Io { source, .. }) => source.into(),
        Ok(error) => return error.into(),
        Err(error) => return error,
    };
    cause.context(format!("cannot write {}", target.display()))
}
