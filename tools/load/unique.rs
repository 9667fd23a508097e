//! [`FilteredLoad`]: a load that drops near-duplicates of the documents before them.
//!
//! A transaction decides, or with `--unique similar` an index in memory
//! ([`simdb::bulk::UniqueLoad`]). The load is one transaction, except for documents whose index
//! passes the memory of the load: then the documents that are kept so far are stored as a part, and
//! later texts are compared with the database too. A new database is built under a temporary name
//! and renamed when it is complete.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::vec;

use anyhow::Result;
use simdb::bulk::BulkLoad;
use simdb::{
    Change, Database, DocId, Document, Error, Match, OnExists, Outcome, Settings, SimilarRule,
    Timestamp,
};

use xxhash_rust::xxh3::xxh3_128;

use super::duplicates::{DuplicateReport, ReportedDocument};
use super::plan::LoadTarget;
use crate::console::duplicate::DuplicateOf;
use crate::console::error_text;
use crate::console::file::make_database;
use crate::console::interrupt::Interrupt;
use crate::console::progress::{ProgressMode, handler};
use crate::corpus::bulk;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::pipeline::{Pipeline, PipelineRecord, RecordBatch};
use crate::corpus::statistics::Statistics;
use crate::formats::Reject;
use crate::options::DuplicateRule;

/// At most 262,144 documents per call of `Transaction::apply_each`. Ctrl-C waits for the end of the
/// call.
const APPLIED_TOGETHER: usize = 1 << 18;

/// At most 1,024 documents are compared on all cores before they are decided one by one in memory.
const DECIDED_TOGETHER: usize = 1 << 10;

/// The memory of a document with a forest while it is applied, beside its text, in bytes: its
/// forest keys, their index for the other documents of the call, and their edits of the tables.
const SIMILAR_BYTES: usize = 8 << 10;

/// The start of the names of temporary folders.
const TEMPORARY_PREFIX: &str = ".simdb-load-";

/// A load with `--unique` or `--on-exists`.
pub struct FilteredLoad<'l> {
    pub database: &'l Path,
    pub progress: ProgressMode,
    pub memory: MemoryBudget,
    /// `None` if near-duplicates are loaded too.
    pub rule: Option<DuplicateRule>,
    pub on_exists: OnExists,
    /// `true` if the database keeps the texts that are loaded.
    pub keep_texts: bool,
    pub records: RecordStream,
    pub statistics: &'l mut Statistics,
    pub duplicates: &'l mut DuplicateReport,
    pub interrupt: Interrupt,
    /// The documents of the load that an existing database has, because the load was stored in
    /// parts.
    pub stored: u64,
    /// The first document of each text whose fingerprint is unreliable, by the hash of the text:
    /// see [`FilteredLoad::copies_in`].
    pub firsts: HashMap<u128, DocId>,
}

/// The records of a pipeline, one after the other.
pub struct RecordStream {
    pipeline: Pipeline,
    /// The index of the input of the batch.
    input: usize,
    batch: vec::IntoIter<PipelineRecord>,
}

impl RecordStream {
    pub fn new(pipeline: Pipeline) -> Self {
        Self {
            pipeline,
            input: 0,
            batch: Vec::new().into_iter(),
        }
    }

    /// The index of the input of the next record, and the record. `None` once, at the end.
    fn next(&mut self) -> Result<Option<(usize, PipelineRecord)>> {
        loop {
            if let Some(record) = self.batch.next() {
                return Ok(Some((self.input, record)));
            }
            let Some(RecordBatch { input, records }) = self.pipeline.next()? else {
                return Ok(None);
            };
            (self.input, self.batch) = (input, records.into_iter());
        }
    }
}

/// Records that are decided together.
#[derive(Default)]
struct RecordGroup {
    /// In the order of the inputs.
    records: Vec<ReadRecord>,
    documents: Vec<Document>,
    /// `true` if the inputs have ended.
    is_last: bool,
}

/// A record, the index of its input, and its number there.
struct ReadRecord {
    input: usize,
    number: u64,
    content: RecordContent,
}

enum RecordContent {
    Document {
        reliable: bool,
        arrival: Option<Timestamp>,
        reported: ReportedDocument,
        /// The hash of a text whose fingerprint is unreliable.
        text_hash: Option<u128>,
    },
    /// A bad record, which waits so that the report has the order of the input.
    Reject(Reject),
}

impl FilteredLoad<'_> {
    /// Loads all documents of the pipeline.
    pub fn run(&mut self, target: LoadTarget) -> Result<()> {
        // The index knows neither arrival times, nor the radius of a database without a forest, and
        // its bulk load replaces no document.
        let settings = target.settings();
        let indexed = match self.rule {
            Some(DuplicateRule::Similar(rule))
                if settings.similar
                    && settings.retention.is_none()
                    && self.on_exists == OnExists::Keep =>
            {
                Some(rule)
            }
            _ => None,
        };
        match target {
            LoadTarget::Existing(database) => match indexed {
                Some(rule) => self.add_by_index(rule, &database),
                None => self.apply_all(&database),
            },
            LoadTarget::New(settings) => {
                let path = self.database;
                let made = make_database(path, TEMPORARY_PREFIX, None, |path| {
                    self.create(&settings, indexed, path)
                });
                // The parts of a new database are lost with it.
                self.stored = 0;
                made.map_err(|error| not_created(error, path))
            }
        }
    }

    /// Loads all documents into a new database.
    fn create(
        &mut self,
        settings: &Settings,
        indexed: Option<SimilarRule>,
        path: &Path,
    ) -> Result<()> {
        // A frozen database cannot grow, so the database is frozen at the end.
        let growing = Settings {
            frozen: false,
            ..settings.clone()
        };
        let builder = self.memory.builder(&growing);
        match indexed {
            None => {
                let database = builder.create(path)?;
                self.apply_all(&database)?;
                // Closing flushes the journal, which is not renamed with the file.
                database.close()?;
            }
            Some(rule) => {
                let load = builder
                    .clone()
                    .bulk_create(path, self.memory.sort_bytes())?;
                if !self.fill(load, rule, self.memory.new_index_bytes())? {
                    let database = builder.open(path)?;
                    self.add_by_index(rule, &database)?;
                    database.close()?;
                }
            }
        }
        if !settings.frozen {
            return Ok(());
        }
        let bar = self.progress.work();
        bar.set_prefix("writing");
        let builder = self.memory.builder(settings);
        let frozen = builder
            .on_progress(handler(&bar, &self.interrupt))
            .vacuum(path);
        bar.finish_and_clear();
        self.interrupt.check()?;
        frozen?;
        Ok(())
    }

    /// Adds all documents to a database by an index in memory, a part in each bulk load.
    fn add_by_index(&mut self, rule: SimilarRule, database: &Database) -> Result<()> {
        loop {
            let load = database.bulk_load(self.memory.sort_bytes())?;
            if self.fill(load, rule, self.memory.part_bytes())? {
                return Ok(());
            }
            self.stored = self.statistics.counts.inserted;
        }
    }

    /// Loads documents until the inputs end, or the kept documents and their index take
    /// `most_bytes`. Returns `true` if the inputs have ended.
    fn fill(&mut self, load: BulkLoad<'_>, rule: SimilarRule, most_bytes: u64) -> Result<bool> {
        let mut load = load.unique(rule)?;
        let is_last = loop {
            let group = self.next_group(DECIDED_TOGETHER)?;
            let outcomes = load.decide(group.documents)?;
            self.report_all(group.records, outcomes.into_iter().map(Ok))?;
            if group.is_last || load.len_bytes() as u64 >= most_bytes {
                break group.is_last;
            }
        };
        self.statistics.refuse_all_rejected()?;
        let bar = self.progress.work();
        bar.set_prefix("writing");
        bulk::write(load.into_load()?, &bar, &self.interrupt, |_, id, _| {
            unreachable!("document {id} is kept once")
        })?;
        Ok(is_last)
    }

    /// Applies all documents in one transaction.
    fn apply_all(&mut self, database: &Database) -> Result<()> {
        let rule = self.rule;
        let mut transaction = database.begin()?;
        loop {
            // Many documents at a time, because sorted edits touch each chunk of a table once.
            let group = self.next_group(APPLIED_TOGETHER)?;
            let changes = group.documents.into_iter();
            let changes = changes.map(|document| match rule {
                Some(rule) => rule.change(document),
                None => Change::Insert(document),
            });
            let mut outcomes = transaction.apply_each(changes)?;
            let copies = self.copies_in(&group.records, &mut outcomes);
            transaction.apply(copies.into_iter().map(Change::remove))?;
            self.report_all(group.records, outcomes.into_iter())?;
            if group.is_last {
                break;
            }
        }
        self.statistics.refuse_all_rejected()?;
        let bar = self.progress.work();
        bar.set_prefix("writing");
        transaction.commit()?;
        bar.finish_and_clear();
        Ok(())
    }

    /// Finds the documents whose text is the text of an earlier document, although no fingerprint
    /// tells so, and corrects their outcomes. They are to be removed again.
    ///
    /// A document that expires or has a key is left: its first document may be gone, or its id is
    /// not known here.
    fn copies_in(
        &mut self,
        records: &[ReadRecord],
        outcomes: &mut [simdb::Result<Outcome>],
    ) -> Vec<DocId> {
        let documents = records.iter().filter_map(|record| match &record.content {
            RecordContent::Document {
                text_hash,
                reported,
                arrival: None,
                ..
            } => Some((text_hash.filter(|_| reported.key.is_none()), reported)),
            RecordContent::Document { reported, .. } => Some((None, reported)),
            RecordContent::Reject(_) => None,
        });
        let mut copies = Vec::new();
        for ((text_hash, document), outcome) in documents.zip(outcomes) {
            let is_new = match outcome {
                Ok(Outcome::Inserted { .. }) => true,
                Ok(Outcome::Exists { stored }) if *stored == document.fingerprint => false,
                _ => continue,
            };
            let Some(hash) = text_hash else { continue };
            let first = *self.firsts.entry(hash).or_insert(document.id);
            if is_new && first != document.id {
                copies.push(document.id);
                *outcome = Ok(Outcome::Duplicate(Match {
                    id: first,
                    fingerprint: document.fingerprint,
                    distance: 0,
                }));
            }
        }
        copies
    }

    /// Reads at most `most` documents, and fewer if they take much memory.
    fn next_group(&mut self, most: usize) -> Result<RecordGroup> {
        let mut group = RecordGroup::default();
        let mut bytes = 0;
        while group.documents.len() < most && (bytes as u64) < self.memory.waiting_bytes() {
            let Some((input, record)) = self.records.next()? else {
                group.is_last = true;
                break;
            };
            self.statistics.counts.read += 1;
            let checked = match record {
                PipelineRecord::Reject(reject) => Err(reject),
                PipelineRecord::Document(number, document) => {
                    let checked = self.rule.map(|rule| rule.check_text(&document));
                    match checked.unwrap_or(Ok(())) {
                        Ok(()) => Ok((number, document)),
                        Err(reason) => Err(Reject {
                            number,
                            id: document.key.is_none().then_some(document.id),
                            reason,
                        }),
                    }
                }
            };
            let (number, content) = match checked {
                Ok((number, mut document)) => {
                    let is_exact =
                        !document.reliable && matches!(self.rule, Some(DuplicateRule::Within(_)));
                    let exact = document
                        .text
                        .as_ref()
                        .filter(|text| is_exact && !text.trim().is_empty());
                    let text_hash = exact.map(|text| xxh3_128(text.as_bytes()));
                    let text = self.duplicates.text_of(&mut document, self.keep_texts);
                    let reported = ReportedDocument::new(&document, text);
                    let texts = [&document.text, &reported.text].into_iter().flatten();
                    bytes += texts.map(String::len).sum::<usize>();
                    bytes += size_of::<Change>();
                    if self.rule.is_some_and(|rule| rule.needs_texts()) {
                        bytes += SIMILAR_BYTES;
                    }
                    let content = RecordContent::Document {
                        reliable: document.reliable,
                        arrival: document.arrival,
                        reported,
                        text_hash,
                    };
                    group.documents.push(document.replacing(self.on_exists));
                    (number, content)
                }
                Err(reject) => {
                    // The first bad record ends a load that stops at it.
                    if self.statistics.is_aborting() {
                        self.statistics.reject(input, &reject)?;
                    }
                    bytes += reject.reason.len();
                    (reject.number, RecordContent::Reject(reject))
                }
            };
            bytes += size_of::<ReadRecord>();
            group.records.push(ReadRecord {
                input,
                number,
                content,
            });
        }
        Ok(group)
    }

    /// Counts and reports records, each document with its outcome.
    fn report_all(
        &mut self,
        records: Vec<ReadRecord>,
        mut outcomes: impl Iterator<Item = simdb::Result<Outcome>>,
    ) -> Result<()> {
        for record in records {
            let ReadRecord { input, number, .. } = record;
            let (reliable, arrival, reported) = match record.content {
                RecordContent::Reject(reject) => {
                    self.statistics.reject(input, &reject)?;
                    continue;
                }
                RecordContent::Document {
                    reliable,
                    arrival,
                    reported,
                    ..
                } => (reliable, arrival, reported),
            };
            let outcome = outcomes.next();
            match outcome.unwrap_or_else(|| unreachable!("each document has an outcome")) {
                // The load can go on without the document.
                Err(error @ Error::ArrivalAhead { .. }) => {
                    let id = reported.key.is_none().then_some(reported.id);
                    let reason = error_text(&error);
                    let reject = Reject { number, id, reason };
                    self.statistics.reject(input, &reject)?;
                }
                outcome => {
                    self.statistics.accept(reliable, arrival);
                    self.report(input, number, reported, outcome?)?;
                }
            }
        }
        self.interrupt.check()
    }

    /// Counts and reports the outcome of a document.
    fn report(
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
                let id = document.key.is_none().then_some(document.id);
                self.statistics.conflict(input, number, id, stored)?;
            }
            (None, Outcome::Seen) => counts.present += 1,
            (None, Outcome::Expired { .. }) => counts.expired += 1,
            (None, Outcome::Replaced { .. }) => {
                counts.inserted += 1;
                counts.replaced += 1;
            }
            (None, Outcome::Supersedes(removed)) => {
                counts.inserted += 1;
                counts.replaced += removed.len() as u64;
                let location = self.statistics.inputs[input].location(number);
                for removed in removed {
                    let of = DuplicateOf::replacing(&removed, document.id, document.key.clone());
                    let reported = ReportedDocument {
                        id: removed.id,
                        key: removed.key.map(String::from),
                        fingerprint: removed.fingerprint,
                        text: None,
                    };
                    self.duplicates.push_removed(reported, of, location)?;
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
