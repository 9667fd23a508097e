//! Tokens to weighted, hashed features.

mod doubt;
mod exact_idf;
mod idf;
mod lookup3;
mod string_hash;

pub use doubt::Doubt;
pub(crate) use exact_idf::{CPPJIEBA_STOP_WORDS, EXACT_WEIGHTS, ExactIdf};
pub(crate) use idf::{Idf, MOST_IDF, STOP_WORDS, UNKNOWN_WORD, WORD_WEIGHTS};
pub(crate) use lookup3::hashlittle2;
pub(crate) use string_hash::string_hash;

/// What a weight of 1 is in fixed point: weights are integers, so that sums are exact and the
/// order in which they are added never matters.
pub(crate) const WEIGHT_UNIT: i64 = 1024;

/// A feature of a text: what is hashed and carries a weight.
///
/// Made by [`Fingerprinter::features`](crate::Fingerprinter::features).
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// The shingle or word itself, as the recipe hashes it.
    pub token: String,
    /// Its weight, above 0: 1 + ln tf (`ngram`), tf × idf (`jieba`, `cppjieba`), or how often it
    /// occurs. By `ngram` and `jieba` a multiple of 1/1024, so that sums are exact.
    pub weight: f64,
    /// The 64 bits that vote for the bits of the fingerprint.
    pub hash: u64,
}

/// What the features of a text weigh: those of one kind the same, and some of them more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weights {
    /// Kinds of features, in the order of the features: how many there are of each, and what each
    /// of them weighs at least.
    pub(crate) kinds: Vec<(usize, i64)>,
    /// The places of the heavier ones among all features, each once, and what they weigh beyond.
    pub(crate) more: Vec<(usize, i64)>,
}

impl Weights {
    /// Any weights that are not negative.
    pub(crate) fn of(weights: impl Iterator<Item = i64>) -> Self {
        let more: Vec<_> = weights.enumerate().collect();
        Self {
            kinds: vec![(more.len(), 0)],
            more,
        }
    }

    /// How many features there are.
    pub(crate) fn count(&self) -> usize {
        self.kinds.iter().map(|&(count, _)| count).sum()
    }

    /// The weight of each.
    pub(crate) fn each(&self) -> Vec<i64> {
        let kinds = self.kinds.iter();
        let mut weights: Vec<_> = kinds
            .flat_map(|&(count, least)| std::iter::repeat_n(least, count))
            .collect();
        for &(index, more) in &self.more {
            weights[index] += more;
        }
        weights
    }

    /// What all weigh together.
    pub(crate) fn total(&self) -> i64 {
        let least = self
            .kinds
            .iter()
            .map(|&(count, least)| count as i64 * least);
        least.sum::<i64>() + self.more.iter().map(|&(_, more)| more).sum::<i64>()
    }

    /// Whether one of them weighs at least as much as all others together.
    pub(crate) fn one_outweighs_the_rest(&self) -> bool {
        let present = self.kinds.iter().filter(|&&(count, _)| count > 0);
        let mut heaviest = present.map(|&(_, least)| least).max().unwrap_or(0);
        for &(index, more) in &self.more {
            heaviest = heaviest.max(self.least_at(index) + more);
        }
        heaviest >= self.total() - heaviest
    }

    /// What the feature at this place weighs at least.
    fn least_at(&self, index: usize) -> i64 {
        let mut end = 0;
        let mut kinds = self.kinds.iter();
        let kind = kinds.find(|&&(count, _)| {
            end += count;
            index < end
        });
        kind.map_or(0, |&(_, least)| least)
    }

    /// Adds features of another kind behind these.
    pub(crate) fn append(&mut self, other: Self) {
        let first = self.count();
        self.kinds.extend(other.kinds);
        let more = other.more.into_iter();
        self.more
            .extend(more.map(|(index, more)| (first + index, more)));
    }
}

/// The distinct tokens of a text, in the order in which they first occur.
#[derive(Debug)]
pub(crate) struct Counted<P> {
    pub(crate) hashes: Vec<u64>,
    /// How often each occurs.
    pub(crate) counts: Vec<u64>,
    /// Where each occurs first, if that was asked for.
    pub(crate) places: Vec<P>,
    /// How many tokens were counted, repetitions included.
    pub(crate) total: u64,
}

impl<P> Counted<P> {
    /// Nothing was counted.
    pub(crate) const NONE: Self = Self {
        hashes: Vec::new(),
        counts: Vec::new(),
        places: Vec::new(),
        total: 0,
    };
}

/// Fewer distinct shingles than this say nothing.
pub(crate) const LEAST_SHINGLES: usize = 5;

/// With fewer distinct shingles than the first number, shingles that occur as often as the second
/// on average say nothing: a phrase over and over, or a long text over few characters, such as a
/// table of digits, where any two texts have nearly all shingles in common.
pub(crate) const REPETITIVE: [(usize, u64); 3] = [(32, 2), (100, 4), (5000, 8)];

/// Counts tokens by their hash.
///
/// Tokens are told apart by the 64 bits of their hash alone. That two tokens of one text share
/// them is as good as impossible by chance, and made on purpose it only merges the two.
///
/// An open-addressing table of indices: the hash is there already, and a standard map would hash
/// it again, with a random seed.
pub(crate) struct Tally<P> {
    /// An index into what is counted plus 1, or 0 for an empty slot. Its length is a power of two
    /// and at least twice the number of distinct tokens.
    slots: Vec<u32>,
    counted: Counted<P>,
    /// Hashed, not yet counted: a look-up is a guess for the processor's branch predictor, and
    /// a wrong one would throw away the hashing of what follows.
    pending: Vec<(u64, P)>,
}

/// How many hashed tokens wait to be counted.
const MOST_PENDING: usize = 128;

/// The room a tally has at first, at most.
const MOST_FIRST_ROOM: usize = 1 << 14;

/// How many slots there are for each token that is expected.
const SLOTS_PER_TOKEN: usize = 4;

impl<P: Clone> Tally<P> {
    /// A tally for so many distinct tokens at most. It grows with those there are, not with the text.
    pub(crate) fn for_at_most(distinct: usize) -> Self {
        Self::with_room(distinct.min(MOST_FIRST_ROOM))
    }

    /// A tally with room for so many distinct tokens before it grows.
    fn with_room(distinct: usize) -> Self {
        Self {
            slots: vec![0; (distinct * SLOTS_PER_TOKEN).next_power_of_two().max(16)],
            counted: Counted {
                hashes: Vec::with_capacity(distinct),
                counts: Vec::with_capacity(distinct),
                places: Vec::with_capacity(distinct),
                total: 0,
            },
            pending: Vec::with_capacity(MOST_PENDING),
        }
    }

    /// Counts one occurrence of the token with this hash at this place.
    #[inline]
    pub(crate) fn add(&mut self, (hash, place): (u64, P)) {
        if self.pending.len() == MOST_PENDING {
            self.count_pending();
        }
        self.pending.push((hash, place));
    }

    fn count_pending(&mut self) {
        let most_distinct = self.counted.hashes.len() + self.pending.len();
        if most_distinct * 2 > self.slots.len() {
            self.grow(most_distinct);
        }
        self.counted.total += self.pending.len() as u64;
        let Counted {
            hashes,
            counts,
            places,
            ..
        } = &mut self.counted;
        let slots = &mut self.slots[..];
        let mask = slots.len() - 1;
        for (hash, place) in self.pending.drain(..) {
            let mut slot = hash as usize & mask;
            loop {
                let Some(index) = (slots[slot] as usize).checked_sub(1) else {
                    hashes.push(hash);
                    counts.push(1);
                    places.push(place);
                    slots[slot] = hashes.len() as u32;
                    break;
                };
                if hashes[index] == hash {
                    counts[index] += 1;
                    break;
                }
                slot = (slot + 1) & mask;
            }
        }
    }

    #[cold]
    fn grow(&mut self, most_distinct: usize) {
        let mask = (most_distinct * SLOTS_PER_TOKEN).next_power_of_two() - 1;
        self.slots = vec![0; mask + 1];
        for (index, &hash) in self.counted.hashes.iter().enumerate() {
            let mut slot = hash as usize & mask;
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = index as u32 + 1;
        }
    }

    /// The distinct tokens.
    pub(crate) fn finish(mut self) -> Counted<P> {
        self.count_pending();
        self.counted
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

    /// The weights of shingles that occur so often, of which a kind has this share, in units of
    /// 1/1024.
    pub(crate) fn weights(&self, counts: &[u64], share: i64) -> Weights {
        let part = |weight: i64| (weight * share + WEIGHT_UNIT / 2) / WEIGHT_UNIT;
        let mut more = vec![(0, 0); counts.len()];
        let mut repeated = 0;
        for (index, &count) in counts.iter().enumerate() {
            // Written and perhaps overwritten, since no branch predictor can tell.
            more[repeated] = (index, count as i64);
            repeated += usize::from(count > 1);
        }
        more.truncate(repeated);
        let least = part(self.weight(1));
        for (_, count) in &mut more {
            *count = part(self.weight(*count as u64)) - least;
        }
        Weights {
            kinds: vec![(counts.len(), least)],
            more,
        }
    }

    #[inline]
    fn weight(&self, count: u64) -> i64 {
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
    use std::ops::Range;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    fn tally(text: &str, room: usize) -> Counted<Range<usize>> {
        let mut tally = Tally::with_room(room);
        let mut start = 0;
        for word in text.split_inclusive(' ') {
            tally.add((xxh3_64(word.as_bytes()), start..start + word.len()));
            start += word.len();
        }
        tally.finish()
    }

    #[test]
    fn tokens_are_counted_in_the_order_they_first_occur() {
        let text = "b a b c a b ";
        let counted = tally(text, 0);
        let read: Vec<_> = counted.places.iter().map(|c| &text[c.clone()]).collect();
        assert_eq!(read, ["b ", "a ", "c "]);
        assert_eq!(
            counted.hashes,
            ["b ", "a ", "c "].map(|word| xxh3_64(word.as_bytes()))
        );
        assert_eq!(counted.counts, [3, 2, 1]);
        assert_eq!(counted.total, 6);
    }

    #[test]
    fn a_growing_tally_forgets_nothing() {
        let text: String = (0..5000).map(|i| format!("{} ", i % 1777)).collect();
        let small = tally(&text, 0);
        let large = tally(&text, 10_000);
        assert_eq!(small.hashes.len(), 1777);
        assert_eq!(small.counts.iter().sum::<u64>(), 5000);
        assert_eq!(small.hashes, large.hashes);
        assert_eq!(small.counts, large.counts);
        assert_eq!(small.places, large.places);
    }

    #[test]
    fn weights_are_the_same_for_ever() {
        let weights = LogWeights::new();
        let counts = [1, 2, 3, 10, 63, 64, 1000, 1 << 40];
        let expected = [1024, 1734, 2149, 3382, 5267, 5283, 8098, 29415];
        assert_eq!(counts.map(|count| weights.weight(count)), expected);
        assert_eq!(weights.weights(&counts, WEIGHT_UNIT).each(), expected);
        let half = expected.map(|weight| (weight + 1) / 2);
        assert_eq!(weights.weights(&counts, WEIGHT_UNIT / 2).each(), half);
    }
}
