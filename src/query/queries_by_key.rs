//! [`QueriesByKey`]: the queries of a batch, found by the block key.

use rayon::prelude::*;

use crate::block::{self, BLOCK_BITS};
use crate::ids::Fingerprint;

/// Queries sorted by their keys in one block.
pub(super) struct QueriesByKey {
    /// The index of each query and its rotated fingerprint.
    queries: Vec<(u32, u64)>,
    /// The position in `queries` of the first query with each key or a larger key; then the length
    /// of `queries`.
    starts: Vec<u32>,
}

impl QueriesByKey {
    /// Sorts the queries by the keys of `block`.
    pub(super) fn new(queries: &[Fingerprint], block: usize) -> Self {
        let mut queries: Vec<(u32, u64)> = (0..)
            .zip(queries)
            .map(|(query_index, query)| (query_index, block::rotate(*query, block)))
            .collect();
        queries.par_sort_unstable_by_key(|(_, rotated)| *rotated);
        // Prefix sums turn the number of queries with each key into the position of the first of
        // them.
        let mut starts = vec![0; (1 << BLOCK_BITS) + 1];
        for (_, rotated) in &queries {
            starts[usize::from(block::front_key(*rotated)) + 1] += 1;
        }
        let mut start = 0;
        for count in &mut starts {
            start += *count;
            *count = start;
        }
        Self { queries, starts }
    }

    /// The queries with a key: the index of each, and its rotated fingerprint.
    pub(super) fn with_key(&self, key: u16) -> impl Iterator<Item = (u32, u64)> {
        let key = usize::from(key);
        let (start, end) = (self.starts[key] as usize, self.starts[key + 1] as usize);
        self.queries[start..end].iter().copied()
    }

    /// The keys whose xor with the key of some query is one of these differences, in order.
    pub(super) fn keys_near(&self, differences: &[u16]) -> Vec<u16> {
        let mut is_near = vec![false; 1 << BLOCK_BITS];
        for key in 0..=u16::MAX {
            if self.with_key(key).next().is_some() {
                for difference in differences {
                    is_near[usize::from(key ^ difference)] = true;
                }
            }
        }
        (0..=u16::MAX)
            .filter(|key| is_near[usize::from(*key)])
            .collect()
    }
}
