//! [`BlockOptions`]: the options about repeated lines and paragraphs.

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::corpus::blocks::BlockUnit;
use crate::corpus::repeated_blocks::BlockRule;

/// The options about repeated lines and paragraphs.
#[derive(Debug, Args)]
pub struct BlockOptions {
    /// Cut repeated lines out of the texts, and copy every record, instead of leaving records out
    ///
    /// A line that occurs in at least --in-documents documents stays in the first of them and is cut from
    /// the others. Lines are equal if they differ in case, width, white space, punctuation, or traditional
    /// and simplified characters only; a line without a letter is never cut. Other signs do not count
    /// either: lines of source code that differ in an operator are equal. With --within, the lines of each
    /// group are counted for themselves.
    ///
    /// --report writes {"text":"...","documents":57,"removed":60,"id":1,"file":"a.jsonl","line":1} for each
    /// line that is cut: the documents that had the line, how often it was cut, and where it stays.
    /// The rest of a changed text is written anew, other fields and other records byte for byte.
    ///
    /// Memory: 40 MiB, some 90 bytes for each repeated line, and some 70 bytes for each different line of
    /// a 128th of all. Disk: 24 bytes for each line, beside OUTPUT while the inputs are counted.
    #[arg(
        long,
        conflicts_with_all = DECISION_OPTIONS,
        conflicts_with_all = COMPARISONS,
        help_heading = "Repeated blocks"
    )]
    pub lines: bool,

    /// Cut repeated paragraphs out of the texts, as --lines cuts lines
    ///
    /// A paragraph is the lines between lines of white space; it is cut with the blank lines after it.
    #[arg(
        long,
        conflicts_with = "lines",
        conflicts_with_all = DECISION_OPTIONS,
        conflicts_with_all = COMPARISONS,
        help_heading = "Repeated blocks"
    )]
    pub paragraphs: bool,

    /// Compare texts without their repeated paragraphs, and copy the texts that are kept whole
    ///
    /// Finds bodies within other boilerplate: another site, a print view. A paragraph that occurs in at
    /// least --in-documents documents is not compared. A document without another paragraph is compared
    /// whole. No paragraph is lost: a document stays if a paragraph that was not compared would otherwise be
    /// in no document that is kept. The paragraphs of an article with many copies are repeated too: leave
    /// those out first, by a run without this option. Ids must differ.
    ///
    /// Repeated paragraphs that tell documents apart are not compared either, and documents that differ in
    /// nothing else are left out: --paragraphs --report with the same --in-documents lists what is repeated.
    ///
    /// Each line of --report has "in_documents", and its verdict, words and hashes are those of the texts
    /// that were compared; `simdb-cli check-report` counts the paragraphs again. The inputs are read two
    /// more times.
    #[arg(
        long,
        conflicts_with_all = ["lines", "paragraphs", "against", "clusters", "within", "across"],
        help_heading = "Repeated blocks"
    )]
    pub ignore_repeated_paragraphs: bool,

    /// The number of documents from which on a line or a paragraph is repeated [default: 3; with
    /// --ignore-repeated-paragraphs 10]
    ///
    /// In two documents, a paragraph is more often a quotation or a copy than boilerplate. A paragraph that is
    /// not compared should be in more documents than an article has copies.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(2..),
        help_heading = "Repeated blocks"
    )]
    pub in_documents: Option<u64>,
}

/// The options that define decisions, which `--clusters` replaces. `--clusters` also replaces `--within`, which
/// is no decision alone: it groups the lines and paragraphs that are cut.
pub(super) const DECISION_OPTIONS: [&str; 13] = [
    "strict",
    "across",
    "decide",
    "radius",
    "shape",
    "cap",
    "verify",
    "edit_similarity",
    "jaccard",
    "contained_up_to",
    "keep",
    "score",
    "against",
];

/// The other options that compare documents, which --lines and --paragraphs do not.
const COMPARISONS: [&str; 4] = ["recipe", "clusters", "add", "mark"];

/// The default of `--in-documents` for blocks that are cut, each of which stays in one document.
const CUT_IN_DOCUMENTS: u64 = 3;

/// The default of `--in-documents` for blocks that are not compared. With 3, the body of an article with three
/// copies would not be compared.
const IGNORED_IN_DOCUMENTS: u64 = 10;

impl BlockOptions {
    /// The blocks to cut; `None` if records are left out.
    pub fn cut(&self) -> Option<BlockRule> {
        let unit = match (self.lines, self.paragraphs) {
            (true, _) => BlockUnit::Line,
            (_, true) => BlockUnit::Paragraph,
            _ => return None,
        };
        Some(self.rule(unit, CUT_IN_DOCUMENTS))
    }

    /// The blocks that are not compared; `None` if texts are compared whole.
    pub fn ignored(&self) -> Option<BlockRule> {
        let paragraphs = self.ignore_repeated_paragraphs;
        paragraphs.then(|| self.rule(BlockUnit::Paragraph, IGNORED_IN_DOCUMENTS))
    }

    fn rule(&self, unit: BlockUnit, default: u64) -> BlockRule {
        BlockRule {
            unit,
            in_documents: self.in_documents.unwrap_or(default),
        }
    }

    /// Refuses contradicting options. The others say if records have texts, and if texts are compared.
    pub(super) fn check(&self, reads_texts: bool, compares_texts: bool) -> Result<()> {
        if self.cut().is_some() {
            ensure!(
                reads_texts,
                "--lines and --paragraphs cut texts; name their field with --text"
            );
        } else if self.ignored().is_some() {
            ensure!(
                compares_texts,
                "--ignore-repeated-paragraphs needs the comparison of texts, without --strict, --radius, \
                 --shape and --verify"
            );
        } else if self.in_documents.is_some() {
            bail!("--in-documents needs --lines, --paragraphs or --ignore-repeated-paragraphs");
        }
        Ok(())
    }
}
