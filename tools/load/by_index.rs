//! A load with `--unique similar`, decided by an index in memory.
//!
//! The documents that are kept wait in memory and are stored together. If they and the index take more
//! than the memory of the load, they are stored as a part, and the next part begins with an empty index:
//! its texts are compared with the database too.

use std::path::Path;

use anyhow::Result;
use simdb::{Change, Database, Settings, SimilarRule};

use super::decisions::{DECIDED_TOGETHER, Decisions, KeptDocuments, Stored};
use super::duplicates::ReportedDocument;
use super::unique::{APPLY_DOCUMENTS, SIMILAR_BYTES, UniqueLoad};
use crate::corpus::bulk;
use crate::corpus::pipeline::{PipelineRecord, RecordBatch};
use crate::formats::Reject;

/// The documents of a part that are kept.
struct Part {
    kept: KeptDocuments,
    /// `true` if the inputs have ended.
    is_last: bool,
}

/// A record of a batch, in the order of the input.
enum Record {
    Document(u64, ReportedDocument),
    Reject(Reject),
}

impl UniqueLoad<'_> {
    /// Loads all documents into a new database.
    pub fn create_by_index(
        &mut self,
        rule: SimilarRule,
        settings: &Settings,
        path: &Path,
    ) -> Result<()> {
        let Part { kept, is_last } = self.next_part(rule, None, self.memory.new_index_bytes())?;
        if is_last {
            return self.write_new(settings, path, kept);
        }
        let growing = Settings {
            frozen: false,
            ..settings.clone()
        };
        let growing_path = match settings.frozen {
            true => path.with_file_name("growing.simdb"),
            false => path.to_path_buf(),
        };
        self.write_new(&growing, &growing_path, kept)?;
        let database = self.memory.builder(&growing).open(&growing_path)?;
        while !self.add_part(rule, &database)? {}
        match settings.frozen {
            true => self.freeze(&database, settings, path),
            false => Ok(database.close()?),
        }
    }

    /// Adds all documents to a database, a part in each transaction.
    pub fn add_by_index(&mut self, rule: SimilarRule, database: &Database) -> Result<()> {
        while !self.add_part(rule, database)? {
            self.stored = self.statistics.counts.inserted;
        }
        Ok(())
    }

    /// Adds the next part in one transaction. Returns `true` if the inputs have ended.
    fn add_part(&mut self, rule: SimilarRule, database: &Database) -> Result<bool> {
        // Holds the write lock, so the snapshot stays the last state.
        let mut transaction = database.begin()?;
        let snapshot = database.snapshot()?;
        let stored = Stored { database, snapshot };
        let most_bytes = self.memory.waiting_bytes();
        let Part { kept, is_last } = self.next_part(rule, Some(stored), most_bytes)?;
        let bar = self.progress.work();
        bar.set_prefix("writing");
        transaction.apply(kept.replaced.into_iter().map(Change::Remove))?;
        // Many documents at a time, because sorted edits touch each chunk of a table once.
        let together = most_bytes as usize / SIMILAR_BYTES;
        let together = together.clamp(DECIDED_TOGETHER, APPLY_DOCUMENTS);
        let mut documents = kept.documents.into_iter().flatten().map(Change::Insert);
        loop {
            let changes: Vec<Change> = documents.by_ref().take(together).collect();
            if changes.is_empty() {
                break;
            }
            transaction.apply(changes)?;
            self.interrupt.check()?;
        }
        transaction.commit()?;
        bar.finish_and_clear();
        Ok(is_last)
    }

    fn write_new(&mut self, settings: &Settings, path: &Path, kept: KeptDocuments) -> Result<()> {
        let builder = self.memory.builder(settings);
        let mut bulk = builder.bulk_create(path, self.memory.sort_bytes())?;
        for document in kept.documents.into_iter().flatten() {
            bulk.push(document)?;
        }
        let bar = self.progress.work();
        bar.set_prefix("writing");
        let written = bulk::write(bulk, &bar, &self.interrupt, |_, id, _| {
            unreachable!("document {id} is kept once")
        });
        written.map(drop)
    }

    /// Decides documents until the inputs end, or the kept ones and the index take `most_bytes`.
    fn next_part(
        &mut self,
        rule: SimilarRule,
        stored: Option<Stored<'_>>,
        most_bytes: u64,
    ) -> Result<Part> {
        let mut decisions = Decisions::new(rule, stored)?;
        while let Some(RecordBatch { input, records }) = self.pipeline.next()? {
            let mut records = records.into_iter().peekable();
            while records.peek().is_some() {
                self.decide(
                    &mut decisions,
                    input,
                    records.by_ref().take(DECIDED_TOGETHER),
                )?;
            }
            if decisions.len_bytes() as u64 >= most_bytes {
                let kept = decisions.into_documents();
                return Ok(Part {
                    kept,
                    is_last: false,
                });
            }
        }
        Ok(Part {
            kept: decisions.into_documents(),
            is_last: true,
        })
    }

    /// Decides some records of an input, and counts and reports each in the order of the input.
    fn decide(
        &mut self,
        decisions: &mut Decisions<'_>,
        input: usize,
        records: impl Iterator<Item = PipelineRecord>,
    ) -> Result<()> {
        let (mut read, mut documents) = (Vec::new(), Vec::new());
        for record in records {
            self.statistics.counts.read += 1;
            let (number, mut document) = match record {
                PipelineRecord::Document(number, document) => (number, document),
                PipelineRecord::Reject(reject) => {
                    read.push(Record::Reject(self.refuse_early(input, reject)?));
                    continue;
                }
            };
            if let Err(reason) = self.rule.check_text(&document) {
                let id = Some(document.id);
                let reject = Reject { number, id, reason };
                read.push(Record::Reject(self.refuse_early(input, reject)?));
                continue;
            }
            self.statistics.accept(document.reliable, document.arrival);
            let text = self.duplicates.text_of(&mut document, true);
            read.push(Record::Document(
                number,
                ReportedDocument::new(&document, text),
            ));
            documents.push(document);
        }
        let mut outcomes = decisions.decide(documents)?.into_iter();
        for record in read {
            match record {
                Record::Reject(reject) => self.statistics.reject(input, &reject)?,
                Record::Document(number, document) => {
                    let outcome = outcomes.next();
                    let outcome = outcome.unwrap_or_else(|| unreachable!("each has an outcome"));
                    self.report(input, number, document, outcome)?;
                }
            }
        }
        self.interrupt.check()
    }

    /// Returns the bad record, which is reported behind the records before it. The first one ends a load
    /// that stops at it.
    fn refuse_early(&mut self, input: usize, reject: Reject) -> Result<Reject> {
        if self.statistics.is_aborting() {
            self.statistics.reject(input, &reject)?;
        }
        Ok(reject)
    }
}
