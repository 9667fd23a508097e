//! The average cost of a query.

use serde::Serialize;
use simdb::diagnosis::Diagnosis;

use super::histogram::KEYS_PER_BLOCK;

/// A query is compared with all fingerprints of a key up to this number. Of a key with more, it
/// looks up the fingerprints whose next block is near too.
const MAX_COMPARED: f64 = 16_384.0;

/// A key with more fingerprints than [`MAX_COMPARED`] takes 17 look-ups at radius 3: the next block
/// is equal or differs in one of its 16 bits.
const LOOK_UPS_OF_LARGE_KEY: f64 = 17.0;

/// The average cost of a query at radius 3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueryLoad {
    /// The number by which the documents are multiplied.
    pub growth: f64,
    /// Distinct fingerprints that share a block key with the query, once for each such block. The
    /// query is compared with them, except for a key that more than 16,384 fingerprints have.
    pub candidates: f64,
    /// The number of candidates if fingerprints were random.
    pub candidates_if_random: f64,
    /// Ranges looked up: 1 per block, or 17 for a key that more than 16,384 fingerprints have.
    pub look_ups: f64,
}

/// The average cost of a query for a stored document: a key that n of N documents have is looked up
/// with probability n / N. `growth`, at least 1, multiplies the documents, distributed as they are
/// now. All costs are 0 without documents.
pub fn query_load(diagnosis: &Diagnosis, growth: f64) -> QueryLoad {
    let mut load = QueryLoad {
        growth,
        candidates: 0.0,
        candidates_if_random: 0.0,
        look_ups: 0.0,
    };
    if diagnosis.documents == 0 {
        return load;
    }
    let documents = diagnosis.documents as f64;
    // The fingerprint of the query itself does not multiply.
    let grown = |count: u64| 1.0 + (count - 1) as f64 * growth;
    load.candidates_if_random = diagnosis.blocks.len() as f64
        * (1.0 + (diagnosis.distinct_fingerprints - 1) as f64 / KEYS_PER_BLOCK as f64 * growth);
    for block in &diagnosis.blocks {
        let mut of_large_keys = 0;
        for count in block.keys.iter().filter(|count| count.documents > 0) {
            let fingerprints = grown(count.distinct_fingerprints);
            load.candidates += count.documents as f64 / documents * fingerprints;
            if fingerprints > MAX_COMPARED {
                of_large_keys += count.documents;
            }
        }
        let more = LOOK_UPS_OF_LARGE_KEY - 1.0;
        load.look_ups += 1.0 + more * of_large_keys as f64 / documents;
    }
    load
}
