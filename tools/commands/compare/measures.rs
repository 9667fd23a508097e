//! Measures of two texts: by characters, by tokens, by words, by sentences.

use std::num::NonZeroUsize;

use serde::Serialize;
use simdb::similarity::{self, Likeness, Resemblance};
use simdb::{Fingerprinter, Normaliser, Recipe};

use super::bloom::BloomFilter;
use super::sentences::{longest_sentences, sentences};
use super::vector::Vector;
use crate::console::grouped;
use crate::console::rows::{cells, or_dash, yes_or_no};
use crate::console::table::Table;

/// Two tokens in a shingle: with more, an edit leaves few shingles of a short text.
const TOKENS_PER_SHINGLE: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// The three longest sentences are compared, the usual number.
const LONGEST_SENTENCES: usize = 3;

/// The similarities of two texts, from 0 to 1.
#[derive(Serialize)]
pub(super) struct Measures {
    same_wording: bool,
    /// `None` for texts that are too long.
    edit_similarity: Option<f64>,
    jaccard: f64,
    comparable: bool,
    shingle_jaccard: f64,
    bloom_jaccard: f64,
    cosine_tokens: f64,
    cosine_words: f64,
    cosine_words_tf_idf: f64,
    longest_sentences_equal: bool,
    #[serde(skip)]
    bloom_bits: u32,
}

impl Measures {
    pub fn new(normaliser: &Normaliser, found: &Resemblance, texts: [&str; 2]) -> Self {
        let [one, other] = texts.map(|text| normaliser.sentences(text));
        let tokens = [&one, &other].map(|text| similarity::tokens(text));
        let shingles = tokens.each_ref().map(|tokens| {
            let shingles = similarity::shingles(tokens, TOKENS_PER_SHINGLE);
            shingles
                .map(|shingle| shingle.join(" "))
                .collect::<Vec<_>>()
        });
        let bloom_bits = BloomFilter::bits_for(shingles[0].len().max(shingles[1].len()));
        // Filters of different sizes have no bits in common.
        let filters = shingles.map(|shingles| BloomFilter::new(&shingles, bloom_bits));

        let jieba = Fingerprinter::new(Recipe::jieba());
        let words = texts.map(|text| Vector::new(jieba.words(text)));
        let cosine = |[one, other]: &[Vector; 2]| one.cosine(other);
        // A stop word has no idf, and must not count.
        let idf = |word: &str| jieba.idf(word).unwrap_or(0.0);
        let longest = texts.map(|text| {
            let sentences = sentences(text).into_iter();
            let sentences = sentences.map(|sentence| normaliser.letters(sentence));
            longest_sentences(sentences, LONGEST_SENTENCES)
        });
        Self {
            same_wording: found.same_wording,
            edit_similarity: found.edit_similarity,
            jaccard: found.jaccard,
            comparable: found.comparable,
            shingle_jaccard: similarity::shingle_jaccard(&one, &other, TOKENS_PER_SHINGLE),
            bloom_jaccard: filters[0].jaccard(&filters[1]),
            cosine_tokens: cosine(&tokens.map(Vector::new)),
            cosine_words: cosine(&words),
            cosine_words_tf_idf: cosine(&words.map(|words| words.weighed(idf))),
            longest_sentences_equal: longest[0] == longest[1],
            bloom_bits,
        }
    }

    /// Adds a row for each measure: its name, its value, and the meaning of the value.
    pub fn rows(&self, least: &Likeness, table: &mut Table) {
        let enough = |threshold: f64| format!("{threshold} is enough");
        let shingles = format!("the share of runs of {TOKENS_PER_SHINGLE} tokens in both texts");
        let bits = grouped(self.bloom_bits.into());
        let bloom = format!("an estimate, mostly too high, by {bits} bits for each text");
        let tokens = "characters of Chinese, words of other scripts, by how often they occur";
        let words = "words of two characters and more, by how often they occur";
        let weighed = "the same words: rare words weigh more, stop words nothing";
        for (measure, value, meaning) in [
            (
                "edit similarity",
                self.edit_similarity,
                &*enough(least.edit_similarity),
            ),
            (
                "phrases, Jaccard",
                Some(self.jaccard),
                &enough(least.jaccard),
            ),
            ("shingles, Jaccard", Some(self.shingle_jaccard), &shingles),
            ("shingles, Bloom filter", Some(self.bloom_jaccard), &bloom),
            ("tokens, cosine", Some(self.cosine_tokens), tokens),
            ("words, cosine", Some(self.cosine_words), words),
            (
                "words, tf-idf cosine",
                Some(self.cosine_words_tf_idf),
                weighed,
            ),
        ] {
            table.row(cells![
                measure,
                or_dash(value.map(|value| format!("{value:.3}"))),
                meaning
            ]);
        }
        let equal = self.longest_sentences_equal;
        let not = if equal { "" } else { "not " };
        let meaning = format!("the {LONGEST_SENTENCES} longest sentences are {not}the same");
        table.row(["longest sentences", yes_or_no(equal), &meaning]);
    }
}
