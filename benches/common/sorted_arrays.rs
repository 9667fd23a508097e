//! The floor: the least that probing by blocks can cost. Four sorted arrays in memory, each of all
//! keys rotated so that another block of 16 bits is in front, and for each a directory of where the
//! keys with each front begin. No page, no checksum, no update, nothing on disk.

use rdst::RadixSort;

use super::contender::{Answer, Asker, Contender};
use super::plain_scan::count_within;

const BLOCKS: usize = 4;
const BLOCK_BITS: u32 = 16;

pub struct SortedArrays {
    blocks: Vec<Block>,
    /// The document of each key of block 0.
    ids: Vec<u32>,
    /// What a front may be changed by: all there is, in order of the number of bits.
    changes: Vec<u16>,
}

struct Block {
    keys: Vec<u64>,
    /// Where the keys with each front begin, and at the end how many keys there are.
    directory: Vec<u32>,
}

impl SortedArrays {
    /// Arrays of keys whose ids count from 0.
    pub fn new(keys: &[u64]) -> Self {
        let numbered = keys.iter().zip(0_u32..);
        let mut pairs: Vec<u128> = numbered
            .map(|(key, id)| u128::from(*key) << 64 | u128::from(id))
            .collect();
        pairs.radix_sort_unstable();
        let ids = pairs.iter().map(|pair| *pair as u32).collect();
        let mut blocks = vec![Block::of_sorted(
            pairs.iter().map(|pair| (pair >> 64) as u64).collect(),
        )];
        drop(pairs);
        for block in 1..BLOCKS {
            let mut rotated: Vec<u64> = keys.iter().map(|key| rotate(*key, block)).collect();
            rotated.radix_sort_unstable();
            blocks.push(Block::of_sorted(rotated));
        }
        let mut changes: Vec<u16> = (0..=u16::MAX).collect();
        changes.sort_by_key(|change| change.count_ones());
        Self {
            blocks,
            ids,
            changes,
        }
    }

    /// Every key within the radius, by the probes that no match can escape: of radius 4a + b, fronts
    /// within a bits in the first b + 1 blocks and within a − 1 in the others.
    fn within(&self, query: u64, radius: u32) -> Answer {
        let (share, more) = (radius / BLOCKS as u32, radius as usize % BLOCKS);
        let share_of = |block| {
            if block <= more {
                Some(share)
            } else {
                share.checked_sub(1)
            }
        };
        let mut answer = Vec::new();
        for (number, block) in self.blocks.iter().enumerate() {
            let Some(share) = share_of(number) else {
                continue;
            };
            let within_share = |change: &u16| change.count_ones() <= share;
            let changes = &self.changes[..self.changes.partition_point(within_share)];
            let mut last = None;
            block.probe(rotate(query, number), changes, radius, |found| {
                let repeated = last.replace(found) == Some(found);
                let key = found.rotate_right(number as u32 * BLOCK_BITS);
                // Each match is taken from the first block whose probes meet it.
                let met_before = (0..number).any(|before| {
                    let front = front(rotate(key ^ query, before)) as u16;
                    share_of(before).is_some_and(|share| front.count_ones() <= share)
                });
                if !met_before && !repeated {
                    self.push_documents(key, (key ^ query).count_ones(), &mut answer);
                }
            });
        }
        answer.sort_unstable();
        answer
    }

    fn push_documents(&self, key: u64, distance: u32, answer: &mut Answer) {
        let range = self.blocks[0].range(front(key));
        let keys = &self.blocks[0].keys[range.clone()];
        let first = keys.partition_point(|stored| *stored < key);
        let equal = keys[first..].iter().take_while(|stored| **stored == key);
        let from = range.start + first;
        let ids = &self.ids[from..from + equal.count()];
        answer.extend(ids.iter().map(|id| (distance, u64::from(*id))));
    }
}

impl Block {
    fn of_sorted(keys: Vec<u64>) -> Self {
        let fronts = 1 << BLOCK_BITS;
        let mut directory = vec![0; fronts + 1];
        for key in &keys {
            directory[front(*key) + 1] += 1;
        }
        for place in 0..fronts {
            directory[place + 1] += directory[place];
        }
        Self { keys, directory }
    }

    fn range(&self, front: usize) -> std::ops::Range<usize> {
        self.directory[front] as usize..self.directory[front + 1] as usize
    }

    /// Calls `found` with every key within the radius whose front is the query's with a change.
    fn probe(&self, query: u64, changes: &[u16], radius: u32, mut found: impl FnMut(u64)) {
        for change in changes {
            let run = &self.keys[self.range(front(query) ^ usize::from(*change))];
            if count_within(run, query, radius) > 0 {
                let near = |key: &&u64| (**key ^ query).count_ones() <= radius;
                run.iter().filter(near).for_each(|key| found(*key));
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

fn front(rotated: u64) -> usize {
    (rotated >> (64 - BLOCK_BITS)) as usize
}
