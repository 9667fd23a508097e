//! The recipe `jieba`: the heaviest words that jieba-rs finds.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::weighed_features::Weighed;
use super::word_files::WordFiles;
use super::{SIMHASH, Script, normaliser};
use crate::feature::{
    Counted, Doubt, Idf, STOP_WORDS, Tally, UNKNOWN_WORD, WEIGHT_UNIT, WORD_WEIGHTS, Weights,
};
use crate::text::{MOST_PIECE_BYTES, Normaliser, Words};

/// How many keywords of a text are kept.
pub(super) const KEYWORDS: usize = 20;

/// Fewer keywords than this say nothing.
pub(super) const LEAST_KEYWORDS: usize = 4;

/// Fewer bytes of text than there are for each distinct word, as a rule.
const BYTES_PER_WORD: usize = 8;

/// What the description says after the name.
pub(super) fn description(script: Script) -> String {
    format!(
        "{}; separators to spaces except +#&._%-; words of 2 and more \
         characters by jieba-rs 0.11.0 with its dictionary and the model of \
         jieba-macros 0.11.0, in pieces of {MOST_PIECE_BYTES} bytes cut at spaces, without stop words \
         {:016x}; weight tf x idf, of table {:016x}, other words \
         {UNKNOWN_WORD}; top {KEYWORDS}, ties by word; {SIMHASH}; unreliable below {LEAST_KEYWORDS} distinct or if one \
         outweighs the rest",
        normaliser(script),
        xxh3_64(STOP_WORDS.as_bytes()),
        xxh3_64(WORD_WEIGHTS),
    )
}

/// The tables of the recipe.
pub(super) struct Jieba {
    words: Words,
    idf: Idf,
}

impl Jieba {
    /// Loads the tables. The words of files that were given are normalised like those of a text,
    /// or no text would have them.
    pub(super) fn new(normaliser: &Normaliser, files: &WordFiles) -> Self {
        let normalised = |word: &str| normaliser.sentences(word).trim().to_owned();
        let dictionary = files.dictionary().unwrap_or_default().iter();
        let dictionary: Vec<_> = dictionary
            .map(|(word, count)| (normalised(word), *count))
            .filter(|(word, _)| !word.is_empty())
            .collect();
        let idf = files.idf().map(|idf| {
            let idf = idf.iter().map(|(word, idf)| (normalised(word), *idf));
            idf.collect::<Vec<_>>()
        });
        let stop_words = files.stop_words().map(|words| {
            let words = words.iter().map(|word| normalised(word));
            words.collect::<Vec<_>>()
        });
        Self {
            words: Words::new(&dictionary),
            idf: Idf::new(idf.as_deref(), stop_words.as_deref()),
        }
    }

    /// The features of a text, each with what `place_of` makes of where it first occurs.
    pub(super) fn weigh<P>(
        &self,
        normaliser: &Normaliser,
        text: &str,
        place_of: impl Fn(Range<usize>) -> P,
    ) -> Weighed<P> {
        let normalised = normaliser.sentences(text);
        let bytes = normalised.as_bytes();
        let mut tally = Tally::for_at_most(normalised.len() / BYTES_PER_WORD);
        self.words.for_each(&normalised, |range| {
            tally.add((xxh3_64(&bytes[range.clone()]), range))
        });

        let Counted {
            hashes,
            counts,
            places,
            ..
        } = tally.finish();
        let idf = &self.idf;
        let slots: Vec<_> = hashes.iter().map(|&hash| idf.first_slot(hash)).collect();
        let mut keywords = Vec::with_capacity(hashes.len());
        for (index, (&hash, slot)) in hashes.iter().zip(slots).enumerate() {
            let Some(weight) = idf.weight(hash, slot) else {
                continue;
            };
            if is_word(&bytes[places[index].clone()]) {
                keywords.push((weight.saturating_mul(counts[index] as i64), index));
            }
        }
        if keywords.len() > KEYWORDS {
            // Heaviest first, ties by token: an order in which no two are equal.
            keywords.select_nth_unstable_by(KEYWORDS, |a, b| {
                let token = |index: usize| &bytes[places[index].clone()];
                b.0.cmp(&a.0).then_with(|| token(a.1).cmp(token(b.1)))
            });
            keywords.truncate(KEYWORDS);
        }
        let weights = Weights::of(keywords.iter().map(|&(weight, _)| weight));
        let distinct = keywords.len();
        let doubt = Doubt::of_counts(distinct, distinct as u64, LEAST_KEYWORDS, &[])
            .or_else(|| Doubt::of_weights(&weights));
        Weighed {
            hashes: keywords.iter().map(|&(_, index)| hashes[index]).collect(),
            places: keywords
                .iter()
                .map(|&(_, index)| place_of(places[index].clone()))
                .collect(),
            weights,
            normalised,
            doubt,
        }
    }
    /// The words of a text, in text order, stop words included.
    pub(super) fn words(&self, normaliser: &Normaliser, text: &str) -> Vec<String> {
        let normalised = normaliser.sentences(text);
        let mut words = Vec::new();
        self.words.for_each(&normalised, |range| {
            let word = &normalised[range];
            if is_word(word.as_bytes()) {
                words.push(word.to_owned());
            }
        });
        words
    }

    /// The inverse document frequency of a normalised word, `None` for a stop word.
    pub(super) fn idf(&self, word: &str) -> Option<f64> {
        let hash = xxh3_64(word.as_bytes());
        let weight = self.idf.weight(hash, self.idf.first_slot(hash))?;
        Some(weight as f64 / WEIGHT_UNIT as f64)
    }
}

/// Returns `false` for characters that connect words, such as `--`, which jieba-rs hands out too.
fn is_word(token: &[u8]) -> bool {
    token
        .iter()
        .any(|b| !b.is_ascii() || b.is_ascii_alphanumeric())
}
