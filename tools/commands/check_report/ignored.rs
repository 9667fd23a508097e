//! [`IgnoredParagraphs`]: the paragraphs that `dedup --ignore-repeated-paragraphs` does not
//! compare.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, bail};

use super::claim::Claim;
use crate::corpus::block_counter::BlockKey;
use crate::corpus::blocks::BlockUnit;
use crate::corpus::records::InputRecords;
use crate::corpus::repeated_blocks::{BlockRule, RepeatedBlocks};

/// The repeated paragraphs of the inputs, counted again.
pub struct IgnoredParagraphs {
    repeated: RepeatedBlocks,
    /// The repeated paragraphs of documents that are not removed.
    kept: HashSet<BlockKey>,
}

/// The value of "in_documents" in all lines; `None` if texts were compared whole. Lines with
/// different values are of several runs, which is an error.
pub fn in_documents(claims: &[Claim]) -> Result<Option<u64>> {
    let Some(first) = claims.first() else {
        return Ok(None);
    };
    let same = |claim: &&Claim| claim.in_documents == first.in_documents;
    if let Some(other) = claims.iter().find(|claim| !same(claim)) {
        bail!(
            "lines {} and {} of the report differ in \"in_documents\": they are of two reports; check each \
             report by itself",
            first.line,
            other.line
        );
    }
    Ok(first.in_documents)
}

impl IgnoredParagraphs {
    /// Counts the paragraphs of all inputs.
    pub fn count(in_documents: u64, folder: &Path, records: &InputRecords<'_>) -> Result<Self> {
        let rule = BlockRule {
            unit: BlockUnit::Paragraph,
            in_documents,
        };
        Ok(Self {
            repeated: RepeatedBlocks::count(rule, folder, records, |_, _| Ok(()))?,
            kept: HashSet::new(),
        })
    }

    /// Records the paragraphs of a document that is not removed.
    pub fn keep(&mut self, text: &str) {
        self.kept.extend(self.repeated.repeated_in(text));
    }

    /// The texts as they are compared. An error, with its reason, if a paragraph of the first text
    /// is lost.
    pub fn compared(&self, texts: [String; 2]) -> Result<[String; 2], String> {
        let ignored = self.repeated.without_repeated(&texts[0]).1;
        if ignored.iter().any(|key| !self.kept.contains(key)) {
            return Err(
                "a paragraph that was not compared is in no document that is kept".to_owned(),
            );
        }
        Ok(texts.map(|text| self.repeated.compared(text)))
    }
}
