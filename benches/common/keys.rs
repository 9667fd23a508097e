//! Keys and queries: seeded, so that every run, every bench and every peer sees the same ones.

/// Keys are splitmix64 from this seed; the id of a document is its place in the sequence, from 0.
const KEY_SEED: u64 = 1;
/// Queries are splitmix64 from this seed.
const QUERY_SEED: u64 = 77;

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The sequence of splitmix64 from a seed.
pub struct SplitMix(pub u64);

impl SplitMix {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number with exactly that many bits set.
    pub fn bits(&mut self, count: u32) -> u64 {
        let mut bits = 0_u64;
        while bits.count_ones() < count {
            bits |= 1 << (self.next() % 64);
        }
        bits
    }
}

/// The fingerprint of a document.
pub fn key(id: u64) -> u64 {
    SplitMix(KEY_SEED.wrapping_add(id.wrapping_mul(STEP))).next()
}

/// The fingerprints of that many documents, in order of their ids.
pub fn keys(documents: u64) -> Vec<u64> {
    (0..documents).map(key).collect()
}

/// What is asked, and what must be found.
#[derive(Clone, Copy)]
pub struct Query {
    pub bits: u64,
    /// The document whose fingerprint was changed to make this query; nothing for a random one.
    pub planted: Option<u64>,
}

/// Queries of that many documents: the even ones a stored fingerprint with exactly `flips` bits
/// flipped, the others random, near to nothing.
pub fn queries(documents: u64, count: usize, flips: u32) -> Vec<Query> {
    queries_of(&key, documents, count, flips)
}

/// The same where fingerprints are not [`key`]'s.
pub fn queries_of(
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
