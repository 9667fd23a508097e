//! A group of changes is decided like the same changes one by one.

use std::time::Duration;

use proptest::prelude::*;
use simdb::{
    Change, Database, Decision, DocId, Document, Fingerprint, OnExtended, Outcome, Retention,
    SimilarRule, Timestamp,
};
use test_support::{assert_sound, builder, folder};

/// Few ids and few centres, so that most changes meet earlier ones.
const IDS: u64 = 24;
const CENTRES: [u64; 3] = [0, u64::MAX, 0x0123_4567_89ab_cdef];
const WINDOW_MS: u64 = 1_000;

/// Texts 0 to 2 are similar to each other, so are 3 and 4, and the last two.
const TEXTS: [&str; 9] = [
    "The ferry to the islands was cancelled this morning due to heavy fog.",
    "The ferries to the islands were cancelled this morning because of fog.",
    "the FERRY to the islands was cancelled this morning, due to heavy fog!",
    "Three grey cats sat on the warm stove and would not be moved by anyone.",
    "Three grey cats and a parrot sat on the warm stove and would not be moved by anyone.",
    "Three grey cats sat on a warm stove and would not be moved by anybody.",
    "A quiet train crossed the long bridge while the town looked elsewhere.",
    "短文一篇关于海岛渡轮因大雾停航的消息今天早上发布",
    "短文一篇关于海岛渡轮因大雾停航的消息今天上午发布",
];

fn document() -> impl Strategy<Value = Document> {
    let flip = prop::sample::select(vec![0_u32, 1, 16, 31, 33, 63]);
    let fingerprint = (
        prop::sample::select(&CENTRES[..]),
        prop::collection::vec(flip, 0..4),
    )
        .prop_map(|(centre, flips)| flips.iter().fold(centre, |bits, flip| bits ^ 1 << flip));
    let text = prop::sample::select(&TEXTS[..]);
    let reliable = prop::bool::weighted(0.85);
    // Added to the time of the change, so that some documents arrive before an earlier one, or
    // before the window.
    let delay = 0..1_400_u64;
    (0..IDS, fingerprint, reliable, delay, text).prop_map(|(id, bits, reliable, delay, text)| {
        Document {
            reliable,
            arrival: Some(Timestamp(delay)),
            text: Some(text.to_owned()),
            ..Document::new(DocId(id), Fingerprint::from_bits(bits))
        }
    })
}

fn change() -> impl Strategy<Value = Change> {
    let rule = (
        prop::sample::select(vec![Decision::Contained, Decision::Alike]),
        prop::sample::select(vec![OnExtended::KeepBoth, OnExtended::Replace]),
    )
        .prop_map(|(decision, on_extended)| SimilarRule {
            decision,
            on_extended,
            ..SimilarRule::default()
        });
    let unlike = |(document, rule)| Change::InsertUnlessSimilar { document, rule };
    prop_oneof![
        2 => document().prop_map(Change::Insert),
        4 => (document(), 0..=5_u32)
            .prop_map(|(document, radius)| Change::InsertUnique { document, radius }),
        4 => (document(), rule).prop_map(unlike),
        2 => document().prop_map(Change::Upsert),
        3 => (0..IDS).prop_map(|id| Change::Remove(DocId(id))),
        1 => (0..IDS, 0..600_u64).prop_map(|(id, than)| {
            Change::RemoveOlder { id: DocId(id), than: Timestamp(than) }
        }),
    ]
}

/// Adds `time` to the times of a change, so that documents expire during the sequence.
fn at(change: Change, time: u64) -> Change {
    let moved = |document: Document| Document {
        arrival: document.arrival.map(|delay| Timestamp(time + delay.0)),
        ..document
    };
    match change {
        Change::Insert(document) => Change::Insert(moved(document)),
        Change::Upsert(document) => Change::Upsert(moved(document)),
        Change::InsertUnique { document, radius } => Change::InsertUnique {
            document: moved(document),
            radius,
        },
        Change::InsertUnlessSimilar { document, rule } => Change::InsertUnlessSimilar {
            document: moved(document),
            rule,
        },
        Change::RemoveOlder { id, than } => Change::RemoveOlder {
            id,
            than: Timestamp(time + than.0),
        },
        other => other,
    }
}

/// A way to apply the changes of one group.
type Apply = fn(&Database, Vec<Change>) -> Vec<Outcome>;

const WAYS: [(&str, Apply); 4] = [
    ("one by one", |database, group| {
        let one = |change| database.apply([change]).unwrap().remove(0);
        group.into_iter().map(one).collect()
    }),
    ("at once", |database, group| database.apply(group).unwrap()),
    ("small transaction", |database, group| {
        let mut transaction = database.begin().unwrap();
        let mut apply = |part: &[Change]| transaction.apply(part.to_vec()).unwrap();
        let outcomes = group.chunks(7).flat_map(&mut apply).collect();
        transaction.commit().unwrap();
        outcomes
    }),
    ("large transaction", |database, group| {
        let mut transaction = database.begin().unwrap();
        // Beyond `merge_after_changes` changes a transaction continues in the tables.
        let missing = (0..200).map(|id| Change::Remove(DocId(1 << 40 | id)));
        transaction.apply(missing).unwrap();
        let mut apply = |part: &[Change]| transaction.apply(part.to_vec()).unwrap();
        let outcomes = group.chunks(7).flat_map(&mut apply).collect();
        transaction.commit().unwrap();
        outcomes
    }),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn group_of_changes_equals_single_changes(
        similar in any::<bool>(),
        window in any::<bool>(),
        sliding in any::<bool>(),
        groups in prop::collection::vec(
            (prop::collection::vec(change(), 0..60), any::<bool>()),
            1..4,
        ),
    ) {
        let mut expected: Option<(Vec<Outcome>, Vec<Document>)> = None;
        for (name, apply) in WAYS {
            let folder = folder();
            let retention = Retention {
                window: window.then_some(Duration::from_millis(WINDOW_MS)),
                sliding,
                ..Retention::default()
            };
            let mut database = builder()
                .keep_texts(true)
                .similar(similar)
                .retention(retention)
                .merge_after_changes(150)
                .create(folder.path().join("docs.simdb"))
                .unwrap();
            let (mut time, mut outcomes) = (10_000, Vec::new());
            for (group, is_merged) in &groups {
                let mut timed = Vec::new();
                for change in group {
                    time += 25;
                    timed.push(at(change.clone(), time));
                }
                outcomes.extend(apply(&database, timed));
                if *is_merged {
                    database.merge().unwrap();
                }
            }
            let snapshot = database.snapshot().unwrap();
            let documents = snapshot.documents().map(Result::unwrap).collect();
            drop(snapshot);
            assert_sound(&mut database);
            let decided = (outcomes, documents);
            match &expected {
                Some(expected) => prop_assert_eq!(&decided, expected, "{}", name),
                None => expected = Some(decided),
            }
        }
    }
}
