//! The pairs of two ranges of fingerprints that a chain may own.
//!
//! A sorted table or list of rotated fingerprints is a trie: a *range* holds the fingerprints with one
//! prefix. Two ranges are split by their next bits, and only those parts are joined whose prefixes
//! differ in no more bits than the chain allows. This rule ([`RangePair::split`]) is the same for
//! ranges of a table that are too long to be read, and for lists in memory ([`ListJoin`]), where two
//! short parts are compared all with all, eight fingerprints at a time by the processor. So however
//! crowded a prefix is, the next bits tell its fingerprints apart.
//!
//! At radius 3 and 50 million random fingerprints, a block key has 763 of them. Compared all with
//! all, each would be compared with 381 others; split like this it is with some sixty.

use std::ops::Range;

use crate::block::{BLOCK_BITS, Chain};
use crate::hamming;
use crate::query::limits::QueryLimits;

/// A range in memory is split by up to 6 bits, into 64 parts, at a time.
const MAX_SPLIT_BITS: u32 = 6;
const MAX_PARTS: usize = 1 << MAX_SPLIT_BITS;

/// Two ranges to be joined, or one to be joined with itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct RangePair<R> {
    /// A range of a table is given by the smallest fingerprint that it can hold, a range of a list by
    /// its indices.
    pub(super) a: R,
    pub(super) b: R,
    /// Length of the prefixes of both.
    pub(super) prefix_bits: u32,
    /// Number of bits in which the prefixes differ. It is 0 if both ranges are the same one, each of
    /// whose pairs is sought once.
    pub(super) differing: u32,
}

impl<R: Clone> RangePair<R> {
    /// Returns the number of bits in which the fingerprints may still differ, up to the end of the
    /// block that holds their next bit; `None` if the chain owns no pair of these ranges.
    pub(super) fn spare_bits(&self, chain: &Chain) -> Option<u32> {
        let max_differing = chain.most_up_to(self.prefix_bits);
        max_differing.checked_sub(self.differing)
    }

    /// Splits both ranges by their next `split_bits` bits, which are in one block, and appends each
    /// pair of parts whose prefixes differ in at most `spare_bits` of these bits to `open`. `None`
    /// stands for an empty part.
    pub(super) fn split(
        &self,
        split_bits: u32,
        spare_bits: u32,
        part_of_a: impl Fn(u64) -> Option<R>,
        part_of_b: impl Fn(u64) -> Option<R>,
        open: &mut Vec<Self>,
    ) {
        let values = 0..1_u64 << split_bits;
        let differences: Vec<u64> = values
            .clone()
            .filter(|difference| difference.count_ones() <= spare_bits)
            .collect();
        for value in values {
            let Some(a) = part_of_a(value) else {
                continue;
            };
            for difference in &differences {
                let other = value ^ difference;
                let is_turned_round = self.differing == 0 && other < value;
                if !is_turned_round && let Some(b) = part_of_b(other) {
                    open.push(Self {
                        a: a.clone(),
                        b,
                        prefix_bits: self.prefix_bits + split_bits,
                        differing: self.differing + difference.count_ones(),
                    });
                }
            }
        }
    }
}

/// The join of two lists in memory, or of one with itself. It can pause anywhere.
pub(super) struct ListJoin {
    a: Vec<u64>,
    /// `None` if `a` is joined with itself.
    b: Option<Vec<u64>>,
    /// Ranges of `a` and `b` that were not joined yet, the next ones last.
    open: Vec<RangePair<Range<usize>>>,
}

impl ListJoin {
    /// A join of sorted fingerprints, rotated for a chain. All of `a` have the same prefix of
    /// `prefix_bits` bits, and all of `b` one that differs from it in `differing` bits.
    pub(super) fn new(a: Vec<u64>, b: Option<Vec<u64>>, prefix_bits: u32, differing: u32) -> Self {
        let whole = RangePair {
            a: 0..a.len(),
            b: 0..b.as_ref().unwrap_or(&a).len(),
            prefix_bits,
            differing,
        };
        Self {
            a,
            b,
            open: vec![whole],
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Appends pairs within `radius` to `pairs`: each that the chain owns once, and perhaps others that
    /// it does not own. Pauses after `limits.pairs_per_turn` or `limits.comparisons_per_turn`, about.
    pub(super) fn run(
        &mut self,
        chain: &Chain,
        radius: u32,
        limits: &QueryLimits,
        pairs: &mut Vec<(u64, u64)>,
    ) {
        let list_of_b = self.b.as_ref().unwrap_or(&self.a);
        let mut comparisons = 0;
        while pairs.len() <= limits.pairs_per_turn
            && comparisons <= limits.comparisons_per_turn
            && let Some(next) = self.open.pop()
        {
            let (a, b) = (&self.a[next.a.clone()], &list_of_b[next.b.clone()]);
            let product = a.len() as u64 * b.len() as u64;
            if product > limits.comparisons_unsplit && next.prefix_bits < u64::BITS {
                comparisons += (a.len() + b.len()) as u64;
                next.split_lists(a, b, chain, limits.split_length, &mut self.open);
                continue;
            }
            comparisons += product;
            if next.differing == 0 {
                hamming::push_pairs_among(a, radius, pairs);
            } else if a.len() <= b.len() {
                hamming::push_pairs_between(a, b, radius, pairs);
            } else {
                hamming::push_pairs_between(b, a, radius, pairs);
            }
        }
    }
}

impl RangePair<Range<usize>> {
    /// Splits the ranges, whose fingerprints are `a` and `b`, into parts of about `length`.
    fn split_lists(
        &self,
        a: &[u64],
        b: &[u64],
        chain: &Chain,
        length: usize,
        open: &mut Vec<Self>,
    ) {
        let Some(spare_bits) = self.spare_bits(chain) else {
            return;
        };
        // A part that is joined with one part only may be short. One that is joined with many is
        // compared with them faster than it is split.
        let length = if spare_bits == 0 { 1 } else { length };
        let parts = a.len().max(b.len()) / length;
        let bits_left = BLOCK_BITS - self.prefix_bits % BLOCK_BITS;
        let split_bits = parts.max(2).ilog2().min(MAX_SPLIT_BITS).min(bits_left);
        let shift = u64::BITS - self.prefix_bits - split_bits;
        let mask = (1 << split_bits) - 1;
        let starts = |list: &[u64], first: usize| -> [usize; MAX_PARTS + 1] {
            let mut starts = [first; MAX_PARTS + 1];
            for (value, start) in (0..=1 << split_bits).zip(&mut starts) {
                *start += list.partition_point(|each| each >> shift & mask < value);
            }
            starts
        };
        let part = |starts: &[usize], value: u64| {
            let value = value as usize;
            Some(starts[value]..starts[value + 1]).filter(|part| !part.is_empty())
        };
        let starts_of_a = starts(a, self.a.start);
        let starts_of_b = starts(b, self.b.start);
        self.split(
            split_bits,
            spare_bits,
            |value| part(&starts_of_a, value),
            |value| part(&starts_of_b, value),
            open,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{self, Chains};
    use crate::fingerprint::Fingerprint;

    /// The sequence of splitmix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fingerprints among which there are pairs at every small distance, crowded in some prefixes.
    fn crowded(count: usize, seed: u64) -> Vec<u64> {
        let mut state = seed;
        let mut list = vec![random(&mut state)];
        while list.len() < count {
            let near = list[random(&mut state) as usize % list.len()];
            list.push(match random(&mut state) % 4 {
                0 => random(&mut state),
                1 => random(&mut state) >> 20,
                flips => (0..2 * flips).fold(near, |near, _| near ^ 1 << (random(&mut state) % 64)),
            });
        }
        list.sort_unstable();
        list.dedup();
        list
    }

    fn sorted(list: &[u64], block: usize) -> Vec<u64> {
        let mut rotated: Vec<u64> = list
            .iter()
            .map(|bits| block::rotate(Fingerprint::from_bits(*bits), block))
            .collect();
        rotated.sort_unstable();
        rotated
    }

    /// Appends the pairs that a join finds and its chain owns, in as many turns as it takes.
    fn push_owned_pairs(
        mut join: ListJoin,
        (chains, number): (&Chains, usize),
        radius: u32,
        pairs_per_turn: usize,
        owned: &mut Vec<(u64, u64)>,
    ) {
        let limits = QueryLimits {
            pairs_per_turn,
            comparisons_per_turn: 100,
            ..QueryLimits::small()
        };
        let chain = chains.iter().nth(number).unwrap();
        while !join.is_done() {
            let mut pairs = Vec::new();
            join.run(chain, radius, &limits, &mut pairs);
            for (a, b) in pairs {
                let (a, b) = (
                    block::unrotate(a, chain.block),
                    block::unrotate(b, chain.block),
                );
                if chains.is_owner(chain, a, b) {
                    owned.push((a.bits().min(b.bits()), a.bits().max(b.bits())));
                }
            }
        }
    }

    #[test]
    fn each_pair_is_found_once_at_every_radius() {
        let list = crowded(700, 1);
        for radius in (0..=14).chain([19, 23, 27, 28, 40, 64]) {
            let chains = Chains::for_radius(radius);
            let mut found = Vec::new();
            for (number, chain) in chains.iter().enumerate() {
                let join = ListJoin::new(sorted(&list, chain.block), None, 0, 0);
                push_owned_pairs(join, (&chains, number), radius, 50, &mut found);
            }
            let mut expected = Vec::new();
            hamming::push_pairs_among(&list, radius, &mut expected);
            found.sort_unstable();
            expected.sort_unstable();
            assert!(found == expected, "radius {radius}");
        }
    }

    #[test]
    fn joins_of_two_halves_find_the_pairs_of_the_whole() {
        let list = crowded(900, 2);
        for radius in [1, 3, 5, 8, 30] {
            let chains = Chains::for_radius(radius);
            for (number, chain) in chains.iter().enumerate() {
                let whole = sorted(&list, chain.block);
                let (a, b) = whole.split_at(whole.partition_point(|each| each >> 63 == 0));
                let (a, b) = (a.to_vec(), b.to_vec());
                let pairs_of = |joins: Vec<ListJoin>| {
                    let mut pairs = Vec::new();
                    for join in joins {
                        push_owned_pairs(join, (&chains, number), radius, usize::MAX, &mut pairs);
                    }
                    pairs.sort_unstable();
                    pairs
                };
                let together = pairs_of(vec![ListJoin::new(whole, None, 0, 0)]);
                let mut halves = vec![
                    ListJoin::new(a.clone(), None, 1, 0),
                    ListJoin::new(b.clone(), None, 1, 0),
                ];
                if chain.most_up_to(0) > 0 {
                    halves.push(ListJoin::new(a, Some(b), 1, 1));
                }
                let apart = pairs_of(halves);
                assert!(together == apart, "radius {radius}, chain {number}");
            }
        }
    }

    #[test]
    fn paused_join_holds_few_pairs() {
        let limits = QueryLimits {
            pairs_per_turn: 1000,
            comparisons_per_turn: u64::MAX,
            ..QueryLimits::small()
        };
        let mut state = 3;
        let list: Vec<u64> = (0..2000).map(|_| random(&mut state) & 0xfff).collect();
        let chains = Chains::for_radius(12);
        let mut join = ListJoin::new(sorted(&list, 0), None, 0, 0);
        while !join.is_done() {
            let mut pairs = Vec::new();
            join.run(&chains.iter().as_slice()[0], 12, &limits, &mut pairs);
            assert!(pairs.len() as u64 <= 1001 + limits.comparisons_unsplit);
        }
    }
}
