//! [`FingerprintIndex`]: the distinct fingerprints of a memtable, in buckets by block.

use std::sync::OnceLock;

use parking_lot::RwLock;
use rayon::prelude::*;

use super::shards::Grouped;
use crate::block::{self, BLOCK_BITS, BLOCKS, Probes};
use crate::fingerprint::Fingerprint;
use crate::hamming;

/// Leading bits of a rotated fingerprint that number its bucket: fewer than a block key has, since a
/// memtable is small. Measured at a million fingerprints, 60 in a bucket: queries up to radius 11 took
/// two thirds of the time of 12 bits.
const BUCKET_BITS: u32 = 14;
const BUCKETS: usize = 1 << BUCKET_BITS;

/// The largest radius that probes: 1,880 buckets, in less than half the time of a scan of one block at
/// a million fingerprints. Radius 16 would probe half as many again.
const MOST_PROBED_RADIUS: u32 = 15;

/// The rotated fingerprints of one block with the same leading bits.
type LockedBucket = RwLock<Vec<u64>>;

/// Distinct fingerprints. One thread adds each once, while any number of threads query.
pub(super) struct FingerprintIndex {
    /// The first fingerprints, as one list: a small memtable has no buckets, which take megabytes.
    few: RwLock<Vec<u64>>,
    most_few: usize,
    /// All fingerprints, once there are more than `most_few`. A reader that still uses `few` sees all
    /// fingerprints that were visible to it.
    buckets: OnceLock<BlockBuckets>,
}

struct BlockBuckets {
    blocks: [Box<[LockedBucket]>; BLOCKS],
}

impl FingerprintIndex {
    pub(super) fn new(most_few: usize) -> Self {
        Self {
            few: RwLock::default(),
            most_few,
            buckets: OnceLock::new(),
        }
    }

    /// Adds a new fingerprint.
    pub(super) fn push(&self, fingerprint: Fingerprint) {
        match self.buckets.get() {
            Some(buckets) => buckets.push(fingerprint),
            None => self.extend(&[fingerprint]),
        }
    }

    /// Adds new, distinct fingerprints; many on all cores.
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

    /// Bytes of the empty buckets.
    pub(super) fn bucket_bytes(&self) -> usize {
        let is_built = self.buckets.get().is_some();
        usize::from(is_built) * BLOCKS * BUCKETS * size_of::<LockedBucket>()
    }

    /// Appends the fingerprints within the radius to `near`, each once, unordered.
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
                let groups = Grouped::new(rotated.map(bucket_of), BUCKETS);
                for (number, bucket) in buckets.iter().enumerate() {
                    let group = groups.group(number).iter();
                    let rotated =
                        group.map(|&nth| block::rotate(fingerprints[nth as usize], block));
                    let mut bucket = bucket.write();
                    bucket.extend(rotated);
                }
            });
    }

    /// Compares the buckets whose key is near enough to the key of the query.
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
            // A match is reported only by the first block that finds it.
            let owned = candidates.filter(|near| probes.owner(query, *near) == Some(block));
            near.extend(owned.map(Fingerprint::bits));
        }
    }

    /// Compares all fingerprints of one block.
    fn scan(&self, query: Fingerprint, radius: u32, near: &mut Vec<u64>) {
        // The fingerprints of block 0 are not rotated.
        for bucket in &self.blocks[0] {
            let bucket = bucket.read();
            hamming::push_within(&bucket, query.bits(), radius, near);
        }
    }
}

fn bucket_of(rotated: u64) -> usize {
    (rotated >> (u64::BITS - BUCKET_BITS)) as usize
}
