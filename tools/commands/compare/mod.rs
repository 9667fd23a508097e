//! `simdb-cli compare`: two texts by every measure, and the decision if one of them may be removed.

mod bloom;
mod features;
mod fingerprints;
mod measures;
mod nodes;
mod pairs;
mod report;
mod sentences;
mod side;
mod vector;

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde_json::json;
use simdb::{DocRef, Fingerprint, Fingerprint128, Fingerprinter, Recipe};

use self::nodes::search_nodes;
use self::pairs::{compare_pairs, search_pairs};
use self::report::{ComparedParts, TextComparison};
use self::side::{Side, stored_sides};
use super::open_to_read;
use super::text_input::two_texts;
use crate::console::Output;
use crate::options::{LikenessOptions, RecipeOptions};
use crate::remote::Remote;

/// Compares two texts, and explains why they are, or are not, near-duplicates
///
/// First prints the verdict (same, a_in_b, same_body, b_in_a, template, different), and both texts,
/// one below the other. Words in brackets are missing in the other text, with their weights in
/// nats. A text is covered only if the other text has all of its words, in their order, and adds
/// no word to a clause that turns it or names another thing. Case, forms of one word and forms of
/// one number are equal.
///
/// Then prints two decisions, strict (fingerprints within radius 3) and similar (by the wording and
/// the verdict, see --decide), and all measures. Measures compare normalised texts: without
/// punctuation, case, width, and the difference of traditional and simplified characters.
/// Similarities are from 0, nothing in common, to 1, equal; the distance of SimHash is a number of
/// bits. By the measures, two empty texts are equal. A value that would take too long is `-`.
///
/// --bits adds both fingerprints in four blocks, and for each bit that differs the sums of both
/// texts and the heaviest features that pull the bit to 1 and to 0. A sum is the weight of the
/// features with a 1 in the bit, minus the weight of the other features. If a sum is small compared
/// with chance (the square root of the sum of squared weights), a small edit may flip the bit.
///
/// With --database, A and B are stored documents, named by their keys in a database with keys and
/// by their ids in another one; if the database keeps no texts, only bits are compared. Similar
/// search also needs the pair among its candidates, which compare does not check. Whole texts are
/// compared, also if the database ignores frames.
///
/// The exit code is 0 if similar search would answer one text with the other (without texts: if the
/// fingerprints lie within radius 3), 1 if not, 2 after an error. --json prints one object: recipe,
/// a, b, distance, distance_128 (null for recipes of 64 bits), verdict, missing_in_b, missing_in_a,
/// forgiven, measures, strict, similar, near_duplicates; with --bits also blocks and bits; with
/// --features also features, the 1,000 heaviest of each group. a and b have id, fingerprint,
/// reliable, doubt, because, and key if the document has one.
///
/// --pairs compares each line {"a": text, "b": text} of a file, and prints a row for each: its
/// line, verdict, alike, edit similarity, Jaccard index and missing words. --json prints one object
/// per line: the other fields of the line, such as ids, then verdict, missing_in_b and missing_in_a
/// (lists of word and weight), forgiven (a list of token of a, token of b, class), alike (true if
/// the texts are near-duplicates by the thresholds), edit_similarity and jaccard. The verdict is by
/// --decide.
///
/// With --pairs, --text names fields: a and b are objects, of which several fields make one text,
/// as in `simdb-load`. Then each missing word is a list of word, weight and field.
///
/// --search prints only the pairs that a similar search for A accepts once B is a candidate: both
/// texts are alike, and one covers the other. This is faster, and fastest if consecutive lines have
/// the same A.
///
/// --nodes compares the texts that meet in nodes of an LSH forest, which another system makes of
/// `simdb-cli export --similar` (tools/spark does), and prints {"query": id, "document": id} for
/// each candidate that is a near-duplicate. A line is an object with the columns of an export
/// sketch_1, sketch_2, other_1, other_2, classes and max_sketch_distance, with wording in Base64,
/// and with document (an id, signed as in the export), class (the lowest 4 bits of the keys), node,
/// cell (a part of a large node), is_entry, is_query, and is_long (100 characters and more). A text
/// without keys of trees has the other sketch twice, a text without others its sketch twice. The
/// lines of a cell are together, entries first, and their wordings are in memory. Two long or two
/// short texts are printed with the smaller id as the query, once or several times.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli compare \"the cat sat on the mat today\" \"the cat sat on a mat today\"
  simdb-cli compare --files draft.txt printed.txt --recipe jieba --features
  curl -s https://example.org | simdb-cli compare --files - archived.txt --json
  simdb-cli compare --database news.simdb 17 18 --bits
  simdb-cli compare --database news.simdb 17 --text \"a text that should have been found\"
  simdb-cli compare --hex $(simdb-cli hash \"one text\") $(simdb-cli hash \"another text\")
  simdb-cli compare --pairs candidates.jsonl --json
  simdb-cli compare --pairs articles.jsonl --text title --text body")]
pub struct Compare {
    /// A text, with --database the key or the id of a document; put -- before a text that begins
    /// with -
    #[arg(value_name = "A", required_unless_present_any = ["pairs", "nodes"])]
    one: Option<String>,

    /// A second text, key or id
    #[arg(value_name = "B", required_unless_present_any = ["text", "pairs", "nodes"])]
    other: Option<String>,

    /// A and B are files that hold the texts; - is standard input
    #[arg(long, conflicts_with = "database")]
    files: bool,

    /// A and B are documents of this database, or of a server, http://... or unix:...: keys in a
    /// database with keys, otherwise ids
    #[arg(long, value_name = "DATABASE")]
    database: Option<PathBuf>,

    /// A text to compare with document A, instead of B; with --pairs, a field of both objects
    #[arg(long, value_name = "TEXT", conflicts_with = "other")]
    text: Vec<String>,

    /// A and B are fingerprints of 16 or 32 hexadecimal digits: print only the number of bits in
    /// which they differ
    #[arg(long, conflicts_with_all = ["files", "database", "RecipeOptions", "LikenessOptions", "ComparedParts"])]
    hex: bool,

    /// Compare the pairs of this file, JSON Lines {"a": text, "b": text}; - is standard input
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["one", "files", "database", "hex", "RecipeOptions", "ComparedParts"])]
    pairs: Option<PathBuf>,

    /// Print only the pairs that a similar search for A finds
    #[arg(long, requires = "pairs", conflicts_with_all = ["LikenessOptions", "text", "one"])]
    search: bool,

    /// Compare the texts in the nodes of this file, JSON Lines; - is standard input
    #[arg(long, value_name = "FILE", requires = "json")]
    #[arg(conflicts_with_all = ["one", "files", "database", "hex", "RecipeOptions", "LikenessOptions", "ComparedParts"])]
    #[arg(conflicts_with_all = ["pairs", "search"])]
    nodes: Option<PathBuf>,

    #[command(flatten)]
    parts: ComparedParts,

    #[command(flatten)]
    recipe: RecipeOptions,

    #[command(flatten)]
    likeness: LikenessOptions,

    /// Print one line of JSON for each pair
    #[arg(long)]
    json: bool,
}

impl Compare {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let [one, other] = [&self.one, &self.other].map(|text| text.as_deref().unwrap_or_default());
        if let Some(nodes) = &self.nodes {
            return search_nodes(nodes, output);
        }
        if self.hex {
            return self.print_distance(one, other, output);
        }
        if let Some(pairs) = self.pairs.as_deref().filter(|_| self.search) {
            return search_pairs(pairs, self.json, output);
        }
        if let Some(pairs) = &self.pairs {
            return compare_pairs(pairs, &self.text, &self.likeness, self.json, output);
        }
        ensure!(
            self.text.len() <= usize::from(self.database.is_some()),
            "--text is one text, to compare with a document of --database, or with --pairs the fields \
             of the texts"
        );
        let text = self.text.first().map(String::as_str);
        let compare = |fingerprinter: &Fingerprinter, sides: [Side; 2], output: &mut Output| {
            let rule = (self.likeness.likeness(), self.likeness.decision());
            let found = TextComparison::new(fingerprinter, sides, rule)?;
            output.decide(found.near_duplicates());
            output.print(
                self.json,
                || found.json(&self.parts),
                || found.text(&self.parts),
            )
        };
        if let Some(path) = &self.database {
            if let Some(remote) = Remote::of(path)? {
                let settings = remote.settings()?;
                let fingerprinter = Fingerprinter::new(settings.recipe);
                let (names, get) = ([one, other], |named| remote.get(&named));
                let sides = stored_sides(&fingerprinter, path, settings.keys, get, names, text)?;
                return compare(&fingerprinter, sides, output);
            }
            let database = open_to_read(path, self.recipe.builder()?)?;
            let (fingerprinter, snapshot) = (database.fingerprinter(), database.snapshot()?);
            let (names, get) = ([one, other], |named: DocRef| Ok(snapshot.get(named)?));
            let has_keys = database.settings().keys;
            let sides = stored_sides(fingerprinter, path, has_keys, get, names, text)?;
            return compare(fingerprinter, sides, output);
        }
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        let fingerprinter = Fingerprinter::new(recipe);
        let [one, other] = two_texts(one, other, self.files)?;
        let sides = [
            Side::of_text(&fingerprinter, one)?,
            Side::of_text(&fingerprinter, other)?,
        ];
        compare(&fingerprinter, sides, output)
    }

    /// Prints the Hamming distance of two fingerprints.
    fn print_distance(&self, one: &str, other: &str, output: &mut Output) -> Result<()> {
        let (distance, bits) = match [one, other].map(|digits| digits.len() == WIDE_DIGITS) {
            [true, true] => (one.parse::<Fingerprint128>()?.distance(other.parse()?), 128),
            [false, false] => (one.parse::<Fingerprint>()?.distance(other.parse()?), 64),
            _ => bail!("{one} and {other} are not of the same width, so they have no distance"),
        };
        output.print(
            self.json,
            || json!({"distance": distance, "bits": bits}),
            || distance,
        )
    }
}

/// Digits of a fingerprint of 128 bits.
const WIDE_DIGITS: usize = 32;
