//! Snapshots since a time: every answer equals the answer of the documents that arrived since.

use std::ops::ControlFlow;
use std::time::Duration;

use simdb::{Change, Document, Error, Fingerprint, Retention, Snapshot, Timestamp};
use test_support::{Model, SplitMix, assert_holds, builder, documents, folder, window};

const START_MS: u64 = 1_700_000_000_000;

/// Documents around a few fingerprints, in no order of their arrivals.
fn arriving(count: u64) -> Vec<Document> {
    let mut sequence = SplitMix(5);
    let mut documents = documents(1, 0, count);
    for document in &mut documents {
        let centre = SplitMix(sequence.below(20)).next();
        document.fingerprint = Fingerprint::from_bits(centre ^ 1 << sequence.below(64));
        document.reliable = sequence.below(9) > 0;
        document.arrival = Some(Timestamp(START_MS + sequence.below(1_000)));
    }
    documents
}

fn since(documents: &[Document], time: Timestamp) -> Vec<Document> {
    let later = documents
        .iter()
        .filter(|document| document.arrival >= Some(time));
    later.cloned().collect()
}

fn model_of(documents: Vec<Document>) -> Model {
    let model = Model {
        keeps_arrivals: true,
        ..Model::default()
    };
    model.with(documents)
}

fn inserts(documents: &[Document]) -> impl Iterator<Item = Change> {
    documents.iter().cloned().map(Change::Insert)
}

/// Compares the answers of a snapshot with the model.
fn compare(snapshot: &Snapshot, model: &Model, asked: &[Document]) {
    assert_holds(snapshot, model);
    for document in asked.iter().step_by(20) {
        let query = document.fingerprint;
        for radius in [0, 3, 9] {
            let found = snapshot.within(query, radius).unwrap();
            assert_eq!(found, model.within(query, radius));
        }
        assert_eq!(snapshot.nearest(query, 5).unwrap(), model.nearest(query, 5));
        let batch = snapshot.within_batch(&[query], 3).unwrap();
        assert_eq!(batch, [model.within(query, 3)]);
        let expected = model.documents.get(&document.id).cloned();
        assert_eq!(snapshot.get(document.id).unwrap(), expected);
    }
    let mut pairs = 0;
    let count = |_| {
        pairs += 1;
        ControlFlow::Continue(())
    };
    snapshot.document_pairs(3, count).unwrap();
    let reliable = model
        .documents
        .values()
        .filter(|document| document.reliable);
    let near = reliable.map(|document| model.within(document.fingerprint, 3).len() - 1);
    assert_eq!(2 * pairs, near.sum::<usize>());
}

#[test]
fn answers_since_a_time_equal_the_plain_scan_of_later_documents() {
    let documents = arriving(900);
    for retention in [Retention::default(), window(Duration::from_millis(600))] {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        let database = builder().retention(retention).create(&path).unwrap();
        let stored = match retention.window {
            Some(_) => since(&documents, Timestamp(START_MS + 500)),
            None => documents.clone(),
        };
        let (tables, memtable) = stored.split_at(stored.len() / 2);
        database.apply(inserts(tables)).unwrap();
        database.merge().unwrap();
        database.apply(inserts(memtable)).unwrap();
        let whole = database.snapshot().unwrap();
        let arrivals = || stored.iter().filter_map(|document| document.arrival);
        let (first, latest) = (arrivals().min().unwrap(), arrivals().max().unwrap());
        let middle = Timestamp(START_MS + 777);
        for time in [Timestamp(0), first, middle, latest, Timestamp(latest.0 + 1)] {
            let snapshot = whole.since(time).unwrap();
            compare(&snapshot, &model_of(since(&stored, time)), &stored);
            // A later time limits further, an earlier one does not.
            let both = snapshot.since(middle).unwrap().since(0).unwrap();
            let expected = since(&stored, time.max(middle)).len();
            assert_eq!(both.len().unwrap(), expected as u64);
        }
        assert_eq!(whole.len().unwrap(), stored.len() as u64);
    }
}

#[test]
fn database_without_arrivals_is_refused_by_name() {
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let refused = database.snapshot().unwrap().since(7).unwrap_err();
    assert!(matches!(refused, Error::NoArrivals { .. }), "{refused:?}");
}
