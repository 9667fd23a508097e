//! `simdb-cli compare`: every measure of how alike two texts are, side by side.

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::similarity::{self, tokens};
use simdb::{Error, Fingerprinter, Normaliser, Recipe};

use super::STRICT_RADIUS;
use super::text_input::two_texts;
use crate::console::table::{Align, Table};
use crate::console::{Answer, Output, grouped};
use crate::measures::{BloomFilter, Vector, longest_sentences, sentences};
use crate::options::RecipeOptions;

/// Compares two texts by every measure there is
///
/// Prints the columns measure, value, and what it says. All measures see the texts as the recipes
/// do, normalised: without punctuation, case, width, and traditional characters. Similarities are
/// from 0, nothing in common, to 1, alike; the distance of SimHash is a number of bits. Two empty
/// texts are alike, and an empty one is like no other. A value that would take too long is -.
///
/// --json prints one object: recipe, simhash64 and simhash128 (null for recipes of 64 bits)
/// with distance and reliable, edit_similarity (null if it would take too long), shingle_jaccard, bloom_jaccard, cosine_tokens,
/// cosine_words, cosine_words_tf_idf, longest_sentences_equal.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli compare \"the cat sat on the mat\" \"the cat sat on a mat\"
  simdb-cli compare --files draft.txt printed.txt
  curl -s https://example.org | simdb-cli compare --files - archived.txt --json")]
pub struct Compare {
    /// A text; put -- before one that begins with -
    #[arg(value_name = "A")]
    one: String,

    /// Another text
    #[arg(value_name = "B")]
    other: String,

    /// A and B are files that hold the texts; - is standard input
    #[arg(long)]
    files: bool,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// How many tokens make a shingle: with more, few shingles of a short text survive an edit.
const TOKENS_PER_SHINGLE: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// How many of the longest sentences are compared, as they usually are.
const LONGEST_SENTENCES: usize = 3;

/// Texts whose lengths have a greater product have no edit similarity here: it would take some ten
/// seconds or more.
const MOST_COMPARED_CHARACTERS: usize = 100_000_000_000;

#[derive(Serialize)]
struct Comparison {
    recipe: &'static str,
    simhash64: Bits,
    simhash128: Option<Bits>,
    edit_similarity: Option<f64>,
    shingle_jaccard: f64,
    bloom_jaccard: f64,
    cosine_tokens: f64,
    cosine_words: f64,
    cosine_words_tf_idf: f64,
    longest_sentences_equal: bool,
    #[serde(skip)]
    longer_characters: usize,
    #[serde(skip)]
    bloom_bits: u32,
}

#[derive(Serialize)]
struct Bits {
    distance: u32,
    reliable: bool,
}

impl Compare {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        let [one, other] = two_texts(&self.one, &self.other, self.files)?;
        let comparison = compare(&Fingerprinter::new(recipe), [&one, &other])?;
        if self.json {
            output.json(&comparison)?;
        } else {
            for line in comparison.table().lines() {
                output.line(line)?;
            }
        }
        Ok(Answer::Yes)
    }
}

fn compare(fingerprinter: &Fingerprinter, texts: [&str; 2]) -> Result<Comparison> {
    let normaliser = Normaliser::new();
    let letters = texts.map(|text| normaliser.letters(text));
    let lengths = [0, 1].map(|text| letters[text].chars().count());
    let edit_similarity = (lengths[0].saturating_mul(lengths[1]) <= MOST_COMPARED_CHARACTERS)
        .then(|| similarity::edit_similarity(&letters[0], &letters[1]));

    let separated = texts.map(|text| normaliser.sentences(text));
    let [one, other] = [0, 1].map(|text| tokens(&separated[text]));
    let shingles = [&one, &other].map(|tokens| {
        let shingles = similarity::shingles(tokens, TOKENS_PER_SHINGLE);
        shingles
            .map(|shingle| shingle.join(" "))
            .collect::<Vec<_>>()
    });
    let bloom_bits = BloomFilter::bits_for(shingles[0].len().max(shingles[1].len()));
    let filters = shingles.map(|shingles| BloomFilter::new(&shingles, bloom_bits));

    let jieba = Fingerprinter::new(Recipe::jieba());
    let by_words = texts.map(|text| Vector::new(jieba.words(text)));
    let cosine_words = by_words[0].cosine(&by_words[1]);
    let weighed = by_words.map(|vector| vector.weighed(|word| jieba.idf(word).unwrap_or(0.0)));

    let longest = texts.map(|text| {
        let sentences = sentences(text).into_iter();
        let sentences = sentences.map(|sentence| normaliser.letters(sentence));
        longest_sentences(sentences, LONGEST_SENTENCES)
    });
    let narrow = [
        fingerprinter.fingerprint(texts[0])?,
        fingerprinter.fingerprint(texts[1])?,
    ];
    // The features are the same at both widths, so one is as reliable as the other.
    let reliable = narrow.iter().all(|made| made.reliable);
    let distance128 = match fingerprinter.fingerprint128(texts[0]) {
        Ok(one) => Some(one.distance(fingerprinter.fingerprint128(texts[1])?)),
        Err(Error::Only64Bits { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Comparison {
        recipe: fingerprinter.recipe().name(),
        simhash64: Bits {
            distance: narrow[0].fingerprint.distance(narrow[1].fingerprint),
            reliable,
        },
        simhash128: distance128.map(|distance| Bits { distance, reliable }),
        edit_similarity,
        shingle_jaccard: similarity::shingle_jaccard(
            &separated[0],
            &separated[1],
            TOKENS_PER_SHINGLE,
        ),
        bloom_jaccard: filters[0].jaccard(&filters[1]),
        cosine_tokens: Vector::new(one).cosine(&Vector::new(other)),
        cosine_words,
        cosine_words_tf_idf: weighed[0].cosine(&weighed[1]),
        longest_sentences_equal: longest[0] == longest[1],
        longer_characters: lengths[0].max(lengths[1]),
        bloom_bits,
    })
}

impl Comparison {
    fn table(&self) -> Table {
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        let mut row = |measure: &str, value: String, says: String| {
            table.row([measure.to_owned(), value, says])
        };
        let decimal = |value: f64| format!("{value:.3}");
        let distance = &self.simhash64;
        row(
            "SimHash, 64 bits",
            distance.distance.to_string(),
            self.says_of_bits(
                distance,
                format!("bits differ, {}", at_radius(distance.distance)),
            ),
        );
        if let Some(distance) = &self.simhash128 {
            let halved = f64::from(distance.distance) / 2.0;
            row(
                "SimHash, 128 bits",
                distance.distance.to_string(),
                self.says_of_bits(distance, format!("bits differ, as many as {halved} of 64")),
            );
        }
        match self.edit_similarity {
            Some(similarity) => {
                let edits = ((1.0 - similarity) * self.longer_characters as f64).round() as u64;
                row(
                    "edit similarity",
                    decimal(similarity),
                    format!(
                        "{} edits turn one into the other; the longer has {} characters",
                        grouped(edits),
                        grouped(self.longer_characters as u64)
                    ),
                );
            }
            None => row(
                "edit similarity",
                "-".to_owned(),
                "the texts are too long for it".to_owned(),
            ),
        }
        row(
            "shingles, Jaccard",
            decimal(self.shingle_jaccard),
            format!("of the runs of {TOKENS_PER_SHINGLE} tokens, so many are in both"),
        );
        row(
            "shingles, Bloom filter",
            decimal(self.bloom_jaccard),
            format!(
                "the same estimated, mostly too high, by {} bits each",
                grouped(self.bloom_bits.into())
            ),
        );
        row(
            "tokens, cosine",
            decimal(self.cosine_tokens),
            "characters of Chinese, words of others, by how often they occur".to_owned(),
        );
        row(
            "words, cosine",
            decimal(self.cosine_words),
            "words of two characters and more, by how often they occur".to_owned(),
        );
        row(
            "words, tf-idf cosine",
            decimal(self.cosine_words_tf_idf),
            "the same, rare words weigh more, stop words nothing".to_owned(),
        );
        let equal = self.longest_sentences_equal;
        row(
            "longest sentences",
            if equal { "yes" } else { "no" }.to_owned(),
            format!(
                "the {LONGEST_SENTENCES} longest sentences are {}the same",
                if equal { "" } else { "not " }
            ),
        );
        table
    }

    fn says_of_bits(&self, bits: &Bits, says: String) -> String {
        if bits.reliable {
            format!("{says} (recipe {})", self.recipe)
        } else {
            "means nothing: one of the texts says too little".to_owned()
        }
    }
}

fn at_radius(distance: u32) -> String {
    if distance <= STRICT_RADIUS {
        format!("found at the usual radius of {STRICT_RADIUS}")
    } else {
        format!("found from radius {distance} on, not at the usual {STRICT_RADIUS}")
    }
}
