//! `gaoya`: hash tables in memory, one for each choice of the blocks that may be equal. Its
//! distance is exclusive: to find documents at distance 3 it needs the argument 4. More blocks give
//! more tables with longer keys.

use gaoya::simhash::SimHashIndex;

use bench_support::contender::{Asker, Contender};

pub struct GaoyaIndex {
    index: SimHashIndex<u64, u32>,
    radius: u32,
}

impl GaoyaIndex {
    /// An index that finds documents within `radius`, inclusive.
    pub fn new(keys: &[u64], blocks: usize, radius: u32) -> Self {
        Self {
            index: Self::build(keys, blocks, radius as usize + 1),
            radius,
        }
    }

    fn build(keys: &[u64], blocks: usize, distance: usize) -> SimHashIndex<u64, u32> {
        let mut index = SimHashIndex::new(blocks, distance);
        for (key, id) in keys.iter().zip(0..) {
            index.insert(id, *key);
        }
        index
    }

    /// The number of tables, one for each choice of equal blocks: a binomial coefficient.
    pub fn tables(blocks: usize, radius: u32) -> u64 {
        let equal = blocks as u64 - u64::from(radius) - 1;
        (0..equal).fold(1, |tables, i| tables * (blocks as u64 - i) / (i + 1))
    }

    /// The estimated memory to build an index, in bytes per document: an id in each table, in
    /// vectors that double, and a hash table of the keys, which doubles too.
    pub fn bytes_per_document(blocks: usize, radius: u32) -> u64 {
        Self::tables(blocks, radius) * 10 + 60
    }

    /// Returns `true` if an index with the argument `distance` finds a key at exactly this
    /// distance. The bench fails if so, since then gaoya has changed and needs no larger argument.
    pub fn finds_the_distance_given(distance: u32) -> bool {
        let key = 0x9e37_79b9_7f4a_7c15_u64;
        let query = key ^ ((1 << distance) - 1);
        let index = Self::build(&[key], distance as usize + 1, distance as usize);
        !index.query(&query).is_empty()
    }
}

impl Contender for GaoyaIndex {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| {
            assert_eq!(radius, self.radius, "the radius of an index is fixed");
            let found = self.index.query_return_distance(&query).into_iter();
            let mut answer: Vec<_> = found
                .map(|(id, distance)| (distance as u32, u64::from(id)))
                .collect();
            answer.sort_unstable();
            answer
        })
    }
}
