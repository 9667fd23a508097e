//! The decision by what would be lost: a text is refused only if a stored text says it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use simdb::clusters::{Clustering, ClustersEvent};
use simdb::containment::{Containment, Equality, Verdict, Weights};
use simdb::frames::{Frame, Frames};
use simdb::similarity::Likeness;
use simdb::{
    Change, Database, Decision, DocId, Document, Fingerprint, Normaliser, OnExtended, Outcome,
    Similar, SimilarRule,
};
use test_support::{INSERTED, builder, folder};

const FERRY: &str =
    "The ferry to the islands was cancelled this morning due to heavy fog. Buses are late.";
const NOT: &str =
    "The ferry to the islands was not cancelled this morning due to heavy fog. Buses are late.";
const SAME: &str =
    "the Ferry to the island was canceled this morning due to a heavy fog! Buses are late!";
const LESS: &str = "The ferry to the islands was cancelled this morning due to heavy fog.";
const MORE: &str = "The ferry to the islands was cancelled this morning due to heavy fog. Buses are late. It lifted at 7:30.";

fn new_database(folder: &tempfile::TempDir) -> Database {
    let path = folder.path().join("docs.simdb");
    builder().similar(true).create(path).unwrap()
}

fn rule(on_extended: OnExtended) -> SimilarRule {
    SimilarRule {
        on_extended,
        ..SimilarRule::default()
    }
}

fn change(database: &Database, id: u64, text: &str, on_extended: OnExtended) -> Change {
    Change::InsertUnlessSimilar {
        document: database.document(id, text).unwrap(),
        rule: rule(on_extended),
    }
}

fn containment(a: &str, b: &str) -> Containment {
    thread_local! {
        static NORMALISER: Normaliser = Normaliser::new();
    }
    NORMALISER.with(|normaliser| Containment::new(normaliser, Weights::builtin(), a, b))
}

/// A way to apply changes.
type Apply = fn(&Database, Vec<Change>) -> Vec<Outcome>;

const WAYS: [(&str, Apply); 5] = [
    ("one by one", |database, changes| {
        let one = |change| database.apply_one(change).unwrap();
        changes.into_iter().map(one).collect()
    }),
    ("at once", |database, changes| {
        database.apply(changes).unwrap()
    }),
    ("queue", |database, changes| {
        let submit = |change| database.submit([change]).unwrap();
        let tickets: Vec<_> = changes.into_iter().map(submit).collect();
        let wait = |ticket: simdb::Ticket| ticket.wait().unwrap().remove(0);
        tickets.into_iter().map(wait).collect()
    }),
    ("transaction", |database, changes| {
        let mut transaction = database.begin().unwrap();
        let outcomes = transaction.apply(changes).unwrap();
        transaction.commit().unwrap();
        outcomes
    }),
    ("merged after each", |database, changes| {
        let one = |change| {
            let outcome = database.apply_one(change).unwrap();
            database.merge().unwrap();
            outcome
        };
        changes.into_iter().map(one).collect()
    }),
];

#[test]
fn texts_in_known_frames_cover_each_other_and_name_the_frames() {
    let text = "The Northern Herald brings the islands together.";
    let frame = Frame {
        text: text.into(),
        group: 0,
        documents: 10,
    };
    let [framed, framed_not] = [FERRY, NOT].map(|story| format!("{text}\n{story}"));
    for (way, apply) in WAYS {
        for order in [[FERRY, &framed], [&framed, FERRY]] {
            let folder = folder();
            let database = new_database(&folder);
            database
                .set_frames(Frames::from_iter([frame.clone()]))
                .unwrap();
            let texts = [order[0], order[1], &framed_not];
            let change = |(id, text)| change(&database, id, text, OnExtended::KeepBoth);
            let outcomes = apply(&database, (1..).zip(texts).map(change).collect());
            assert_eq!([&outcomes[0], &outcomes[2]], [&INSERTED; 2], "{way}");
            let Outcome::Similar(found) = &outcomes[1] else {
                panic!("{way}: {outcomes:?}");
            };
            let containment = found.containment.as_deref().unwrap();
            assert_eq!(containment.verdict, Verdict::Same, "{way}");
            let named = &containment.forgiven;
            assert!(named.iter().any(|each| each.class == Equality::Frame
                && (each.a == text) == (order[1] == framed)
                && (each.b == text) == (order[0] == framed)));

            // Without the frame the texts are compared whole.
            database.set_frames(Frames::default()).unwrap();
            let query = database.text_query(order[1]).unwrap();
            let similar = database.snapshot().unwrap().similar(&query).unwrap();
            let expected = match order[1] == framed {
                true => Verdict::BInA,
                false => Verdict::AInB,
            };
            assert_eq!(similar[0].verdict(), Some(expected), "{way}");
        }
    }
}

#[test]
fn text_is_refused_only_if_a_stored_text_covers_it() {
    for (way, apply) in WAYS {
        let folder = folder();
        let database = new_database(&folder);
        let texts = [FERRY, NOT, SAME, LESS, MORE];
        let changes = (1..).zip(texts);
        let changes = changes.map(|(id, text)| change(&database, id, text, OnExtended::KeepBoth));
        let outcomes = apply(&database, changes.collect());
        assert_eq!(outcomes[0], INSERTED, "{way}");
        assert_eq!(outcomes[1], INSERTED, "{way}");
        let verdict = |outcome: &Outcome| match outcome {
            Outcome::Similar(of) => (of.id.0, of.verdict()),
            other => panic!("{way}: {other:?}"),
        };
        assert_eq!(verdict(&outcomes[2]), (1, Some(Verdict::Same)), "{way}");
        assert_eq!(verdict(&outcomes[3]), (1, Some(Verdict::AInB)), "{way}");
        let Outcome::Extends(of) = &outcomes[4] else {
            panic!("{way}: {:?}", outcomes[4])
        };
        let missing = &of.containment.as_ref().unwrap().missing_in_b;
        let words: Vec<_> = missing.iter().map(|missing| &missing.word[..]).collect();
        assert_eq!(
            (of.id.0, words),
            (1, vec!["it", "lifted", "at", "7:30"]),
            "{way}"
        );
        assert!(outcomes[4].is_inserted());
        assert_eq!(database.len().unwrap(), 3, "{way}");
    }
}

#[test]
fn extended_documents_are_replaced_in_one_change() {
    for (way, apply) in WAYS {
        let folder = folder();
        let database = new_database(&folder);
        // Neither says what the other says, and the third text says both.
        let texts = [
            "The ferry to the islands was cancelled due to heavy fog. The harbour is closed.",
            "The ferry to the islands was cancelled due to heavy fog. Buses are late.",
            "The ferry to the islands was cancelled due to heavy fog. The harbour is closed. Buses are late.",
            "The ferry to the islands was cancelled due to heavy fog.",
        ];
        let changes = (1..).zip(texts);
        let changes = changes.map(|(id, text)| change(&database, id, text, OnExtended::Replace));
        let outcomes = apply(&database, changes.collect());
        assert_eq!(outcomes[..2], [INSERTED, INSERTED], "{way}");
        let Outcome::Supersedes(removed) = &outcomes[2] else {
            panic!("{way}: {:?}", outcomes[2])
        };
        let mut ids: Vec<_> = removed.iter().map(|removed| removed.id.0).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2], "{way}");
        assert!(matches!(&outcomes[3], Outcome::Similar(of) if of.id == DocId(3)));
        let stored: Vec<_> = database.snapshot().unwrap().documents().collect();
        assert_eq!(stored.len(), 1, "{way}");
        assert_eq!(stored[0].as_ref().unwrap().id, DocId(3), "{way}");
    }
}

#[test]
fn dropped_transaction_replaces_nothing() {
    let folder = folder();
    let database = new_database(&folder);
    test_support::insert_text(&database, 1, FERRY);
    let mut transaction = database.begin().unwrap();
    let outcome = transaction.apply_one(change(&database, 2, MORE, OnExtended::Replace));
    assert!(matches!(outcome.unwrap(), Outcome::Supersedes(_)));
    drop(transaction);
    assert_eq!(database.len().unwrap(), 1);
    assert!(database.get(DocId(1)).unwrap().is_some());
}

#[test]
fn query_answers_texts_that_contain_or_are_contained() {
    let folder = folder();
    let database = new_database(&folder);
    for (id, text) in (1..).zip([LESS, NOT, MORE, SAME, FERRY]) {
        test_support::insert_text(&database, id, text);
    }
    let found = database.similar_text(FERRY).unwrap();
    let found: Vec<_> = found.iter().map(|f| (f.id.0, f.verdict())).collect();
    let expected = [
        (5, Some(Verdict::Same)),
        (4, Some(Verdict::Same)),
        (3, Some(Verdict::AInB)),
        (1, Some(Verdict::BInA)),
    ];
    assert_eq!(found, expected);
    let query = database.text_query(FERRY).unwrap();
    let alike = query.decision(Decision::Alike);
    let alike = database.snapshot().unwrap().similar(&alike).unwrap();
    assert_eq!(alike.len(), 5);
    assert!(alike.iter().all(|found| found.containment.is_none()));
}

#[test]
fn member_of_cluster_is_contained_in_its_keeper() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().keep_texts(true).create(path).unwrap();
    for (id, text) in (1..).zip([FERRY, NOT, SAME, LESS, MORE]) {
        let document = Document {
            text: Some(text.to_owned()),
            ..Document::new(id, Fingerprint::from_bits(7))
        };
        assert!(database.insert(document).unwrap().is_inserted());
    }
    let members = |decision| {
        let mut clusters = Vec::new();
        let clustering = Clustering {
            likeness: Some(Likeness::default()),
            decision,
            ..Clustering::default()
        };
        let snapshot = database.snapshot().unwrap();
        let visit = |event: ClustersEvent<'_>| {
            if let ClustersEvent::Cluster(cluster) = event {
                clusters.push(cluster.members.iter().map(|m| m.id.0).collect::<Vec<_>>());
            }
            std::ops::ControlFlow::Continue(())
        };
        snapshot.clusters(&clustering, visit).unwrap();
        clusters
    };
    assert_eq!(members(Decision::Contained), [vec![1, 3, 4]]);
    assert_eq!(members(Decision::Alike), [vec![1, 2, 3, 4, 5]]);
}

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "", "", "", "the", "not", "heavy", "5", "6", "simple", "northern", "harbour", "fogs", "Ann",
    ]);
    prop::collection::vec(word, 7).prop_map(|words| {
        let frame = "ferry to islands cancelled this morning fog".split(' ');
        let both = words.into_iter().zip(frame);
        let both: Vec<_> = both.flat_map(|(word, frame)| [word, frame]).collect();
        both.join(" ")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A text is refused or removed only if a text that is stored at that time contains it. With
    /// `Replace`, no stored text contains another stored text that is nearly equal: the search for
    /// others misses a few of them.
    #[test]
    fn nothing_is_lost(
        texts in prop::collection::vec(text(), 1..30),
        groups in 1..8_usize,
        replace in any::<bool>(),
    ) {
        let folder = folder();
        let database = new_database(&folder);
        let on_extended = if replace { OnExtended::Replace } else { OnExtended::KeepBoth };
        let mut kept: BTreeMap<u64, &str> = BTreeMap::new();
        let numbered: Vec<(u64, &String)> = (1..).zip(&texts).collect();
        for group in numbered.chunks(groups) {
            let changes = group.iter();
            let changes = changes.map(|(id, text)| change(&database, *id, text, on_extended));
            let outcomes = database.apply(changes.collect::<Vec<_>>()).unwrap();
            for ((id, text), outcome) in group.iter().zip(outcomes) {
                match &outcome {
                    Outcome::Similar(of) => {
                        let found = containment(text, kept[&of.id.0]);
                        prop_assert!(found.verdict.is_a_in_b(), "{} {:?}", text, of);
                        prop_assert_eq!(Some(&found), of.containment.as_deref());
                        continue;
                    }
                    Outcome::Extends(of) => {
                        let found = containment(text, kept[&of.id.0]);
                        prop_assert_eq!(found.verdict, Verdict::BInA);
                    }
                    Outcome::Supersedes(removed) => {
                        for of in removed {
                            let text_of = kept.remove(&of.id.0).unwrap();
                            prop_assert_eq!(containment(text, text_of).verdict, Verdict::BInA);
                        }
                    }
                    other => prop_assert!(other.is_inserted(), "{:?}", other),
                }
                kept.insert(*id, text);
            }
        }
        let snapshot = database.snapshot().unwrap();
        let stored: Vec<_> = snapshot.documents().map(|d| d.unwrap().id.0).collect();
        prop_assert_eq!(stored, kept.keys().copied().collect::<Vec<_>>());
        if replace {
            for (id, text) in &kept {
                let found = database.similar_text(text).unwrap();
                let is_far = |found: &Similar| found.resemblance.edit_similarity < Some(0.9);
                let may_stay = |found: &Similar| found.id.0 == *id || is_far(found);
                prop_assert!(found.iter().all(may_stay), "{:?}", found);
            }
        }
    }
}
