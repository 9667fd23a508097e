//! [`Cppjieba`]: the keywords of a text.

use std::collections::BTreeMap;

use super::super::exact_idf::ExactIdf;
use super::super::mix_segmenter::MixSegmenter;
use super::super::top_k::top_k;
use super::{BYTES_PER_KEYWORD, MAX_TOP, MIN_TOP};
use crate::recipe::word_files::WordFiles;

pub(in crate::recipe) struct Cppjieba {
    segmenter: MixSegmenter,
    idf: ExactIdf,
    top: Option<u32>,
}

impl Cppjieba {
    /// Loads the tables; `None` only in a build without the dictionary.
    pub(in crate::recipe) fn load(top: Option<u32>, files: &WordFiles) -> Option<Self> {
        Some(Self {
            segmenter: MixSegmenter::new(files.dictionary.as_deref()),
            idf: ExactIdf::new(files.idf.as_deref(), files.stop_words.as_deref()),
            top,
        })
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

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::super::super::exact_idf::{EXACT_WEIGHTS, STOP_WORDS};
    use super::super::{EXACT_WEIGHTS_XXH3, STOP_WORDS_XXH3};

    #[test]
    fn hashes_in_description_are_those_of_the_tables() {
        assert_eq!(xxh3_64(STOP_WORDS.as_bytes()), STOP_WORDS_XXH3);
        assert_eq!(xxh3_64(EXACT_WEIGHTS), EXACT_WEIGHTS_XXH3);
    }
}
