//! The fingerprints of a batch, to be found by what is near.

use std::collections::{BTreeSet, HashMap};

use crate::block::{self, BLOCKS, Probes};
use crate::document::DocId;
use crate::fingerprint::Fingerprint;

/// The fingerprints that documents have received in this batch.
#[derive(Default)]
pub(super) struct Recent {
    /// The documents that have them now. One that nobody has any longer stays, without any.
    documents: HashMap<Fingerprint, BTreeSet<DocId>>,
    /// The keys of `documents`, as they came.
    fingerprints: Vec<Fingerprint>,
    /// The first `indexed` of them by block and block key: only a batch that asks for what is near
    /// pays for that.
    by_block: HashMap<(usize, u16), Vec<Fingerprint>>,
    indexed: usize,
}

impl Recent {
    pub(super) fn add(&mut self, id: DocId, fingerprint: Fingerprint) {
        let documents = self.documents.entry(fingerprint).or_insert_with(|| {
            self.fingerprints.push(fingerprint);
            BTreeSet::new()
        });
        documents.insert(id);
    }

    pub(super) fn remove(&mut self, id: DocId, fingerprint: Fingerprint) {
        if let Some(documents) = self.documents.get_mut(&fingerprint) {
            documents.remove(&id);
        }
    }

    pub(super) fn index(&mut self) {
        for fingerprint in &self.fingerprints[self.indexed..] {
            for block in 0..BLOCKS {
                let key = block::front_key(block::rotate(*fingerprint, block));
                self.by_block
                    .entry((block, key))
                    .or_default()
                    .push(*fingerprint);
            }
        }
        self.indexed = self.fingerprints.len();
    }

    /// Every fingerprint within the radius with the documents that have it, in order of their
    /// ids; some of them perhaps more than once.
    pub(super) fn for_each_within(
        &self,
        query: Fingerprint,
        radius: u32,
        mut found: impl FnMut(Fingerprint, &BTreeSet<DocId>),
    ) {
        let mut compare = |fingerprint: &Fingerprint| {
            if fingerprint.distance(query) <= radius
                && let Some(documents) = self.documents.get(fingerprint)
            {
                found(*fingerprint, documents);
            }
        };
        let probes = Probes::for_radius(radius);
        let count: u64 = probes.blocks().map(|block| probes.count(block)).sum();
        if count > self.fingerprints.len() as u64 {
            self.fingerprints.iter().for_each(compare);
            return;
        }
        for block in probes.blocks() {
            for key in probes.keys(block, block::front_key(block::rotate(query, block))) {
                let near = self.by_block.get(&(block, key));
                near.into_iter().flatten().for_each(&mut compare);
            }
        }
    }
}
