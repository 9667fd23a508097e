//! The recipe `cppjieba`: what the C++ library simhash of yanyiwu, and gosimhash, make of a text.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::exact_idf::{EXACT_WEIGHTS, ExactIdf, STOP_WORDS};
use super::lookup3::hashlittle2;
use super::mixed_words::{MixedWords, USER_WORDS};
use super::top_k::top_k;
use crate::feature::WORD_WEIGHTS;
use crate::recipe::word_files::WordFiles;
use crate::text::MOST_PIECE_BYTES;

/// Fewer keywords than this say nothing.
pub(in crate::recipe) const LEAST_KEYWORDS: usize = 4;

/// Of how many bytes of text one is kept, unless a number of keywords is given.
const BYTES_PER_KEYWORD: usize = 120;

/// The least and the most keywords of a text, unless a number is given.
const AUTO_TOP: (usize, usize) = (5, 200);

/// What the description says after the name.
pub(in crate::recipe) fn description(top: Option<u32>) -> String {
    let top = match top {
        Some(top) => format!("top {top}"),
        None => format!(
            "top by length, one for {BYTES_PER_KEYWORD} bytes, {} to {}",
            AUTO_TOP.0, AUTO_TOP.1
        ),
    };
    let [one, two, three] = USER_WORDS.map(|(word, count)| format!("{word} {count}"));
    format!(
        "as simhash of yanyiwu; words by the rules of cppjieba's mixed segmenter with dictionary and \
         model of jieba-rs 0.11.0, jieba-macros 0.11.0 and the words {one}, {two}, {three}, in \
         pieces of {MOST_PIECE_BYTES} bytes; of 2 and more characters, without stop words {:016x}; \
         weight tf x idf of table {:016x} {:016x}, other words the mean; {top}, by partial_sort of \
         libstdc++ from the order of UTF-8; lookup3 hashlittle2 seeds 0 0; sums of doubles in that \
         order; a bit is 1 if its sum is above 0; unreliable below {LEAST_KEYWORDS} keywords or if \
         one outweighs the rest",
        xxh3_64(STOP_WORDS.as_bytes()),
        xxh3_64(WORD_WEIGHTS),
        xxh3_64(EXACT_WEIGHTS),
    )
}

/// How many keywords a description names; nothing if it names the rule by length.
pub(in crate::recipe) fn described_top(description: &str) -> Option<u32> {
    let (_, rest) = description.split_once("; top ")?;
    rest.split_once(',')?.0.parse().ok()
}

/// The 64 bits that a keyword votes with.
pub(in crate::recipe) fn hash(token: &[u8]) -> u64 {
    hashlittle2(token, 0, 0)
}

/// The tables of the recipe.
pub(in crate::recipe) struct Cppjieba {
    words: MixedWords,
    idf: ExactIdf,
    top: Option<u32>,
}

impl Cppjieba {
    pub(in crate::recipe) fn new(top: Option<u32>, files: &WordFiles) -> Self {
        Self {
            words: MixedWords::new(files.dictionary()),
            idf: ExactIdf::new(files.idf(), files.stop_words()),
            top,
        }
    }

    /// The heaviest keywords of a text, in the order in which their weights are added, and whether
    /// they say anything.
    pub(in crate::recipe) fn keywords<'t>(&self, text: &'t str) -> Vec<(&'t str, f64)> {
        let mut counts = BTreeMap::new();
        self.words.for_each(text, |range| {
            let word = &text[range];
            if word.chars().nth(1).is_some() {
                *counts.entry(word).or_insert(0.0) += 1.0;
            }
        });
        let weighed = |(word, count)| Some((word, count * self.idf.of(word)?));
        let keywords = counts.into_iter().filter_map(weighed).collect();
        let top = match self.top {
            Some(top) => top as usize,
            None => (text.len() / BYTES_PER_KEYWORD).clamp(AUTO_TOP.0, AUTO_TOP.1),
        };
        top_k(keywords, top)
    }

    /// All words of a text, as the segmenter cuts it.
    pub(in crate::recipe) fn words(&self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        self.words
            .for_each(text, |range| words.push(text[range].to_owned()));
        words
    }

    /// The inverse document frequency of a word, `None` for a stop word.
    pub(in crate::recipe) fn idf(&self, word: &str) -> Option<f64> {
        self.idf.of(word)
    }
}
