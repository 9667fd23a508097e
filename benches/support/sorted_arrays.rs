//! The floor: the smallest cost of a search by blocks. Four sorted arrays in memory hold all keys,
//! each array rotated so that another block of 16 bits comes first, and a directory gives the
//! bucket of each block key. There are no pages, checksums or updates, and nothing is on disk.

use rdst::RadixSort;

use super::contender::{Answer, Asker, Contender};
use super::plain_scan::count_within;

const BLOCKS: usize = 4;
const BLOCK_BITS: u32 = 16;

pub struct SortedArrays {
    blocks: Vec<Block>,
    /// The document of each key in the array of block 0.
    ids: Vec<u32>,
    /// All 16-bit masks, by number of set bits: the block keys near a query are its own XOR these
    /// masks.
    masks: Vec<u16>,
}

struct Block {
    keys: Vec<u64>,
    /// The index of the first key of each bucket, and finally the number of keys.
    directory: Vec<u32>,
}

impl SortedArrays {
    /// The arrays for keys whose ids count from 0.
    pub fn new(keys: &[u64]) -> Self {
        let numbered = keys.iter().zip(0_u32..);
        let mut pairs: Vec<u128> = numbered
            .map(|(key, id)| u128::from(*key) << 64 | u128::from(id))
            .collect();
        pairs.radix_sort_unstable();
        let ids = pairs.iter().map(|pair| *pair as u32).collect();
        let mut blocks = vec![Block::from_sorted(
            pairs.iter().map(|pair| (pair >> 64) as u64).collect(),
        )];
        drop(pairs);
        for block in 1..BLOCKS {
            let mut rotated: Vec<u64> = keys.iter().map(|key| rotate(*key, block)).collect();
            rotated.radix_sort_unstable();
            blocks.push(Block::from_sorted(rotated));
        }
        let mut masks: Vec<u16> = (0..=u16::MAX).collect();
        masks.sort_by_key(|mask| mask.count_ones());
        Self { blocks, ids, masks }
    }

    /// Every document within the radius.
    ///
    /// At radius 4a + b, a match differs by at most a bits in one of the first b + 1 blocks, or by
    /// at most a − 1 bits in one of the other blocks: otherwise it would differ by more than the
    /// radius in all.
    fn within(&self, query: u64, radius: u32) -> Answer {
        let (max_flips, last_full_block) = (radius / BLOCKS as u32, radius as usize % BLOCKS);
        let max_flips_of = |block| {
            if block <= last_full_block {
                Some(max_flips)
            } else {
                max_flips.checked_sub(1)
            }
        };
        let mut answer = Vec::new();
        for (number, block) in self.blocks.iter().enumerate() {
            let Some(max_flips) = max_flips_of(number) else {
                continue;
            };
            let has_few_bits = |mask: &u16| mask.count_ones() <= max_flips;
            let masks = &self.masks[..self.masks.partition_point(has_few_bits)];
            let mut last = None;
            block.probe(rotate(query, number), masks, radius, |found| {
                let repeated = last.replace(found) == Some(found);
                let key = found.rotate_right(number as u32 * BLOCK_BITS);
                // Several blocks may find a match: it is taken from the first of them.
                let found_before = (0..number).any(|before| {
                    let block_key = block_key(rotate(key ^ query, before)) as u16;
                    max_flips_of(before)
                        .is_some_and(|max_flips| block_key.count_ones() <= max_flips)
                });
                if !found_before && !repeated {
                    self.push_documents(key, (key ^ query).count_ones(), &mut answer);
                }
            });
        }
        answer.sort_unstable();
        answer
    }

    fn push_documents(&self, key: u64, distance: u32, answer: &mut Answer) {
        let range = self.blocks[0].range(block_key(key));
        let keys = &self.blocks[0].keys[range.clone()];
        let first = keys.partition_point(|stored| *stored < key);
        let equal = keys[first..].iter().take_while(|stored| **stored == key);
        let from = range.start + first;
        let ids = &self.ids[from..from + equal.count()];
        answer.extend(ids.iter().map(|id| (distance, u64::from(*id))));
    }
}

impl Block {
    fn from_sorted(keys: Vec<u64>) -> Self {
        let fronts = 1 << BLOCK_BITS;
        let mut directory = vec![0; fronts + 1];
        for key in &keys {
            directory[block_key(*key) + 1] += 1;
        }
        for place in 0..fronts {
            directory[place + 1] += directory[place];
        }
        Self { keys, directory }
    }

    fn range(&self, block_key: usize) -> std::ops::Range<usize> {
        self.directory[block_key] as usize..self.directory[block_key + 1] as usize
    }

    /// Calls `found` with every key within the radius in the buckets of the query's block key XOR a
    /// mask.
    fn probe(&self, query: u64, masks: &[u16], radius: u32, mut found: impl FnMut(u64)) {
        for mask in masks {
            let bucket = &self.keys[self.range(block_key(query) ^ usize::from(*mask))];
            if count_within(bucket, query, radius) > 0 {
                let near = |key: &&u64| (**key ^ query).count_ones() <= radius;
                bucket.iter().filter(near).for_each(|key| found(*key));
            }
        }
    }
}

impl Contender for SortedArrays {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| self.within(query, radius))
    }
}

fn rotate(key: u64, block: usize) -> u64 {
    key.rotate_left(block as u32 * BLOCK_BITS)
}

fn block_key(rotated: u64) -> usize {
    (rotated >> (64 - BLOCK_BITS)) as usize
}
