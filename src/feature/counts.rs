//! [`TokenCounter`]: the number of occurrences of each token of a text, in linear time for any
//! tokens.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The distinct tokens of a text, in the order of their first occurrences.
#[derive(Debug)]
pub(crate) struct TokenCounts<P> {
    pub(crate) hashes: Vec<u64>,
    pub(crate) counts: Vec<u64>,
    /// The position of the first occurrence of each token; `()` if positions are not needed.
    pub(crate) positions: Vec<P>,
    /// The number of tokens, repetitions included.
    pub(crate) total: u64,
}

impl<P> TokenCounts<P> {
    pub(crate) const EMPTY: Self = Self {
        hashes: Vec::new(),
        counts: Vec::new(),
        positions: Vec::new(),
        total: 0,
    };

    /// Adds a token at its first occurrence.
    #[inline]
    fn push(&mut self, hash: u64, position: P) {
        self.hashes.push(hash);
        self.counts.push(1);
        self.positions.push(position);
    }
}

/// Counts tokens by their 64-bit hashes.
///
/// Two tokens of one text practically never have the same hash by chance. Tokens that were
/// constructed to have the same hash are counted as one, which does no harm.
///
/// The counter is an open-addressing hash table with linear probing. It uses the given hash as it
/// is: a standard map would hash it again, with a random seed, and fingerprints must not depend on
/// a seed. Since the hash function is public, a hostile text can have tokens that all start at one
/// slot, which makes linear probing quadratic. So a search ends after [`MAX_PROBES`] slots, and a
/// token that finds no free slot goes to an ordered map: at worst a token costs [`MAX_PROBES`]
/// slots and one map look-up.
pub(crate) struct TokenCounter<P> {
    /// Per slot an index into `counts` plus 1, or 0 for an empty slot. The length is a power of
    /// two, and at least twice the number of distinct tokens.
    slots: Vec<u32>,
    /// Tokens that found no free slot: hash to index.
    overflow: BTreeMap<u64, u32>,
    counts: TokenCounts<P>,
    /// Tokens that are hashed and not yet counted. Counting in batches is faster: a look-up is
    /// often mispredicted, and would then discard the hashing of the next tokens in the processor's
    /// pipeline.
    pending: Vec<(u64, P)>,
    /// The number of slots probed so far.
    #[cfg(test)]
    probes: usize,
}

/// Tokens per batch of look-ups: 1 to 3 KiB, so a batch stays in the L1 cache.
const MAX_PENDING: usize = 128;

/// At most this many distinct tokens have space in a new counter: a long text may have few distinct
/// tokens, and an empty slot costs time when it is cleared.
const MAX_INITIAL_CAPACITY: usize = 1 << 14;

/// Slots per expected token in a new table: a sparse table has short probe sequences.
const INITIAL_SLOTS_PER_TOKEN: usize = 4;

/// A table with fewer slots per token grows.
const MIN_SLOTS_PER_TOKEN: usize = 2;

/// At most this many slots are probed for a token. With random hashes and a table that is about to
/// grow, one token in some ten thousand needs more.
const MAX_PROBES: usize = 32;

impl<P> TokenCounter<P> {
    /// A counter for about `max_distinct` distinct tokens. The table grows if more occur.
    pub(crate) fn new(max_distinct: usize) -> Self {
        let capacity = max_distinct.min(MAX_INITIAL_CAPACITY);
        let slots = (capacity * INITIAL_SLOTS_PER_TOKEN)
            .next_power_of_two()
            .max(16);
        Self {
            slots: vec![0; slots],
            overflow: BTreeMap::new(),
            counts: TokenCounts {
                hashes: Vec::with_capacity(capacity),
                counts: Vec::with_capacity(capacity),
                positions: Vec::with_capacity(capacity),
                total: 0,
            },
            pending: Vec::with_capacity(MAX_PENDING),
            #[cfg(test)]
            probes: 0,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, (hash, position): (u64, P)) {
        if self.pending.len() == MAX_PENDING {
            self.count_pending();
        }
        self.pending.push((hash, position));
    }

    fn count_pending(&mut self) {
        // Grown before the batch, so that the loop below needs no check: all may be new tokens.
        let max_distinct = self.counts.hashes.len() + self.pending.len();
        if max_distinct * MIN_SLOTS_PER_TOKEN > self.slots.len() {
            self.grow(max_distinct);
        }
        let counts = &mut self.counts;
        counts.total += self.pending.len() as u64;
        let slots = &mut self.slots[..];
        let mask = slots.len() - 1;
        'tokens: for (hash, position) in self.pending.drain(..) {
            let first = hash as usize & mask;
            for slot in first..first + MAX_PROBES {
                let slot = &mut slots[slot & mask];
                #[cfg(test)]
                {
                    self.probes += 1;
                }
                let Some(index) = (*slot as usize).checked_sub(1) else {
                    counts.push(hash, position);
                    *slot = counts.hashes.len() as u32;
                    continue 'tokens;
                };
                if counts.hashes[index] == hash {
                    counts.counts[index] += 1;
                    continue 'tokens;
                }
            }
            // All probed slots have other tokens. Slots are never freed, so a token of the overflow
            // map is never in a slot too.
            match self.overflow.entry(hash) {
                Entry::Occupied(index) => counts.counts[*index.get() as usize] += 1,
                Entry::Vacant(vacant) => {
                    vacant.insert(counts.hashes.len() as u32);
                    counts.push(hash, position);
                }
            }
        }
    }

    /// Replaces the table by a larger one, and moves tokens from the overflow map to the table if a
    /// slot is free now. The table is no larger than needed: no other part of a long text takes as
    /// much memory.
    #[cold]
    fn grow(&mut self, max_distinct: usize) {
        let mask = (max_distinct * MIN_SLOTS_PER_TOKEN).next_power_of_two() - 1;
        // Frees the old table before the new one is allocated, so that both are never in memory.
        self.slots = Vec::new();
        self.slots = vec![0; mask + 1];
        self.overflow.clear();
        for (index, &hash) in self.counts.hashes.iter().enumerate() {
            let first = hash as usize & mask;
            // No comparison of hashes: the tokens are distinct.
            let mut probed = (first..first + MAX_PROBES).map(|slot| slot & mask);
            match probed.find(|&slot| self.slots[slot] == 0) {
                Some(slot) => self.slots[slot] = index as u32 + 1,
                None => drop(self.overflow.insert(hash, index as u32)),
            }
        }
    }

    pub(crate) fn finish(mut self) -> TokenCounts<P> {
        self.count_pending();
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    fn counted(text: &str, max_distinct: usize) -> TokenCounts<Range<usize>> {
        let mut counter = TokenCounter::new(max_distinct);
        let mut start = 0;
        for word in text.split_inclusive(' ') {
            counter.add((xxh3_64(word.as_bytes()), start..start + word.len()));
            start += word.len();
        }
        counter.finish()
    }

    #[test]
    fn tokens_are_counted_in_order_of_first_occurrence() {
        let text = "b a b c a b ";
        let counted = counted(text, 0);
        let read: Vec<_> = counted.positions.iter().map(|c| &text[c.clone()]).collect();
        assert_eq!(read, ["b ", "a ", "c "]);
        assert_eq!(
            counted.hashes,
            ["b ", "a ", "c "].map(|word| xxh3_64(word.as_bytes()))
        );
        assert_eq!(counted.counts, [3, 2, 1]);
        assert_eq!(counted.total, 6);
    }

    #[test]
    fn growing_table_keeps_all_counts() {
        let text: String = (0..5000).map(|i| format!("{} ", i % 1777)).collect();
        let small = counted(&text, 0);
        let large = counted(&text, 10_000);
        assert_eq!(small.hashes.len(), 1777);
        assert_eq!(small.counts.iter().sum::<u64>(), 5000);
        assert_eq!(small.hashes, large.hashes);
        assert_eq!(small.counts, large.counts);
        assert_eq!(small.positions, large.positions);
    }

    #[test]
    fn table_has_at_most_twice_the_required_slots() {
        let mut counter = TokenCounter::new(0);
        let mut growths = 0;
        for n in 0..100_000_u64 {
            let slots = counter.slots.len();
            counter.add((xxh3_64(&n.to_le_bytes()), ()));
            growths += usize::from(counter.slots.len() > slots);
            let least = (n as usize + 1) * MIN_SLOTS_PER_TOKEN;
            assert!(
                counter.slots.len() <= 2 * least.max(8),
                "{} slots for {n}",
                counter.slots.len()
            );
        }
        assert!(growths > 8, "{growths}");
        assert_eq!(counter.finish().hashes.len(), 100_000);
    }

    /// Counts each hash twice, the second time in reverse order.
    fn counted_twice(hashes: &[u64]) -> TokenCounter<()> {
        let mut counter = TokenCounter::new(hashes.len());
        let all = hashes.iter().chain(hashes.iter().rev());
        all.for_each(|&hash| counter.add((hash, ())));
        counter.count_pending();
        assert_eq!(counter.counts.hashes, hashes);
        assert!(counter.counts.counts.iter().all(|&count| count == 2));
        assert_eq!(counter.counts.total, 2 * hashes.len() as u64);
        counter
    }

    #[test]
    fn colliding_tokens_take_linear_work() {
        const TOKENS: u64 = 50_000;
        let ordinary = |n: u64| xxh3_64(&n.to_le_bytes());
        let hashes = |hash: &dyn Fn(u64) -> u64| (0..TOKENS).map(hash).collect::<Vec<_>>();
        for (hashes, what) in [
            (hashes(&|n| n << 32), "one slot for all"),
            (
                hashes(&|n| (n << 32) | 0xffff_ffff),
                "the last slot for all",
            ),
            (hashes(&|n| (n << 32) | (n % 1000)), "1000 slots for all"),
            (
                hashes(&|n| ordinary(n) & !0x3_fff0),
                "sixteen slots for all",
            ),
            (hashes(&|n| n), "a slot for each, in a row"),
            (hashes(&ordinary), "random slots"),
        ] {
            let counter = counted_twice(&hashes);
            // Unbounded probing would take some 20,000 probes per token.
            let adds = 2 * hashes.len();
            assert!(
                counter.probes <= MAX_PROBES * adds,
                "{what}: {}",
                counter.probes
            );
        }
    }

    #[test]
    fn random_tokens_rarely_overflow_in_full_table() {
        // As many tokens as the table takes before it grows.
        let slots = MAX_INITIAL_CAPACITY * INITIAL_SLOTS_PER_TOKEN;
        let tokens = (slots / MIN_SLOTS_PER_TOKEN - MAX_PENDING) as u64;
        let hashes: Vec<_> = (0..tokens).map(|n| xxh3_64(&n.to_le_bytes())).collect();
        let counter = counted_twice(&hashes);
        assert_eq!(counter.slots.len(), slots);
        let overflow = counter.overflow.len();
        assert!(overflow * 1000 < hashes.len(), "{overflow}");
        assert!(counter.probes < 3 * 2 * hashes.len(), "{}", counter.probes);
    }
}
