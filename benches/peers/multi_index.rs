//! `mih-rs`: multi-index hashing in memory. It chooses the number of blocks by the number of keys.
//! Its radius is inclusive, and its answers are ids in ascending order.

use mih_rs::Index;

use bench_support::contender::{Asker, Contender};

pub struct MultiIndex(Index<u64>);

impl MultiIndex {
    /// The estimated memory to build an index, in bytes per document.
    pub const BYTES_PER_DOCUMENT: u64 = 40;

    pub fn new(keys: &[u64]) -> Self {
        Self(Index::new(keys.to_vec()).expect("an index of mih-rs"))
    }

    pub fn blocks(&self) -> usize {
        self.0.num_blocks()
    }
}

impl Contender for MultiIndex {
    fn asker(&self) -> Asker<'_> {
        let mut searcher = self.0.range_searcher();
        Box::new(move |query, radius| {
            let ids = searcher.run(query, radius as usize).iter();
            let distance = |id: u32| (self.0.codes()[id as usize] ^ query).count_ones();
            let mut answer: Vec<_> = ids.map(|id| (distance(*id), u64::from(*id))).collect();
            answer.sort_unstable();
            answer
        })
    }
}
