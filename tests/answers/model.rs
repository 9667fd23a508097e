//! A database equals a plain map after any sequence of batches and reopens.

use proptest::prelude::*;
use simdb::{Change, DocId, Document, Fingerprint, Retention, Snapshot, Timestamp};
use test_support::{Model, assert_holds, assert_sound, builder, folder, with_key};

/// Number of ids: few, so that most changes meet an earlier document. The last one stands for the
/// largest possible id.
const IDS: u64 = 40;
/// Centres of fingerprints, each within 6 bits of one, so that most have near neighbours.
const CENTRES: [u64; 4] = [0, u64::MAX, 0x0123_4567_89ab_cdef, 0x0123_4567_89ab_0000];
const RADII: [u32; 6] = [0, 1, 3, 4, 7, 64];

fn id() -> impl Strategy<Value = DocId> {
    (0..IDS).prop_map(|id| DocId(if id == IDS - 1 { u64::MAX } else { id }))
}

fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    // Few bit positions, in every block, so that flips coincide.
    let flip = prop::sample::select(vec![0_u32, 1, 15, 16, 31, 33, 47, 48, 62, 63]);
    (
        prop::sample::select(&CENTRES[..]),
        prop::collection::vec(flip, 0..6),
    )
        .prop_map(|(centre, flips)| {
            Fingerprint::from_bits(flips.iter().fold(centre, |bits, flip| bits ^ 1 << flip))
        })
}

fn document() -> impl Strategy<Value = Document> {
    let text = prop::option::of("[a-z]{0,12}|短文{1,40}");
    // Few times, so that documents share them.
    let arrival = (0..9_u64).prop_map(Timestamp);
    let reliable = prop::bool::weighted(0.85);
    (id(), fingerprint(), reliable, arrival, text).prop_map(
        |(id, fingerprint, reliable, arrival, text)| Document {
            reliable,
            arrival: Some(arrival),
            text,
            ..Document::new(id, fingerprint)
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => document().prop_map(Change::Insert),
        3 => (document(), 0..=5_u32).prop_map(|(mut document, radius)| {
            // The model does not compare the wordings of unreliable documents; `outcomes` does.
            document.text = document.text.filter(|_| document.reliable);
            Change::InsertUnique { document, radius }
        }),
        2 => document().prop_map(Change::Upsert),
        3 => id().prop_map(Change::Remove),
    ]
}

/// One step: a batch and the way to apply it.
#[derive(Clone, Debug)]
enum Step {
    /// One call of `apply`.
    Batch(Vec<Change>),
    /// One transaction of several batches, committed if `true`, else dropped.
    Transaction(Vec<Vec<Change>>, bool),
    Reopen,
    Vacuum,
}

fn step() -> impl Strategy<Value = Step> {
    let batch = || prop::collection::vec(change(), 0..40);
    prop_oneof![
        6 => batch().prop_map(Step::Batch),
        2 => (prop::collection::vec(batch(), 1..4), prop::bool::weighted(0.75))
            .prop_map(|(batches, committed)| Step::Transaction(batches, committed)),
        2 => Just(Step::Reopen),
        1 => Just(Step::Vacuum),
    ]
}

fn assert_answers(snapshot: &Snapshot, model: &Model) {
    assert_holds(snapshot, model);
    for document in model.documents.values() {
        let Some(key) = &document.key else {
            continue;
        };
        assert_eq!(snapshot.id(key).unwrap(), Some(document.id));
        assert_eq!(snapshot.key(document.id).unwrap().as_ref(), Some(key));
        assert_eq!(snapshot.get(key.as_str()).unwrap().as_ref(), Some(document));
        let first = snapshot.documents_from(key.as_str()).next();
        assert_eq!(first.unwrap().unwrap(), *document);
    }
    if model.last_id > DocId(0) {
        assert_eq!(snapshot.id("no such key").unwrap(), None);
    }
    for (document, near) in model.documents.values().zip(CENTRES.iter().cycle()) {
        assert_eq!(snapshot.get(document.id).unwrap().as_ref(), Some(document));
        let midway = Fingerprint::from_bits(document.fingerprint.bits() ^ (near & 0x8001_0001));
        for query in [document.fingerprint, midway] {
            for radius in RADII {
                assert_eq!(
                    snapshot.within(query, radius).unwrap(),
                    model.within(query, radius)
                );
            }
            assert_eq!(snapshot.nearest(query, 5).unwrap(), model.nearest(query, 5));
        }
    }
    let stats = snapshot.stats().unwrap();
    let count =
        |counted: fn(&&Document) -> bool| model.documents.values().filter(counted).count() as u64;
    assert_eq!(stats.documents, model.documents.len() as u64);
    assert_eq!(stats.unreliable, count(|document| !document.reliable));
    assert_eq!(stats.texts, count(|document| document.text.is_some()));
    assert_eq!(stats.distinct_fingerprints, model.distinct_fingerprints());
    let arrivals = || {
        model
            .documents
            .values()
            .filter_map(|document| document.arrival)
    };
    assert_eq!(stats.oldest_arrival, arrivals().min());
    assert_eq!(stats.latest_arrival, arrivals().max());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_sequence_of_batches_equals_plain_map(
        keeps_texts in any::<bool>(),
        similar in any::<bool>(),
        keeps_arrivals in any::<bool>(),
        keys in any::<bool>(),
        keeps_fields in any::<bool>(),
        steps in prop::collection::vec(step(), 1..12),
    ) {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        let mut builder_of_it = builder().keep_texts(keeps_texts).similar(similar);
        builder_of_it = builder_of_it.keys(keys).fields(keeps_fields);
        let with_keys = |batch: Vec<Change>| -> Vec<Change> {
            batch.into_iter().map(|change| if keys { with_key(change) } else { change }).collect()
        };
        let keeps_texts = keeps_texts || similar;
        if keeps_arrivals {
            builder_of_it = builder_of_it.retention(Retention::default());
        }
        let mut database = builder_of_it.create(&path).unwrap();
        let mut model = Model { keeps_texts, keeps_arrivals, keeps_fields, ..Model::default() };
        for step in steps {
            match step {
                Step::Batch(batch) => {
                    let batch = with_keys(batch);
                    let expected = model.apply_all(batch.clone());
                    prop_assert_eq!(database.apply(batch).unwrap(), expected);
                }
                Step::Transaction(batches, committed) => {
                    let before = model.clone();
                    let mut transaction = database.begin().unwrap();
                    for batch in batches.into_iter().map(with_keys) {
                        let expected = model.apply_all(batch.clone());
                        prop_assert_eq!(transaction.apply(batch).unwrap(), expected);
                    }
                    if committed {
                        transaction.commit().unwrap();
                    } else {
                        drop(transaction);
                        model = before;
                    }
                }
                Step::Reopen => {
                    drop(database);
                    database = builder().open(&path).unwrap();
                }
                Step::Vacuum => {
                    drop(database);
                    simdb::Database::vacuum(&path).unwrap();
                    database = builder().open(&path).unwrap();
                }
            }
            assert_answers(&database.snapshot().unwrap(), &model);
        }
        assert_sound(&mut database);
    }
}
