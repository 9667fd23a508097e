//! The two schemes without blocks: of each fingerprint there are 43,745 *variants* within 3 bits.
//! Either a query looks up all of its own, or all variants of each stored fingerprint are stored.

use std::collections::HashMap;

use bench_support::contender::{Answer, Asker, Contender};

/// The numbers with 0 to 3 set bits: each, xor a fingerprint, is a variant of it.
fn flips() -> Vec<u64> {
    let bit = |position: u32| 1_u64 << position;
    let mut flips = vec![0];
    for first in 0..64 {
        flips.push(bit(first));
        for second in 0..first {
            flips.push(bit(first) | bit(second));
            flips.extend((0..second).map(|third| bit(first) | bit(second) | bit(third)));
        }
    }
    assert_eq!(flips.len(), 43_745);
    flips
}

fn sorted(mut answer: Answer) -> Answer {
    answer.sort_unstable();
    answer
}

/// Looks up all variants of a query in a hash table of the stored fingerprints.
pub struct VariantLookups {
    documents: HashMap<u64, Vec<u64>, foldhash::fast::FixedState>,
    flips: Vec<u64>,
}

impl VariantLookups {
    /// The estimated memory, in bytes per document.
    pub const BYTES_PER_DOCUMENT: u64 = 100;

    pub fn new(keys: &[u64]) -> Self {
        let mut documents: HashMap<u64, Vec<u64>, _> = HashMap::default();
        for (key, id) in keys.iter().zip(0..) {
            documents.entry(*key).or_default().push(id);
        }
        Self {
            documents,
            flips: flips(),
        }
    }
}

impl Contender for VariantLookups {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| {
            let near = self
                .flips
                .iter()
                .filter(|flips| flips.count_ones() <= radius);
            let found =
                near.filter_map(|flips| Some((flips, self.documents.get(&(query ^ flips))?)));
            let answer =
                found.flat_map(|(flips, ids)| ids.iter().map(|id| (flips.count_ones(), *id)));
            sorted(answer.collect())
        })
    }
}

/// Looks up a query among the stored variants of all fingerprints, in a sorted array.
pub struct StoredVariants<'k> {
    keys: &'k [u64],
    variants: Vec<(u64, u32)>,
}

impl<'k> StoredVariants<'k> {
    /// The memory in bytes per document.
    pub const BYTES_PER_DOCUMENT: u64 = 43_745 * size_of::<(u64, u32)>() as u64;

    pub fn new(keys: &'k [u64]) -> Self {
        let flips = flips();
        let mut variants = Vec::with_capacity(keys.len() * flips.len());
        for (key, id) in keys.iter().zip(0..) {
            variants.extend(flips.iter().map(|flips| (key ^ flips, id)));
        }
        variants.sort_unstable();
        Self { keys, variants }
    }
}

impl Contender for StoredVariants<'_> {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| {
            let start = self
                .variants
                .partition_point(|(variant, _)| *variant < query);
            let found = self.variants[start..].iter();
            let found = found.take_while(|(variant, _)| *variant == query);
            let distance = |id: u32| (self.keys[id as usize] ^ query).count_ones();
            let answer = found.map(|(_, id)| (distance(*id), u64::from(*id)));
            sorted(answer.filter(|(distance, _)| *distance <= radius).collect())
        })
    }
}
