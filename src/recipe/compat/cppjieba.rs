//! The recipe `cppjieba`: the keywords of the C++ library simhash of yanyiwu, and of gosimhash.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::exact_idf::{EXACT_WEIGHTS, ExactIdf, STOP_WORDS};
use super::lookup3::hashlittle2;
use super::mix_segmenter::{MixSegmenter, USER_WORDS};
use super::top_k::top_k;
use crate::feature::WORD_WEIGHTS;
use crate::recipe::Constants;
use crate::recipe::feature_list::Merging;
use crate::recipe::word_files::WordFiles;
use crate::text::MAX_PIECE_BYTES;

/// By default a text has one keyword per 120 bytes.
const BYTES_PER_KEYWORD: usize = 120;

/// By default a text has at least 5 and at most 200 keywords.
const MIN_TOP: usize = 5;
const MAX_TOP: usize = 200;

pub(in crate::recipe) const CONSTANTS: Constants = Constants {
    name: "cppjieba",
    merging: Merging::Doubles,
    hash: |token| hashlittle2(token.as_bytes(), 0, 0),
    hash128: None,
    ..Constants::OWN
};

/// The description without the name. Databases store it, so it must never change.
pub(in crate::recipe) fn description(top: Option<u32>) -> String {
    let top = match top {
        Some(top) => format!("top {top}"),
        None => {
            format!("top by length, one for {BYTES_PER_KEYWORD} bytes, {MIN_TOP} to {MAX_TOP}")
        }
    };
    let [one, two, three] = USER_WORDS.map(|(word, count)| format!("{word} {count}"));
    format!(
        "as simhash of yanyiwu; words by the rules of cppjieba's mixed segmenter with dictionary and \
         model of jieba-rs 0.11.0, jieba-macros 0.11.0 and the words {one}, {two}, {three}, in \
         pieces of {MAX_PIECE_BYTES} bytes; of 2 and more characters, without stop words {:016x}; \
         weight tf x idf of table {:016x} {:016x}, other words the mean; {top}, by partial_sort of \
         libstdc++ from the order of UTF-8; lookup3 hashlittle2 seeds 0 0; sums of doubles in that \
         order; a bit is 1 if its sum is above 0; unreliable below {} keywords or if \
         one outweighs the rest",
        xxh3_64(STOP_WORDS.as_bytes()),
        xxh3_64(WORD_WEIGHTS),
        xxh3_64(EXACT_WEIGHTS),
        CONSTANTS.min_features,
    )
}

/// The number of keywords in a description; `None` if the description has the rule by length.
pub(in crate::recipe) fn described_top(description: &str) -> Option<u32> {
    let (_, rest) = description.split_once("; top ")?;
    rest.split_once(',')?.0.parse().ok()
}

pub(in crate::recipe) struct Cppjieba {
    segmenter: MixSegmenter,
    idf: ExactIdf,
    top: Option<u32>,
}

impl Cppjieba {
    pub(in crate::recipe) fn new(top: Option<u32>, files: &WordFiles) -> Self {
        Self {
            segmenter: MixSegmenter::new(files.dictionary.as_deref()),
            idf: ExactIdf::new(files.idf.as_deref(), files.stop_words.as_deref()),
            top,
        }
    }

    /// The heaviest keywords of a text and their weights, in the order of the sums of doubles.
    pub(in crate::recipe) fn keywords<'t>(&self, text: &'t str) -> Vec<(&'t str, f64)> {
        // Ordered like the `std::map` of the original: the choice among equally heavy keywords
        // depends on the order in which they reach the partial sort.
        let mut counts = BTreeMap::new();
        self.segmenter.for_each(text, |range| {
            let word = &text[range];
            if word.chars().nth(1).is_some() {
                *counts.entry(word).or_insert(0.0) += 1.0;
            }
        });
        let keywords = counts
            .into_iter()
            .filter_map(|(word, count)| Some((word, count * self.idf.get(word)?)))
            .collect();
        let top = match self.top {
            Some(top) => top as usize,
            None => (text.len() / BYTES_PER_KEYWORD).clamp(MIN_TOP, MAX_TOP),
        };
        top_k(keywords, top)
    }

    /// All words of a text, in text order.
    pub(in crate::recipe) fn words(&self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        self.segmenter
            .for_each(text, |range| words.push(text[range].to_owned()));
        words
    }

    /// The inverse document frequency of a word; `None` for a stop word.
    pub(in crate::recipe) fn idf(&self, word: &str) -> Option<f64> {
        self.idf.get(word)
    }
}
