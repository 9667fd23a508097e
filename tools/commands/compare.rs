//! `simdb-cli compare`: every measure of how alike two texts are, side by side.

use std::fmt::{self, Display, Formatter};
use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::similarity;
use simdb::{Error, Fingerprinter, Normaliser, Recipe};

use super::STRICT_RADIUS;
use super::text_input::two_texts;
use crate::console::rows::{cells, yes_or_no};
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
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

/// Tokens in a shingle: with more, few shingles of a short text survive an edit.
const TOKENS_PER_SHINGLE: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// The number of longest sentences that are compared, as is usual.
const LONGEST_SENTENCES: usize = 3;

/// Texts whose lengths have a greater product have no edit similarity: it would take ten seconds or
/// more.
const MOST_COMPARED_CHARACTERS: usize = 100_000_000_000;

/// Every measure of two texts, from 0 to 1 but for SimHash.
#[derive(Serialize)]
struct Measures {
    recipe: &'static str,
    simhash64: SimHashMeasure,
    /// `None` for recipes of 64 bits.
    simhash128: Option<SimHashMeasure>,
    /// `None` for texts that are too long.
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
struct SimHashMeasure {
    distance: u32,
    reliable: bool,
}

impl Compare {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        let texts = two_texts(&self.one, &self.other, self.files)?;
        let texts = texts.each_ref().map(String::as_str);
        let measures = Measures::new(&Fingerprinter::new(recipe), texts)?;
        output.row(&measures, self.json)?;
        Ok(Answer::Yes)
    }
}

impl Measures {
    fn new(fingerprinter: &Fingerprinter, texts: [&str; 2]) -> Result<Self> {
        let normaliser = Normaliser::new();
        let letters = texts.map(|text| normaliser.letters(text));
        let lengths = letters.each_ref().map(|letters| letters.chars().count());
        let can_be_edited = lengths[0].saturating_mul(lengths[1]) <= MOST_COMPARED_CHARACTERS;

        let separated = texts.map(|text| normaliser.sentences(text));
        let tokens = separated.each_ref().map(|text| similarity::tokens(text));
        let shingles = tokens.each_ref().map(|tokens| {
            let shingles = similarity::shingles(tokens, TOKENS_PER_SHINGLE);
            shingles
                .map(|shingle| shingle.join(" "))
                .collect::<Vec<_>>()
        });
        let bloom_bits = BloomFilter::bits_for(shingles[0].len().max(shingles[1].len()));
        let filters = shingles.map(|shingles| BloomFilter::new(&shingles, bloom_bits));

        let jieba = Fingerprinter::new(Recipe::jieba());
        let by_words = texts.map(|text| Vector::new(jieba.words(text)));
        let cosine = |[one, other]: &[Vector; 2]| one.cosine(other);
        let longest = texts.map(|text| {
            let sentences = sentences(text).into_iter();
            let sentences = sentences.map(|sentence| normaliser.letters(sentence));
            longest_sentences(sentences, LONGEST_SENTENCES)
        });

        let [one, other] = texts.map(|text| fingerprinter.fingerprint(text));
        let (one, other) = (one?, other?);
        // The features are the same at both widths, so one is as reliable as the other.
        let simhash = |distance| SimHashMeasure {
            distance,
            reliable: one.reliable && other.reliable,
        };
        let [wide, other_wide] = texts.map(|text| fingerprinter.fingerprint128(text));
        let simhash128 = match wide {
            Ok(wide) => Some(simhash(wide.distance(other_wide?))),
            Err(Error::Only64Bits { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            recipe: fingerprinter.recipe().name(),
            simhash64: simhash(one.fingerprint.distance(other.fingerprint)),
            simhash128,
            edit_similarity: can_be_edited
                .then(|| similarity::edit_similarity(&letters[0], &letters[1])),
            shingle_jaccard: similarity::shingle_jaccard(
                &separated[0],
                &separated[1],
                TOKENS_PER_SHINGLE,
            ),
            bloom_jaccard: filters[0].jaccard(&filters[1]),
            cosine_tokens: cosine(&tokens.map(Vector::new)),
            cosine_words: cosine(&by_words),
            cosine_words_tf_idf: cosine(
                &by_words.map(|vector| vector.weighed(|word| jieba.idf(word).unwrap_or(0.0))),
            ),
            longest_sentences_equal: longest[0] == longest[1],
            longer_characters: lengths[0].max(lengths[1]),
            bloom_bits,
        })
    }

    fn says_of_bits(&self, simhash: &SimHashMeasure, says: String) -> String {
        if simhash.reliable {
            format!("{says} (recipe {})", self.recipe)
        } else {
            "means nothing: one of the texts says too little".to_owned()
        }
    }
}

impl Display for Measures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(&[Left, Right, Left]);
        let simhash = &self.simhash64;
        let says = self.says_of_bits(
            simhash,
            format!("bits differ, {}", at_radius(simhash.distance)),
        );
        table.row(cells!["SimHash, 64 bits", simhash.distance, says]);
        if let Some(simhash) = &self.simhash128 {
            let halved = f64::from(simhash.distance) / 2.0;
            let says = format!("bits differ, as many as {halved} of 64");
            let says = self.says_of_bits(simhash, says);
            table.row(cells!["SimHash, 128 bits", simhash.distance, says]);
        }
        let decimal = |value: f64| format!("{value:.3}");
        match self.edit_similarity {
            Some(similarity) => {
                let edits = ((1.0 - similarity) * self.longer_characters as f64).round() as u64;
                let says = format!(
                    "{} edits turn one into the other; the longer has {} characters",
                    grouped(edits),
                    grouped(self.longer_characters as u64)
                );
                table.row(cells!["edit similarity", decimal(similarity), says]);
            }
            None => table.row(["edit similarity", "-", "the texts are too long for it"]),
        }
        let shingles = format!("of the runs of {TOKENS_PER_SHINGLE} tokens, so many are in both");
        let bits = grouped(self.bloom_bits.into());
        let bloom = format!("the same estimated, mostly too high, by {bits} bits each");
        for (measure, value, says) in [
            ("shingles, Jaccard", self.shingle_jaccard, shingles.as_str()),
            ("shingles, Bloom filter", self.bloom_jaccard, &bloom),
            (
                "tokens, cosine",
                self.cosine_tokens,
                "characters of Chinese, words of others, by how often they occur",
            ),
            (
                "words, cosine",
                self.cosine_words,
                "words of two characters and more, by how often they occur",
            ),
            (
                "words, tf-idf cosine",
                self.cosine_words_tf_idf,
                "the same, rare words weigh more, stop words nothing",
            ),
        ] {
            table.row(cells![measure, decimal(value), says]);
        }
        let equal = self.longest_sentences_equal;
        let not = if equal { "" } else { "not " };
        let says = format!("the {LONGEST_SENTENCES} longest sentences are {not}the same");
        table.row(["longest sentences", yes_or_no(equal), &says]);
        write!(f, "{table}")
    }
}

fn at_radius(distance: u32) -> String {
    if distance <= STRICT_RADIUS {
        format!("found at the usual radius of {STRICT_RADIUS}")
    } else {
        format!("found from radius {distance} on, not at the usual {STRICT_RADIUS}")
    }
}
