//! [`BlockCut`]: a copy of a corpus whose texts lack repeated lines or paragraphs.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, json};

use super::check::DedupOutputs;
use super::check_unchanged;
use super::options::Dedup;
use super::output::CorpusOutput;
use super::removals::insert_place;
use crate::console::interrupt::Interrupt;
use crate::console::table::Table;
use crate::corpus::block_counter::BlockKey;
use crate::corpus::blocks::{BlockUnit, without_blocks};
use crate::corpus::input_fingerprint::InputFingerprints;
use crate::corpus::inputs::Input;
use crate::corpus::repeated_blocks::{BlockRule, RepeatedBlocks};
use crate::corpus::report::RecordReport;
use crate::corpus::statistics::Statistics;
use crate::corpus::streams::copies_of_streams;
use crate::formats::copy::CopyDecision;
use crate::formats::{Format, Item};

/// A copy in progress, document by document.
struct BlockCut<'c> {
    repeated: &'c RepeatedBlocks,
    inputs: &'c [Input],
    /// The repeated blocks that an earlier document has.
    kept: HashSet<BlockKey>,
    report: Option<RecordReport>,
    summary: CutSummary,
}

/// The counts, with the field names of JSON.
#[derive(Default, Serialize)]
pub struct CutSummary {
    #[serde(skip)]
    names: &'static str,
    read: u64,
    /// Documents from which a block was cut.
    changed: u64,
    /// Documents that have no letter or digit left.
    emptied: u64,
    rejected: u64,
    /// The different blocks that were cut.
    blocks: u64,
    /// The blocks that were cut, in all documents.
    removed: u64,
    /// The bytes of the texts that were cut, as UTF-8.
    removed_bytes: u64,
    seconds: f64,
}

impl Dedup {
    /// Copies the inputs without their repeated blocks.
    pub(super) fn cut_blocks(
        &self,
        rule: BlockRule,
        inputs: Vec<Input>,
        (format, outputs): (Format, DedupOutputs),
        interrupt: &Interrupt,
    ) -> Result<CutSummary> {
        let started = Instant::now();
        let mut corpus = CorpusOutput::create(self, outputs.corpus, format, &inputs)?;
        let report = outputs.report.map(RecordReport::create).transpose()?;
        let folder = self.temporary_folder()?;
        let inputs = copies_of_streams(inputs, folder.path(), interrupt)?;
        let mut statistics = Statistics::new(inputs.clone(), self.on_error, outputs.rejects)?;

        // First pass: count the blocks.
        let before = InputFingerprints::new(&inputs)?;
        let wanted = self.wanted()?;
        let records = self.records(&inputs, &wanted, interrupt);
        let repeated = RepeatedBlocks::count(rule, folder.path(), &records, |input, reject| {
            statistics.reject(input, reject)
        })?;

        // Second pass: copy the records.
        let mut cut = BlockCut {
            repeated: &repeated,
            inputs: &inputs,
            kept: HashSet::new(),
            report,
            summary: CutSummary::default(),
        };
        corpus.copy_all(&records, &mut |input, item| cut.decide(input, item))?;
        check_unchanged(&before, &inputs, [repeated.records(), cut.summary.read])?;
        interrupt.check()?;
        corpus.publish()?;
        let reported = cut.report.map_or(Ok(()), RecordReport::publish);
        let rejected = statistics.counts.rejected;
        statistics.finish().and(reported)?;
        Ok(CutSummary {
            names: match rule.unit {
                BlockUnit::Line => "lines",
                BlockUnit::Paragraph => "paragraphs",
            },
            rejected,
            blocks: repeated.len() as u64,
            seconds: started.elapsed().as_secs_f64(),
            ..cut.summary
        })
    }
}

impl BlockCut<'_> {
    fn decide(&mut self, input: usize, item: Item) -> Result<CopyDecision> {
        self.summary.read += 1;
        let Item::Record(record) = item else {
            return Ok(CopyDecision::Drop);
        };
        let Some(text) = &record.content.text else {
            return Ok(CopyDecision::Keep(None));
        };
        // The repeated blocks of which this document is the first, in order.
        let mut first = Vec::new();
        let mut removed = 0;
        let unit = self.repeated.rule().unit;
        let rest = without_blocks(text, unit, |block| {
            let Some((key, counts)) = self.repeated.get(record.content.group, block) else {
                return false;
            };
            let is_cut = self.kept.contains(&key);
            if is_cut {
                removed += 1;
            } else {
                first.push((key, counts, block));
            }
            is_cut
        });
        let mut here: HashMap<BlockKey, u64> = HashMap::new();
        for (key, ..) in &first {
            *here.entry(*key).or_default() += 1;
        }
        for (key, counts, text) in first {
            if let (true, Some(report)) = (self.kept.insert(key), &mut self.report) {
                let mut line = Map::new();
                let fields = [
                    ("text", json!(text)),
                    ("documents", json!(counts.documents)),
                    ("removed", json!(counts.occurrences - here[&key])),
                    ("id", json!(record.id.0)),
                ];
                line.extend(fields.map(|(name, value)| (name.to_owned(), value)));
                let location = self.inputs[input].location(record.number);
                insert_place(&mut line, "", Some(location));
                report.line(&line)?;
            }
        }
        let Some(rest) = rest else {
            return Ok(CopyDecision::Keep(None));
        };
        self.summary.changed += 1;
        self.summary.emptied += u64::from(!rest.contains(char::is_alphanumeric));
        self.summary.removed += removed;
        self.summary.removed_bytes += (text.len() - rest.len()) as u64;
        Ok(CopyDecision::Rewrite(rest))
    }
}

impl CutSummary {
    pub fn table(&self) -> Table {
        let mut table = Table::of_counts(&[
            ("read", self.read, ""),
            ("changed", self.changed, ""),
            ("  emptied?", self.emptied, "no letter or digit is left"),
            (
                "rejected?",
                self.rejected,
                "left out: see above, or --rejects FILE",
            ),
            (self.names, self.blocks, "different ones, repeated"),
            ("removed", self.removed, "of them"),
            ("bytes", self.removed_bytes, "of text removed"),
        ]);
        table.row(["time", &format!("{:.2} s", self.seconds)]);
        table
    }
}
