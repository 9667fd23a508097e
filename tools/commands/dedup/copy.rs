//! [`Copier`]: the second pass over a corpus, which copies the records to keep.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use anyhow::{Result, bail};
use simdb::{Database, Snapshot};

use super::decisions::{CopyCount, Decisions, Removal};
use super::options::Dedup;
use super::removals::RemovalReport;
use super::summary::DedupSummary;
use crate::commands::corpus_copy::output::CorpusOutput;
use crate::console::interrupt::Interrupt;
use crate::corpus::bulk;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::statistics::{Rejected, Statistics};
use crate::corpus::uncompared::Uncompared;
use crate::formats::copy::CopyDecision;
use crate::formats::{DocumentContent, Item};
use crate::options::OnBadRecord;

pub struct Copier<'c> {
    pub options: &'c Dedup,
    pub decisions: &'c Decisions,
    /// The copies of each keeper; empty without `--with-copies`.
    pub copies: &'c HashMap<u64, CopyCount>,
    /// The loaded corpus.
    pub corpus: &'c Snapshot,
    /// The database of `--against`.
    pub against: Option<&'c Snapshot>,
    /// The parts of texts that were not compared.
    pub uncompared: Option<&'c Uncompared>,
    /// The bad records of the first pass.
    pub rejected: &'c Rejected,
    pub statistics: &'c mut Statistics,
    pub report: Option<&'c mut RemovalReport>,
    pub texts: TextHashes,
    pub summary: DedupSummary,
}

impl Copier<'_> {
    /// Copies all inputs. Returns the counts.
    pub fn copy_all(
        mut self,
        output: &mut CorpusOutput<'_>,
        interrupt: &Interrupt,
    ) -> Result<DedupSummary> {
        let inputs = self.statistics.inputs.clone();
        let wanted = self.options.wanted()?;
        let records = self.options.copy.records(&inputs, &wanted, interrupt);
        output.copy_all(&records, &mut |input, item| self.decide(input, item))?;
        let removed = self.decisions.removed.iter();
        let identical = removed.filter(|(id, removal)| {
            removal.cluster.is_some() && self.texts.are_same(**id, removal.keeper)
        });
        self.summary.identical += identical.count() as u64;
        Ok(self.summary)
    }

    /// Decides if a record is copied, counts the record and reports it.
    fn decide(&mut self, input: usize, item: Item) -> Result<CopyDecision> {
        self.statistics.counts.read += 1;
        let is_good = |number| !self.rejected.records.contains(&(input, number));
        let record = match item {
            Item::Record(record) if is_good(record.number) => record,
            _ if self.options.copy.on_error == OnBadRecord::Keep => {
                self.summary.kept += 1;
                self.summary.uncompared += 1;
                return Ok(CopyDecision::Unread);
            }
            _ => return Ok(CopyDecision::Drop),
        };
        if record.content.text.is_none() && self.options.copy.input.reads_texts() {
            self.summary.uncompared += 1;
        }
        let id = record.id.0;
        if let Some(stored) = self.decisions.taken.get(&id) {
            self.statistics
                .conflict(input, record.number, Some(record.id), *stored)?;
            return Ok(CopyDecision::Drop);
        }
        let removal = self.decisions.removed.get(&id).copied();
        let is_keeper = self.decisions.keepers.contains_key(&id);
        let frames = match removal.is_some() || is_keeper {
            true => self.frames_of(&record.content),
            false => None,
        };
        if let (Some(report), true) = (&mut self.report, is_keeper) {
            let frames = frames.clone().unwrap_or_default();
            report.push_keeper(id, input, record.number, frames);
        }
        if removal.is_some() || is_keeper {
            self.record_text(id, removal, &record.content)?;
        }
        let Some(removal) = removal else {
            self.summary.kept += 1;
            return Ok(CopyDecision::Keep(self.values_of_kept(id)));
        };
        self.summary.removed += 1;
        self.summary.against += u64::from(removal.cluster.is_none());
        if let Some(report) = &mut self.report {
            let keepers = match removal.cluster {
                Some(_) => Some(self.corpus),
                None => self.against,
            };
            let keeper = keepers
                .map(|keepers| keepers.get(removal.keeper))
                .transpose()?;
            let mut keeper = keeper.flatten().and_then(|document| document.text);
            let mut keeper_frames = None;
            // The database of --against has whole texts.
            if let (None, Some(uncompared)) = (removal.cluster, self.uncompared) {
                let frames_of = |text: &String| uncompared.frames_of(None, text);
                keeper_frames = keeper.as_ref().and_then(frames_of);
                keeper = keeper.map(|text| uncompared.compared(None, text));
            }
            let location = self.statistics.inputs[input].location(record.number);
            // The loaded corpus has the text of the keeper as it was compared.
            let group = record.content.group();
            let text = record.content.text.map(|text| match self.uncompared {
                Some(uncompared) => uncompared.compared(group, text),
                None => text,
            });
            let texts = text.zip(keeper).map(|(text, keeper)| [text, keeper]);
            report.push(id, removal, location, [frames, keeper_frames], texts)?;
        }
        let Removal {
            keeper, distance, ..
        } = removal;
        Ok(if self.options.mark.is_some() {
            CopyDecision::Keep(vec![Some(keeper), distance.map(u64::from)])
        } else {
            CopyDecision::Drop
        })
    }

    /// The values of the fields that are added to a kept record.
    fn values_of_kept(&self, id: u64) -> Vec<Option<u64>> {
        let marks = self.options.mark.as_ref().map_or(0, |names| names.len());
        let mut values = vec![None; marks];
        if self.options.with_copies.is_some() {
            let CopyCount { count, seen } = self.copies.get(&id).copied().unwrap_or_default();
            values.push(Some(count));
            values.extend(seen.map_or([None; 2], |seen| seen.map(|time| Some(time.0))));
        }
        values
    }

    /// The frames that were not compared of a text, for the report.
    fn frames_of(&self, content: &DocumentContent) -> Option<Vec<String>> {
        let uncompared = self.uncompared.filter(|_| self.report.is_some())?;
        uncompared.frames_of(content.group(), content.text.as_deref()?)
    }

    /// Records the text of a removed document or a keeper, to count documents with identical texts.
    /// The text of a keeper in the database of `--against` is compared at once.
    fn record_text(
        &mut self,
        id: u64,
        removal: Option<Removal>,
        content: &DocumentContent,
    ) -> Result<()> {
        let stored_keeper = removal.filter(|removal| removal.cluster.is_none());
        if let (Some(removal), Some(against)) = (stored_keeper, self.against) {
            let stored = against.get(removal.keeper)?;
            let text = stored.and_then(|document| document.text);
            self.summary.identical += u64::from(text.is_some() && text == content.text);
        } else if let Some(text) = &content.text {
            self.texts.push(id, text);
        }
        Ok(())
    }
}

/// The hashes of the texts of removed documents and keepers.
#[derive(Default)]
pub struct TextHashes {
    state: RandomState,
    by_id: HashMap<u64, u64>,
}

impl TextHashes {
    fn push(&mut self, id: u64, text: &str) {
        self.by_id.insert(id, self.state.hash_one(text));
    }

    fn are_same(&self, a: u64, b: u64) -> bool {
        let text = |id| self.by_id.get(&id);
        text(a).is_some_and(|hash| text(b) == Some(hash))
    }
}

/// Adds the documents to keep to a database. Returns the number of new documents.
pub fn add(
    options: &Dedup,
    corpus: &Database,
    decisions: &Decisions,
    database: &Database,
    interrupt: &Interrupt,
) -> Result<u64> {
    let bar = options.copy.progress.work();
    bar.set_prefix("adding");
    let keep_texts = database.settings().keep_texts;
    let has_texts = corpus.settings().keep_texts && options.copy.input.reads_texts();
    let sort_bytes = MemoryBudget::new(options.memory).shared_sort_bytes();
    let mut bulk = database.bulk_load(sort_bytes)?;
    for document in corpus.snapshot()?.documents() {
        let mut document = document?;
        interrupt.check()?;
        // A record without a text is no document.
        let is_document = document.text.is_some() || !has_texts;
        if is_document && !decisions.removed.contains_key(&document.id.0) {
            // The temporary database keeps texts to compare them, the target may not.
            document.text = document.text.filter(|_| keep_texts);
            bulk.push(document)?;
        }
    }
    let report = bulk::write(bulk, &bar, interrupt, |_, id, _| {
        bail!("document {id} is there with another fingerprint")
    })?;
    bar.finish_and_clear();
    Ok(report.inserted)
}
