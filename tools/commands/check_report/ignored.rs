//! [`Ignored`]: the parts of texts that `dedup` did not compare.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail};
use simdb::frames::{Frame, Frames, TextEnds};
use xxhash_rust::xxh3::xxh3_64;

use super::claim::Claim;
use crate::corpus::block_counter::BlockKey;
use crate::corpus::blocks::BlockUnit;
use crate::corpus::records::InputRecords;
use crate::corpus::repeated_blocks::{BlockRule, RepeatedBlocks};
use crate::corpus::uncompared::{UncomparedRule, body};

/// The parts of texts that were not compared, counted again.
pub enum Ignored {
    /// The repeated paragraphs of the inputs, and the repeated paragraphs of documents that are not
    /// removed.
    Paragraphs(Box<RepeatedBlocks>, HashSet<BlockKey>),
    Frames(ClaimedFrames),
}

/// The frames that the lines name.
pub struct ClaimedFrames {
    in_documents: u64,
    named: Frames,
    /// The texts with each frame at an end: their number, and hashes of some.
    texts: HashMap<String, (u64, HashSet<u64>)>,
}

/// The different texts that are counted for a frame.
const MAX_DIFFERENT: usize = 64;

/// The rule of all lines; `None` if texts were compared whole. Lines with different rules are of
/// several runs, which is an error.
pub fn uncompared_rule(claims: &[Claim]) -> Result<Option<UncomparedRule>> {
    let Some(first) = claims.first() else {
        return Ok(None);
    };
    let same = |claim: &&Claim| claim.uncompared == first.uncompared;
    if let Some(other) = claims.iter().find(|claim| !same(claim)) {
        let rule = first.uncompared.or(other.uncompared);
        bail!(
            "lines {} and {} of the report differ in {:?}: they are of two reports; check each report by \
             itself",
            first.line,
            other.line,
            rule.map_or("in_documents", |rule| rule.field().0)
        );
    }
    Ok(first.uncompared)
}

impl Ignored {
    /// Counts the paragraphs of all inputs, or collects the frames of all lines.
    pub fn new(
        rule: UncomparedRule,
        claims: &[Claim],
        folder: &Path,
        records: &InputRecords<'_>,
    ) -> Result<Self> {
        Ok(match rule {
            UncomparedRule::Paragraphs(in_documents) => {
                let unit = BlockUnit::Paragraph;
                let rule = BlockRule { unit, in_documents };
                let repeated = RepeatedBlocks::count(rule, folder, records, |_, _| Ok(()))?;
                Self::Paragraphs(Box::new(repeated), HashSet::new())
            }
            UncomparedRule::Frames(in_documents) => {
                let named = claims
                    .iter()
                    .flat_map(|claim| claim.frames.iter().flatten());
                Self::Frames(ClaimedFrames {
                    in_documents,
                    named: frames_of(named),
                    texts: HashMap::new(),
                })
            }
        })
    }

    /// Records the parts of a document.
    pub fn read(&mut self, text: &str, is_removed: bool) {
        match self {
            Self::Paragraphs(repeated, kept) if !is_removed => {
                kept.extend(repeated.repeated_in(text));
            }
            Self::Paragraphs(..) => {}
            Self::Frames(claimed) => claimed.read(text),
        }
    }

    /// The texts of a line as they are compared. An error, with its reason, if a paragraph of the
    /// first text is lost, or a frame is not repeated.
    pub fn compared(&self, claim: &Claim, texts: [String; 2]) -> Result<[String; 2], String> {
        match self {
            Self::Paragraphs(repeated, kept) => {
                let ignored = repeated.without_repeated(&texts[0]).1;
                if ignored.iter().any(|key| !kept.contains(key)) {
                    return Err(
                        "a paragraph that was not compared is in no document that is kept"
                            .to_owned(),
                    );
                }
                Ok(texts.map(|text| repeated.compared(text)))
            }
            Self::Frames(claimed) => {
                let mut frames = claim.frames.iter().flatten();
                if let Some(frame) = frames.find(|frame| !claimed.is_repeated(frame)) {
                    return Err(format!(
                        "{frame:?} is at the head or the tail of too few different documents"
                    ));
                }
                let [own, keepers] = [0, 1].map(|side| frames_of(&claim.frames[side]));
                let [text, keeper] = texts;
                Ok([body(&own, 0, text), body(&keepers, 0, keeper)])
            }
        }
    }
}

impl ClaimedFrames {
    fn read(&mut self, text: &str) {
        for line in TextEnds::new(text).lines() {
            let Some(form) = self.named.form(0, line) else {
                continue;
            };
            let (count, different) = self.texts.entry(form).or_default();
            *count += 1;
            if different.len() < MAX_DIFFERENT {
                different.insert(xxh3_64(text.as_bytes()));
            }
        }
    }

    /// Returns `true` if enough documents have a frame at an end.
    fn is_repeated(&self, frame: &str) -> bool {
        let texts = self
            .named
            .form(0, frame)
            .and_then(|form| self.texts.get(&form));
        texts.is_some_and(|(count, different)| {
            *count >= self.in_documents
                && different.len() as u64 >= self.in_documents.min(MAX_DIFFERENT as u64)
        })
    }
}

fn frames_of<'f>(frames: impl IntoIterator<Item = &'f String>) -> Frames {
    let frame = |text: &String| Frame {
        text: text.clone(),
        group: 0,
        documents: 0,
    };
    frames.into_iter().map(frame).collect()
}
