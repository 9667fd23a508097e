//! Precision and recall of all ways to search, on labelled texts.
//!
//! `cargo bench --bench accuracy -- [DIRECTORY]`. The directory holds labelled sets of three files
//! each: `SET.docs.jsonl.gz` with `id`, `text`, `bucket` and an optional `fam`;
//! `SET.pairs.jsonl.gz` with `a`, `b`, `label`, `kind`, `strength` and `bucket`;
//! `SET.grey.jsonl.gz` with `a` and `b`. Without a directory the small sets of the tests are used.
//!
//! The judged pairs come first: the files `judged_pairs*.jsonl` of the directory, or the judged
//! pairs of the tests. Each line has the texts `a` and `b`, `gold`: `removable`, `different`, or
//! another word, `set`, the genre, and an optional `lang`.
//!
//! Probes follow, by kind: copies of the texts of all sets with one word changed, which no verdict
//! may remove, and with an addition without a fact. Each pair is compared in both orders.
//!
//! Pairs are planted in a set that has only `SET.docs.jsonl.gz`, and also in the sets of the tests.
//! The near-duplicates are edited copies of 1,000 documents (200 in the tests): typos, replaced
//! words, moved sentences, a shortened end, another beginning, each at three strengths. A random
//! document and the document with the nearest fingerprint are no near-duplicates. Other pairs do
//! not count. Pairs of documents with similar wording are left out, so on planted pairs the
//! precision of a search that compares texts means nothing.
//!
//! All documents of a set are stored, and each is a query. A pair that is found is wrong if it is
//! labelled as different or has no label. Grey pairs, and edits of one text (`fam`), do not count.
//! The table gives precision, recall and F1, in thousandths, for each class of length: by
//! fingerprints alone at each radius, by fingerprints and texts, and by the forest and texts. The
//! bench fails if the index finds other pairs than a plain scan, or if a pair found by texts is not
//! similar.

#![allow(clippy::print_stdout)]

mod judged;
mod verdict_probes;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use bench_support::database::folder;
use bench_support::keys::SplitMix;
use bench_support::planted::{check_edits, plant};
use bench_support::table::{Table, time};
use bench_support::timing::timed;
use flate2::read::MultiGzDecoder;
use rayon::prelude::*;
use serde_json::Value;
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Change, Database, Decision, DocId, Document, Fingerprinter, Normaliser, Recipe};

/// The classes of length, in characters.
const CLASSES: [&str; 4] = ["10-30", "30-100", "100-500", "500+"];

/// The largest radius in the table.
const MAX_RADIUS: u32 = 12;

const STRICT_RADIUS: u32 = 3;

/// The number of documents with planted pairs, in a given set and in a set of the tests, and the
/// seed of their choice.
const PLANTED_DOCUMENTS: usize = 1000;
const TEST_PLANTED_DOCUMENTS: usize = 200;
const PLANTED_SEED: u64 = 1;

/// Documents per transaction.
const BATCH_LEN: usize = 1000;

type Pair = (u64, u64);

fn main() {
    check_edits();
    let given = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let planted_documents = if given.is_some() {
        PLANTED_DOCUMENTS
    } else {
        TEST_PLANTED_DOCUMENTS
    };
    let is_given = given.is_some();
    let folder = given.map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/labelled"),
        PathBuf::from,
    );
    let mut judged = files_in(&folder, "judged_pairs", ".jsonl");
    if judged.is_empty() {
        judged.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/judged/pairs.jsonl"));
    }
    judged.iter().for_each(|path| judged::print_judged(path));
    let sets = sets_in(&folder);
    assert!(!sets.is_empty(), "no labelled set in {}", folder.display());
    verdict_probes::print_probes(&probed_texts(&folder, &sets));
    for set in sets {
        let labelled = folder.join(format!("{set}.pairs.jsonl.gz")).exists();
        let documents = LabelledSet::read(&folder, &set, labelled);
        if labelled {
            documents.evaluate(&set);
        }
        if !labelled || !is_given {
            documents
                .with_planted_pairs(planted_documents)
                .evaluate(&format!("{set}, planted"));
        }
    }
}

/// The paths of the files whose names begin and end so, in order.
fn files_in(folder: &Path, start: &str, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of labelled sets");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let names = names.filter(|name| name.starts_with(start) && name.ends_with(end));
    let mut paths: Vec<_> = names.map(|name| folder.join(name)).collect();
    paths.sort();
    paths
}

fn sets_in(folder: &Path) -> Vec<String> {
    let end = ".docs.jsonl.gz";
    let names = files_in(folder, "", end).into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        Some(name.strip_suffix(end)?.to_owned())
    });
    names.collect()
}

/// The texts of all sets, and the quotes and articles of the tests.
fn probed_texts(folder: &Path, sets: &[String]) -> Vec<String> {
    let sets = sets.iter().flat_map(|set| {
        let set = LabelledSet::read(folder, set, false);
        set.texts.into_values().map(|text| text.text)
    });
    let quotes = include_str!("../tests/data/quotes_and_news.jsonl").lines();
    let quotes = quotes.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let quotes = quotes.filter_map(|line| Some(line["text"].as_str()?.to_owned()));
    quotes.chain(sets).collect()
}

struct LabelledSet {
    texts: BTreeMap<u64, Text>,
    pairs: BTreeMap<Pair, Label>,
    grey: BTreeSet<Pair>,
    /// `true` if a pair without a label is wrong, unless the pair is grey or of one family.
    is_closed: bool,
}

struct Text {
    text: String,
    class: usize,
    family: Option<u64>,
}

struct Label {
    is_near_duplicate: bool,
    kind: String,
    strength: u64,
    class: usize,
}

/// The number of right, wrong and missed pairs of a class.
#[derive(Clone, Copy, Default)]
struct Score {
    right: u64,
    wrong: u64,
    missed: u64,
}

impl LabelledSet {
    fn read(folder: &Path, set: &str, labelled: bool) -> Self {
        let lines = |part: &str| {
            if !labelled && part != "docs" {
                return Vec::new();
            }
            let path = folder.join(format!("{set}.{part}.jsonl.gz"));
            let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let lines = BufReader::new(MultiGzDecoder::new(file)).lines();
            let lines = lines.map(|line| line.expect("a line"));
            let values = lines.map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
            values.collect::<Vec<_>>()
        };
        let texts = lines("docs").into_iter().map(|line| {
            let text = Text {
                text: line["text"].as_str().expect("a text").to_owned(),
                class: class_of(&line),
                family: line["fam"].as_u64(),
            };
            (line["id"].as_u64().expect("an id"), text)
        });
        let pairs = lines("pairs").into_iter().map(|line| {
            let label = Label {
                is_near_duplicate: line["label"] == 1,
                kind: line["kind"].as_str().unwrap_or_default().to_owned(),
                strength: line["strength"].as_u64().unwrap_or_default(),
                class: class_of(&line),
            };
            (pair_of(&line), label)
        });
        Self {
            texts: texts.collect(),
            pairs: pairs.collect(),
            grey: lines("grey").iter().map(pair_of).collect(),
            is_closed: true,
        }
    }

    /// A set of some documents of this set with their edited copies.
    fn with_planted_pairs(&self, documents: usize) -> Self {
        let normaliser = Normaliser::new();
        // A random choice: the documents of a set may be sorted by source.
        let mut draws = SplitMix(PLANTED_SEED);
        let texts = self.texts.values();
        let texts = texts.filter(|text| !normaliser.letters(&text.text).is_empty());
        let mut texts: Vec<_> = texts.map(|text| (draws.next(), text)).collect();
        texts.sort_unstable_by_key(|(draw, _)| *draw);
        texts.truncate(documents);
        let (_, originals): (Vec<_>, Vec<_>) = texts.into_iter().unzip();
        let texts: Vec<_> = originals.iter().map(|text| text.text.as_str()).collect();
        let fingerprinter = Fingerprinter::new(Recipe::ngram());
        let made = texts
            .iter()
            .map(|text| fingerprinter.fingerprint(text).expect("a fingerprint"));
        let made: Vec<_> = made.map(|made| made.fingerprint).collect();
        let planted = plant(&texts, &made, PLANTED_SEED);
        println!(
            "\n{} pairs of documents left out, since their wording is similar",
            planted.left_out
        );

        let text = |text: &str, class| Text {
            text: text.to_owned(),
            class,
            family: None,
        };
        let mut set = Self {
            texts: BTreeMap::new(),
            pairs: BTreeMap::new(),
            grey: BTreeSet::new(),
            is_closed: false,
        };
        for (id, original) in (0..).zip(&originals) {
            set.texts.insert(id, text(&original.text, original.class));
        }
        for (id, copy) in (originals.len() as u64..).zip(&planted.copies) {
            let class = originals[copy.original].class;
            set.texts.insert(id, text(&copy.text, class));
            let label = Label {
                is_near_duplicate: true,
                kind: copy.edit.to_owned(),
                strength: copy.strength as u64,
                class,
            };
            set.pairs.insert((copy.original as u64, id), label);
        }
        for &(a, b) in &planted.unrelated {
            let label = Label {
                is_near_duplicate: false,
                kind: String::new(),
                strength: 0,
                class: originals[a].class.min(originals[b].class),
            };
            set.pairs.insert((a as u64, b as u64), label);
        }
        set
    }

    fn evaluate(&self, name: &str) {
        let folder = folder();
        let database = Database::builder()
            .similar(true)
            .create(folder.path().join("labelled.simdb"))
            .expect("create");
        let documents = self.store(&database);
        let near = self.near(&database, &documents);
        let (alike, verifying) = timed(|| self.verified(&near));
        let (similar, asking) = timed(|| self.similar(&database));

        let title = format!("{name}: precision, recall and F1 by length, in thousandths");
        let table = Table::new(&title, &CLASSES);
        let row = |label: &str, found: &BTreeSet<Pair>| {
            let scores = self.scores(found).map(|score| score.to_cell());
            table.row(label, &scores);
        };
        let within = |radius| {
            let pairs = near.iter().filter(|&(_, distance)| *distance <= radius);
            pairs.map(|(pair, _)| *pair).collect::<BTreeSet<_>>()
        };
        for radius in 0..=MAX_RADIUS {
            row(&format!("fingerprints, radius {radius}"), &within(radius));
        }
        row(
            &format!("fingerprints, radius {MAX_RADIUS}, and texts"),
            &alike,
        );
        row("forest and texts (similar)", &similar);

        if self.is_closed {
            let strict = within(STRICT_RADIUS);
            self.show_kinds(&strict, &documents);
            self.show_fingerprints(&documents, &strict);
            judged::print_kinds(self.pairs.iter().map(|((a, b), label)| {
                let text = |id: &u64| self.texts[id].text.as_str();
                (label.kind.as_str(), text(a), text(b))
            }));
        }
        println!(
            "one query for similar texts {}; one comparison of two texts {}",
            time(asking / self.texts.len().max(1) as u32),
            time(verifying / near.len().max(1) as u32),
        );
    }

    fn store(&self, database: &Database) -> Vec<Document> {
        let texts: Vec<_> = self.texts.iter().collect();
        let documents: Vec<_> = texts
            .par_iter()
            .map(|(id, text)| {
                database
                    .document(DocId(**id), &text.text)
                    .expect("a document")
            })
            .collect();
        for some in documents.chunks(BATCH_LEN) {
            let inserts = some.iter().cloned().map(Change::Insert);
            database.apply(inserts).expect("stored");
        }
        documents
    }

    /// The pairs with near fingerprints, with their distances.
    fn near(&self, database: &Database, documents: &[Document]) -> BTreeMap<Pair, u32> {
        let reliable: Vec<_> = documents
            .iter()
            .filter(|document| document.reliable)
            .collect();
        let queries: Vec<_> = reliable
            .iter()
            .map(|document| document.fingerprint)
            .collect();
        let snapshot = database.snapshot().expect("a snapshot");
        let answers = snapshot
            .within_batch(&queries, MAX_RADIUS)
            .expect("matches");
        let found: BTreeMap<_, _> = reliable
            .iter()
            .zip(answers)
            .flat_map(|(document, matches)| {
                let others = matches.into_iter().filter(|near| near.id != document.id);
                others.map(|near| (ordered(document.id.0, near.id.0), near.distance))
            })
            .collect();

        let scanned: BTreeMap<_, _> = (0..reliable.len())
            .into_par_iter()
            .flat_map_iter(|i| {
                let reliable = &reliable;
                (0..i).filter_map(move |j| {
                    let distance = reliable[i].fingerprint.distance(reliable[j].fingerprint);
                    let pair = ordered(reliable[i].id.0, reliable[j].id.0);
                    (distance <= MAX_RADIUS).then_some((pair, distance))
                })
            })
            .collect();
        assert!(found == scanned, "the index finds other pairs than a scan");
        found
    }

    /// The near pairs whose texts are similar.
    fn verified(&self, near: &BTreeMap<Pair, u32>) -> BTreeSet<Pair> {
        let pairs = near.keys().copied();
        pairs.filter(|pair| self.are_alike(*pair)).collect()
    }

    fn are_alike(&self, (a, b): Pair) -> bool {
        // One per thread of rayon: making the tables takes as long as many comparisons.
        thread_local! {
            static NORMALISER: Normaliser = Normaliser::new();
        }
        let [a, b] = [a, b].map(|id| &self.texts[&id].text);
        let found = NORMALISER.with(|normaliser| Resemblance::new(normaliser, a, b));
        found.is_enough(&Likeness::default())
    }

    /// The pairs that a query for each text finds.
    fn similar(&self, database: &Database) -> BTreeSet<Pair> {
        let snapshot = database.snapshot().expect("a snapshot");
        let mut found = BTreeSet::new();
        for (id, text) in &self.texts {
            let query = database.text_query(&text.text).expect("a query");
            let query = query.decision(Decision::Alike);
            let similar = snapshot.similar(&query).expect("answers");
            let others = similar.into_iter().filter(|similar| similar.id.0 != *id);
            found.extend(others.map(|similar| ordered(*id, similar.id.0)));
        }
        let wrong = found.par_iter().find_any(|pair| !self.are_alike(**pair));
        assert_eq!(wrong, None, "a pair is found that is not similar");
        found
    }

    fn scores(&self, found: &BTreeSet<Pair>) -> [Score; 4] {
        let mut scores = [Score::default(); 4];
        for (pair, label) in &self.pairs {
            let score = &mut scores[label.class];
            match (found.contains(pair), label.is_near_duplicate) {
                (true, true) => score.right += 1,
                (true, false) => score.wrong += 1,
                (false, true) => score.missed += 1,
                (false, false) => {}
            }
        }
        for pair in found
            .iter()
            .filter(|pair| self.is_closed && self.is_unrelated(pair))
        {
            let [a, b] = [pair.0, pair.1].map(|id| self.texts[&id].class);
            scores[a.min(b)].wrong += 1;
        }
        scores
    }

    /// Returns `true` if a pair is not labelled, not grey and not of one family.
    fn is_unrelated(&self, pair: &Pair) -> bool {
        let [a, b] = [pair.0, pair.1].map(|id| self.texts[&id].family);
        !self.pairs.contains_key(pair) && !self.grey.contains(pair) && (a.is_none() || a != b)
    }

    /// Prints the recall at radius 3 of edits that a recipe should not see: white space and
    /// punctuation, traditional characters, and natural copies.
    fn show_kinds(&self, strict: &BTreeSet<Pair>, documents: &[Document]) {
        let unreliable = documents.iter().filter(|document| !document.reliable);
        let unreliable: BTreeSet<_> = unreliable.map(|document| document.id.0).collect();
        for (kind, strength) in [("wspunct", None), ("t2s", Some(1)), ("natural-same", None)] {
            let of_kind = self.pairs.iter().filter(|(pair, label)| {
                label.is_near_duplicate
                    && label.kind == kind
                    && strength.is_none_or(|strength| label.strength == strength)
                    && !unreliable.contains(&pair.0)
                    && !unreliable.contains(&pair.1)
            });
            let found = of_kind.map(|(pair, _)| strict.contains(pair));
            let found: Vec<_> = found.collect();
            if !found.is_empty() {
                let right = found.iter().filter(|found| **found).count();
                let strength = strength.map_or(String::new(), |s: u64| format!(", strength {s}"));
                println!("{kind}{strength}: {right} of {} within 3 bits", found.len());
            }
        }
        println!(
            "{} of {} texts have unreliable fingerprints",
            unreliable.len(),
            documents.len()
        );
    }

    /// Prints the balance of the bits, and the share of unrelated pairs within radius 3.
    fn show_fingerprints(&self, documents: &[Document], strict: &BTreeSet<Pair>) {
        let reliable: Vec<_> = documents
            .iter()
            .filter(|document| document.reliable)
            .collect();
        let shares = (0..64).map(|bit| {
            let ones = reliable
                .iter()
                .filter(|d| d.fingerprint.bits() >> bit & 1 == 1);
            ones.count() as f64 / reliable.len() as f64
        });
        let (least, most) = shares.fold((1.0_f64, 0.0_f64), |(least, most), share| {
            (least.min(share), most.max(share))
        });
        let families: HashMap<_, u64> =
            reliable.iter().fold(HashMap::new(), |mut all, document| {
                let family = self.texts[&document.id.0].family;
                *all.entry(family.unwrap_or(document.id.0)).or_default() += 1;
                all
            });
        let count = reliable.len() as u64;
        let related: u64 = families.values().map(|n| n * (n - 1) / 2).sum();
        let unrelated = (count * (count - 1) / 2 - related) as f64;
        let near = strict.iter().filter(|pair| {
            self.is_unrelated(pair) || self.pairs.get(pair).is_some_and(|l| !l.is_near_duplicate)
        });
        println!(
            "share of ones in a bit: {least:.3} to {most:.3}; {} of a million unrelated pairs \
             within 3 bits",
            bench_support::table::number(near.count() as f64 / unrelated * 1e6)
        );
    }
}

impl Score {
    /// Precision, recall and F1, in thousandths.
    fn to_cell(self) -> String {
        let share = |part: u64, of: u64| match of {
            0 => "-".to_owned(),
            of => format!("{:.0}", part as f64 / of as f64 * 1e3),
        };
        let Self {
            right,
            wrong,
            missed,
        } = self;
        if right + wrong + missed == 0 {
            return "-".to_owned();
        }
        let f1 = share(2 * right, 2 * right + wrong + missed);
        format!(
            "{} {} {f1}",
            share(right, right + wrong),
            share(right, right + missed)
        )
    }
}

fn class_of(line: &Value) -> usize {
    let class = CLASSES.iter().position(|class| line["bucket"] == *class);
    class.expect("a class of length")
}

fn pair_of(line: &Value) -> Pair {
    let id = |side: &str| line[side].as_u64().expect("an id");
    ordered(id("a"), id("b"))
}

fn ordered(a: u64, b: u64) -> Pair {
    (a.min(b), a.max(b))
}
