//! [`TokenCounter`]: the number of occurrences of each token of a text, in linear time whatever the
//! tokens are.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The distinct tokens of a text, in the order of their first occurrences.
#[derive(Debug)]
pub(crate) struct TokenCounts<P> {
    pub(crate) hashes: Vec<u64>,
    /// The number of occurrences of each token.
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

    /// Adds a token that has not occurred before.
    #[inline]
    fn push(&mut self, hash: u64, position: P) {
        self.hashes.push(hash);
        self.counts.push(1);
        self.positions.push(position);
    }
}

/// Counts tokens by their 64-bit hash alone.
///
/// Two tokens of one text with the same hash are as good as impossible by chance; made on purpose,
/// they are merely counted as one.
///
/// The counter is an open-addressing table of indices: the hash exists already, and a standard map
/// would hash the token again, with a random seed. But with a known hash function a text can be
/// written whose tokens all start at the same slot, and mixing the hash does not help, since the
/// mixing is known too. So a search ends after [`MOST_PROBES`] slots, and tokens that find none of
/// these free are kept in an ordered map: a token costs at most this many slots and a logarithm.
pub(crate) struct TokenCounter<P> {
    /// An index into `counts` plus 1, or 0 for an empty slot. The length is a power of two and at
    /// least twice the number of distinct tokens.
    slots: Vec<u32>,
    /// The indices of the tokens whose slots were all taken, by their hashes.
    crowded: BTreeMap<u64, u32>,
    counts: TokenCounts<P>,
    /// Tokens that are hashed and not yet counted: a look-up is a guess for the processor's branch
    /// predictor, and a wrong guess would throw away the hashing of the tokens behind it.
    pending: Vec<(u64, P)>,
    /// The number of slots looked at.
    #[cfg(test)]
    probes: usize,
}

/// The number of hashed tokens that wait to be counted.
const MOST_PENDING: usize = 128;

/// The largest number of distinct tokens for which room is made in advance.
const MOST_FIRST_ROOM: usize = 1 << 14;

/// Slots per expected token in a new table.
const FIRST_SLOTS_PER_TOKEN: usize = 4;

/// The least slots per token; a table with fewer grows.
const LEAST_SLOTS_PER_TOKEN: usize = 2;

/// The number of slots looked at for a token. With random hashes one token in some ten thousand
/// needs more in a full table, and far fewer do in an ordinary one.
const MOST_PROBES: usize = 32;

impl<P> TokenCounter<P> {
    /// A counter for at most this many distinct tokens, with room for some of them. The table grows
    /// with the distinct tokens that occur.
    pub(crate) fn new(most_distinct: usize) -> Self {
        let room = most_distinct.min(MOST_FIRST_ROOM);
        let slots = (room * FIRST_SLOTS_PER_TOKEN).next_power_of_two().max(16);
        Self {
            slots: vec![0; slots],
            crowded: BTreeMap::new(),
            counts: TokenCounts {
                hashes: Vec::with_capacity(room),
                counts: Vec::with_capacity(room),
                positions: Vec::with_capacity(room),
                total: 0,
            },
            pending: Vec::with_capacity(MOST_PENDING),
            #[cfg(test)]
            probes: 0,
        }
    }

    /// Counts one occurrence of the token with this hash at this position.
    #[inline]
    pub(crate) fn add(&mut self, (hash, position): (u64, P)) {
        if self.pending.len() == MOST_PENDING {
            self.count_pending();
        }
        self.pending.push((hash, position));
    }

    fn count_pending(&mut self) {
        let most_distinct = self.counts.hashes.len() + self.pending.len();
        if most_distinct * LEAST_SLOTS_PER_TOKEN > self.slots.len() {
            self.grow(most_distinct);
        }
        let counts = &mut self.counts;
        counts.total += self.pending.len() as u64;
        let slots = &mut self.slots[..];
        let mask = slots.len() - 1;
        'tokens: for (hash, position) in self.pending.drain(..) {
            let first = hash as usize & mask;
            for slot in first..first + MOST_PROBES {
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
            match self.crowded.entry(hash) {
                Entry::Occupied(index) => counts.counts[*index.get() as usize] += 1,
                Entry::Vacant(vacant) => {
                    vacant.insert(counts.hashes.len() as u32);
                    counts.push(hash, position);
                }
            }
        }
    }

    /// Makes a larger table, no larger than needed: for a long text it takes more memory than
    /// anything else. Most tokens that were crowded before find a slot in it.
    #[cold]
    fn grow(&mut self, most_distinct: usize) {
        let mask = (most_distinct * LEAST_SLOTS_PER_TOKEN).next_power_of_two() - 1;
        // The old table is freed first.
        self.slots = Vec::new();
        self.slots = vec![0; mask + 1];
        self.crowded.clear();
        for (index, &hash) in self.counts.hashes.iter().enumerate() {
            let first = hash as usize & mask;
            let mut wanted = (first..first + MOST_PROBES).map(|slot| slot & mask);
            match wanted.find(|&slot| self.slots[slot] == 0) {
                Some(slot) => self.slots[slot] = index as u32 + 1,
                None => drop(self.crowded.insert(hash, index as u32)),
            }
        }
    }

    /// The distinct tokens.
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

    fn counted(text: &str, room: usize) -> TokenCounts<Range<usize>> {
        let mut counter = TokenCounter::new(room);
        let mut start = 0;
        for word in text.split_inclusive(' ') {
            counter.add((xxh3_64(word.as_bytes()), start..start + word.len()));
            start += word.len();
        }
        counter.finish()
    }

    #[test]
    fn tokens_are_counted_in_the_order_they_first_occur() {
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
    fn a_growing_counter_forgets_nothing() {
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
    fn a_table_is_never_more_than_twice_as_large_as_it_must_be() {
        let mut counter = TokenCounter::new(0);
        let mut growths = 0;
        for n in 0..100_000_u64 {
            let slots = counter.slots.len();
            counter.add((xxh3_64(&n.to_le_bytes()), ()));
            growths += usize::from(counter.slots.len() > slots);
            let least = (n as usize + 1) * LEAST_SLOTS_PER_TOKEN;
            assert!(
                counter.slots.len() <= 2 * least.max(8),
                "{} slots for {n}",
                counter.slots.len()
            );
        }
        assert!(growths > 8, "{growths}");
        assert_eq!(counter.finish().hashes.len(), 100_000);
    }

    /// Counts each of these hashes twice, the second time in the other order.
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
    fn tokens_that_want_the_same_slots_take_linear_work() {
        const TOKENS: u64 = 50_000;
        let ordinary = |n: u64| xxh3_64(&n.to_le_bytes());
        let of = |hash: &dyn Fn(u64) -> u64| (0..TOKENS).map(hash).collect::<Vec<_>>();
        for (hashes, what) in [
            (of(&|n| n << 32), "one slot for all"),
            (of(&|n| (n << 32) | 0xffff_ffff), "the last slot for all"),
            (of(&|n| (n << 32) | (n % 1000)), "a thousand slots for all"),
            (of(&|n| ordinary(n) & !0x3_fff0), "sixteen slots for all"),
            (of(&|n| n), "a slot for each, in a row"),
            (of(&ordinary), "no choice"),
        ] {
            let counter = counted_twice(&hashes);
            // Searching on until a free slot comes would take some 20,000 for each.
            let adds = 2 * hashes.len();
            assert!(
                counter.probes <= MOST_PROBES * adds,
                "{what}: {}",
                counter.probes
            );
        }
    }

    #[test]
    fn ordinary_tokens_find_a_slot_however_full_the_table_is() {
        // As many as the table takes before it grows.
        let slots = MOST_FIRST_ROOM * FIRST_SLOTS_PER_TOKEN;
        let tokens = (slots / LEAST_SLOTS_PER_TOKEN - MOST_PENDING) as u64;
        let hashes: Vec<_> = (0..tokens).map(|n| xxh3_64(&n.to_le_bytes())).collect();
        let counter = counted_twice(&hashes);
        assert_eq!(counter.slots.len(), slots);
        let crowded = counter.crowded.len();
        assert!(crowded * 1000 < hashes.len(), "{crowded}");
        assert!(counter.probes < 3 * 2 * hashes.len(), "{}", counter.probes);
    }
}
