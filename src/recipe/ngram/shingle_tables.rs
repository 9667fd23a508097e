//! [`ShingleTables`]: the shingles of ASCII and common Han, counted by their characters.
//!
//! Nearly all texts consist of these two scripts, and a hash table of all their shingles takes most
//! of the time of a fingerprint. Three letters and digits of ASCII, and a Han character, are the
//! place of a counter. A pair of Han characters is a key of 30 bits. Only distinct shingles are
//! hashed, many at a time.

use std::cell::RefCell;
use std::ops::Range;

use multiversion::multiversion;
use xxhash_rust::xxh3::xxh3_64;

use super::{LONG_SHINGLE, SHORT_SHINGLE};
use crate::feature::{TokenCounter, TokenCounts};
use crate::text::CJK_SHINGLE;

/// Counters have 16 bits, and a text of this length has fewer shingles.
const MAX_TEXT_BYTES: usize = u16::MAX as usize;

/// The letters and digits of normalised ASCII.
const SYMBOLS: usize = 36;

/// The number of each symbol; [`SYMBOLS`] for another byte.
const SYMBOL_OF: [u8; 256] = {
    let mut symbols = [SYMBOLS as u8; 256];
    let mut symbol = 0;
    while symbol < SYMBOLS as u8 {
        let byte = match symbol {
            ..10 => b'0' + symbol,
            _ => b'a' + symbol - 10,
        };
        symbols[byte as usize] = symbol;
        symbol += 1;
    }
    symbols
};

/// The shingles of three ASCII characters.
const ASCII_SHINGLES: usize = SYMBOLS.pow(SHORT_SHINGLE as u32);

/// The first common Han character, and the number of them.
const FIRST_HAN: u32 = '一' as u32;
const HAN: usize = '\u{9fff}' as usize - '一' as usize + 1;
const HAN_BYTES: usize = '一'.len_utf8();
const PAIR_BYTES: usize = CJK_SHINGLE * HAN_BYTES;

/// Long shingles of ASCII that are hashed at a time.
const LONG_BATCH: usize = 128;

// Both are hashed by `hash_six`.
const _: () = assert!(PAIR_BYTES == 6 && LONG_SHINGLE == 6);

/// Bits of a Han character in the key of a pair.
const HAN_BITS: u32 = 15;

/// Slots for each Han character of a text.
const SLOTS_PER_PAIR: usize = 4;

/// A text in which a pair needs more slots was made to be slow, and is counted with hashes.
const MAX_PROBES: usize = 64;

/// The counts of pairs of CJK characters, of single ones, and of ASCII characters.
pub(super) struct ShingleCounts<P> {
    pub(super) pairs: TokenCounts<P>,
    pub(super) single: TokenCounts<P>,
    pub(super) short: TokenCounts<P>,
}

/// The counters of a thread. All are 0 between two texts.
struct ShingleTables {
    ascii: Vec<u16>,
    han: Vec<u16>,
    /// The key of the pair in each slot plus 1; 0 for an empty slot.
    pair_keys: Vec<u32>,
    pair_counts: Vec<u16>,
    /// The distinct shingles of each kind.
    found: [FoundCounters; 3],
}

/// The distinct shingles of a kind, in text order: the first place in the text, and the place of
/// the counter. The buffers are as long as the text, and the first `len` entries are set: an entry
/// is written for each shingle, and overwritten if the shingle is not new. A branch would be
/// mispredicted.
#[derive(Default)]
struct FoundCounters {
    starts: Vec<u32>,
    counters: Vec<u32>,
    len: usize,
}

impl FoundCounters {
    fn clear(&mut self, shingles: usize) {
        self.len = 0;
        if self.starts.len() < shingles {
            self.starts.resize(shingles, 0);
            self.counters.resize(shingles, 0);
        }
    }

    #[inline]
    fn add(&mut self, start: usize, counter: usize, is_new: bool) {
        self.starts[self.len] = start as u32;
        self.counters[self.len] = counter as u32;
        self.len += usize::from(is_new);
    }

    /// Moves the counts out of the counters, which are 0 then.
    fn take(&self, counters: &mut [u16]) -> Vec<u64> {
        let take = |at: &u32| u64::from(std::mem::take(&mut counters[*at as usize]));
        self.counters[..self.len].iter().map(take).collect()
    }

    fn starts(&self) -> impl Iterator<Item = usize> {
        self.starts[..self.len].iter().map(|start| *start as usize)
    }
}

/// The shingles of a normalised text; `None` for a text in other scripts, for a long text, and for
/// a text that was made to be slow.
pub(super) fn count<P>(
    text: &str,
    has_short: bool,
    position_of: &impl Fn(Range<usize>) -> P,
) -> Option<ShingleCounts<P>> {
    thread_local! {
        static TABLES: RefCell<ShingleTables> = RefCell::new(ShingleTables::new());
    }
    if text.len() > MAX_TEXT_BYTES {
        return None;
    }
    TABLES.with_borrow_mut(|tables| {
        let others = tables.add(text, has_short);
        let counts = tables.take(text, position_of);
        Some(counts.with(text, others?, position_of))
    })
}

/// The long shingles of a normalised text; `None` for a text in other scripts, and for a text that
/// is shorter than a shingle.
pub(super) fn count_long<P>(
    text: &str,
    position_of: &impl Fn(Range<usize>) -> P,
) -> Option<TokenCounts<P>> {
    let last = text.len().checked_sub(LONG_SHINGLE)?;
    if !text.is_ascii() {
        return None;
    }
    let mut counter = TokenCounter::new(last + 1);
    let mut hashes = [0; LONG_BATCH];
    for start in (0..=last).step_by(LONG_BATCH) {
        let hashes = &mut hashes[..LONG_BATCH.min(last + 1 - start)];
        for (at, word) in (start..).zip(&mut *hashes) {
            *word = word_of_six(text.as_bytes(), at);
        }
        hash_six(hashes);
        for (at, hash) in (start..).zip(&*hashes) {
            counter.add((*hash, position_of(at..at + LONG_SHINGLE)));
        }
    }
    Some(counter.finish())
}

impl ShingleTables {
    fn new() -> Self {
        Self {
            ascii: vec![0; ASCII_SHINGLES],
            han: vec![0; HAN],
            pair_keys: Vec::new(),
            pair_counts: Vec::new(),
            found: Default::default(),
        }
    }

    /// Counts the shingles of a text. Returns the runs that are shorter than a shingle; `None` if
    /// the text has other scripts.
    fn add(&mut self, text: &str, has_short: bool) -> Option<Vec<Range<usize>>> {
        let bytes = text.as_bytes();
        self.found
            .iter_mut()
            .for_each(|found| found.clear(bytes.len()));
        let mut short_runs = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            if bytes[at].is_ascii() {
                let rest = bytes[at..].iter();
                at += rest.take_while(|byte| byte.is_ascii()).count();
                if has_short && !self.add_ascii(bytes, start..at)? {
                    short_runs.push(start..at);
                }
            } else {
                while at < bytes.len() && !bytes[at].is_ascii() {
                    han_at(bytes, at)?;
                    at += HAN_BYTES;
                }
                if !self.add_han(bytes, start..at)? {
                    short_runs.push(start..at);
                }
            }
        }
        Some(short_runs)
    }

    /// Returns `false` for a run that is shorter than a shingle.
    fn add_ascii(&mut self, bytes: &[u8], run: Range<usize>) -> Option<bool> {
        let [_, _, found] = &mut self.found;
        // The places of the counters do not depend on each other: a place that is computed from the
        // place before takes three times as long.
        let [mut first, mut middle] = [0; 2];
        for (at, byte) in bytes[run.clone()].iter().enumerate() {
            let symbol = SYMBOL_OF[usize::from(*byte)];
            if usize::from(symbol) == SYMBOLS {
                return None;
            }
            let last = usize::from(symbol);
            if at + 1 >= SHORT_SHINGLE {
                let place = (first * SYMBOLS + middle) * SYMBOLS + last;
                let counter = &mut self.ascii[place];
                found.add(run.start + at + 1 - SHORT_SHINGLE, place, *counter == 0);
                *counter += 1;
            }
            (first, middle) = (middle, last);
        }
        Some(run.len() >= SHORT_SHINGLE)
    }

    /// Returns `false` for a run that is shorter than a shingle.
    fn add_han(&mut self, bytes: &[u8], run: Range<usize>) -> Option<bool> {
        let slots = (bytes.len() / HAN_BYTES * SLOTS_PER_PAIR).next_power_of_two();
        if self.pair_keys.len() < slots {
            self.pair_keys.resize(slots, 0);
            self.pair_counts.resize(slots, 0);
        }
        let (keys, counts) = (&mut self.pair_keys[..slots], &mut self.pair_counts[..slots]);
        let [pairs, single, _] = &mut self.found;
        let shift = u32::BITS - slots.trailing_zeros().max(1);
        let mut before = None;
        for at in run.clone().step_by(HAN_BYTES) {
            let han = han_at(bytes, at)?;
            let counter = &mut self.han[han as usize];
            single.add(at, han as usize, *counter == 0);
            *counter += 1;
            let Some(last) = before.replace(han) else {
                continue;
            };
            let key = (last << HAN_BITS | han) + 1;
            let first = (key.wrapping_mul(0x9e37_79b1) >> shift) as usize;
            let mut probed = (first..first + MAX_PROBES).map(|slot| slot & (slots - 1));
            let slot = probed.find(|slot| keys[*slot] == key || keys[*slot] == 0)?;
            pairs.add(at - HAN_BYTES, slot, keys[slot] == 0);
            keys[slot] = key;
            counts[slot] += 1;
        }
        Some(run.len() >= PAIR_BYTES)
    }

    /// Takes the counts of all shingles that were added.
    fn take<P>(
        &mut self,
        text: &str,
        position_of: &impl Fn(Range<usize>) -> P,
    ) -> ShingleCounts<P> {
        let [pairs, single, short] = &self.found;
        let bytes = text.as_bytes();
        let hashes_of_three = |found: &FoundCounters| {
            let mut hashes: Vec<u64> = found.starts().map(|at| word_of_three(bytes, at)).collect();
            hash_three(&mut hashes);
            hashes
        };
        for slot in &pairs.counters[..pairs.len] {
            self.pair_keys[*slot as usize] = 0;
        }
        let mut pair_hashes: Vec<u64> = pairs.starts().map(|at| word_of_six(bytes, at)).collect();
        hash_six(&mut pair_hashes);
        let counts = |found: &FoundCounters, hashes, counts: Vec<u64>, bytes| TokenCounts {
            hashes,
            total: counts.iter().sum(),
            counts,
            positions: found
                .starts()
                .map(|at| position_of(at..at + bytes))
                .collect(),
        };
        ShingleCounts {
            pairs: counts(
                pairs,
                pair_hashes,
                pairs.take(&mut self.pair_counts),
                PAIR_BYTES,
            ),
            single: counts(
                single,
                hashes_of_three(single),
                single.take(&mut self.han),
                HAN_BYTES,
            ),
            short: counts(
                short,
                hashes_of_three(short),
                short.take(&mut self.ascii),
                SHORT_SHINGLE,
            ),
        }
    }
}

impl<P> ShingleCounts<P> {
    /// Adds the runs that are shorter than a shingle, each of which is a shingle.
    fn with(
        mut self,
        text: &str,
        runs: Vec<Range<usize>>,
        position_of: &impl Fn(Range<usize>) -> P,
    ) -> Self {
        let (ascii, han): (Vec<_>, Vec<_>) = runs
            .into_iter()
            .partition(|run| text.as_bytes()[run.start].is_ascii());
        for (counts, runs) in [(&mut self.short, ascii), (&mut self.pairs, han)] {
            if runs.is_empty() {
                continue;
            }
            let mut counter = TokenCounter::new(runs.len());
            for run in runs {
                counter.add((xxh3_64(&text.as_bytes()[run.clone()]), position_of(run)));
            }
            let short = counter.finish();
            counts.hashes.extend(short.hashes);
            counts.counts.extend(short.counts);
            counts.positions.extend(short.positions);
            counts.total += short.total;
        }
        self
    }
}

/// The number of the common Han character at a place; `None` for another character.
#[inline]
fn han_at(bytes: &[u8], at: usize) -> Option<u32> {
    let [lead @ 0xe4..=0xe9, middle, last] = *bytes[at..].first_chunk()? else {
        return None;
    };
    let [lead, middle, last] = [lead & 0xf, middle & 0x3f, last & 0x3f].map(u32::from);
    let code = lead << 12 | middle << 6 | last;
    code.checked_sub(FIRST_HAN)
        .filter(|han| (*han as usize) < HAN)
}

/// The input of [`hash_three`].
fn word_of_three(bytes: &[u8], at: usize) -> u64 {
    let [first, middle, last] = [bytes[at], bytes[at + 1], bytes[at + 2]].map(u64::from);
    first << 16 | middle << 24 | last | 3 << 8
}

/// The input of [`hash_six`].
fn word_of_six(bytes: &[u8], at: usize) -> u64 {
    let word = |at: usize| {
        let bytes = bytes[at..].first_chunk().copied().unwrap_or_default();
        u64::from(u32::from_le_bytes(bytes))
    };
    word(at + 2) | word(at) << 32
}

/// XXH3 of three bytes each.
///
/// # Source
/// `XXH3_len_1to3_64b` of xxHash 0.8 by Yann Collet.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn hash_three(words: &mut [u64]) {
    for word in words {
        let mut hash = *word ^ 0x8727_5a9b;
        hash ^= hash >> 33;
        hash = hash.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        hash ^= hash >> 29;
        hash = hash.wrapping_mul(0x1656_67b1_9e37_79f9);
        *word = hash ^ hash >> 32;
    }
}

/// XXH3 of six bytes each.
///
/// # Source
/// `XXH3_len_4to8_64b` of xxHash 0.8 by Yann Collet.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn hash_six(words: &mut [u64]) {
    const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;
    for word in words {
        let mut hash = *word ^ 0xc73a_b174_c5ec_d5a2;
        hash ^= hash.rotate_left(49) ^ hash.rotate_left(24);
        hash = hash.wrapping_mul(FACTOR);
        hash ^= (hash >> 35) + PAIR_BYTES as u64;
        hash = hash.wrapping_mul(FACTOR);
        *word = hash ^ hash >> 28;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::recipe::ngram;

    /// The counts of each shingle, with its first place.
    fn listed(counts: &TokenCounts<Range<usize>>) -> Vec<(u64, u64, Range<usize>)> {
        let positions = counts.positions.iter().cloned();
        let counted = counts.hashes.iter().zip(&counts.counts).zip(positions);
        let mut listed: Vec<_> = counted
            .map(|((hash, count), at)| (*hash, *count, at))
            .collect();
        listed.sort_unstable_by_key(|(_, _, at)| (at.start, at.end));
        listed
    }

    fn assert_equal_to_plain_counts(text: &str, has_short: bool) {
        let range = |range| range;
        let counted = count(text, has_short, &range).expect("ASCII and common Han");
        let others = text.len() * usize::from(has_short);
        let plain = ShingleCounts {
            pairs: ngram::count::<CJK_SHINGLE, 0, _>(text, text.len(), &range),
            single: ngram::count::<1, 0, _>(text, text.len(), &range),
            short: ngram::count::<0, SHORT_SHINGLE, _>(text, others, &range),
        };
        for (counted, plain) in [
            (counted.pairs, plain.pairs),
            (counted.single, plain.single),
            (counted.short, plain.short),
        ] {
            assert_eq!(listed(&counted), listed(&plain), "{text}");
            assert_eq!(counted.total, plain.total);
        }
    }

    #[test]
    fn other_scripts_and_long_texts_are_left_to_hashes() {
        for text in [
            "é",
            "abcé",
            "汉字カナ",
            "한글",
            "A",
            "a b",
            "㐀",
            "汉\u{a000}",
        ] {
            assert!(count(text, true, &|_| ()).is_none(), "{text}");
            // The counters are empty again.
            assert_equal_to_plain_counts("abcabc汉字汉字a汉", true);
        }
        let long = "a".repeat(MAX_TEXT_BYTES);
        assert_equal_to_plain_counts(&long, true);
        assert!(count(&(long + "a"), true, &|_| ()).is_none());
        assert_equal_to_plain_counts(&"汉字".repeat(MAX_TEXT_BYTES / PAIR_BYTES), true);
    }

    #[test]
    fn long_shingles_of_ascii_equal_plain_counts() {
        let letters = "thequickbrownfox0123".repeat(30);
        for length in [6, 7, 133, 134, 261, 600] {
            let text = &letters[..length];
            let counted = count_long(text, &|range| range).expect("ASCII");
            let plain = ngram::count::<0, LONG_SHINGLE, _>(text, length, &|range| range);
            assert_eq!(listed(&counted), listed(&plain), "{length}");
            assert_eq!(counted.total, plain.total);
        }
        assert!(count_long("thequ", &|_| ()).is_none());
        assert!(count_long("thequickbrowné", &|_| ()).is_none());
    }

    #[test]
    fn pairs_that_share_their_slots_are_left_to_hashes() {
        // The slots of a text of 4 KiB: each pair of Han characters here begins at one slot.
        let slots = ((4 << 10) / HAN_BYTES * SLOTS_PER_PAIR).next_power_of_two();
        let shift = u32::BITS - slots.trailing_zeros();
        let pairs = (0..HAN as u32).flat_map(|last| (0..60).map(move |han| (last, han)));
        let at_one_slot = pairs.filter(|(last, han)| {
            let key = (last << HAN_BITS | han) + 1;
            key.wrapping_mul(0x9e37_79b1) >> shift == 5
        });
        let han = |number| char::from_u32(FIRST_HAN + number).unwrap();
        let text: String = at_one_slot
            .take(2 * MAX_PROBES)
            .flat_map(|(last, other)| [han(last), han(other), 'a'])
            .collect();
        assert_eq!(text.chars().count(), 6 * MAX_PROBES);
        // As long as the text that the slots are for.
        let text = text.clone() + &"a".repeat((4 << 10) - text.len());
        assert!(count(&text, true, &|_| ()).is_none());
        assert_equal_to_plain_counts("汉字汉字", true);
    }

    proptest! {
        #[test]
        fn counts_of_any_text_equal_plain_counts(
            text in "([a-c0-2]{0,9}|[一-十]{0,5}|[龹-\u{9fff}]{0,3}|[a-z]{0,200})*",
            has_short: bool,
        ) {
            assert_equal_to_plain_counts(&text, has_short);
        }
    }
}
