//! The distinct fingerprints of a tail, as queries look for them.

use parking_lot::RwLock;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::shards::Groups;
use crate::block::{self, BLOCK_BITS, BLOCKS, Probes};
use crate::fingerprint::Fingerprint;
use crate::hamming;

/// Leading bits of a rotated fingerprint that say in which bucket of a block it is: less than a
/// block key, since a tail is small. At a million fingerprints, of which some sixty are in a bucket
/// then, queries up to radius 11 took about two thirds of the time they took with 12 bits.
const BUCKET_BITS: u32 = 14;
const BUCKETS: usize = 1 << BUCKET_BITS;

/// The largest radius to probe for: 1,880 buckets, in less than half the time that a look at all of
/// one block takes at a million fingerprints. From the next one on there would be half as many more.
const MOST_PROBED_RADIUS: u32 = 15;

/// Rotated fingerprints of one block with the same bits in front.
type LockedBucket = RwLock<Vec<u64>>;

/// Fingerprints, each put in once by one thread, while any number of others look.
pub(super) struct Distinct {
    /// The first ones, until they are too many to be compared one by one: a small tail has no
    /// buckets, which take some megabytes.
    few: RwLock<Vec<u64>>,
    most_few: usize,
    /// Once there are buckets, all are there, the first ones too: a reader that still looks at
    /// those may see no others.
    buckets: OnceLock<BlockBuckets>,
}

struct BlockBuckets {
    blocks: [Box<[LockedBucket]>; BLOCKS],
}

impl Distinct {
    pub(super) fn new(most_few: usize) -> Self {
        Self {
            few: RwLock::default(),
            most_few,
            buckets: OnceLock::new(),
        }
    }

    /// Puts in one that is not there yet.
    pub(super) fn push(&self, fingerprint: Fingerprint) {
        match self.buckets.get() {
            Some(buckets) => buckets.push(fingerprint),
            None => self.extend(&[fingerprint]),
        }
    }

    /// Puts in some that are not there yet, each once: very many of them on all cores.
    pub(super) fn extend(&self, fingerprints: &[Fingerprint]) {
        if self.buckets.get().is_none() {
            let mut few = self.few.write();
            if few.len() + fingerprints.len() <= self.most_few {
                few.extend(fingerprints.iter().map(|fingerprint| fingerprint.bits()));
                return;
            }
        }
        self.buckets.get_or_init(|| {
            let few = self.few.read();
            let first: Vec<_> = few.iter().copied().map(Fingerprint::from_bits).collect();
            let buckets = BlockBuckets::new();
            buckets.extend(&first);
            buckets
        });
        if let Some(buckets) = self.buckets.get() {
            buckets.extend(fingerprints);
        }
    }

    /// What the empty buckets take.
    pub(super) fn bucket_bytes(&self) -> usize {
        let is_there = self.buckets.get().is_some();
        usize::from(is_there) * BLOCKS * BUCKETS * size_of::<LockedBucket>()
    }

    /// Appends those within the radius to `near`, each once, in no order.
    pub(super) fn push_near(&self, query: Fingerprint, radius: u32, near: &mut Vec<u64>) {
        match self.buckets.get() {
            None => {
                let few = self.few.read();
                hamming::push_within(&few, query.bits(), radius, near);
            }
            Some(buckets) if radius <= MOST_PROBED_RADIUS => buckets.probe(query, radius, near),
            Some(buckets) => buckets.scan(query, radius, near),
        }
    }
}

impl BlockBuckets {
    fn new() -> Self {
        let blocks =
            std::array::from_fn(|_| (0..BUCKETS).map(|_| LockedBucket::default()).collect());
        Self { blocks }
    }

    fn push(&self, fingerprint: Fingerprint) {
        for (block, buckets) in self.blocks.iter().enumerate() {
            let rotated = block::rotate(fingerprint, block);
            let bucket = &buckets[bucket_of(rotated)];
            let mut bucket = bucket.write();
            bucket.push(rotated);
        }
    }

    fn extend(&self, fingerprints: &[Fingerprint]) {
        let each = fingerprints.iter().copied();
        if fingerprints.len() < BUCKETS {
            each.for_each(|fingerprint| self.push(fingerprint));
            return;
        }
        self.blocks
            .par_iter()
            .enumerate()
            .for_each(|(block, buckets)| {
                let rotated = each.clone().map(|each| block::rotate(each, block));
                let groups = Groups::of(rotated.map(bucket_of), BUCKETS);
                for (number, bucket) in buckets.iter().enumerate() {
                    let group = groups.group(number).iter();
                    let rotated =
                        group.map(|&nth| block::rotate(fingerprints[nth as usize], block));
                    let mut bucket = bucket.write();
                    bucket.extend(rotated);
                }
            });
    }

    /// Looks into the buckets of the keys that are near enough to the query's.
    fn probe(&self, query: Fingerprint, radius: u32, near: &mut Vec<u64>) {
        let probes = Probes::for_radius(radius);
        let mut found = Vec::new();
        for block in probes.blocks() {
            let rotated = block::rotate(query, block);
            let mut numbers: Vec<u16> = probes.keys(block, block::front_key(rotated));
            numbers
                .iter_mut()
                .for_each(|key| *key >>= BLOCK_BITS - BUCKET_BITS);
            numbers.dedup();
            for number in numbers {
                let bucket = &self.blocks[block][usize::from(number)];
                let bucket = bucket.read();
                hamming::push_within(&bucket, rotated, radius, &mut found);
            }
            let candidates = found.drain(..).map(|near| block::unrotate(near, block));
            // What another block owns is found there.
            let owned = candidates.filter(|near| probes.owner(query, *near) == Some(block));
            near.extend(owned.map(Fingerprint::bits));
        }
    }

    /// Looks at all of one block.
    fn scan(&self, query: Fingerprint, radius: u32, near: &mut Vec<u64>) {
        // Its fingerprints are not rotated.
        for bucket in &self.blocks[0] {
            let bucket = bucket.read();
            hamming::push_within(&bucket, query.bits(), radius, near);
        }
    }
}

fn bucket_of(rotated: u64) -> usize {
    (rotated >> (u64::BITS - BUCKET_BITS)) as usize
}
