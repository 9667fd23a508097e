//! [`Idf`]: how much a word says, by how few documents have it.

use xxhash_rust::xxh3::xxh3_64;

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

/// The slots of the table: twice as many as there are words, and a power of two.
const SLOT_BITS: u32 = 19;
const SLOTS: usize = 1 << SLOT_BITS;

/// The bits of a hash that a slot keeps beside the weight. The others choose the slot.
const TAG_MASK: u64 = u64::MAX << u16::BITS;

/// Inverse document frequencies in fixed point, 1024 for 1, by the hash of the word.
///
/// A slot holds the upper 48 bits of the hash and 16 bits of weight, so a look-up of a word
/// that is not there touches one cache line as a rule. The lower 19 bits of the hash are where
/// the search for it starts; together they are the whole hash.
pub(crate) struct Idf {
    slots: Box<[u64]>,
}

impl Idf {
    /// Unpacks the table: 4 MiB, some ten milliseconds.
    pub(crate) fn new() -> Self {
        let text = zstd::bulk::decompress(WORD_WEIGHTS, MOST_TEXT_BYTES)
            .expect("the table is part of the program");
        let text = String::from_utf8(text).expect("the table is part of the program");
        let mut idf = Self {
            slots: vec![u64::MAX; SLOTS].into_boxed_slice(),
        };
        for word in words(STOP_WORDS) {
            idf.insert(xxh3_64(word.as_bytes()), STOP_WORD);
        }
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split(' ');
            let weight = fields.next().and_then(|weight| weight.parse().ok());
            let weight = weight.expect("a line starts with its weight");
            for word in fields {
                idf.insert(xxh3_64(word.as_bytes()), weight);
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
        self.slots[hash as usize % SLOTS]
    }

    /// The weight of the word with this hash, given its first slot; nothing for a stop word.
    #[inline]
    pub(crate) fn weight(&self, hash: u64, first_slot: u64) -> Option<i64> {
        let weight = if first_slot & TAG_MASK == hash & TAG_MASK {
            first_slot as u16
        } else {
            self.find(hash)
                .map_or(UNKNOWN_WORD, |slot| self.slots[slot] as u16)
        };
        (weight != STOP_WORD).then_some(i64::from(weight))
    }

    /// Keeps the weight that was inserted first, so stop words come before the table.
    fn insert(&mut self, hash: u64, weight: u16) {
        if self.find(hash).is_none() {
            let mut slot = hash as usize % SLOTS;
            while self.slots[slot] != u64::MAX {
                slot = (slot + 1) % SLOTS;
            }
            self.slots[slot] = hash & TAG_MASK | u64::from(weight);
        }
    }

    #[inline]
    fn find(&self, hash: u64) -> Option<usize> {
        let mut slot = hash as usize % SLOTS;
        loop {
            let held = self.slots[slot];
            if held == u64::MAX {
                return None;
            }
            if held & TAG_MASK == hash & TAG_MASK {
                return Some(slot);
            }
            slot = (slot + 1) % SLOTS;
        }
    }
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
        let (idf, original) = (Idf::new(), original());
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
        let idf = Idf::new();
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
    fn stop_words_have_no_weight() {
        let idf = Idf::new();
        for word in ["我们", "the", "因为"] {
            assert_eq!(weight(&idf, word), None, "{word}");
        }
    }
}
