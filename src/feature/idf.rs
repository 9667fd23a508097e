//! [`Idf`]: the inverse document frequencies of words, in fixed point.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::{UNKNOWN_WORD_WEIGHT, WEIGHT_UNIT};

/// The inverse document frequencies of jieba-rs, in fixed point, compressed with zstd.
///
/// jieba-rs has the table behind its feature `tfidf`, but offers only the keywords of a whole text,
/// and takes more than three times as long for the keywords as for the segmentation.
pub(crate) const WORD_WEIGHTS: &[u8] = include_bytes!("idf.txt.zst");

/// Function words, which are no keywords. The hash of this file is part of descriptions.
pub(crate) const STOP_WORDS: &str = include_str!("stop_words.txt");

/// The weight of stop words, and of no other words.
const STOP_WORD_WEIGHT: u16 = 0;

/// A built-in table decompresses to less than 4 MiB.
const MAX_TABLE_BYTES: usize = 4 << 20;

/// At least 2^19 slots, twice the number of words in the built-in table. A table with fewer than
/// 2^16 slots would confuse words, since a slot stores only the upper 48 bits of a hash.
const MIN_SLOTS: usize = 1 << 19;

/// At most this many slots are probed for a word. Some fifteen words of the built-in table, which
/// is half full, need more.
const MAX_PROBES: usize = 64;

/// The bits of a hash that a slot stores beside the weight. The lower bits are given by the slot.
const TAG_MASK: u64 = u64::MAX << u16::BITS;

/// The inverse document frequencies of words, in units of 1/1024, by the `xxh3_64` of the word.
///
/// An open-addressing hash table. A slot is 8 bytes, 48 bits of the hash and 16 bits of weight, so
/// the look-up of an unknown word usually touches one cache line. The lower bits of the hash, at
/// least 19, choose the first slot.
///
/// The words of a caller's file may be chosen to collide, as for
/// [`TokenCounter`](super::TokenCounter). So a word that finds no free slot among [`MAX_PROBES`]
/// goes to an ordered map.
pub(crate) struct Idf {
    slots: Box<[u64]>,
    /// Words that found no free slot: hash to weight.
    overflow: BTreeMap<u64, u16>,
    /// The weight of a word that is not in the table.
    unknown: u16,
}

impl Idf {
    /// Loads the given tables, or the built-in ones in place of `None`, which takes some ten
    /// milliseconds and 4 MiB.
    ///
    /// A given frequency is above 0 and at most [`MAX_IDF`]. For a word that is given twice the
    /// last frequency counts.
    pub(crate) fn new(given: Option<&[(String, f64)]>, stop_words: Option<&[String]>) -> Self {
        let slots = given.map_or(0, |given| 2 * given.len());
        let slots = slots + stop_words.map_or(0, |words| 2 * words.len());
        let mut idf = Self {
            slots: vec![u64::MAX; slots.next_power_of_two().max(MIN_SLOTS)].into_boxed_slice(),
            overflow: BTreeMap::new(),
            unknown: UNKNOWN_WORD_WEIGHT,
        };
        // Stop words first: an insert does not replace, so a stop word of the table stays a stop
        // word.
        match stop_words {
            None => words(STOP_WORDS).for_each(|word| idf.insert(word, STOP_WORD_WEIGHT)),
            Some(given) => given
                .iter()
                .for_each(|word| idf.insert(word, STOP_WORD_WEIGHT)),
        }
        match given {
            None => for_each_weight(|word, weight| idf.insert(word, weight)),
            Some(given) => {
                let mut weights: Vec<_> =
                    given.iter().map(|&(_, idf)| to_fixed_point(idf)).collect();
                // Backwards, so that the last frequency of a word is inserted first and stays.
                for ((word, _), &weight) in given.iter().zip(&weights).rev() {
                    idf.insert(word, weight);
                }
                weights.sort_unstable();
                // The upper median, as jieba takes it.
                idf.unknown = weights
                    .get(weights.len() / 2)
                    .copied()
                    .unwrap_or(UNKNOWN_WORD_WEIGHT);
            }
        }
        idf
    }

    /// The content of the first slot for a hash, an argument of [`weight`](Self::weight).
    ///
    /// A loop that reads the first slots of all words of a text lets the processor wait for many
    /// cache lines at once. With one search after another it waits for each line.
    #[inline]
    pub(crate) fn first_slot(&self, hash: u64) -> u64 {
        self.slots[hash as usize & (self.slots.len() - 1)]
    }

    /// The weight of the word with this hash, given its first slot; `None` for a stop word.
    #[inline]
    pub(crate) fn weight(&self, hash: u64, first_slot: u64) -> Option<i64> {
        let weight = if first_slot & TAG_MASK == hash & TAG_MASK {
            first_slot as u16
        } else {
            self.find(hash).unwrap_or(self.unknown)
        };
        (weight != STOP_WORD_WEIGHT).then_some(i64::from(weight))
    }

    /// Adds a word, unless the word is in the table already.
    fn insert(&mut self, word: &str, weight: u16) {
        self.insert_hash(xxh3_64(word.as_bytes()), weight);
    }

    fn insert_hash(&mut self, hash: u64, weight: u16) {
        if self.find(hash).is_some() {
            return;
        }
        match self
            .probed_slots(hash)
            .find(|&slot| self.slots[slot] == u64::MAX)
        {
            Some(slot) => self.slots[slot] = hash & TAG_MASK | u64::from(weight),
            None => drop(self.overflow.insert(hash, weight)),
        }
    }

    /// The weight of the word with this hash; `None` if the table does not have the word.
    #[inline]
    fn find(&self, hash: u64) -> Option<u16> {
        for slot in self.probed_slots(hash) {
            let entry = self.slots[slot];
            // Nothing is ever removed, so an empty slot ends the search.
            if entry == u64::MAX {
                return None;
            }
            if entry & TAG_MASK == hash & TAG_MASK {
                return Some(entry as u16);
            }
        }
        self.overflow.get(&hash).copied()
    }

    /// The slots that are probed for a hash, in order.
    #[inline]
    fn probed_slots(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        let first = hash as usize & mask;
        (first..first + MAX_PROBES).map(move |slot| slot & mask)
    }
}

/// A frequency in units of 1/1024, at least 1: 0 is the weight of stop words.
fn to_fixed_point(idf: f64) -> u16 {
    (idf * WEIGHT_UNIT as f64).round().max(1.0) as u16
}

/// Calls `word` with each word of the built-in table and its weight.
pub(crate) fn for_each_weight(mut word: impl FnMut(&str, u16)) {
    for line in decompress_table(WORD_WEIGHTS)
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let mut fields = line.split(' ');
        let weight = fields.next().and_then(|weight| weight.parse().ok());
        let weight = weight.expect("a line starts with its weight");
        fields.for_each(|field| word(field, weight));
    }
}

pub(crate) fn decompress_table(table: &[u8]) -> String {
    let text = zstd::bulk::decompress(table, MAX_TABLE_BYTES);
    let text = text.ok().and_then(|text| String::from_utf8(text).ok());
    text.expect("a built-in table is valid zstd and UTF-8")
}

/// The words of a list in which lines starting with `#` are comments.
fn words(list: &str) -> impl Iterator<Item = &str> {
    list.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(idf: &Idf, word: &str) -> Option<i64> {
        let hash = xxh3_64(word.as_bytes());
        idf.weight(hash, idf.first_slot(hash))
    }

    #[test]
    fn weights_are_those_of_jieba() {
        let idf = Idf::new(None, None);
        // From `idf.txt` of jieba-rs 0.11.0. Its feature `tfidf` has the file, but packs the file
        // anew in each build.
        for (word, expected) in [
            ("美国", 4.15659623166),
            ("飞碟", 10.6818018271),
            ("外星人", 10.0088573539),
            ("北京", 4.66740230872),
            ("劳动防护", 13.900677652),
            // The median of the file, for words that it does not have.
            ("编辑距离", 11.954_767_502_9),
            ("没有的词语", 11.954_767_502_9),
        ] {
            let expected = (expected * 1024.0_f64).round() as i64;
            assert_eq!(weight(&idf, word), Some(expected), "{word}");
        }
    }

    #[test]
    fn every_word_of_table_has_its_weight() {
        let text = zstd::bulk::decompress(WORD_WEIGHTS, MAX_TABLE_BYTES).unwrap();
        let text = String::from_utf8(text).unwrap();
        let idf = Idf::new(None, None);
        let mut count = 0;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (expected, words) = line.split_once(' ').unwrap();
            let expected: i64 = expected.parse().unwrap();
            assert!(expected > i64::from(STOP_WORD_WEIGHT));
            for word in words.split(' ') {
                let found = weight(&idf, word);
                assert!(
                    found == Some(expected) || super::words(STOP_WORDS).any(|stop| stop == word)
                );
                count += 1;
            }
        }
        assert_eq!(count, 258_826);
    }

    #[test]
    fn given_tables_replace_built_in_ones() {
        let given = [("飞碟", 2.5), ("美国", 1e-9), ("飞碟", 3.5), ("雇员", 7.0)];
        let given = given.map(|(word, idf)| (word.to_owned(), idf));
        let idf = Idf::new(Some(&given), Some(&["雇员".to_owned()]));
        assert_eq!(weight(&idf, "飞碟"), Some(3584));
        assert_eq!(weight(&idf, "美国"), Some(1));
        assert_eq!(weight(&idf, "雇员"), None);
        assert_eq!(weight(&idf, "我们"), Some(3584), "the upper median of four");
    }

    #[test]
    fn colliding_words_are_found() {
        let mut idf = Idf::new(Some(&[]), Some(&[]));
        let hash = |n: u64| n << 32 | 7;
        for n in 1..2000 {
            idf.insert_hash(hash(n), n as u16);
        }
        assert_eq!(idf.overflow.len(), 1999 - MAX_PROBES);
        for n in 1..2000 {
            assert_eq!(idf.weight(hash(n), idf.first_slot(hash(n))), Some(n as i64));
        }
        let missing = hash(2000);
        let weight = idf.weight(missing, idf.first_slot(missing));
        assert_eq!(weight, Some(i64::from(UNKNOWN_WORD_WEIGHT)));
    }

    #[test]
    fn few_words_of_built_in_table_overflow() {
        let overflow = Idf::new(None, None).overflow.len();
        assert!(overflow < 1000, "{overflow}");
    }

    #[test]
    fn stop_words_have_no_weight() {
        let idf = Idf::new(None, None);
        for word in ["我们", "the", "因为"] {
            assert_eq!(weight(&idf, word), None, "{word}");
        }
    }
}
