//! Keys and queries from fixed seeds, equal in every run, bench and peer.

pub use test_support::SplitMix;

/// Keys are the splitmix64 sequence of this seed. The id of a document is the index of its key,
/// from 0.
const KEY_SEED: u64 = 1;
/// Queries are drawn by splitmix64 from this seed.
const QUERY_SEED: u64 = 77;

/// The increment of splitmix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The fingerprint of a document. Computed from the id, so no bench has to store keys.
pub fn key(id: u64) -> u64 {
    SplitMix(KEY_SEED.wrapping_add(id.wrapping_mul(STEP))).next()
}

/// The fingerprints of the documents with ids from 0, in order.
pub fn keys(documents: u64) -> Vec<u64> {
    (0..documents).map(key).collect()
}

/// A query, and the document that it must find.
#[derive(Clone, Copy)]
pub struct Query {
    pub bits: u64,
    /// The document whose fingerprint was changed to make the query; `None` for a random query.
    pub planted: Option<u64>,
}

/// Queries for documents with [`key`]s: the even queries are a stored fingerprint with exactly
/// `flips` bits flipped, the odd queries are random and near to no document.
pub fn queries(documents: u64, count: usize, flips: u32) -> Vec<Query> {
    queries_for(&key, documents, count, flips)
}

/// [`queries`] for documents with other fingerprints.
pub fn queries_for(
    fingerprint: &dyn Fn(u64) -> u64,
    documents: u64,
    count: usize,
    flips: u32,
) -> Vec<Query> {
    let mut draws = SplitMix(QUERY_SEED);
    let query = |number| {
        let draw = draws.next();
        if number % 2 == 1 {
            return Query {
                bits: draw,
                planted: None,
            };
        }
        let id = draw % documents;
        Query {
            bits: fingerprint(id) ^ draws.bits(flips),
            planted: Some(id),
        }
    };
    (0..count).map(query).collect()
}
