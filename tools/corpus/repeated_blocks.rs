//! [`RepeatedBlocks`]: the blocks that several documents of a corpus have.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;
use simdb::Normaliser;

use super::block_counter::{BlockCounter, BlockCounts, BlockKey};
use super::blocks::{BlockUnit, blocks, comparable, without_blocks};
use super::records::InputRecords;
use crate::formats::{Item, Reject};

/// The definition of a repeated block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRule {
    pub unit: BlockUnit,
    /// The least number of documents that have the block.
    pub in_documents: u64,
}

/// The blocks that at least a number of documents have. Some 70 bytes of memory for each.
pub struct RepeatedBlocks {
    rule: BlockRule,
    hasher: BlockHasher,
    counts: HashMap<BlockKey, BlockCounts>,
    records: u64,
}

/// Hashes blocks with random keys: a writer of texts cannot find two blocks with one hash.
struct BlockHasher {
    normaliser: Normaliser,
    keys: [RandomState; 2],
}

/// Texts that are cut into blocks at a time, on all cores: 4 MiB, and one more text.
const BATCH_BYTES: usize = 4 << 20;

/// The group of a document, and its text.
type GroupedText = (Option<u64>, String);

impl RepeatedBlocks {
    /// Counts the blocks of all documents; of each group by itself, if documents have groups. Bad
    /// records go to `on_reject`.
    ///
    /// Memory beside the result: 40 MiB, 16 bytes for each block of 4 MiB of texts, and some 70
    /// bytes for each different block of a 128th of all. Disk: 24 bytes in `folder` for each block
    /// of each document.
    pub fn count(
        rule: BlockRule,
        folder: &Path,
        records: &InputRecords<'_>,
        mut on_reject: impl FnMut(usize, &Reject) -> Result<()>,
    ) -> Result<Self> {
        let hasher = BlockHasher::new();
        let mut counter = BlockCounter::new(folder);
        let (mut batch, mut batch_bytes) = (Vec::new(), 0);
        let mut count = 0;
        records.for_each("counting", |input, item| {
            count += 1;
            let content = match item {
                Item::Record(record) => record.content,
                Item::Reject(reject) => return on_reject(input, &reject),
            };
            let group = content.group();
            if let Some(text) = content.text {
                batch_bytes += text.len();
                batch.push((group, text));
            }
            if batch_bytes >= BATCH_BYTES {
                batch_bytes = 0;
                hasher.push_all(rule.unit, std::mem::take(&mut batch), &mut counter)?;
            }
            Ok(())
        })?;
        hasher.push_all(rule.unit, batch, &mut counter)?;
        Ok(Self {
            rule,
            hasher,
            counts: counter.finish(rule.in_documents)?,
            records: count,
        })
    }

    pub fn rule(&self) -> BlockRule {
        self.rule
    }

    /// The number of records that were read, bad ones included.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The number of repeated blocks.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// The key and the counts of a block of a group; `None` if the block is not repeated.
    pub fn get(&self, group: Option<u64>, block: &str) -> Option<(BlockKey, BlockCounts)> {
        let key = self.hasher.key(group, block)?;
        self.counts.get(&key).map(|counts| (key, *counts))
    }

    /// The text without its repeated blocks, and their keys; the whole text and no key if no other
    /// block has a letter. All blocks of a document with enough copies are repeated.
    pub fn without_repeated<'t>(&self, text: &'t str) -> (Cow<'t, str>, Vec<BlockKey>) {
        let (mut keys, mut has_rest) = (Vec::new(), false);
        let rest = without_blocks(text, self.rule.unit, |block| {
            let Some(key) = self.hasher.key(None, block) else {
                return false;
            };
            let is_repeated = self.counts.contains_key(&key);
            has_rest |= !is_repeated;
            keys.extend(is_repeated.then_some(key));
            is_repeated
        });
        match rest {
            Some(rest) if has_rest => (Cow::Owned(rest), keys),
            _ => (Cow::Borrowed(text), Vec::new()),
        }
    }

    /// The text as it is compared: without its repeated blocks, or whole if no other block has a
    /// letter.
    pub fn compared(&self, text: String) -> String {
        match self.without_repeated(&text).0 {
            Cow::Owned(rest) => rest,
            Cow::Borrowed(_) => text,
        }
    }

    /// The keys of the repeated blocks of a text.
    pub fn repeated_in(&self, text: &str) -> impl Iterator<Item = BlockKey> {
        let keys = blocks(text, self.rule.unit);
        keys.filter_map(|block| Some(self.get(None, block.content)?.0))
    }
}

impl BlockHasher {
    fn new() -> Self {
        Self {
            normaliser: Normaliser::new(),
            keys: [RandomState::new(), RandomState::new()],
        }
    }

    /// The key of a block of a group; `None` if the block has no letter.
    fn key(&self, group: Option<u64>, block: &str) -> Option<BlockKey> {
        let form = comparable(&self.normaliser, block)?;
        let [high, low] = (self.keys.each_ref()).map(|keys| keys.hash_one((group, &form)));
        Some(BlockKey::from(high) << 64 | BlockKey::from(low))
    }

    /// Adds the different blocks of each text.
    fn push_all(
        &self,
        unit: BlockUnit,
        texts: Vec<GroupedText>,
        counter: &mut BlockCounter,
    ) -> Result<()> {
        let keys_of = |(group, text): GroupedText| {
            let keys = blocks(&text, unit);
            let mut keys: Vec<_> = keys
                .filter_map(|block| self.key(group, block.content))
                .collect();
            keys.sort_unstable();
            keys
        };
        let keys: Vec<_> = texts.into_par_iter().map(keys_of).collect();
        for keys in keys {
            for equal in keys.chunk_by(|a, b| a == b) {
                counter.push(equal[0], equal.len() as u64)?;
            }
        }
        Ok(())
    }
}
