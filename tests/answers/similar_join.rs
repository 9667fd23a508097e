//! All texts compared with each other: pairs and stars equal a plain comparison of all texts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Duration;

use simdb::clusters::{ClustersEvent, Keep};
use simdb::containment::{Containment, Verdict, Weights};
use simdb::join::{Checkpoints, Groups, JoinCheckpoint, SimilarJoin, SimilarPairsEvent};
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Database, Decision, DocId, Error, Normaliser};
use test_support::{SplitMix, builder, folder};

/// Quotes and news.
pub fn real_texts() -> impl Iterator<Item = String> {
    let file = include_str!("../data/quotes_and_news.jsonl");
    file.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["text"].as_str().map(str::to_owned)
    })
}

/// Real texts of one line, with copies and edits of some of them. Ids are in no order of lengths.
fn texts() -> BTreeMap<u64, String> {
    let sources: Vec<String> = real_texts()
        .filter(|text| text.len() < 200)
        .take(60)
        .collect();
    let mut sequence = SplitMix(7);
    let mut all = BTreeMap::new();
    for (number, text) in (0..).zip(&sources) {
        // The ids of a source and of its edits are far apart.
        let id = |edit: u64| number * 7919 % 1009 + edit * 2000;
        all.insert(id(0), text.clone());
        let words: Vec<&str> = text.split_inclusive([' ', '，']).collect();
        match number % 6 {
            0 => drop(all.insert(id(1), text.clone())),
            1 => drop(all.insert(id(1), text.to_uppercase())),
            2 if words.len() > 3 => {
                let lost = sequence.below(words.len() as u64) as usize;
                let kept = words.iter().enumerate().filter(|(at, _)| *at != lost);
                all.insert(id(1), kept.map(|(_, word)| *word).collect());
            }
            3 => drop(all.insert(
                id(1),
                format!("{text} Nobody had expected the lighthouse keeper."),
            )),
            4 => {
                all.insert(id(1), format!("{text}!!"));
                all.insert(id(2), format!("{text} (again)"));
                all.insert(id(3), text.clone());
            }
            _ => {}
        }
    }
    for id in 5000..5004 {
        all.insert(id, "+1".to_owned());
    }
    all
}

/// A new database with texts by id.
pub fn database(folder: &tempfile::TempDir, texts: &BTreeMap<u64, String>) -> Database {
    let database = builder().keep_texts(true);
    let database = database.create(folder.path().join("docs.simdb")).unwrap();
    let documents = texts
        .iter()
        .map(|(id, text)| database.document(*id, text).unwrap());
    let changes: Vec<_> = documents.map(simdb::Change::Insert).collect();
    database.apply(changes).unwrap();
    database
}

/// The verdict about two texts that a join by containment compares, and their resemblance.
fn compare(normaliser: &Normaliser, a: &str, b: &str) -> Option<(Verdict, Resemblance)> {
    let resemblance = Resemblance::new(normaliser, a, b);
    let least = Decision::Contained.join_likeness();
    resemblance.is_enough(&least).then(|| {
        let found = Containment::new(normaliser, Weights::builtin(), a, b);
        (found.verdict, resemblance)
    })
}

/// The group of a document: the group of its source, or one of two others.
fn group(id: DocId) -> u64 {
    id.0 / 2000 % 2
}

fn join(decision: Decision, memory_bytes: usize) -> SimilarJoin<'static> {
    let mut join = SimilarJoin::default();
    join.decision = decision;
    join.memory_bytes = memory_bytes;
    join
}

/// The pairs of documents, with the verdict of the smaller id; copies are expanded.
fn pairs_of(
    database: &Database,
    join: &SimilarJoin<'_>,
    texts: &BTreeMap<u64, String>,
) -> BTreeMap<(u64, u64), Option<Verdict>> {
    let mut found = BTreeMap::new();
    let snapshot = database.snapshot().unwrap();
    let pairs = snapshot.similar_pairs(join, |event| {
        match event {
            SimilarPairsEvent::Copies(documents) => {
                assert!(documents.is_sorted_by(|a, b| a < b));
                let text = |id: &DocId| &texts[&id.0];
                assert!(
                    documents
                        .windows(2)
                        .all(|two| text(&two[0]) == text(&two[1]))
                );
            }
            SimilarPairsEvent::Pairs(pairs) => {
                for pair in pairs {
                    assert!(pair.a < pair.b);
                    let again = found.insert((pair.a.0, pair.b.0), pair.verdict);
                    assert!(again.is_none(), "{pair:?}");
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    pairs.unwrap();
    found
}

#[test]
fn similar_pairs_equal_a_plain_comparison_in_parts_of_any_size() {
    let (folder, texts) = (folder(), texts());
    let database = database(&folder, &texts);
    let normaliser = Normaliser::new();
    // Of equal texts, pairs name the first.
    let mut firsts: BTreeMap<&str, u64> = BTreeMap::new();
    for (id, text) in &texts {
        firsts.entry(text).or_insert(*id);
    }
    let firsts: Vec<(u64, &str)> = firsts.into_iter().map(|(text, id)| (id, text)).collect();
    let mut expected = BTreeMap::new();
    for (at, (a, text)) in firsts.iter().enumerate() {
        for (b, other) in &firsts[at + 1..] {
            if let Some((verdict, resemblance)) = compare(&normaliser, text, other) {
                let verdict = if a < b { verdict } else { verdict.swapped() };
                expected.insert((*a.min(b), *a.max(b)), (verdict, resemblance));
            }
        }
    }
    for memory_bytes in [1 << 14, 1 << 29] {
        for decision in [Decision::Contained, Decision::Alike] {
            let is_alike = decision == Decision::Alike;
            let found = pairs_of(&database, &join(decision, memory_bytes), &texts);
            for (pair, verdict) in &found {
                let (expected, resemblance) = expected[pair];
                assert_eq!(*verdict, (!is_alike).then_some(expected), "{pair:?}");
                assert!(resemblance.is_enough(&decision.join_likeness()));
            }
            for (pair, (verdict, resemblance)) in &expected {
                let is_wanted = is_alike || verdict.is_removable();
                // The index finds nearly all, and all above 0.75.
                assert!(
                    !is_wanted || resemblance.score() < 0.75 || found.contains_key(pair),
                    "{pair:?}"
                );
            }
            assert!(found.len() > 30);
        }
    }
}

/// The documents of each star, with the keeper first.
fn stars_of(database: &Database, join: &SimilarJoin<'_>, keep: Keep) -> Vec<Vec<u64>> {
    let mut stars = Vec::new();
    let snapshot = database.snapshot().unwrap();
    let clusters = snapshot.similar_clusters(join, keep, |event| {
        if let ClustersEvent::Cluster(cluster) = event {
            let members = cluster.members.iter().map(|member| member.id.0);
            let others = members.filter(|id| *id != cluster.keeper.0);
            stars.push(std::iter::once(cluster.keeper.0).chain(others).collect());
        }
        ControlFlow::Continue(())
    });
    clusters.unwrap();
    stars
}

/// The documents that stay by the plain rule, if all texts are compared.
fn kept_by_rule(
    texts: &BTreeMap<u64, String>,
    may_compare: impl Fn(u64, u64) -> bool,
) -> BTreeSet<u64> {
    let normaliser = Normaliser::new();
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
    let mut order: Vec<(&u64, &String)> = texts.iter().collect();
    order.sort_by_key(|(id, text)| (std::cmp::Reverse(letters(text)), **id));
    let mut kept: BTreeSet<u64> = BTreeSet::new();
    for (id, text) in order {
        let says = |other: &u64| {
            let other_text = &texts[other];
            let is_said = || {
                let found = compare(&normaliser, text, other_text);
                found.is_some_and(|(verdict, _)| verdict.is_a_in_b())
            };
            may_compare(*id, *other) && (text == other_text || is_said())
        };
        if !kept.iter().any(says) {
            kept.insert(*id);
        }
    }
    kept
}

#[test]
fn each_removed_text_is_covered_by_its_keeper_and_the_rest_stays() {
    let (folder, texts) = (folder(), texts());
    let database = database(&folder, &texts);
    let normaliser = Normaliser::new();
    type MayCompare = fn(u64, u64) -> bool;
    let rules: [(Groups<'static>, MayCompare); 2] = [
        (Groups::All, |_, _| true),
        (Groups::Within(&group), |a, b| {
            group(DocId(a)) == group(DocId(b))
        }),
    ];
    for (groups, may_compare) in rules {
        let kept = kept_by_rule(&texts, may_compare);
        for (memory_bytes, keep) in [(1 << 14, Keep::First), (1 << 29, Keep::Longest)] {
            let mut join = join(Decision::Contained, memory_bytes);
            join.groups = groups;
            let stars = stars_of(&database, &join, keep);
            let mut removed = BTreeSet::new();
            for star in &stars {
                let keeper = &texts[&star[0]];
                for id in &star[1..] {
                    assert!(removed.insert(*id), "{id} is removed twice");
                    assert!(may_compare(star[0], *id));
                    let text = &texts[id];
                    let found = compare(&normaliser, text, keeper);
                    let is_said = found.is_some_and(|(verdict, _)| verdict.is_a_in_b());
                    assert!(text == keeper || is_said, "{text:?} {keeper:?}");
                }
            }
            assert!(stars.iter().all(|star| !removed.contains(&star[0])));
            assert!(stars.is_sorted_by_key(|star| star.iter().min()));
            // The keeper of a star may be another of its texts, so numbers are compared.
            assert_eq!(texts.len() - removed.len(), kept.len());
            assert!(removed.len() > 20);
        }
    }
}

/// The stars, and the bytes of a checkpoint after each batch.
fn stars_and_checkpoints(
    database: &Database,
    join: &SimilarJoin<'_>,
) -> (Vec<Vec<u64>>, Vec<Vec<u8>>) {
    let checkpoints = Mutex::new(Vec::new());
    let save = |checkpoint: &JoinCheckpoint| {
        let mut bytes = Vec::new();
        checkpoint.write_to(&mut bytes).unwrap();
        checkpoints.lock().unwrap().push(bytes);
        ControlFlow::Continue(())
    };
    let mut join = join.clone();
    join.checkpoints = Some(Checkpoints {
        every: Duration::ZERO,
        save: &save,
    });
    let stars = stars_of(database, &join, Keep::First);
    (stars, checkpoints.into_inner().unwrap())
}

#[test]
fn join_continues_from_each_checkpoint_as_if_it_had_not_ended() {
    let (folder, texts) = (folder(), texts());
    let database = database(&folder, &texts);
    let rules = [
        Groups::All,
        Groups::Within(&group as &(dyn Fn(DocId) -> u64 + Sync)),
        Groups::Across(&group),
    ];
    for groups in rules {
        for (memory_bytes, least) in [(1 << 14, 30), (1 << 29, 1)] {
            let mut join = join(Decision::Contained, memory_bytes);
            join.groups = groups;
            let (expected, checkpoints) = stars_and_checkpoints(&database, &join);
            assert!(checkpoints.len() >= least, "{}", checkpoints.len());
            let mut share = 0.0;
            // Some six of the checkpoints, and the last.
            let step = checkpoints.len().div_ceil(6);
            let is_tried = |at: usize| at.is_multiple_of(step) || at + 1 == checkpoints.len();
            for (at, bytes) in checkpoints.iter().enumerate() {
                if !is_tried(at) {
                    continue;
                }
                let checkpoint = JoinCheckpoint::from_bytes(bytes).unwrap();
                assert!(share <= checkpoint.share());
                share = checkpoint.share();
                let mut rest = join.clone();
                rest.resume = Some(&checkpoint);
                let (stars, later) = stars_and_checkpoints(&database, &rest);
                assert_eq!(stars, expected);
                assert!(later == checkpoints[at + 1..]);
            }
            assert_eq!(share, 1.0);
        }
    }
}

#[test]
fn checkpoint_of_other_texts_or_rules_is_refused() {
    let (folder, mut texts) = (folder(), texts());
    let database = database(&folder, &texts);
    let join = join(Decision::Contained, 1 << 29);
    let (_, checkpoints) = stars_and_checkpoints(&database, &join);
    let checkpoint = JoinCheckpoint::from_bytes(&checkpoints[0]).unwrap();
    let outcome = |database: &Database, join: &SimilarJoin<'_>| {
        let mut join = join.clone();
        join.resume = Some(&checkpoint);
        let go_on = |_: ClustersEvent<'_>| ControlFlow::Continue(());
        let snapshot = database.snapshot().unwrap();
        snapshot.similar_clusters(&join, Keep::First, go_on)
    };
    assert!(outcome(&database, &join).is_ok());
    let mut others = [join.clone(), join.clone(), join.clone()];
    others[0].memory_bytes /= 2;
    others[1].contained_up_to = 2.0;
    others[2].groups = Groups::Within(&group);
    for other in &others {
        let refused = outcome(&database, other);
        assert!(
            matches!(refused, Err(Error::OtherCheckpoint { .. })),
            "{refused:?}"
        );
    }
    texts.insert(5000, "+2".to_owned());
    let other = self::folder();
    let refused = outcome(&self::database(&other, &texts), &join);
    assert!(
        matches!(refused, Err(Error::OtherCheckpoint { .. })),
        "{refused:?}"
    );
}

#[test]
fn first_document_that_covers_all_is_kept() {
    let texts = [
        (
            1,
            "The ferry to Oban was cancelled on Friday because of the storm.",
        ),
        (
            2,
            "THE FERRY TO OBAN WAS CANCELLED ON FRIDAY BECAUSE OF THE STORM",
        ),
        (
            3,
            "Ferry to Oban was cancelled on Friday, because of the storm!",
        ),
        (
            4,
            "The bakery beside the station opens at six and sells rye bread.",
        ),
        (
            5,
            "The bakery beside the station opens at six and sells rye bread. Its coffee is good.",
        ),
        (
            6,
            "The bakery beside the station opens at seven and sells rye bread.",
        ),
    ];
    let texts = texts.into_iter().map(|(id, text)| (id, text.to_owned()));
    let (folder, texts) = (folder(), texts.collect());
    let database = database(&folder, &texts);
    let join = SimilarJoin::default();
    assert_eq!(
        stars_of(&database, &join, Keep::First),
        [vec![1, 2, 3], vec![5, 4]]
    );
    let mut kept = Vec::new();
    let snapshot = database.snapshot().unwrap();
    let by_score = snapshot.similar_clusters_by_score(
        &join,
        |id| id.0 as f64,
        |event| {
            if let ClustersEvent::Cluster(cluster) = event {
                kept.push(cluster.keeper.0);
            }
            ControlFlow::Continue(())
        },
    );
    by_score.unwrap();
    assert_eq!(kept, [3, 5]);
}

#[test]
fn across_compares_different_groups_only() {
    let text = "The ferry to Oban was cancelled on Friday because of the storm.".to_owned();
    // Groups 0, 0, 1, 0, 1.
    let ids = [1, 2, 2001, 4002, 6003];
    let (folder, texts) = (folder(), ids.map(|id| (id, text.clone())).into());
    let database = database(&folder, &texts);
    let mut join = SimilarJoin::default();
    join.groups = Groups::Across(&group);
    // All copies of group 0 stay; the copies of group 1 are members of the first.
    assert_eq!(
        stars_of(&database, &join, Keep::First),
        [vec![1, 2001, 6003]]
    );
    join.groups = Groups::Within(&group);
    let within = stars_of(&database, &join, Keep::First);
    assert_eq!(within, [vec![1, 2, 4002], vec![2001, 6003]]);
}

#[test]
fn join_needs_texts_and_sound_thresholds_and_can_be_interrupted() {
    let folder = folder();
    let without_texts = builder().create(folder.path().join("bare.simdb")).unwrap();
    let snapshot = without_texts.snapshot().unwrap();
    let go_on = |_: ClustersEvent<'_>| ControlFlow::Continue(());
    let join = SimilarJoin::default();
    let refused = snapshot.similar_clusters(&join, Keep::First, go_on);
    assert!(
        matches!(refused, Err(Error::KeepsNoTexts { .. })),
        "{refused:?}"
    );
    let refused = snapshot.similar_pairs(&join, |_| ControlFlow::Continue(()));
    assert!(
        matches!(refused, Err(Error::KeepsNoTexts { .. })),
        "{refused:?}"
    );

    let database = database(&folder, &texts());
    let snapshot = database.snapshot().unwrap();
    let refused = snapshot.similar_clusters(&join, Keep::Oldest, go_on);
    assert!(
        matches!(refused, Err(Error::NoArrivals { .. })),
        "{refused:?}"
    );
    let mut bad = SimilarJoin::default();
    bad.likeness = Some(Likeness {
        jaccard: f64::NAN,
        ..Likeness::default()
    });
    let refused = snapshot.similar_clusters(&bad, Keep::First, go_on);
    assert!(
        matches!(refused, Err(Error::InvalidLikeness { .. })),
        "{refused:?}"
    );
    let ended = snapshot.similar_clusters(&join, Keep::First, |_| ControlFlow::Break(()));
    assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
    let ended = snapshot.similar_pairs(&join, |_| ControlFlow::Break(()));
    assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
    let snapshot = snapshot.on_progress(|_| ControlFlow::Break(()));
    let ended = snapshot.similar_clusters(&join, Keep::First, go_on);
    assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
}

#[test]
fn texts_of_a_batch_take_at_most_a_64th_of_the_memory() {
    let folder = folder();
    let common: String = (0..100).map(|number| format!("word{number} ")).collect();
    let texts: BTreeMap<u64, String> = (0..40).map(|id| (id, format!("{common}{id:04}"))).collect();
    let database = database(&folder, &texts);
    // Room for two texts in a batch.
    let join = join(Decision::Alike, 64 * 2 * texts[&0].len());
    let mut events = Vec::new();
    let snapshot = database.snapshot().unwrap();
    let pairs = snapshot.similar_pairs(&join, |event| {
        if let SimilarPairsEvent::Pairs(pairs) = event {
            events.push(pairs.len());
        }
        ControlFlow::Continue(())
    });
    pairs.unwrap();
    assert_eq!(events.iter().sum::<usize>(), 40 * 39 / 2);
    // An event has the pairs of a batch, each of a text of the batch with a text before it.
    assert!(events.iter().all(|pairs| *pairs <= 2 * 39), "{events:?}");
}
