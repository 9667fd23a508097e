//! Tokens to weighted, hashed features.

mod idf;

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

pub(crate) use idf::{Idf, STOP_WORDS, UNKNOWN_WORD, WORD_WEIGHTS};

/// What a weight of 1 is in fixed point: weights are integers, so that sums are exact and the
/// order in which they are added never matters.
pub(crate) const WEIGHT_UNIT: i64 = 1024;

/// A feature of a text: what is hashed and carries a weight.
///
/// Made by [`Fingerprinter::features`](crate::Fingerprinter::features).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The shingle or word itself, normalised.
    pub token: String,
    /// Its weight in fixed point, in units of 1/1024. At least 1.
    pub weight: i64,
    /// The 64 bits that vote for the bits of the fingerprint: `xxh3_64`, seed 0, of the token's
    /// UTF-8 bytes.
    pub hash: u64,
}

/// A feature that is still a range of the normalised text.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    pub(crate) hash: u64,
    pub(crate) weight: i64,
    /// Where it first occurs.
    pub(crate) range: Range<usize>,
}

/// A distinct token of a text and how often it occurs.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) hash: u64,
    pub(crate) count: u64,
    /// Where it first occurs.
    pub(crate) range: Range<usize>,
}

/// Counts tokens by their hash, in the order in which they first occur.
///
/// Tokens are told apart by the 64 bits of their hash alone. That two tokens of one text share
/// them is as good as impossible by chance, and made on purpose it only merges the two.
///
/// An open-addressing table of indices: the hash is there already, and a standard map would hash
/// it again, with a random seed.
pub(crate) struct Tally {
    /// An index into `counted` plus 1, or 0 for an empty slot. Its length is a power of two and
    /// at least twice that of `counted`.
    slots: Vec<u32>,
    counted: Vec<Counted>,
    /// Hashed, not yet counted: a look-up is a guess for the processor's branch predictor, and
    /// a wrong one would throw away the hashing of what follows.
    pending: Vec<Counted>,
    total: u64,
}

/// How many hashed tokens wait to be counted.
const MOST_PENDING: usize = 128;

impl Tally {
    /// A tally with room for so many distinct tokens before it grows.
    pub(crate) fn with_room(distinct: usize) -> Self {
        Self {
            slots: vec![0; (distinct * 2).next_power_of_two().max(16)],
            counted: Vec::with_capacity(distinct),
            pending: Vec::with_capacity(MOST_PENDING),
            total: 0,
        }
    }

    /// Counts one occurrence of the token at `range` of the text.
    #[inline]
    pub(crate) fn add(&mut self, text: &str, range: Range<usize>) {
        let hash = xxh3_64(&text.as_bytes()[range.clone()]);
        if self.pending.len() == MOST_PENDING {
            self.count_pending();
        }
        self.pending.push(Counted {
            hash,
            count: 1,
            range,
        });
    }

    fn count_pending(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        self.total += pending.len() as u64;
        for token in pending.drain(..) {
            self.count(token);
        }
        self.pending = pending;
    }

    #[inline]
    fn count(&mut self, token: Counted) {
        let mask = self.slots.len() - 1;
        let mut slot = token.hash as usize & mask;
        while let Some(index) = (self.slots[slot] as usize).checked_sub(1) {
            let counted = &mut self.counted[index];
            if counted.hash == token.hash {
                counted.count += 1;
                return;
            }
            slot = (slot + 1) & mask;
        }
        self.counted.push(token);
        self.slots[slot] = self.counted.len() as u32;
        if self.counted.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.slots.len() * 4 - 1;
        self.slots = vec![0; mask + 1];
        for (index, counted) in self.counted.iter().enumerate() {
            let mut slot = counted.hash as usize & mask;
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = index as u32 + 1;
        }
    }

    /// The distinct tokens, in the order in which they first occur, and how many tokens were
    /// counted, repetitions included.
    pub(crate) fn finish(mut self) -> (Vec<Counted>, u64) {
        self.count_pending();
        (self.counted, self.total)
    }
}

/// The weight 1 + ln tf of a shingle that occurs tf times, without knowledge of other documents.
pub(crate) struct LogWeights {
    /// The weights of the small counts, nearly all there are.
    small: [i64; 64],
}

impl LogWeights {
    pub(crate) fn new() -> Self {
        Self {
            small: std::array::from_fn(|count| log_weight(count as u64)),
        }
    }

    #[inline]
    pub(crate) fn weight(&self, count: u64) -> i64 {
        match self.small.get(count as usize) {
            Some(&weight) => weight,
            None => log_weight(count),
        }
    }
}

/// 1 + ln count in fixed point, rounded. The logarithm is `libm`'s, since the one of the standard
/// library may differ between platforms in its last bit.
fn log_weight(count: u64) -> i64 {
    let weight = 1.0 + libm::log(count.max(1) as f64);
    (weight * WEIGHT_UNIT as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(text: &str, room: usize) -> Vec<Counted> {
        let mut tally = Tally::with_room(room);
        let mut start = 0;
        for word in text.split_inclusive(' ') {
            tally.add(text, start..start + word.len());
            start += word.len();
        }
        tally.finish().0
    }

    #[test]
    fn tokens_are_counted_in_the_order_they_first_occur() {
        let text = "b a b c a b ";
        let counted = tally(text, 0);
        let read: Vec<_> = counted
            .iter()
            .map(|c| (&text[c.range.clone()], c.count))
            .collect();
        assert_eq!(read, [("b ", 3), ("a ", 2), ("c ", 1)]);
    }

    #[test]
    fn a_growing_tally_forgets_nothing() {
        let text: String = (0..5000).map(|i| format!("{} ", i % 1777)).collect();
        let small = tally(&text, 0);
        let large = tally(&text, 10_000);
        assert_eq!(small.len(), 1777);
        assert_eq!(small.iter().map(|c| c.count).sum::<u64>(), 5000);
        assert!(
            small
                .iter()
                .zip(&large)
                .all(|(a, b)| a.hash == b.hash && a.count == b.count)
        );
    }

    #[test]
    fn weights_are_the_same_for_ever() {
        let weights = LogWeights::new();
        let counts = [1, 2, 3, 10, 63, 64, 1000, 1 << 40];
        let expected = [1024, 1734, 2149, 3382, 5267, 5283, 8098, 29415];
        assert_eq!(counts.map(|count| weights.weight(count)), expected);
    }
}
