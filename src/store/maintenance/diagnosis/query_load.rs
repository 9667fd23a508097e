//! The average cost of a query.

use super::Diagnosis;
use crate::block::{self, Probes};
use crate::store::cache::buckets::KEYS_PER_BLOCK;
use crate::store::limits::MAX_BUCKET_LEN;

/// The default radius of queries.
const RADIUS: u32 = 3;

/// The average cost of a query at radius 3.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct QueryLoad {
    /// Distinct fingerprints that share a block key with the query, once for each such block. The
    /// query is compared with them, except for a key that more than 16,384 fingerprints have.
    pub candidates: f64,
    /// The number of candidates if fingerprints were random.
    pub candidates_if_random: f64,
    /// Ranges looked up: 1 per block, or 17 for a key that more than 16,384 fingerprints have.
    pub look_ups: f64,
}

impl Diagnosis {
    /// The average cost of a query for a stored document: a key that n of N documents have is looked
    /// up with probability n / N. `growth` multiplies the documents, distributed as they are now.
    ///
    /// All costs are 0 without documents, and for a growth that is not greater than 0.
    pub fn query_load(&self, growth: f64) -> QueryLoad {
        let mut load = QueryLoad {
            candidates: 0.0,
            candidates_if_random: 0.0,
            look_ups: 0.0,
        };
        if self.documents == 0 || growth.is_nan() || growth <= 0.0 {
            return load;
        }
        // The fingerprint of the query itself does not multiply.
        let grown = |count: u64| 1.0 + (count - 1) as f64 * growth;
        load.candidates_if_random = self.blocks.len() as f64
            * (1.0 + (self.distinct_fingerprints - 1) as f64 / KEYS_PER_BLOCK as f64 * growth);
        for (block, diagnosis) in self.blocks.iter().enumerate() {
            let mut in_large_buckets = 0;
            for count in diagnosis.counts.iter().filter(|count| count.documents > 0) {
                let share = count.documents as f64 / self.documents as f64;
                let fingerprints = grown(count.distinct_fingerprints);
                load.candidates += share * fingerprints;
                if fingerprints > MAX_BUCKET_LEN as f64 {
                    in_large_buckets += count.documents;
                }
            }
            let more = look_ups_of_large_bucket(block) - 1.0;
            load.look_ups += 1.0 + more * in_large_buckets as f64 / self.documents as f64;
        }
        load
    }
}

fn look_ups_of_large_bucket(block: usize) -> f64 {
    let parts = Probes::for_radius(RADIUS).parts(block, 0, block::front_key(0), u64::MAX);
    parts.map_or(1.0, |parts| parts.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bucket_takes_seventeen_look_ups() {
        assert_eq!(look_ups_of_large_bucket(2), 17.0);
    }
}
