//! `simdb-cli compare`: all measures of the similarity of two texts.

mod containment;
mod nodes;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::containment::{Alignment, Weights};
use simdb::similarity;
use simdb::{Error, Fingerprinter, Normaliser, Recipe};

use self::containment::{compare_pairs, search_pairs, weights_of};
use self::nodes::search_nodes;
use super::STRICT_RADIUS;
use super::text_input::two_texts;
use crate::console::alignment::{picture, rows, verdict_line};
use crate::console::rows::{cells, yes_or_no};
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
use crate::console::{Output, grouped};
use crate::measures::{BloomFilter, Vector, longest_sentences, sentences};
use crate::options::RecipeOptions;

/// Compares two texts by every measure of similarity
///
/// The first lines say if one text may be deleted: the verdict (same, a_in_b, b_in_a, template,
/// different), and both texts, one below the other. Words in brackets are missing in the other text,
/// with their weights in nats. A text is contained in the other if its missing words weigh at most 3.
/// Case, misspellings, word forms and order do not count.
///
/// Then follow the columns measure, value and meaning. All measures compare normalised texts, as recipes
/// do: without punctuation, case, width, and the difference of traditional and simplified
/// characters. Similarities are from 0, nothing in common, to 1, equal; the distance of SimHash is
/// a number of bits. Two empty texts are equal; an empty text and another text have nothing in
/// common. A value that would take too long is `-`.
///
/// --json prints one object: recipe, simhash64 and simhash128 (null for recipes of 64 bits) with
/// distance and reliable, edit_similarity (null if it would take too long), shingle_jaccard,
/// bloom_jaccard, cosine_tokens, cosine_words, cosine_words_tf_idf, longest_sentences_equal, verdict,
/// missing_in_b, missing_in_a.
///
/// --pairs compares each line {"a": text, "b": text} of a file in this way, and prints one object per
/// line: the other fields of the line, such as ids, then verdict, missing_in_b and missing_in_a (lists of
/// word and weight), alike (true if the texts are near-duplicates by the default thresholds),
/// edit_similarity and jaccard.
///
/// --search prints only the pairs that a similar search for A accepts, once B is a candidate of it: both texts are
/// alike, and one contains the other. This is faster, and fastest if consecutive lines have the same A.
///
/// --nodes compares the texts that meet in nodes of an LSH forest, which another system makes of
/// `simdb-cli export --similar` (tools/spark/simdb_spark does), and prints {"query": id, "document": id} for each
/// candidate that is a near-duplicate. A line is an object with the columns of an export sketch_1, sketch_2,
/// other_1, other_2, classes and max_sketch_distance, with wording in Base64, and with document (an id, signed as in
/// the export), class (the lowest 4 bits of the keys), node, cell (a part of a large node), is_entry, is_query, and
/// is_long (100 characters and more). A text without keys of trees has the other sketch twice, a text without others
/// its sketch twice. The lines of a cell are together, entries first, and their wordings are in memory.
/// Two long or two short texts are printed with the smaller id as the query, once or several times.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli compare \"the cat sat on the mat\" \"the cat sat on a mat\"
  simdb-cli compare --files draft.txt printed.txt
  curl -s https://example.org | simdb-cli compare --files - archived.txt --json
  simdb-cli compare --pairs candidates.jsonl --json --weights news.simdb")]
pub struct Compare {
    /// A text; put -- before a text that begins with -
    #[arg(value_name = "A", required_unless_present_any = ["pairs", "nodes"])]
    one: Option<String>,

    /// A second text
    #[arg(value_name = "B", required_unless_present_any = ["pairs", "nodes"])]
    other: Option<String>,

    /// A and B are files that hold the texts; - is standard input
    #[arg(long)]
    files: bool,

    /// Compare the pairs of this file, JSON Lines {"a": text, "b": text}; - is standard input
    #[arg(long, value_name = "FILE", requires = "json")]
    #[arg(conflicts_with_all = ["one", "files", "recipe"])]
    pairs: Option<PathBuf>,

    /// Print only the pairs that a similar search for A finds
    #[arg(long, requires = "pairs", conflicts_with = "weights")]
    search: bool,

    /// Compare the texts in the nodes of this file, JSON Lines; - is standard input
    #[arg(long, value_name = "FILE", requires = "json")]
    #[arg(conflicts_with_all = ["one", "files", "recipe", "pairs", "search", "weights"])]
    nodes: Option<PathBuf>,

    /// Learn the weights of words from a database with texts (.simdb), from the field "text" of JSON
    /// Lines (.jsonl), or from the lines of another file
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Print one line of JSON for each pair
    #[arg(long)]
    json: bool,
}

/// Two tokens in a shingle: with more, an edit leaves few shingles of a short text.
const TOKENS_PER_SHINGLE: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// The three longest sentences are compared, the usual number.
const LONGEST_SENTENCES: usize = 3;

/// Texts with a larger product of their lengths get no edit similarity: it would take ten seconds
/// or more.
const MAX_COMPARED_CHARACTERS: usize = 100_000_000_000;

/// All measures of two texts: from 0 to 1, except SimHash.
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
    verdict: &'static str,
    missing_in_b: serde_json::Value,
    missing_in_a: serde_json::Value,
    #[serde(skip)]
    alignment: Alignment,
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
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if let Some(pairs) = self.pairs.as_deref().filter(|_| self.search) {
            return search_pairs(pairs, output);
        }
        if let Some(nodes) = &self.nodes {
            return search_nodes(nodes, output);
        }
        let weights = weights_of(self.weights.as_deref())?;
        if let Some(pairs) = &self.pairs {
            return compare_pairs(pairs, &weights, output);
        }
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        let [one, other] = [&self.one, &self.other].map(|text| text.as_deref().unwrap_or_default());
        let texts = two_texts(one, other, self.files)?;
        let texts = texts.each_ref().map(String::as_str);
        let measures = Measures::new(&Fingerprinter::new(recipe), &weights, texts)?;
        output.print(self.json, || &measures, || measures.text())
    }
}

impl Measures {
    fn new(fingerprinter: &Fingerprinter, weights: &Weights, texts: [&str; 2]) -> Result<Self> {
        let normaliser = Normaliser::new();
        let letters = texts.map(|text| normaliser.letters(text));
        let lengths = letters.each_ref().map(|letters| letters.chars().count());
        let can_be_edited = lengths[0].saturating_mul(lengths[1]) <= MAX_COMPARED_CHARACTERS;
        let edit_similarity = || similarity::edit_similarity(&letters[0], &letters[1]);

        let [one, other] = texts.map(|text| normaliser.sentences(text));
        let tokens = [&one, &other].map(|text| similarity::tokens(text));
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
        let cosine_words = cosine(&by_words);
        let idf = |word: &str| jieba.idf(word).unwrap_or(0.0);
        let longest = texts.map(|text| {
            let sentences = sentences(text).into_iter();
            let sentences = sentences.map(|sentence| normaliser.letters(sentence));
            longest_sentences(sentences, LONGEST_SENTENCES)
        });

        let [made, other_made] = texts.map(|text| fingerprinter.fingerprint(text));
        let (made, other_made) = (made?, other_made?);
        // Both widths have the same features, so both are equally reliable.
        let reliable = made.reliable && other_made.reliable;
        let simhash = |distance| SimHashMeasure { distance, reliable };
        let [wide, other_wide] = texts.map(|text| fingerprinter.fingerprint128(text));
        let simhash128 = match wide {
            Ok(wide) => Some(simhash(wide.distance(other_wide?))),
            Err(Error::Only64Bits { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let alignment = Alignment::new(&normaliser, weights, texts[0], texts[1]);
        let containment = &alignment.containment;
        Ok(Self {
            recipe: fingerprinter.recipe().name(),
            simhash64: simhash(made.fingerprint.distance(other_made.fingerprint)),
            simhash128,
            edit_similarity: can_be_edited.then(edit_similarity),
            shingle_jaccard: similarity::shingle_jaccard(&one, &other, TOKENS_PER_SHINGLE),
            bloom_jaccard: filters[0].jaccard(&filters[1]),
            cosine_tokens: cosine(&tokens.map(Vector::new)),
            cosine_words,
            cosine_words_tf_idf: cosine(&by_words.map(|vector| vector.weighed(idf))),
            longest_sentences_equal: longest[0] == longest[1],
            verdict: containment.verdict.name(),
            missing_in_b: rows(&containment.missing_in_b),
            missing_in_a: rows(&containment.missing_in_a),
            alignment,
            longer_characters: lengths[0].max(lengths[1]),
            bloom_bits,
        })
    }

    /// The verdict and the alignment, then the measures.
    fn text(&self) -> String {
        let [a, b] = picture(&self.alignment);
        let verdict = verdict_line(&self.alignment.containment);
        format!("{verdict}\n{a}\n{b}\n\n{}", self.table())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[Left, Right, Left]);
        let mut simhash = |name: &str, simhash: &SimHashMeasure, meaning: String| {
            let meaning = if simhash.reliable {
                format!("bits differ, {meaning} (recipe {})", self.recipe)
            } else {
                "means nothing: one of the texts says too little".to_owned()
            };
            table.row(cells![name, simhash.distance, meaning]);
        };
        let distance = self.simhash64.distance;
        let found = if distance <= STRICT_RADIUS {
            format!("found at the usual radius of {STRICT_RADIUS}")
        } else {
            format!("found from radius {distance} on, not at the usual {STRICT_RADIUS}")
        };
        simhash("SimHash, 64 bits", &self.simhash64, found);
        if let Some(wide) = &self.simhash128 {
            let halved = f64::from(wide.distance) / 2.0;
            simhash(
                "SimHash, 128 bits",
                wide,
                format!("as many as {halved} of 64"),
            );
        }
        let decimal = |value: f64| format!("{value:.3}");
        let longer = self.longer_characters;
        let edits = |similarity: f64| ((1.0 - similarity) * longer as f64).round() as u64;
        table.row(match self.edit_similarity {
            Some(similarity) => [
                "edit similarity".to_owned(),
                decimal(similarity),
                format!(
                    "{} edits turn one into the other; the longer has {} characters",
                    grouped(edits(similarity)),
                    grouped(longer as u64)
                ),
            ],
            None => cells!["edit similarity", "-", "the texts are too long for it"],
        });
        let shingles = format!("of the runs of {TOKENS_PER_SHINGLE} tokens, so many are in both");
        let bits = grouped(self.bloom_bits.into());
        let bloom = format!("the same estimated, mostly too high, by {bits} bits each");
        let tokens = "characters of Chinese, words of others, by how often they occur";
        let words = "words of two characters and more, by how often they occur";
        let weighed = "the same, rare words weigh more, stop words nothing";
        for (measure, value, meaning) in [
            ("shingles, Jaccard", self.shingle_jaccard, &shingles[..]),
            ("shingles, Bloom filter", self.bloom_jaccard, &bloom),
            ("tokens, cosine", self.cosine_tokens, tokens),
            ("words, cosine", self.cosine_words, words),
            ("words, tf-idf cosine", self.cosine_words_tf_idf, weighed),
        ] {
            table.row(cells![measure, decimal(value), meaning]);
        }
        let equal = self.longest_sentences_equal;
        let not = if equal { "" } else { "not " };
        let meaning = format!("the {LONGEST_SENTENCES} longest sentences are {not}the same");
        table.row(["longest sentences", yes_or_no(equal), &meaning]);
        table
    }
}
