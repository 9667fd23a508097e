//! The distribution of the fingerprints of a database, and its cost for queries.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::block::{self, BLOCK_BITS, BLOCKS};
use crate::error::Result;
use crate::ids::{DocId, Fingerprint};
use crate::store::cache::buckets::KEYS_PER_BLOCK;
use crate::store::tables::packed::VisitFlow;
use crate::store::tables::schema::BLOCK0;
use crate::store::view::View;

/// At most 5 hot keys of a block, and 5 groups of duplicates, are reported.
const MAX_REPORTED: usize = 5;

/// At most 3 documents are reported of each key and each group.
const MAX_SAMPLES: usize = 3;

/// The distribution of the fingerprints of a database, returned by
/// [`Snapshot::diagnose`](crate::Snapshot::diagnose).
///
/// Queries are fast if fingerprints are spread evenly over the 65,536 keys of each block. A
/// diagnosis shows uneven keys and bits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Documents with a reliable fingerprint: those that queries find.
    pub documents: u64,
    /// Distinct fingerprints among them.
    pub distinct_fingerprints: u64,
    /// Documents whose fingerprint is not reliable.
    pub unreliable: u64,
    /// Changes in the journal that are not in the tables yet, and not in the other fields.
    /// `Database::merge` merges these changes, and so does closing the database.
    pub unmerged_changes: u64,
    /// Each block, the most significant first.
    pub blocks: [BlockDiagnosis; BLOCKS],
    /// Documents that share their fingerprint with others.
    pub duplicates: Duplicates,
}

/// The distribution of distinct fingerprints over the keys of one block.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockDiagnosis {
    /// The keys with the most distinct fingerprints, most first.
    pub hottest: Vec<HotKey>,
    /// The counts of all 65,536 keys, in order of keys.
    pub keys: Box<[KeyCount]>,
}

/// The numbers of fingerprints and documents with one block key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyCount {
    /// Distinct fingerprints with the key.
    pub distinct_fingerprints: u64,
    /// Documents with these fingerprints.
    pub documents: u64,
}

/// A block key that many fingerprints have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HotKey {
    /// The bits of the block.
    pub key: u16,
    /// Distinct fingerprints with this key, which a query with this key is compared with.
    pub distinct_fingerprints: u64,
    /// Documents with these fingerprints.
    pub documents: u64,
    /// Some of these documents, their fingerprints far apart if possible.
    pub samples: Vec<DocId>,
}

/// Documents that share their fingerprint with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Duplicates {
    /// Fingerprints that two or more documents have.
    pub groups: u64,
    /// Documents with these fingerprints.
    pub documents: u64,
    /// The largest groups, the largest first.
    pub largest: Vec<DuplicateGroup>,
}

/// Documents with the same fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DuplicateGroup {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The number of documents.
    pub documents: u64,
    /// The documents with the smallest ids.
    pub samples: Vec<DocId>,
}

impl Diagnosis {
    /// The number of distinct fingerprints with a 1 in each bit; bit 0 is the least significant.
    pub fn ones(&self) -> [u64; 64] {
        let mut ones = [0; 64];
        for (block, diagnosis) in self.blocks.iter().enumerate() {
            let lowest = (BLOCKS - 1 - block) * BLOCK_BITS as usize;
            for (key, count) in diagnosis.keys.iter().enumerate() {
                for bit in 0..BLOCK_BITS as usize {
                    ones[lowest + bit] += (key >> bit & 1) as u64 * count.distinct_fingerprints;
                }
            }
        }
        ones
    }
}

pub(crate) fn diagnose(view: &View) -> Result<Diagnosis> {
    let (counts, mut duplicates) = count_fingerprints(view)?;
    for group in &mut duplicates.largest {
        group.samples = documents_with(view, group.fingerprint)?;
    }
    let mut blocks = counts.map(BlockDiagnosis::from_counts);
    for (block, diagnosis) in blocks.iter_mut().enumerate() {
        for hot in &mut diagnosis.hottest {
            hot.samples = samples_of(view, block, hot.key)?;
        }
    }
    // Each fingerprint has one key of each block.
    let counts = || blocks[0].keys.iter();
    Ok(Diagnosis {
        documents: counts().map(|count| count.documents).sum(),
        distinct_fingerprints: counts().map(|count| count.distinct_fingerprints).sum(),
        unreliable: view.tables.counters().unreliable,
        unmerged_changes: view.unflushed_changes(),
        blocks,
        duplicates,
    })
}

/// The counts of each key of each block, and the groups of duplicates without samples.
fn count_fingerprints(view: &View) -> Result<([Box<[KeyCount]>; BLOCKS], Duplicates)> {
    let mut counts =
        std::array::from_fn(|_| vec![KeyCount::default(); KEYS_PER_BLOCK].into_boxed_slice());
    let mut duplicates = Duplicates::default();
    let mut add_group = |fingerprint: u64, documents: u64| {
        if documents == 0 {
            return;
        }
        let fingerprint = Fingerprint::from_bits(fingerprint);
        for (block, counts) in counts.iter_mut().enumerate() {
            let key = block::front_key(block::rotate(fingerprint, block));
            let count = &mut counts[usize::from(key)];
            count.distinct_fingerprints += 1;
            count.documents += documents;
        }
        if documents > 1 {
            duplicates.add(fingerprint, documents);
        }
    };
    // One pass is enough: `block0` holds every reliable document by fingerprint, and the keys of
    // the other blocks are parts of that.
    let (mut last, mut documents) = (0, 0);
    let block0 = view.tables.table(BLOCK0);
    let mut fingerprints = Vec::new();
    block0.visit(u128::MIN, u128::MAX, |_, chunk| {
        fingerprints.clear();
        chunk.push_firsts_within(0, u64::MAX, &mut fingerprints);
        for &fingerprint in &fingerprints {
            if fingerprint != last {
                add_group(last, documents);
                (last, documents) = (fingerprint, 0);
            }
            documents += 1;
        }
        Ok(VisitFlow::Next)
    })?;
    add_group(last, documents);
    Ok((counts, duplicates))
}

impl Duplicates {
    fn add(&mut self, fingerprint: Fingerprint, documents: u64) {
        self.groups += 1;
        self.documents += documents;
        let largest = &mut self.largest;
        let rank = largest.partition_point(|group| group.documents >= documents);
        if rank < MAX_REPORTED {
            largest.truncate(MAX_REPORTED - 1);
            let group = DuplicateGroup {
                fingerprint,
                documents,
                samples: Vec::new(),
            };
            largest.insert(rank, group);
        }
    }
}

impl BlockDiagnosis {
    fn from_counts(counts: Box<[KeyCount]>) -> Self {
        let mut keys: Vec<usize> = (0..counts.len())
            .filter(|key| counts[*key].distinct_fingerprints > 0)
            .collect();
        let heat = |key: &usize| {
            let count = counts[*key];
            Reverse((count.distinct_fingerprints, count.documents, Reverse(*key)))
        };
        if keys.len() > MAX_REPORTED {
            keys.select_nth_unstable_by_key(MAX_REPORTED, heat);
            keys.truncate(MAX_REPORTED);
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
            keys: counts,
        }
    }
}

/// Documents with a key and distinct fingerprints: the first of each third of the key, then the
/// first of the key.
fn samples_of(view: &View, block: usize, key: u16) -> Result<Vec<DocId>> {
    let (from, to) = block::front_range(key);
    let mut rotated = BTreeSet::new();
    for nth in 0..MAX_SAMPLES as u64 {
        let start = from + (to - from) / MAX_SAMPLES as u64 * nth;
        view.tables.visit_range(block, start, to, &mut |piece| {
            rotated.extend(piece.first());
            Ok(VisitFlow::Stop)
        })?;
    }
    view.tables.visit_range(block, from, to, &mut |piece| {
        let missing = piece.iter().copied().filter(|each| !rotated.contains(each));
        let missing: Vec<u64> = missing.take(MAX_SAMPLES - rotated.len()).collect();
        rotated.extend(missing);
        Ok(match rotated.len() {
            MAX_SAMPLES => VisitFlow::Stop,
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

/// The first documents with a fingerprint that answer queries, from one portion of documents.
fn documents_with(view: &View, fingerprint: Fingerprint) -> Result<Vec<DocId>> {
    let portion = view
        .tables
        .documents_portion(fingerprint.bits(), DocId(0), DocId(u64::MAX))?;
    let mut samples = Vec::new();
    for id in portion.items {
        if samples.len() == MAX_SAMPLES {
            break;
        }
        if view.answers_from_tables(id)? {
            samples.push(id);
        }
    }
    Ok(samples)
}
