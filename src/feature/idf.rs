//! [`Idf`]: how much a word says, by how few documents have it.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::WEIGHT_UNIT;

/// The inverse document frequencies of jieba-rs, in fixed point, compressed with zstd.
///
/// jieba-rs has the same table behind its feature `tfidf`, but answers only for whole texts, and
/// takes more than three times as long for it as for segmenting them.
pub(crate) const WORD_WEIGHTS: &[u8] = include_bytes!("idf.txt.zst");

/// Words that say nothing about what a text is about.
pub(crate) const STOP_WORDS: &str = include_str!("stop_words.txt");

/// The weight of a word that the table does not have: the table's median, as in jieba.
pub(crate) const UNKNOWN_WORD: u16 = 12_242;

/// The weight of a stop word. No other word has it.
const STOP_WORD: u16 = 0;

/// An exclusive bound of the size of the table as text.
const MOST_TEXT_BYTES: usize = 4 << 20;

/// The least slots of a table: twice as many as there are words in ours, and a power of two.
/// Never fewer, since a slot keeps all of a hash but the bits that choose it.
const LEAST_SLOTS: usize = 1 << 19;

/// How many slots are looked at for a word. Of ours, half as many as there are slots, some fifteen
/// need more.
const MOST_PROBES: usize = 64;

/// The largest frequency that a slot can hold.
pub(crate) const MOST_IDF: f64 = 63.0;

/// The bits of a hash that a slot keeps beside the weight. The others choose the slot.
const TAG_MASK: u64 = u64::MAX << u16::BITS;

/// Inverse document frequencies in fixed point, 1024 for 1, by the hash of the word.
///
/// A slot holds the upper 48 bits of the hash and 16 bits of weight, so a look-up of a word
/// that is not there touches one cache line as a rule. The lower bits of the hash, 19 at least, are
/// where the search for it starts; together they are the whole hash.
///
/// Words that are given may be such that they all want the same slots, as may those of a text be
/// (see [`Tally`](super::Tally)): those that find no free slot among the first [`MOST_PROBES`] are
/// kept in a map of their own.
pub(crate) struct Idf {
    slots: Box<[u64]>,
    /// The weights of the words whose slots were all taken, by their hashes.
    crowded: BTreeMap<u64, u16>,
    /// The weight of a word that is not there.
    unknown: u16,
}

impl Idf {
    /// Unpacks our own tables: 4 MiB, some ten milliseconds. Those that are given take their place.
    ///
    /// Frequencies lie above 0 and are [`MOST_IDF`] at most; of a word that is given twice the last
    /// one counts.
    pub(crate) fn new(given: Option<&[(String, f64)]>, stop_words: Option<&[String]>) -> Self {
        let slots = given.map_or(0, |given| 2 * given.len());
        let slots = slots + stop_words.map_or(0, |words| 2 * words.len());
        let mut idf = Self {
            slots: vec![u64::MAX; slots.next_power_of_two().max(LEAST_SLOTS)].into_boxed_slice(),
            crowded: BTreeMap::new(),
            unknown: UNKNOWN_WORD,
        };
        match stop_words {
            None => words(STOP_WORDS).for_each(|word| idf.insert(word, STOP_WORD)),
            Some(given) => given.iter().for_each(|word| idf.insert(word, STOP_WORD)),
        }
        match given {
            None => for_each_weight(|word, weight| idf.insert(word, weight)),
            Some(given) => {
                let mut weights: Vec<_> =
                    given.iter().map(|&(_, idf)| in_fixed_point(idf)).collect();
                for ((word, _), &weight) in given.iter().zip(&weights).rev() {
                    idf.insert(word, weight);
                }
                weights.sort_unstable();
                // As in jieba.
                idf.unknown = weights
                    .get(weights.len() / 2)
                    .copied()
                    .unwrap_or(UNKNOWN_WORD);
            }
        }
        idf
    }

    /// Where the search for a word starts, to be handed to [`weight`](Self::weight).
    ///
    /// Fetching this for all words of a text first lets the processor wait for many cache lines
    /// at a time; a search at a time, it waits for each.
    #[inline]
    pub(crate) fn first_slot(&self, hash: u64) -> u64 {
        self.slots[hash as usize & (self.slots.len() - 1)]
    }

    /// The weight of the word with this hash, given its first slot; nothing for a stop word.
    #[inline]
    pub(crate) fn weight(&self, hash: u64, first_slot: u64) -> Option<i64> {
        let weight = if first_slot & TAG_MASK == hash & TAG_MASK {
            first_slot as u16
        } else {
            self.find(hash).unwrap_or(self.unknown)
        };
        (weight != STOP_WORD).then_some(i64::from(weight))
    }

    /// Keeps the weight that was inserted first, so stop words come before the table.
    fn insert(&mut self, word: &str, weight: u16) {
        self.insert_hash(xxh3_64(word.as_bytes()), weight);
    }

    fn insert_hash(&mut self, hash: u64, weight: u16) {
        if self.find(hash).is_some() {
            return;
        }
        match self.wanted(hash).find(|&slot| self.slots[slot] == u64::MAX) {
            Some(slot) => self.slots[slot] = hash & TAG_MASK | u64::from(weight),
            None => drop(self.crowded.insert(hash, weight)),
        }
    }

    /// The weight of the word with this hash, if it is there.
    #[inline]
    fn find(&self, hash: u64) -> Option<u16> {
        for slot in self.wanted(hash) {
            let held = self.slots[slot];
            if held == u64::MAX {
                return None;
            }
            if held & TAG_MASK == hash & TAG_MASK {
                return Some(held as u16);
            }
        }
        self.crowded.get(&hash).copied()
    }

    /// The slots in which the word with this hash may be, in the order in which it takes them.
    #[inline]
    fn wanted(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        let first = hash as usize & mask;
        (first..first + MOST_PROBES).map(move |slot| slot & mask)
    }
}

/// A frequency as the table holds it: above that of a stop word.
fn in_fixed_point(idf: f64) -> u16 {
    (idf * WEIGHT_UNIT as f64).round().max(1.0) as u16
}

/// Hands out the words of our table and their weights.
pub(crate) fn for_each_weight(mut word: impl FnMut(&str, u16)) {
    for line in unpacked(WORD_WEIGHTS)
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let mut fields = line.split(' ');
        let weight = fields.next().and_then(|weight| weight.parse().ok());
        let weight = weight.expect("a line starts with its weight");
        fields.for_each(|field| word(field, weight));
    }
}

/// The text of a table that is built in.
pub(crate) fn unpacked(table: &[u8]) -> String {
    let text = zstd::bulk::decompress(table, MOST_TEXT_BYTES);
    let text = text.ok().and_then(|text| String::from_utf8(text).ok());
    text.expect("the table is part of the program")
}

/// The words of a list in which lines starting with `#` are comments.
fn words(list: &str) -> impl Iterator<Item = &str> {
    list.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
}

#[cfg(test)]
mod tests {
    use jieba_rs::{Jieba, KeywordExtract, KeywordExtractConfig, TfIdf};

    use super::*;

    fn weight(idf: &Idf, word: &str) -> Option<i64> {
        let hash = xxh3_64(word.as_bytes());
        idf.weight(hash, idf.first_slot(hash))
    }

    fn original() -> TfIdf {
        let mut original = TfIdf::default();
        let everything = KeywordExtractConfig::builder().min_keyword_length(1);
        *original.config_mut() = everything.set_stop_words(Default::default()).build();
        original
    }

    /// What jieba-rs answers for a word, made the only word of its dictionary.
    fn ask(original: &TfIdf, word: &str) -> f64 {
        let mut jieba = Jieba::empty();
        jieba.add_word(word, Some(1), None);
        let keywords = original.extract_keywords(&jieba, word, 1, Vec::new());
        assert_eq!(keywords[0].keyword, word);
        keywords[0].weight
    }

    #[test]
    fn weights_are_those_of_jieba() {
        let (idf, original) = (Idf::new(None, None), original());
        for word in [
            "美国",
            "飞碟",
            "外星人",
            "北京",
            "编辑距离",
            "劳动防护",
            "没有的词语",
        ] {
            let expected = (ask(&original, word) * 1024.0).round() as i64;
            assert_eq!(weight(&idf, word), Some(expected), "{word}");
        }
    }

    #[test]
    fn every_word_of_the_table_is_found_and_none_weighs_nothing() {
        let text = zstd::bulk::decompress(WORD_WEIGHTS, MOST_TEXT_BYTES).unwrap();
        let text = String::from_utf8(text).unwrap();
        let idf = Idf::new(None, None);
        let mut count = 0;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (expected, words) = line.split_once(' ').unwrap();
            let expected: i64 = expected.parse().unwrap();
            assert!(expected > i64::from(STOP_WORD));
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
    fn tables_that_are_given_take_the_place_of_ours() {
        let given = [("飞碟", 2.5), ("美国", 1e-9), ("飞碟", 3.5), ("雇员", 7.0)];
        let given = given.map(|(word, idf)| (word.to_owned(), idf));
        let idf = Idf::new(Some(&given), Some(&["雇员".to_owned()]));
        assert_eq!(weight(&idf, "飞碟"), Some(3584));
        assert_eq!(weight(&idf, "美国"), Some(1));
        assert_eq!(weight(&idf, "雇员"), None);
        assert_eq!(
            weight(&idf, "我们"),
            Some(3584),
            "the third of four in order"
        );
    }

    #[test]
    fn words_that_want_the_same_slots_are_all_found() {
        let mut idf = Idf::new(Some(&[]), Some(&[]));
        let hash = |n: u64| n << 32 | 7;
        for n in 1..2000 {
            idf.insert_hash(hash(n), n as u16);
        }
        assert_eq!(idf.crowded.len(), 1999 - MOST_PROBES);
        for n in 1..2000 {
            assert_eq!(idf.weight(hash(n), idf.first_slot(hash(n))), Some(n as i64));
        }
        let missing = hash(2000);
        let weight = idf.weight(missing, idf.first_slot(missing));
        assert_eq!(weight, Some(i64::from(UNKNOWN_WORD)));
    }

    #[test]
    fn few_words_of_our_table_are_crowded() {
        let crowded = Idf::new(None, None).crowded.len();
        assert!(crowded < 1000, "{crowded}");
    }

    #[test]
    fn stop_words_have_no_weight() {
        let idf = Idf::new(None, None);
        for word in ["我们", "the", "因为"] {
            assert_eq!(weight(&idf, word), None, "{word}");
        }
    }
}
