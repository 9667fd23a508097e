//! How the fingerprints of a database lie, and what that costs a query.

mod expectation;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::block::{self, BLOCK_BITS, BLOCKS};
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::tables::packed::VisitFlow;
use crate::store::view::View;
use crate::store::view::bucket_cache::KEYS_PER_BLOCK;
use crate::store::view::source::FingerprintSource;

pub use expectation::{Bin, QueryLoad};

/// How many of the hottest keys of a block, and of the largest groups of duplicates, are named.
const NAMED: usize = 5;

/// How many documents of each are named.
const SAMPLES: usize = 3;

/// How the fingerprints of a database lie, as [`Snapshot::diagnose`](crate::Snapshot::diagnose)
/// finds it.
///
/// Queries are quick because fingerprints spread evenly: over the 65,536 keys of each block, and
/// each bit over 0 and 1. Where they do not, this says where.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Documents with a reliable fingerprint: those that queries find.
    pub documents: u64,
    /// Distinct fingerprints among them.
    pub distinct_fingerprints: u64,
    /// Documents whose fingerprint is not reliable.
    pub unreliable: u64,
    /// Changes that are durable in the journal and not in the tables yet: all else is said without
    /// them. Closing a database that was written to merges them; `Database::merge` does so at once.
    pub unmerged_changes: u64,
    /// Each block, counted from the most significant one.
    pub blocks: [BlockDiagnosis; BLOCKS],
    /// Documents that share their fingerprint with others.
    pub duplicates: Duplicates,
}

/// How the distinct fingerprints of a database lie over the keys of one block.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockDiagnosis {
    /// The keys that most distinct fingerprints have, most first; keys that none has are left out.
    pub hottest: Vec<HotKey>,
    /// Of each key.
    counts: Box<[Count]>,
}

/// A block key, and what has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HotKey {
    /// The bits of the block.
    pub key: u16,
    /// Distinct fingerprints that have them: what a query compares that has them too.
    pub distinct_fingerprints: u64,
    /// Documents that have these fingerprints.
    pub documents: u64,
    /// Some of these documents, of fingerprints that lie apart where they do.
    pub samples: Vec<DocId>,
}

/// Documents that share their fingerprint with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Duplicates {
    /// Fingerprints that two documents and more have.
    pub groups: u64,
    /// Documents that have them.
    pub documents: u64,
    /// The largest of these groups, the largest first.
    pub largest: Vec<DuplicateGroup>,
}

/// Documents with the same fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DuplicateGroup {
    /// Their fingerprint.
    pub fingerprint: Fingerprint,
    /// How many they are.
    pub documents: u64,
    /// Those with the smallest ids.
    pub samples: Vec<DocId>,
}

/// What has a key.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    distinct_fingerprints: u64,
    documents: u64,
}

impl Diagnosis {
    /// How many distinct fingerprints have a 1 in each bit; bit 0 is the least significant one.
    pub fn ones(&self) -> [u64; 64] {
        let mut ones = [0; 64];
        for (block, diagnosis) in self.blocks.iter().enumerate() {
            let lowest = (BLOCKS - 1 - block) * BLOCK_BITS as usize;
            for (key, count) in diagnosis.counts.iter().enumerate() {
                for bit in 0..BLOCK_BITS as usize {
                    ones[lowest + bit] += (key >> bit & 1) as u64 * count.distinct_fingerprints;
                }
            }
        }
        ones
    }
}

pub(crate) fn diagnose(view: &View) -> Result<Diagnosis> {
    let mut walk = Walk::new();
    let block0 = &view.tables.block0;
    block0.visit(u128::MIN, u128::MAX, |_, chunk| {
        let (fingerprints, _) = chunk.firsts().as_chunks::<8>();
        for fingerprint in fingerprints {
            walk.take(u64::from_le_bytes(*fingerprint));
        }
        Ok(VisitFlow::Next)
    })?;
    walk.finish_group();
    let Walk {
        counts,
        mut duplicates,
        distinct_fingerprints,
        documents,
        ..
    } = walk;
    for group in &mut duplicates.largest {
        group.samples = documents_with(view, group.fingerprint)?;
    }
    let mut blocks = counts.map(BlockDiagnosis::from_counts);
    for (block, diagnosis) in blocks.iter_mut().enumerate() {
        for hot in &mut diagnosis.hottest {
            hot.samples = samples_of(view, block, hot.key)?;
        }
    }
    Ok(Diagnosis {
        documents,
        distinct_fingerprints,
        unreliable: view.tables.counters().unreliable,
        unmerged_changes: view.unflushed_changes(),
        blocks,
        duplicates,
    })
}

/// What one walk through `block0` finds: it holds every document, by fingerprint, and the blocks
/// of a fingerprint are parts of it.
struct Walk {
    counts: [Box<[Count]>; BLOCKS],
    duplicates: Duplicates,
    distinct_fingerprints: u64,
    documents: u64,
    /// The fingerprint just met, and how many documents were met that have it.
    group: (u64, u64),
}

impl Walk {
    fn new() -> Self {
        Self {
            counts: std::array::from_fn(|_| {
                vec![Count::default(); KEYS_PER_BLOCK].into_boxed_slice()
            }),
            duplicates: Duplicates::default(),
            distinct_fingerprints: 0,
            documents: 0,
            group: (0, 0),
        }
    }

    #[inline]
    fn take(&mut self, fingerprint: u64) {
        if self.group.0 != fingerprint {
            self.finish_group();
            self.group = (fingerprint, 0);
        }
        self.group.1 += 1;
    }

    fn finish_group(&mut self) {
        let (fingerprint, documents) = std::mem::take(&mut self.group);
        if documents == 0 {
            return;
        }
        let fingerprint = Fingerprint::from_bits(fingerprint);
        self.distinct_fingerprints += 1;
        self.documents += documents;
        for (block, counts) in self.counts.iter_mut().enumerate() {
            let key = block::front_key(block::rotate(fingerprint, block));
            let count = &mut counts[usize::from(key)];
            count.distinct_fingerprints += 1;
            count.documents += documents;
        }
        if documents > 1 {
            self.duplicates.add(fingerprint, documents);
        }
    }
}

impl Duplicates {
    fn add(&mut self, fingerprint: Fingerprint, documents: u64) {
        self.groups += 1;
        self.documents += documents;
        let db_path = self
            .largest
            .partition_point(|group| group.documents >= documents);
        if db_path < NAMED {
            self.largest.truncate(NAMED - 1);
            let group = DuplicateGroup {
                fingerprint,
                documents,
                samples: Vec::new(),
            };
            self.largest.insert(db_path, group);
        }
    }
}

impl BlockDiagnosis {
    fn from_counts(counts: Box<[Count]>) -> Self {
        let mut keys: Vec<usize> = (0..counts.len())
            .filter(|key| counts[*key].distinct_fingerprints > 0)
            .collect();
        let heat = |key: &usize| {
            let count = counts[*key];
            Reverse((count.distinct_fingerprints, count.documents, Reverse(*key)))
        };
        if keys.len() > NAMED {
            keys.select_nth_unstable_by_key(NAMED, heat);
            keys.truncate(NAMED);
        }
        keys.sort_unstable_by_key(heat);
        let hottest = keys.into_iter().map(|key| HotKey {
            key: key as u16,
            distinct_fingerprints: counts[key].distinct_fingerprints,
            documents: counts[key].documents,
            samples: Vec::new(),
        });
        Self {
            hottest: hottest.collect(),
            counts,
        }
    }
}

/// Some documents that have a key, each of another fingerprint: of those that come first in each
/// third of the key, and where that is too few, of the first of all.
fn samples_of(view: &View, block: usize, key: u16) -> Result<Vec<DocId>> {
    let (from, to) = block::front_range(key);
    let mut rotated = BTreeSet::new();
    for nth in 0..SAMPLES as u64 {
        let start = from + (to - from) / SAMPLES as u64 * nth;
        view.tables.visit_range(block, start, to, &mut |piece| {
            rotated.extend(piece.first());
            Ok(VisitFlow::Stop)
        })?;
    }
    view.tables.visit_range(block, from, to, &mut |piece| {
        let missing = piece.iter().copied().filter(|each| !rotated.contains(each));
        let missing: Vec<u64> = missing.take(SAMPLES - rotated.len()).collect();
        rotated.extend(missing);
        Ok(match rotated.len() {
            SAMPLES => VisitFlow::Stop,
            _ => VisitFlow::Next,
        })
    })?;
    let mut samples = Vec::new();
    for rotated in rotated {
        let documents = documents_with(view, block::unrotate(rotated, block))?;
        samples.extend(documents.first());
    }
    Ok(samples)
}

/// The first documents that have a fingerprint, of those that are at hand and answer queries.
fn documents_with(view: &View, fingerprint: Fingerprint) -> Result<Vec<DocId>> {
    let page = view.tables.documents_page(fingerprint.bits(), DocId(0))?;
    let mut samples = Vec::new();
    for id in page.items {
        if samples.len() == SAMPLES {
            break;
        }
        if view.answers_from_tables(id)? {
            samples.push(id);
        }
    }
    Ok(samples)
}
