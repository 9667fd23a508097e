//! All pairs of fingerprints in memory that a chain has, by halving where they can be.
//!
//! A sorted list is a trie: what begins with the same bits is a stretch of it. Two stretches are cut
//! by their next few bits, and only those parts of them are brought together that differ in no more
//! bits so far than the chain allows; few enough are compared all with all, which the processor does
//! eight at a time. So however crowded a prefix is, the next bits tell its fingerprints apart.
//!
//! At radius 3 and 50 million random fingerprints, a block key has 763 of them. Compared all with
//! all, each would be compared with 381 others; cut like this it is with some sixty.

use std::sync::Arc;

use crate::block::{BLOCK_BITS, Chain};
use crate::hamming;

/// Two stretches are compared all with all if that takes no more comparisons.
const MOST_COMPARED: u64 = if cfg!(test) { 16 } else { 4096 };
/// About how many fingerprints a part is to have that is cut off.
const PART_LENGTH: usize = if cfg!(test) { 2 } else { 32 };
/// Bits by which stretches that may differ there are cut at a time.
const MOST_CUT_BITS: u32 = 6;
const MOST_PARTS: usize = 1 << MOST_CUT_BITS;

/// Sorted fingerprints, rotated for a chain, on their way to their pairs: it can be left off anywhere
/// and gone on with.
pub(super) struct Join {
    a: Arc<[u64]>,
    b: Arc<[u64]>,
    /// What is still to be done, the next one last.
    open: Vec<Stretches>,
}

/// A stretch of each list. All fingerprints of each begin with the same bits.
#[derive(Clone, Copy)]
struct Stretches {
    a: Stretch,
    b: Stretch,
    /// So many bits they begin with.
    bits: u32,
    /// In so many of these bits the two differ.
    differing: u32,
    /// Both are the same: each pair of it is sought once.
    are_one: bool,
}

/// From where to where.
type Stretch = (u32, u32);

impl Join {
    /// The pairs of one list, whose fingerprints all begin with the same `bits` bits. A list has up
    /// to `u32::MAX` fingerprints.
    pub(super) fn of_one(list: Vec<u64>, bits: u32) -> Self {
        let list: Arc<[u64]> = list.into();
        Self::new(Arc::clone(&list), list, bits, 0, true)
    }

    /// The pairs of a fingerprint of `a` and one of `b`. All of each begin with the same `bits` bits,
    /// of which the two differ in `differing`.
    pub(super) fn of_two(a: Vec<u64>, b: Vec<u64>, bits: u32, differing: u32) -> Self {
        Self::new(a.into(), b.into(), bits, differing, false)
    }

    /// No pairs.
    pub(super) fn of_nothing() -> Self {
        let list: Arc<[u64]> = Arc::default();
        Self {
            a: Arc::clone(&list),
            b: list,
            open: Vec::new(),
        }
    }

    fn new(a: Arc<[u64]>, b: Arc<[u64]>, bits: u32, differing: u32, are_one: bool) -> Self {
        let all = Stretches {
            a: (0, a.len() as u32),
            b: (0, b.len() as u32),
            bits,
            differing,
            are_one,
        };
        Self {
            a,
            b,
            open: vec![all],
        }
    }

    /// Whether all pairs were found.
    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Looks on for pairs within `radius` and appends them to `pairs`: each that the chain has once,
    /// and perhaps others that it has not. Leaves off when there are more than `most_pairs` in all, or
    /// after about so many comparisons.
    pub(super) fn go_on(
        &mut self,
        chain: &Chain,
        radius: u32,
        most_pairs: usize,
        most_comparisons: u64,
        pairs: &mut Vec<(u64, u64)>,
    ) {
        let mut comparisons = 0;
        while pairs.len() <= most_pairs
            && comparisons <= most_comparisons
            && let Some(next) = self.open.pop()
        {
            let (a, b) = (of(&self.a, next.a), of(&self.b, next.b));
            let product = a.len() as u64 * b.len() as u64;
            if product > MOST_COMPARED && next.bits < u64::BITS {
                comparisons += (a.len() + b.len()) as u64;
                next.cut(a, b, chain, &mut self.open);
                continue;
            }
            comparisons += product;
            if next.are_one {
                hamming::push_pairs_among(a, radius, pairs);
            } else if a.len() <= b.len() {
                hamming::push_pairs_between(a, b, radius, pairs);
            } else {
                hamming::push_pairs_between(b, a, radius, pairs);
            }
        }
    }
}

fn of(list: &[u64], (from, to): Stretch) -> &[u64] {
    &list[from as usize..to as usize]
}

impl Stretches {
    /// Cuts both, and opens those parts of them that a chain may have pairs of.
    fn cut(self, a: &[u64], b: &[u64], chain: &Chain, open: &mut Vec<Self>) {
        let most = chain.most_up_to(self.bits);
        let bits_left = BLOCK_BITS - self.bits % BLOCK_BITS;
        match most.checked_sub(self.differing) {
            None => {}
            Some(0) => self.cut_equal(a, b, bits_left, open),
            Some(spare) => {
                let parts = a.len().max(b.len()) / PART_LENGTH;
                let cut_bits = parts.max(2).ilog2().min(MOST_CUT_BITS).min(bits_left);
                self.cut_near(a, b, cut_bits, spare, open);
            }
        }
    }

    /// Opens what is equal in the next bits.
    fn cut_equal(self, a: &[u64], b: &[u64], cut_bits: u32, open: &mut Vec<Self>) {
        let behind = u64::BITS - self.bits - cut_bits;
        let value = |fingerprint: u64| fingerprint >> behind & ((1 << cut_bits) - 1);
        let by_value = |list: &[u64], from: u32| {
            let mut start = from;
            let mut parts = Vec::new();
            for part in list.chunk_by(|x, y| value(*x) == value(*y)) {
                let end = start + part.len() as u32;
                parts.push((value(part[0]), (start, end)));
                start = end;
            }
            parts
        };
        let parts_of_a = by_value(a, self.a.0);
        if self.are_one {
            let several = parts_of_a.iter().filter(|(_, part)| part.1 - part.0 > 1);
            open.extend(several.map(|(_, part)| self.part(cut_bits, *part, *part, 0)));
            return;
        }
        let mut parts_of_b = by_value(b, self.b.0).into_iter().peekable();
        for (value, part) in parts_of_a {
            while parts_of_b.next_if(|(other, _)| *other < value).is_some() {}
            if let Some((_, other)) = parts_of_b.next_if(|(other, _)| *other == value) {
                open.push(self.part(cut_bits, part, other, 0));
            }
        }
    }

    /// Opens what differs in up to `spare` of the next bits.
    fn cut_near(self, a: &[u64], b: &[u64], cut_bits: u32, spare: u32, open: &mut Vec<Self>) {
        let behind = u64::BITS - self.bits - cut_bits;
        let starts_in_a = starts(a, self.a.0, behind, cut_bits);
        let starts_in_b = if self.are_one {
            starts_in_a
        } else {
            starts(b, self.b.0, behind, cut_bits)
        };
        let part =
            |starts: &[u32; MOST_PARTS + 1], value: usize| (starts[value], starts[value + 1]);
        let is_empty = |part: Stretch| part.0 == part.1;
        let values = 1 << cut_bits;
        for value in 0..values {
            let of_a = part(&starts_in_a, value);
            if is_empty(of_a) {
                continue;
            }
            let near = DIFFERENCES
                .iter()
                .map(|difference| usize::from(*difference))
                .take_while(|difference| difference.count_ones() <= spare);
            for difference in near {
                let other = value ^ difference;
                if other >= values || (self.are_one && other < value) {
                    continue;
                }
                let of_b = part(&starts_in_b, other);
                let is_lone = self.are_one && difference == 0 && of_b.1 - of_b.0 == 1;
                if !is_empty(of_b) && !is_lone {
                    open.push(self.part(cut_bits, of_a, of_b, difference.count_ones()));
                }
            }
        }
    }

    /// A part of each, cut off by so many bits, of which the two differ in some.
    fn part(self, cut_bits: u32, a: Stretch, b: Stretch, differing: u32) -> Self {
        Self {
            a,
            b,
            bits: self.bits + cut_bits,
            differing: self.differing + differing,
            are_one: self.are_one && differing == 0,
        }
    }
}

/// Where in its list each part of a stretch begins, and the last one ends. The stretch is cut by the
/// `cut_bits` bits that have `behind` bits behind them.
fn starts(stretch: &[u64], from: u32, behind: u32, cut_bits: u32) -> [u32; MOST_PARTS + 1] {
    let mut starts = [0; MOST_PARTS + 1];
    let mask = (1 << cut_bits) - 1;
    for fingerprint in stretch {
        starts[(fingerprint >> behind & mask) as usize + 1] += 1;
    }
    starts[0] = from;
    for part in 0..MOST_PARTS {
        starts[part + 1] += starts[part];
    }
    starts
}

/// Every value of so many bits, those of few ones first.
const DIFFERENCES: [u8; MOST_PARTS] = {
    let mut differences = [0; MOST_PARTS];
    let (mut ones, mut count) = (0, 0);
    while ones <= MOST_CUT_BITS {
        let mut value = 0;
        while value < MOST_PARTS {
            if value.count_ones() == ones {
                differences[count] = value as u8;
                count += 1;
            }
            value += 1;
        }
        ones += 1;
    }
    differences
};

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
        let rotate = |bits: &u64| block::rotate(Fingerprint::from_bits(*bits), block);
        let mut rotated: Vec<u64> = list.iter().map(rotate).collect();
        rotated.sort_unstable();
        rotated
    }

    /// The pairs that a join finds and its chain owns, taken up as often as it leaves off.
    fn pairs_of(
        mut join: Join,
        (chains, number): (&Chains, usize),
        radius: u32,
        most_pairs: usize,
        found: &mut Vec<(u64, u64)>,
    ) {
        let chain = chains.iter().nth(number).unwrap();
        while !join.is_done() {
            let mut pairs = Vec::new();
            join.go_on(chain, radius, most_pairs, 100, &mut pairs);
            for (a, b) in pairs {
                let (a, b) = (
                    block::unrotate(a, chain.block),
                    block::unrotate(b, chain.block),
                );
                if chains.is_owner(chain, a, b) {
                    found.push((a.bits().min(b.bits()), a.bits().max(b.bits())));
                }
            }
        }
    }

    #[test]
    fn every_pair_is_found_once_at_every_radius() {
        let list = crowded(700, 1);
        for radius in (0..=14).chain([19, 23, 27, 28, 40, 64]) {
            let chains = Chains::for_radius(radius);
            let mut found = Vec::new();
            for (number, chain) in chains.iter().enumerate() {
                let join = Join::of_one(sorted(&list, chain.block), 0);
                pairs_of(join, (&chains, number), radius, 50, &mut found);
            }
            let mut expected = Vec::new();
            hamming::push_pairs_among(&list, radius, &mut expected);
            found.sort_unstable();
            expected.sort_unstable();
            assert!(found == expected, "radius {radius}");
        }
    }

    #[test]
    fn the_pairs_of_two_lists_are_those_of_one_from_each() {
        let list = crowded(900, 2);
        for radius in [1, 3, 5, 8, 30] {
            let chains = Chains::for_radius(radius);
            for (number, chain) in chains.iter().enumerate() {
                let whole = sorted(&list, chain.block);
                let (a, b) = whole.split_at(whole.partition_point(|each| each >> 63 == 0));
                let mut together = Vec::new();
                let most = usize::MAX;
                let one = Join::of_one(whole.clone(), 0);
                pairs_of(one, (&chains, number), radius, most, &mut together);
                let mut apart = Vec::new();
                for half in [a, b] {
                    let one = Join::of_one(half.to_vec(), 1);
                    pairs_of(one, (&chains, number), radius, most, &mut apart);
                }
                if chain.most_up_to(0) > 0 {
                    let two = Join::of_two(a.to_vec(), b.to_vec(), 1, 1);
                    pairs_of(two, (&chains, number), radius, most, &mut apart);
                }
                together.sort_unstable();
                apart.sort_unstable();
                assert!(together == apart, "radius {radius}, chain {number}");
            }
        }
    }

    #[test]
    fn what_is_left_off_holds_few_pairs() {
        let mut state = 3;
        let list: Vec<u64> = (0..2000).map(|_| random(&mut state) & 0xfff).collect();
        let chains = Chains::for_radius(12);
        let mut join = Join::of_one(sorted(&list, 0), 0);
        while !join.is_done() {
            let mut pairs = Vec::new();
            join.go_on(&chains.iter().as_slice()[0], 12, 1000, u64::MAX, &mut pairs);
            assert!(pairs.len() as u64 <= 1001 + MOST_COMPARED);
        }
    }
}
