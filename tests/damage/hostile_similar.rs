//! Hostile collections of a database for similar texts: copies, one template, a long text, and
//! texts that share their forest keys.
//!
//! The answers equal a plain comparison with all texts, and the time grows with the number of
//! texts, not with its square. No answer is cut. The large collections are ignored by default:
//!
//! ```sh
//! cargo test --release --test damage hostile_similar -- --ignored
//! ```

use std::time::{Duration, Instant};

use simdb::containment::{Containment, Weights};
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Change, Database, Decision, DocId, Normaliser, Outcome, SimilarRule};
use test_support::{SplitMix, WORDS, assert_sound, builder, folder};

/// A query among many texts is compared with this many queries among as many fewer texts.
const TIMES: usize = 16;
/// The query among many texts may take this many times as long as the others together. Quadratic
/// time would be 16 times.
const MAX_RATIO: u32 = 6;
/// The fastest of up to 20 turns counts, because other load only adds time.
const MAX_TURNS: usize = 20;

/// The words of random texts.
const FEW_WORDS: &[&str] = WORDS.split_at(48).0;

/// A database with these texts; half of them are in the tables, the others in the memtable.
fn database(folder: &tempfile::TempDir, name: &str, texts: &[String]) -> Database {
    let path = folder.path().join(format!("{name}.simdb"));
    let database = builder().similar(true).create(path).unwrap();
    let insert = |id: usize| {
        let document = database.document(id as u64, &texts[id]).unwrap();
        Change::Insert(document)
    };
    let ids: Vec<usize> = (0..texts.len()).collect();
    for (half, ids) in ids.chunks(texts.len().div_ceil(2).max(1)).enumerate() {
        for ids in ids.chunks(1000) {
            database.apply(ids.iter().copied().map(insert)).unwrap();
        }
        if half == 0 {
            database.merge().unwrap();
        }
    }
    database
}

fn similar(database: &Database, text: &str, decision: Decision) -> Vec<u64> {
    let query = database.text_query(text).unwrap().decision(decision);
    let found = database.snapshot().unwrap().similar(&query).unwrap();
    let mut ids: Vec<u64> = found.iter().map(|found| found.id.0).collect();
    ids.sort_unstable();
    ids
}

/// The answer of a plain comparison with all texts.
fn expected(texts: &[String], text: &str, decision: Decision) -> Vec<u64> {
    let normaliser = Normaliser::new();
    let (likeness, weights) = (Likeness::default(), Weights::builtin());
    let belongs = |other: &String| {
        Resemblance::new(&normaliser, text, other).is_enough(&likeness)
            && (decision == Decision::Alike
                || Containment::new(&normaliser, weights, text, other)
                    .verdict
                    .is_removable())
    };
    let ids = (0..).zip(texts);
    ids.filter(|(_, other)| belongs(other))
        .map(|(id, _)| id)
        .collect()
}

/// Asserts that a query takes time in proportion to the texts.
#[track_caller]
fn assert_linear_time(folder: &tempfile::TempDir, texts: &[String], query: &str) {
    let few = database(folder, "few", &texts[..texts.len() / TIMES]);
    let many = database(folder, "many", texts);
    let time = |database: &Database, times: usize| {
        let started = Instant::now();
        for _ in 0..times {
            similar(database, query, Decision::Contained);
        }
        started.elapsed()
    };
    let (mut of_few, mut of_many) = (Duration::MAX, Duration::MAX);
    for _ in 0..MAX_TURNS {
        of_few = of_few.min(time(&few, TIMES));
        of_many = of_many.min(time(&many, 1));
        if of_many <= of_few * MAX_RATIO {
            return;
        }
    }
    panic!(
        "{of_many:?} among {} texts, {of_few:?} in {TIMES} queries among as many fewer",
        texts.len()
    );
}

/// Inserts a text unless a stored text says the same or more.
fn insert_unless_similar(database: &Database, id: usize, text: &str) -> Outcome {
    let document = database.document(DocId(id as u64), text).unwrap();
    database
        .insert_unless_similar(document, SimilarRule::default())
        .unwrap()
}

fn copies_are_all_found(count: usize) {
    let folder = folder();
    let text = "The ferry to the islands was cancelled because of the fog.";
    let spelled = |id| {
        if id % 2 == 0 {
            text.to_owned()
        } else {
            text.to_uppercase()
        }
    };
    let texts: Vec<String> = (0..count).map(spelled).collect();
    assert_linear_time(&folder, &texts, text);
    let mut database = database(&folder, "copies", &texts);
    let all: Vec<u64> = (0..count as u64).collect();
    let edited = "The ferry to the islands was cancelled because of fog";
    for query in [text, edited] {
        assert_eq!(similar(&database, query, Decision::Alike), all);
        assert_eq!(similar(&database, query, Decision::Contained), all);
    }
    let refused = insert_unless_similar(&database, count, text);
    assert!(matches!(refused, Outcome::Similar(found) if found.id == DocId(0)));
    let other = "Seven captains sold orange lanterns at the winter market";
    assert!(insert_unless_similar(&database, count, other).is_inserted());
    assert_eq!(
        similar(&database, other, Decision::Contained),
        [count as u64]
    );
    assert_sound(&mut database);
}

#[test]
fn copies_of_a_text_are_all_found_in_linear_time() {
    copies_are_all_found(1_000);
}

#[test]
#[ignore = "takes minutes"]
fn hundred_thousand_copies_of_a_text_are_all_found_in_linear_time() {
    copies_are_all_found(100_000);
}

fn texts_of_a_template_are_kept(count: usize) {
    let folder = folder();
    let mut draws = SplitMix(29);
    let text = |_| {
        let name: String = (0..9)
            .map(|_| char::from(b'a' + draws.below(26) as u8))
            .collect();
        format!("{name} integration component for the Plone framework")
    };
    let texts: Vec<String> = (0..count).map(text).collect();
    assert_linear_time(&folder, &texts, &texts[0]);
    let mut database = database(&folder, "template", &[]);
    for (id, text) in texts.iter().enumerate() {
        let outcome = insert_unless_similar(&database, id, text);
        assert!(outcome.is_inserted(), "{text}: {outcome:?}");
        if id == count / 2 {
            database.merge().unwrap();
        }
    }
    for query in texts.iter().step_by(count / 5) {
        for decision in [Decision::Alike, Decision::Contained] {
            let found = similar(&database, query, decision);
            assert_eq!(found, expected(&texts, query, decision));
        }
    }
    assert_sound(&mut database);
}

#[test]
fn texts_of_a_template_are_kept_and_compared_in_linear_time() {
    texts_of_a_template_are_kept(160);
}

#[test]
#[ignore = "takes minutes"]
fn thousands_of_texts_of_a_template_are_kept_and_compared_in_linear_time() {
    texts_of_a_template_are_kept(4_000);
}

/// Texts of the same words in other orders have nearly the same shingles, and so the same minima.
/// No two of them are alike.
fn texts_that_share_minima_are_told_apart(count: usize) {
    let folder = folder();
    let mut draws = SplitMix(30);
    let text = |_| {
        let mut words = FEW_WORDS.to_vec();
        for at in (1..words.len()).rev() {
            words.swap(at, draws.below(at as u64 + 1) as usize);
        }
        words.join(" ")
    };
    let texts: Vec<String> = (0..count).map(text).collect();
    assert_linear_time(&folder, &texts, &texts[1]);
    let mut database = database(&folder, "forest", &texts);
    for query in texts.iter().step_by(count / 5) {
        for edited in [query.clone(), query.replace("captain ", "")] {
            let found = similar(&database, &edited, Decision::Alike);
            assert_eq!(found, expected(&texts, &edited, Decision::Alike));
            assert!(!found.is_empty());
        }
    }
    assert_sound(&mut database);
}

#[test]
fn texts_that_share_minima_are_told_apart_in_linear_time() {
    texts_that_share_minima_are_told_apart(240);
}

#[test]
#[ignore = "takes minutes"]
fn twenty_thousand_texts_that_share_minima_are_told_apart_in_linear_time() {
    texts_that_share_minima_are_told_apart(20_000);
}

/// A long text beside short ones: both are found, and the long text is stored once.
fn long_text_is_found(bytes: usize) {
    let folder = folder();
    let mut draws = SplitMix(31);
    let mut long = String::new();
    while long.len() < bytes {
        long += FEW_WORDS[draws.below(FEW_WORDS.len() as u64) as usize];
        long += &draws.below(100_000).to_string();
        long.push(' ');
    }
    let short: String = long.chars().take(200).collect();
    let texts = [short.clone(), long.clone()];
    let mut database = database(&folder, "long", &texts);
    let edited = format!("{} and the end of it", long.replacen("river", "water", 20));
    for _ in 0..2 {
        assert_eq!(similar(&database, &edited, Decision::Alike), [1]);
        assert_eq!(similar(&database, &short, Decision::Alike), [0]);
        let copy = insert_unless_similar(&database, 2, &long.to_uppercase());
        assert!(matches!(copy, Outcome::Similar(found) if found.id == DocId(1)));
        database.merge().unwrap();
    }
    assert_sound(&mut database);
}

#[test]
fn long_text_is_found_beside_short_ones() {
    long_text_is_found(200_000);
}

#[test]
#[ignore = "takes minutes"]
fn text_of_ten_megabytes_is_found_beside_short_ones() {
    long_text_is_found(10 << 20);
}
