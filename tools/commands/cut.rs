//! `simdb-cli cut`: a copy of a corpus whose texts lack repeated lines or paragraphs.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use serde_json::{Map, json};

use super::corpus_copy::output::CorpusOutput;
use super::corpus_copy::{CopyOptions, check_unchanged, insert_place};
use crate::console::Output;
use crate::console::interrupt::Interrupt;
use crate::console::table::Table;
use crate::corpus::block_counter::BlockKey;
use crate::corpus::blocks::{BlockUnit, without_blocks};
use crate::corpus::input_fingerprint::InputFingerprints;
use crate::corpus::inputs::Input;
use crate::corpus::repeated_blocks::{BlockRule, RepeatedBlocks};
use crate::corpus::report::RecordReport;
use crate::corpus::statistics::Statistics;
use crate::corpus::stream_copies::copies_of_streams;
use crate::formats::copy::CopyDecision;
use crate::formats::{DocumentFields, Item};
use crate::options::OnBadRecord;

/// Copies a corpus without the repeated lines or paragraphs of its texts
///
/// A line or paragraph that occurs in at least --in-documents documents stays in the first of them
/// and is cut from the others. Lines are equal if they differ in case, width, white space,
/// traditional and simplified characters, or punctuation only; `+ # & . _ % -` count, and a line
/// without a letter is never cut.
/// A paragraph is the lines between lines of white space; it is cut with the blank lines after it.
///
/// Every record is copied. The rest of a changed text is written anew, other fields and other
/// records byte for byte. INPUT, OUTPUT and their formats are as for `simdb-cli dedup`.
///
/// --report writes {"text":"...","documents":57,"removed":60,"id":1,"file":"a.jsonl","line":1} for
/// each line or paragraph that is cut: the documents that had it, how often it was cut, and where
/// it stays.
///
/// Memory: 40 MiB, some 90 bytes for each repeated line, and some 70 bytes for each different line
/// of a 128th of all. Disk: 24 bytes for each line, beside OUTPUT while the inputs are counted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli cut pages.jsonl -o cut.jsonl --paragraphs --report boilerplate.jsonl
  simdb-cli cut crawl/ -o cut/ --lines --in-documents 10 --within site")]
pub struct Cut {
    #[command(flatten)]
    copy: CopyOptions,

    #[command(flatten)]
    unit: UnitOptions,

    /// The number of documents from which on a line or a paragraph is repeated
    ///
    /// In two documents, a paragraph is more often a quotation or a copy than boilerplate.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(2..),
        default_value_t = 3
    )]
    in_documents: u64,

    /// Count the documents of each value in this field or column for themselves
    #[arg(long, value_name = "FIELD")]
    within: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct UnitOptions {
    /// Cut repeated lines
    #[arg(long)]
    lines: bool,

    /// Cut repeated paragraphs
    #[arg(long)]
    paragraphs: bool,
}

/// A copy in progress, document by document.
struct BlockCut<'c> {
    repeated: &'c RepeatedBlocks,
    inputs: &'c [Input],
    /// The repeated blocks that an earlier document has.
    kept: HashSet<BlockKey>,
    on_error: OnBadRecord,
    report: Option<RecordReport>,
    summary: CutSummary,
}

/// The counts, with the field names of JSON.
#[derive(Default, Serialize)]
struct CutSummary {
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

impl Cut {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let started = Instant::now();
        // clap requires one of both flags.
        let rule = BlockRule {
            unit: match self.unit.lines {
                true => BlockUnit::Line,
                false => BlockUnit::Paragraph,
            },
            in_documents: self.in_documents,
        };
        // All checks come before the first pass, which may take hours.
        self.copy.check()?;
        ensure!(
            self.copy.input.has_texts(),
            "cut changes texts; name their field with --text"
        );
        ensure!(
            self.copy.input.fields.text.len() < 2,
            "cut changes the text of one field; give --text once"
        );
        ensure!(
            !self.copy.input.fields.strip_html,
            "cut writes the rest of a text, and --strip-html would write it without its tags; leave it out"
        );
        let fields = DocumentFields {
            group: self.within.clone(),
            ..self.copy.input.document_fields()?
        };
        let inputs = self.copy.input.inputs()?;
        let format = self.copy.check_inputs(&inputs, &fields, &[])?;
        let outputs = self.copy.check_outputs(&inputs, format, &[], &None)?;
        let interrupt = Interrupt::listen()?;
        let text = self.copy.input.text_field();
        let mut corpus = CorpusOutput::create(outputs.corpus, format, &inputs, Vec::new(), text)?;
        let report = outputs.report.map(RecordReport::create).transpose()?;
        let folder = self.copy.temporary_folder()?;
        let inputs = copies_of_streams(inputs, folder.path(), &interrupt)?;
        CopyOptions::check_columns(&inputs, &fields, &[])?;
        let mut statistics = Statistics::new(inputs.clone(), self.copy.on_error, outputs.rejects)?;

        // First pass: count the blocks.
        let before = InputFingerprints::new(&inputs)?;
        let wanted = self.copy.input.wanted(fields);
        let records = self.copy.records(&inputs, &wanted, &interrupt);
        let repeated = RepeatedBlocks::count(rule, folder.path(), &records, |input, reject| {
            statistics.reject(input, reject)
        })?;

        statistics.counts.read = repeated.records();
        statistics.refuse_all_rejected()?;

        // Second pass: copy the records.
        let mut cut = BlockCut {
            repeated: &repeated,
            inputs: &inputs,
            kept: HashSet::new(),
            on_error: self.copy.on_error,
            report,
            summary: CutSummary::default(),
        };
        corpus.copy_all(&records, &mut |input, item| cut.decide(input, item))?;
        // Blocks were counted in the first pass: a changed input could lose a block everywhere.
        check_unchanged(&before, &inputs, [repeated.records(), cut.summary.read])?;
        interrupt.check()?;
        // The report is published last: it describes a corpus that is there.
        corpus.publish()?;
        let reported = cut.report.map_or(Ok(()), RecordReport::publish);
        let rejected = match self.copy.on_error {
            OnBadRecord::Keep => 0,
            _ => statistics.counts.rejected,
        };
        statistics.finish().and(reported)?;
        let summary = CutSummary {
            names: match rule.unit {
                BlockUnit::Line => "lines",
                BlockUnit::Paragraph => "paragraphs",
            },
            rejected,
            blocks: repeated.len() as u64,
            seconds: started.elapsed().as_secs_f64(),
            ..cut.summary
        };
        output.print(self.copy.json, || &summary, || summary.table())
    }
}

impl BlockCut<'_> {
    fn decide(&mut self, input: usize, item: Item) -> Result<CopyDecision> {
        self.summary.read += 1;
        let Item::Record(record) = item else {
            return Ok(match self.on_error {
                OnBadRecord::Keep => CopyDecision::Unread,
                _ => CopyDecision::Drop,
            });
        };
        let Some(text) = &record.content.text else {
            return Ok(CopyDecision::Keep(Vec::new()));
        };
        // The repeated blocks of which this document is the first, in order.
        let mut first = Vec::new();
        let mut removed = 0;
        let (unit, group) = (self.repeated.rule().unit, record.content.group());
        let rest = without_blocks(text, unit, |block| {
            let Some((key, counts)) = self.repeated.get(group, block) else {
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
            return Ok(CopyDecision::Keep(Vec::new()));
        };
        self.summary.changed += 1;
        self.summary.emptied += u64::from(!rest.contains(char::is_alphanumeric));
        self.summary.removed += removed;
        self.summary.removed_bytes += (text.len() - rest.len()) as u64;
        Ok(CopyDecision::Rewrite(rest))
    }
}

impl CutSummary {
    fn table(&self) -> Table {
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
