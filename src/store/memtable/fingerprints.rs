//! [`FingerprintIndex`]: the distinct fingerprints of a memtable, in buckets by block.

use std::sync::OnceLock;

use parking_lot::RwLock;
use rayon::prelude::*;

use super::shards::GroupedIndices;
use crate::block::{self, BLOCK_BITS, BLOCKS, Probes};
use crate::hamming;
use crate::ids::Fingerprint;

/// The first 14 bits of a rotated fingerprint are the number of its bucket.
// A block key has 16 bits, but a memtable is small. Measured with a million fingerprints, 60 in a
// bucket: queries up to radius 11 take two thirds of the time that they take with 12 bits.
const BUCKET_BITS: u32 = 14;
const BUCKETS: usize = 1 << BUCKET_BITS;

/// Queries up to radius 15 probe buckets.
// Radius 15 probes 1,880 buckets, in less than half the time of a scan of one block with a million
// fingerprints. Radius 16 would probe half as many again.
const MAX_PROBED_RADIUS: u32 = 15;

/// The rotated fingerprints of one block with the same first [`BUCKET_BITS`].
type LockedBucket = RwLock<Vec<u64>>;

/// Distinct fingerprints. One thread adds each once, while any number of threads query.
pub(super) struct FingerprintIndex {
    /// Up to `max_list_len` fingerprints: a small memtable does without buckets, which take
    /// megabytes.
    list: RwLock<Vec<u64>>,
    max_list_len: usize,
    /// All fingerprints, also the fingerprints of `list`, once there are more than `max_list_len`.
    buckets: OnceLock<BlockBuckets>,
}

struct BlockBuckets {
    blocks: [Box<[LockedBucket]>; BLOCKS],
}

impl FingerprintIndex {
    pub(super) fn new(max_list_len: usize) -> Self {
        Self {
            list: RwLock::default(),
            max_list_len,
            buckets: OnceLock::new(),
        }
    }

    pub(super) fn push(&self, fingerprint: Fingerprint) {
        match self.buckets.get() {
            Some(buckets) => buckets.push(fingerprint),
            None => self.extend(&[fingerprint]),
        }
    }

    /// Adds new, distinct fingerprints, a large batch on all cores.
    pub(super) fn extend(&self, fingerprints: &[Fingerprint]) {
        if self.buckets.get().is_none() {
            let mut list = self.list.write();
            if list.len() + fingerprints.len() <= self.max_list_len {
                list.extend(fingerprints.iter().map(|fingerprint| fingerprint.bits()));
                return;
            }
        }
        // `list` stays as it is. A reader that found no buckets compares the list, which holds
        // every fingerprint that was visible to that reader.
        self.buckets.get_or_init(|| {
            let list = self.list.read();
            let first: Vec<_> = list.iter().copied().map(Fingerprint::from_bits).collect();
            let buckets = BlockBuckets::new();
            buckets.extend(&first);
            buckets
        });
        if let Some(buckets) = self.buckets.get() {
            buckets.extend(fingerprints);
        }
    }

    /// Bytes of the empty buckets.
    pub(super) fn bucket_bytes(&self) -> usize {
        let is_built = self.buckets.get().is_some();
        usize::from(is_built) * BLOCKS * BUCKETS * size_of::<LockedBucket>()
    }

    /// Appends the fingerprints within the radius to `near`, each once, unordered.
    pub(super) fn push_near(&self, query: Fingerprint, radius: u32, near: &mut Vec<u64>) {
        match self.buckets.get() {
            None => {
                let list = self.list.read();
                hamming::push_within(&list, query.bits(), radius, near);
            }
            Some(buckets) if radius <= MAX_PROBED_RADIUS => buckets.probe(query, radius, near),
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
        // With fewer fingerprints than buckets, most buckets get none, and visiting each costs
        // more.
        if fingerprints.len() < BUCKETS {
            each.for_each(|fingerprint| self.push(fingerprint));
            return;
        }
        self.blocks
            .par_iter()
            .enumerate()
            .for_each(|(block, buckets)| {
                let rotated = each.clone().map(|each| block::rotate(each, block));
                let groups = GroupedIndices::new(rotated.map(bucket_of), BUCKETS);
                for (number, bucket) in buckets.iter().enumerate() {
                    let group = groups.group(number).iter();
                    let rotated =
                        group.map(|&nth| block::rotate(fingerprints[nth as usize], block));
                    let mut bucket = bucket.write();
                    bucket.extend(rotated);
                }
            });
    }

    /// Compares the buckets that can hold fingerprints within the radius.
    fn probe(&self, query: Fingerprint, radius: u32, near: &mut Vec<u64>) {
        let probes = Probes::for_radius(radius);
        let mut found = Vec::new();
        for block in probes.blocks() {
            let rotated = block::rotate(query, block);
            // A bucket holds the fingerprints of four block keys, so several keys give one bucket.
            // The keys ascend, so equal numbers are side by side.
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
            // Several blocks may find a fingerprint; one of them, its owner, reports it.
            let owned = candidates.filter(|near| probes.owner(query, *near) == Some(block));
            near.extend(owned.map(Fingerprint::bits));
        }
    }

    fn scan(&self, query: Fingerprint, radius: u32, near: &mut Vec<u64>) {
        // Block 0, because its fingerprints are not rotated.
        for bucket in &self.blocks[0] {
            let bucket = bucket.read();
            hamming::push_within(&bucket, query.bits(), radius, near);
        }
    }
}

fn bucket_of(rotated: u64) -> usize {
    (rotated >> (u64::BITS - BUCKET_BITS)) as usize
}
