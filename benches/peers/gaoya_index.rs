//! `gaoya`: hash tables in memory, one for each choice of the blocks that may stay equal. It keeps
//! what is *less* than the distance it is given away, so to find what is 3 bits away it must be
//! given 4. More blocks make more tables with longer keys.

use gaoya::simhash::SimHashIndex;

use crate::common::contender::{Asker, Contender};

pub struct GaoyaIndex {
    index: SimHashIndex<u64, u32>,
    radius: u32,
}

impl GaoyaIndex {
    /// An index that finds what is up to `radius` bits away.
    pub fn new(keys: &[u64], blocks: usize, radius: u32) -> Self {
        Self {
            index: Self::given(keys, blocks, radius as usize + 1),
            radius,
        }
    }

    fn given(keys: &[u64], blocks: usize, distance: usize) -> SimHashIndex<u64, u32> {
        let mut index = SimHashIndex::new(blocks, distance);
        for (key, id) in keys.iter().zip(0..) {
            index.insert(id, *key);
        }
        index
    }

    /// How many tables there are: one for each choice of the blocks that stay equal.
    pub fn tables(blocks: usize, radius: u32) -> u64 {
        let equal = blocks as u64 - u64::from(radius) - 1;
        (0..equal).fold(1, |tables, i| tables * (blocks as u64 - i) / (i + 1))
    }

    /// An estimate of what it takes to build one, in bytes a document: an id in each table, in
    /// vectors that double, and a hash table of the keys that doubles too.
    pub fn bytes_a_document(blocks: usize, radius: u32) -> u64 {
        Self::tables(blocks, radius) * 10 + 60
    }

    /// Whether an index that is given `distance`, and as many blocks as that needs, finds a key that
    /// is so many bits away.
    pub fn finds_the_distance_given(distance: u32) -> bool {
        let key = 0x9e37_79b9_7f4a_7c15_u64;
        let query = key ^ ((1 << distance) - 1);
        let index = Self::given(&[key], distance as usize + 1, distance as usize);
        !index.query(&query).is_empty()
    }
}

impl Contender for GaoyaIndex {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| {
            assert_eq!(radius, self.radius, "the radius is fixed when it is built");
            let found = self.index.query_return_distance(&query).into_iter();
            let mut answer: Vec<_> = found
                .map(|(id, distance)| (distance as u32, u64::from(id)))
                .collect();
            answer.sort_unstable();
            answer
        })
    }
}
