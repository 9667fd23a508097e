//! The join of two ranges of fingerprints: their pairs that a chain may own.
//!
//! A sorted table or list of rotated fingerprints is a trie: a *range* holds the fingerprints with
//! one prefix. A [`Chain`] brings one block to the front and bounds the differing bits of a pair up
//! to each following block. To join two ranges, [`RangePair::split`] splits both by their next
//! bits, and keeps the pairs of parts whose prefixes differ in no more bits than the chain allows.
//!
//! Ranges of a table that are too long to be read are split by this rule, and so are lists in
//! memory ([`ListJoin`]). Short parts of a list are compared all with all, with vector
//! instructions, at small radii first in their [low halves](LowHalves). The rule also bounds the
//! work in a crowded prefix, because the next bits separate its fingerprints.
//!
//! In a table of 50 million random fingerprints, a block key has 763 of them. At radius 3, a
//! comparison of all with all would compare each fingerprint with 381 others; the split leaves some
//! sixty.

use std::ops::Range;

use super::low_halves::{self, LowHalves, push_near_among, push_near_between};
use crate::block::{BLOCK_BITS, Chain};
use crate::hamming;
use crate::query::limits::QueryLimits;

/// A range in memory is split by at most 6 bits at a time, into 64 parts.
const MAX_SPLIT_BITS: u32 = 6;
const MAX_SPLIT_PARTS: usize = 1 << MAX_SPLIT_BITS;

/// Two ranges to be joined, or a range to be joined with itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct RangePair<R> {
    /// A range of a table is given by the smallest possible fingerprint of the range, a range of a
    /// list by its indices.
    pub(super) a: R,
    pub(super) b: R,
    /// The length of both prefixes.
    pub(super) prefix_bits: u32,
    /// The number of bits in which the prefixes differ; 0 if a range is joined with itself, which
    /// finds each pair once.
    pub(super) differing_bits: u32,
}

impl<R: Clone> RangePair<R> {
    /// Returns the number of further bits in which two fingerprints may differ, up to the end of
    /// the block that holds the next bit; `None` if the chain owns no pair of these ranges.
    pub(super) fn spare_bits(&self, chain: &Chain) -> Option<u32> {
        let max_differing = chain.max_distance_up_to(self.prefix_bits);
        max_differing.checked_sub(self.differing_bits)
    }

    /// Splits both ranges by their next `split_bits` bits, which are in one block. Appends to
    /// `pending` each pair of parts whose prefixes differ in at most `spare_bits` of these bits. A
    /// part function returns `None` if the part with these bits is empty.
    pub(super) fn split(
        &self,
        split_bits: u32,
        spare_bits: u32,
        part_of_a: impl Fn(u64) -> Option<R>,
        part_of_b: impl Fn(u64) -> Option<R>,
        pending: &mut Vec<Self>,
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
                // Parts x and y of one range are joined once, not again as y and x.
                let is_mirrored = self.differing_bits == 0 && other < value;
                if !is_mirrored && let Some(b) = part_of_b(other) {
                    pending.push(Self {
                        a: a.clone(),
                        b,
                        prefix_bits: self.prefix_bits + split_bits,
                        differing_bits: self.differing_bits + difference.count_ones(),
                    });
                }
            }
        }
    }
}

/// The join of two lists in memory, or of a list with itself. A join runs in turns.
pub(super) struct ListJoin {
    a: List,
    /// `None` if `a` is joined with itself.
    b: Option<List>,
    /// The ranges of `a` and `b` that are not joined yet, the next ranges last.
    pending: Vec<RangePair<Range<usize>>>,
}

/// Sorted fingerprints, and their low halves.
struct List {
    fingerprints: Vec<u64>,
    low: LowHalves,
}

impl List {
    fn new(fingerprints: Vec<u64>) -> Self {
        let low = LowHalves::new(&fingerprints);
        Self { fingerprints, low }
    }
}

impl ListJoin {
    /// Creates a join of sorted fingerprints, rotated for a chain. All fingerprints of `a` share a
    /// prefix of `prefix_bits` bits. All fingerprints of `b` share a prefix that differs from the
    /// prefix of `a` in `differing_bits` bits.
    pub(super) fn new(
        a: Vec<u64>,
        b: Option<Vec<u64>>,
        prefix_bits: u32,
        differing_bits: u32,
    ) -> Self {
        let whole = RangePair {
            a: 0..a.len(),
            b: 0..b.as_ref().unwrap_or(&a).len(),
            prefix_bits,
            differing_bits,
        };
        Self {
            a: List::new(a),
            b: b.map(List::new),
            pending: vec![whole],
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// Appends pairs within `radius` to `pairs`: each pair that the chain owns once, and some pairs
    /// that the chain does not own. Pauses after about `limits.pairs_per_turn` pairs or
    /// `limits.comparisons_per_turn` comparisons.
    pub(super) fn run(
        &mut self,
        chain: &Chain,
        radius: u32,
        limits: &QueryLimits,
        pairs: &mut Vec<(u64, u64)>,
    ) {
        let list_b = self.b.as_ref().unwrap_or(&self.a);
        let mut near = Vec::new();
        let mut comparisons = 0;
        while pairs.len() <= limits.pairs_per_turn
            && comparisons <= limits.comparisons_per_turn
            && let Some(next) = self.pending.pop()
        {
            let a = &self.a.fingerprints[next.a.clone()];
            let b = &list_b.fingerprints[next.b.clone()];
            let product = a.len() as u64 * b.len() as u64;
            if product > limits.comparisons_unsplit && next.prefix_bits < u64::BITS {
                comparisons += (a.len() + b.len()) as u64;
                next.split_lists(a, b, chain, limits.split_length, &mut self.pending);
                continue;
            }
            comparisons += product;
            // The kernels compare whole fingerprints and know no chain, so they may append pairs
            // that the chain does not own. The caller drops them.
            if radius <= low_halves::MAX_RADIUS {
                near.clear();
                next.push_near(&self.a, list_b, radius, &mut near);
                let near = near.iter();
                let near = near.map(|(a, b)| (self.a.fingerprints[*a], list_b.fingerprints[*b]));
                pairs.extend(near.filter(|(a, b)| (a ^ b).count_ones() <= radius));
            } else if next.differing_bits == 0 {
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
    /// Appends the indices of the fingerprints that are within `radius` of each other in their low
    /// halves.
    fn push_near(&self, a: &List, b: &List, radius: u32, near: &mut Vec<(usize, usize)>) {
        if self.differing_bits == 0 {
            push_near_among(&a.low, self.a.clone(), radius, near);
        } else {
            push_near_between(&a.low, self.a.clone(), &b.low, self.b.clone(), radius, near);
        }
    }

    /// Splits the ranges, whose fingerprints are `a` and `b`, into parts of about `length`
    /// fingerprints.
    fn split_lists(
        &self,
        a: &[u64],
        b: &[u64],
        chain: &Chain,
        length: usize,
        pending: &mut Vec<Self>,
    ) {
        let Some(spare_bits) = self.spare_bits(chain) else {
            return;
        };
        // Without spare bits a part is joined with one other part, so short parts cost nothing:
        // radius 7 of 2 million documents took 1.99 s of CPU time instead of 2.18 s. A part that is
        // joined with many parts is compared faster than it is split further.
        let length = if spare_bits == 0 { 1 } else { length };
        let parts = a.len().max(b.len()) / length;
        // A split stays within one block, because `spare_bits` is a bound up to the end of that
        // block.
        let bits_left = BLOCK_BITS - self.prefix_bits % BLOCK_BITS;
        let split_bits = parts.max(2).ilog2().min(MAX_SPLIT_BITS).min(bits_left);
        let shift = u64::BITS - self.prefix_bits - split_bits;
        let mask = (1 << split_bits) - 1;
        // The start of each part, by binary search: the lists are sorted, so the parts are too.
        let starts = |list: &[u64], first: usize| -> [usize; MAX_SPLIT_PARTS + 1] {
            let mut starts = [first; MAX_SPLIT_PARTS + 1];
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
            pending,
        );
    }
}

#[cfg(test)]
mod tests {
    use test_support::SplitMix;

    use super::*;
    use crate::block::{self, Chains};
    use crate::ids::Fingerprint;

    /// Fingerprints with pairs at every small distance and with crowded prefixes.
    fn crowded(count: usize, seed: u64) -> Vec<u64> {
        let mut draws = SplitMix(seed);
        let mut list = vec![draws.next()];
        while list.len() < count {
            let near = list[draws.next() as usize % list.len()];
            list.push(match draws.next() % 4 {
                0 => draws.next(),
                1 => draws.next() >> 20,
                flips => (0..2 * flips).fold(near, |near, _| near ^ 1 << (draws.next() % 64)),
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

    /// Runs a join to its end, and appends the pairs that its chain owns.
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
                if chain.max_distance_up_to(0) > 0 {
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
        let mut draws = SplitMix(3);
        let list: Vec<u64> = (0..2000).map(|_| draws.next() & 0xfff).collect();
        let chains = Chains::for_radius(12);
        let mut join = ListJoin::new(sorted(&list, 0), None, 0, 0);
        while !join.is_done() {
            let mut pairs = Vec::new();
            join.run(&chains.iter().as_slice()[0], 12, &limits, &mut pairs);
            assert!(pairs.len() as u64 <= 1001 + limits.comparisons_unsplit);
        }
    }
}
