//! [`Tally`]: how often each token of a text occurs, in linear time whatever the tokens are.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

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

/// Counts tokens by their hash.
///
/// Tokens are told apart by the 64 bits of their hash alone. That two tokens of one text share
/// them is as good as impossible by chance, and made on purpose it only merges the two.
///
/// An open-addressing table of indices: the hash is there already, and a standard map would hash
/// it again, with a random seed. But whoever knows the hash function can write a text whose tokens
/// all want the same slots, and no mixing of the hash helps against one who knows the mixing. So a
/// search ends after [`MOST_PROBES`] slots, and the tokens that found none of them free are kept in
/// an ordered map: a token costs so many slots and a logarithm at most.
pub(crate) struct Tally<P> {
    /// An index into what is counted plus 1, or 0 for an empty slot. Its length is a power of two
    /// and at least twice the number of distinct tokens.
    slots: Vec<u32>,
    /// The indices of the tokens whose slots were all taken, by their hashes.
    crowded: BTreeMap<u64, u32>,
    counted: Counted<P>,
    /// Hashed, not yet counted: a look-up is a guess for the processor's branch predictor, and
    /// a wrong one would throw away the hashing of what follows.
    pending: Vec<(u64, P)>,
    /// How many slots were looked at.
    #[cfg(test)]
    probes: usize,
}

/// How many hashed tokens wait to be counted.
const MOST_PENDING: usize = 128;

/// The room a tally has at first, at most.
const MOST_FIRST_ROOM: usize = 1 << 14;

/// How many slots there are at first for each token that is expected.
const FIRST_SLOTS_PER_TOKEN: usize = 4;

/// How many slots there are for each token at least.
const LEAST_SLOTS_PER_TOKEN: usize = 2;

/// How many slots are looked at for a token. Where hashes are no one's choice, one token in some
/// ten thousand needs more when the table is as full as it gets, and far fewer do before.
const MOST_PROBES: usize = 32;

impl<P: Clone> Tally<P> {
    /// A tally for so many distinct tokens at most. It grows with those there are, not with the text.
    pub(crate) fn for_at_most(distinct: usize) -> Self {
        Self::with_room(distinct.min(MOST_FIRST_ROOM))
    }

    /// A tally with room for so many distinct tokens before it grows.
    fn with_room(distinct: usize) -> Self {
        Self {
            slots: vec![
                0;
                (distinct * FIRST_SLOTS_PER_TOKEN)
                    .next_power_of_two()
                    .max(16)
            ],
            crowded: BTreeMap::new(),
            counted: Counted {
                hashes: Vec::with_capacity(distinct),
                counts: Vec::with_capacity(distinct),
                places: Vec::with_capacity(distinct),
                total: 0,
            },
            pending: Vec::with_capacity(MOST_PENDING),
            #[cfg(test)]
            probes: 0,
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
        if most_distinct * LEAST_SLOTS_PER_TOKEN > self.slots.len() {
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
        'tokens: for (hash, place) in self.pending.drain(..) {
            let first = hash as usize & mask;
            for slot in first..first + MOST_PROBES {
                let slot = &mut slots[slot & mask];
                #[cfg(test)]
                {
                    self.probes += 1;
                }
                let Some(index) = (*slot as usize).checked_sub(1) else {
                    hashes.push(hash);
                    counts.push(1);
                    places.push(place);
                    *slot = hashes.len() as u32;
                    continue 'tokens;
                };
                if hashes[index] == hash {
                    counts[index] += 1;
                    continue 'tokens;
                }
            }
            match self.crowded.entry(hash) {
                Entry::Occupied(index) => counts[*index.get() as usize] += 1,
                Entry::Vacant(vacant) => {
                    vacant.insert(hashes.len() as u32);
                    hashes.push(hash);
                    counts.push(1);
                    places.push(place);
                }
            }
        }
    }

    /// Makes room, as little as will do: a table of a long text takes more memory than anything else
    /// of it. What was crowded before has its slot now, as a rule.
    #[cold]
    fn grow(&mut self, most_distinct: usize) {
        let mask = (most_distinct * LEAST_SLOTS_PER_TOKEN).next_power_of_two() - 1;
        // Not both tables at once.
        self.slots = Vec::new();
        self.slots = vec![0; mask + 1];
        self.crowded.clear();
        for (index, &hash) in self.counted.hashes.iter().enumerate() {
            let first = hash as usize & mask;
            let mut wanted = (first..first + MOST_PROBES).map(|slot| slot & mask);
            match wanted.find(|&slot| self.slots[slot] == 0) {
                Some(slot) => self.slots[slot] = index as u32 + 1,
                None => drop(self.crowded.insert(hash, index as u32)),
            }
        }
    }

    /// The distinct tokens.
    pub(crate) fn finish(mut self) -> Counted<P> {
        self.count_pending();
        self.counted
    }
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
    fn a_table_is_never_more_than_twice_as_large_as_it_must_be() {
        let mut tally = Tally::with_room(0);
        let mut growths = 0;
        for n in 0..100_000_u64 {
            let slots = tally.slots.len();
            tally.add((xxh3_64(&n.to_le_bytes()), ()));
            growths += usize::from(tally.slots.len() > slots);
            let least = (n as usize + 1) * LEAST_SLOTS_PER_TOKEN;
            assert!(
                tally.slots.len() <= 2 * least.max(8),
                "{} slots for {n}",
                tally.slots.len()
            );
        }
        assert!(growths > 8, "{growths}");
        assert_eq!(tally.finish().hashes.len(), 100_000);
    }

    /// Counts each of these hashes twice, the second time in the other order.
    fn counted_twice(hashes: &[u64]) -> Tally<()> {
        let mut tally = Tally::for_at_most(hashes.len());
        let all = hashes.iter().chain(hashes.iter().rev());
        all.for_each(|&hash| tally.add((hash, ())));
        tally.count_pending();
        assert_eq!(tally.counted.hashes, hashes);
        assert!(tally.counted.counts.iter().all(|&count| count == 2));
        assert_eq!(tally.counted.total, 2 * hashes.len() as u64);
        tally
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
            let tally = counted_twice(&hashes);
            // Searching on until a free slot comes would take some 20,000 for each.
            let adds = 2 * hashes.len();
            assert!(
                tally.probes <= MOST_PROBES * adds,
                "{what}: {}",
                tally.probes
            );
        }
    }

    #[test]
    fn ordinary_tokens_find_a_slot_however_full_the_table_is() {
        // As many as the table takes before it grows.
        let slots = MOST_FIRST_ROOM * FIRST_SLOTS_PER_TOKEN;
        let tokens = (slots / LEAST_SLOTS_PER_TOKEN - MOST_PENDING) as u64;
        let hashes: Vec<_> = (0..tokens).map(|n| xxh3_64(&n.to_le_bytes())).collect();
        let tally = counted_twice(&hashes);
        assert_eq!(tally.slots.len(), slots);
        let crowded = tally.crowded.len();
        assert!(crowded * 1000 < hashes.len(), "{crowded}");
        assert!(tally.probes < 3 * 2 * hashes.len(), "{}", tally.probes);
    }
}
