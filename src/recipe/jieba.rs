//! The recipe `jieba`: the 20 heaviest words that jieba-rs finds, weighted by tf × idf.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::weighted_features::WeightedFeatures;
use super::word_files::WordFiles;
use super::{Constants, SIMHASH};
use crate::feature::{
    Idf, STOP_WORDS, TokenCounter, TokenCounts, UNKNOWN_WORD_WEIGHT, UnreliableReason, WEIGHT_UNIT,
    WORD_WEIGHTS, Weights,
};
use crate::text::{MAX_PIECE_BYTES, Normaliser, Traditional, WordSegmenter};

/// At most 20 keywords per text.
pub(super) const KEYWORDS: usize = 20;

/// A low estimate of the bytes of text per distinct word: the initial capacity of the counter.
const BYTES_PER_WORD: usize = 8;

pub(super) const CONSTANTS: Constants = Constants {
    name: "jieba",
    weight_unit: WEIGHT_UNIT,
    ..Constants::OWN
};

pub(super) const TRADITIONAL: Constants = Constants {
    name: "jieba-traditional",
    traditional: Traditional::Kept,
    ..CONSTANTS
};

/// The description without the name. Databases store it, so it must never change.
pub(super) fn description(traditional: Traditional) -> String {
    format!(
        "{}; separators to spaces except +#&._%-; words of 2 and more \
         characters by jieba-rs 0.11.0 with its dictionary and the model of \
         jieba-macros 0.11.0, in pieces of {MAX_PIECE_BYTES} bytes cut at spaces, without stop words \
         {:016x}; weight tf x idf, of table {:016x}, other words \
         {UNKNOWN_WORD_WEIGHT}; top {KEYWORDS}, ties by word; {SIMHASH}; unreliable below {} distinct or if one \
         outweighs the rest",
        traditional.normalisation(),
        xxh3_64(STOP_WORDS.as_bytes()),
        xxh3_64(WORD_WEIGHTS),
        CONSTANTS.min_features,
    )
}

pub(super) struct Jieba {
    pub(super) normaliser: Normaliser,
    segmenter: WordSegmenter,
    idf: Idf,
}

impl Jieba {
    /// Loads the tables. Words of given files are normalised like a text: otherwise no normalised
    /// text would contain them.
    pub(super) fn new(traditional: Traditional, files: &WordFiles) -> Self {
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
        Self {
            segmenter: WordSegmenter::new(&dictionary),
            idf: Idf::new(idf.as_deref(), stop_words.as_deref()),
            normaliser,
        }
    }

    /// The features of a text. `position_of` converts the byte range of each first occurrence.
    pub(super) fn weigh<P>(
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
        let weights = Weights::new(keywords.iter().map(|&(weight, _)| weight));
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
    pub(super) fn words(&self, text: &str) -> Vec<String> {
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
    pub(super) fn idf(&self, word: &str) -> Option<f64> {
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
