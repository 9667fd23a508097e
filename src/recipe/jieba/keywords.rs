//! [`Jieba`]: the keywords of a text.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::{CONSTANTS, KEYWORDS};
use crate::feature::{
    FeatureWeights, Idf, TokenCounter, TokenCounts, UnreliableReason, WEIGHT_UNIT,
};
use crate::recipe::weighted_features::WeightedFeatures;
use crate::recipe::word_files::WordFiles;
use crate::text::{Normaliser, Traditional, WordSegmenter};

/// A low estimate of the bytes of text per distinct word: the initial capacity of the counter.
const BYTES_PER_WORD: usize = 8;

pub(in crate::recipe) struct Jieba {
    normaliser: Normaliser,
    segmenter: WordSegmenter,
    idf: Idf,
}

impl Jieba {
    /// Loads the tables; `None` only in a build without the dictionary. Words of given files are
    /// normalised like a text: otherwise no normalised text would contain them.
    pub(in crate::recipe) fn load(traditional: Traditional, files: &WordFiles) -> Option<Self> {
        let normaliser = Normaliser::with_traditional(traditional);
        let normalised = |word: &str| normaliser.sentences(word).trim().to_owned();
        let dictionary: Vec<_> = files
            .dictionary
            .as_deref()
            .unwrap_or_default()
            .iter()
            .map(|(word, count)| (normalised(word), *count))
            .filter(|(word, _)| !word.is_empty())
            .collect();
        let idf: Option<Vec<_>> = files.idf.as_deref().map(|idf| {
            idf.iter()
                .map(|(word, idf)| (normalised(word), *idf))
                .collect()
        });
        let stop_words: Option<Vec<_>> = files
            .stop_words
            .as_deref()
            .map(|words| words.iter().map(|word| normalised(word)).collect());
        Some(Self {
            segmenter: WordSegmenter::new(&dictionary),
            idf: Idf::new(idf.as_deref(), stop_words.as_deref()),
            normaliser,
        })
    }

    pub(in crate::recipe) fn normaliser(&self) -> &Normaliser {
        &self.normaliser
    }

    /// The features of a text. `position_of` converts the byte range of each first occurrence.
    pub(in crate::recipe) fn weigh<P>(
        &self,
        text: &str,
        position_of: impl Fn(Range<usize>) -> P,
    ) -> WeightedFeatures<P> {
        let normalised = self.normaliser.sentences(text);
        let bytes = normalised.as_bytes();
        let mut counter = TokenCounter::new(normalised.len() / BYTES_PER_WORD);
        self.segmenter.for_each(&normalised, |range| {
            counter.add((xxh3_64(&bytes[range.clone()]), range))
        });

        let TokenCounts {
            hashes,
            counts,
            positions,
            ..
        } = counter.finish();
        // All first slots are read before the first weight is needed, so the processor waits for
        // many cache lines at once: a table of 4 MiB is not in the nearer caches.
        let idf = &self.idf;
        let slots: Vec<_> = hashes.iter().map(|&hash| idf.first_slot(hash)).collect();
        let mut keywords = Vec::with_capacity(hashes.len());
        for (index, (&hash, slot)) in hashes.iter().zip(slots).enumerate() {
            if let Some(weight) = idf.weight(hash, slot)
                && is_word(&bytes[positions[index].clone()])
            {
                keywords.push((weight.saturating_mul(counts[index] as i64), index));
            }
        }
        if keywords.len() > KEYWORDS {
            // Heaviest first, ties by token. No two keywords are equal in this order, so the choice
            // does not depend on the algorithm of the standard library.
            keywords.select_nth_unstable_by(KEYWORDS, |a, b| {
                let token = |index: usize| &bytes[positions[index].clone()];
                b.0.cmp(&a.0).then_with(|| token(a.1).cmp(token(b.1)))
            });
            keywords.truncate(KEYWORDS);
        }
        // The order of the keywords does not matter here: sums are exact.
        let weights = FeatureWeights::new(keywords.iter().map(|&(weight, _)| weight));
        let distinct = keywords.len();
        let least = CONSTANTS.min_features;
        WeightedFeatures {
            unreliable: UnreliableReason::from_counts(distinct, distinct as u64, least, &[])
                .or_else(|| UnreliableReason::from_weights(&weights)),
            hashes: keywords.iter().map(|&(_, index)| hashes[index]).collect(),
            positions: keywords
                .iter()
                .map(|&(_, index)| position_of(positions[index].clone()))
                .collect(),
            weights,
            normalised,
        }
    }

    /// The words of a text, in text order, stop words included.
    pub(in crate::recipe) fn words(&self, text: &str) -> Vec<String> {
        let normalised = self.normaliser.sentences(text);
        let mut words = Vec::new();
        self.segmenter.for_each(&normalised, |range| {
            let word = &normalised[range];
            if is_word(word.as_bytes()) {
                words.push(word.to_owned());
            }
        });
        words
    }

    /// The inverse document frequency of a normalised word; `None` for a stop word.
    pub(in crate::recipe) fn idf(&self, word: &str) -> Option<f64> {
        let hash = xxh3_64(word.as_bytes());
        let weight = self.idf.weight(hash, self.idf.first_slot(hash))?;
        Some(weight as f64 / WEIGHT_UNIT as f64)
    }
}

/// Returns `false` for runs of connecting characters such as `--`, which jieba-rs returns as words.
fn is_word(token: &[u8]) -> bool {
    token
        .iter()
        .any(|b| !b.is_ascii() || b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::super::{STOP_WORDS_XXH3, WORD_WEIGHTS_XXH3};
    use super::*;
    use crate::feature::{STOP_WORDS, WORD_WEIGHTS};

    #[test]
    fn hashes_in_description_are_those_of_the_tables() {
        assert_eq!(xxh3_64(STOP_WORDS.as_bytes()), STOP_WORDS_XXH3);
        assert_eq!(xxh3_64(WORD_WEIGHTS), WORD_WEIGHTS_XXH3);
    }
}
