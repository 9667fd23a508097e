//! All pairs equal the pairs of a plain comparison of each document with all others, at any radius,
//! in tables and memtable, and for skewed fingerprints.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::history::{database_of, later_changes, steps};
use crate::stopped_visits::stop_at_each_event;
use proptest::prelude::*;
use simdb::pairs::{Pair, PairsEvent};
use simdb::{Change, Database, DocId, Document, Fingerprint, Snapshot, Timestamp};
use test_support::{Model, SplitMix, builder, document, documents, folder, planted, window};

/// Two ids and their distance.
type Found = (u64, u64, u32);

/// The pairs of a plain comparison of each reliable document with all others.
fn expected(model: &Model, radius: u32) -> Vec<Found> {
    let reliable: Vec<&Document> = model
        .documents
        .values()
        .filter(|document| document.reliable)
        .collect();
    let mut pairs = Vec::new();
    for (place, a) in reliable.iter().enumerate() {
        for b in &reliable[place + 1..] {
            let distance = a.fingerprint.distance(b.fingerprint);
            if distance <= radius {
                pairs.push((a.id.0, b.id.0, distance));
            }
        }
    }
    pairs
}

fn document_pairs(snapshot: &Snapshot, radius: u32) -> Vec<Found> {
    let mut pairs = Vec::new();
    snapshot
        .document_pairs(radius, |pair| {
            assert!(pair.a < pair.b);
            pairs.push((pair.a.0, pair.b.0, pair.distance));
            ControlFlow::Continue(())
        })
        .unwrap();
    pairs.sort_unstable();
    pairs
}

/// All groups and all pairs, in the order of the events.
fn collect_pairs(snapshot: &Snapshot, radius: u32) -> (Vec<(Fingerprint, Vec<DocId>)>, Vec<Pair>) {
    let (mut groups, mut pairs) = (Vec::new(), Vec::new());
    snapshot
        .pairs(radius, |event| {
            match event {
                PairsEvent::Copies {
                    fingerprint,
                    documents,
                } => {
                    assert!(pairs.is_empty());
                    groups.push((fingerprint, documents.to_vec()));
                }
                PairsEvent::Pairs(some) => pairs.extend_from_slice(some),
                event => panic!("{event:?}"),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    (groups, pairs)
}

fn assert_pairs(database: &Database, model: &Model, radii: impl IntoIterator<Item = u32>) {
    let snapshot = database.snapshot().unwrap();
    for radius in radii {
        let found = document_pairs(&snapshot, radius);
        assert!(found == expected(model, radius), "radius {radius}");
    }
}

/// A flushed database and its model.
fn stored(folder: &tempfile::TempDir, documents: Vec<Document>) -> (Database, Model) {
    let path = folder.path().join("pairs.simdb");
    let mut load = builder().bulk_create(&path, 16 << 20).unwrap();
    for document in documents.clone() {
        load.push(document).unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    (builder().open(&path).unwrap(), Model::new(documents, false))
}

/// Documents half of which are near an earlier one, at each distance up to 10.
fn near_each_other(seed: u64, first_id: u64, count: u64) -> Vec<Document> {
    let mut sequence = SplitMix(seed);
    let mut made: Vec<Document> = Vec::new();
    for id in first_id..first_id + count {
        let near = match id % 2 {
            1 => {
                let of = made[sequence.below(made.len() as u64) as usize].fingerprint;
                let distance = sequence.below(11) as u32;
                planted(&mut sequence, of, distance)
            }
            _ => Fingerprint::from_bits(sequence.next()),
        };
        made.push(Document::new(DocId(id), near));
    }
    made
}

#[test]
fn tiny_databases_have_expected_pairs() {
    for count in 0..5 {
        let folder = folder();
        let of_one = (0..count)
            .map(|id| document(id, 0xff << (id / 2)))
            .collect();
        let (database, model) = stored(&folder, of_one);
        assert_pairs(&database, &model, 0..=64);
    }
}

#[test]
fn pairs_of_random_and_planted_documents_equal_plain_scan() {
    let folder = folder();
    let mut all = near_each_other(1, 0, 3000);
    all.extend(documents(2, 3000, 500));
    let (database, model) = stored(&folder, all);
    assert_pairs(&database, &model, (0..=11).chain([16, 27, 28]));
}

#[test]
fn pairs_in_crowded_prefixes_equal_plain_scan() {
    let folder = folder();
    let mut sequence = SplitMix(3);
    // Thousands of fingerprints share the bits of one block, or of two neighbouring ones.
    let all = (0..4000).map(|id| {
        let kept = match id % 5 {
            0 => u64::MAX >> 16,
            1 => u64::MAX << 16,
            2 => 0xffff_0000_0000_ffff,
            3 => 0xffff_ffff,
            _ => 0x3ff,
        };
        document(id, sequence.next() & sequence.next() & kept)
    });
    let (database, model) = stored(&folder, all.collect());
    assert_pairs(&database, &model, [0, 1, 2, 3, 5, 7]);
}

#[test]
fn copies_form_one_group_represented_by_smallest_id() {
    let folder = folder();
    let hot: Vec<u64> = documents(5, 0, 10)
        .iter()
        .map(|document| document.fingerprint.bits())
        .collect();
    let all = (0..3000).map(|id| match id % 3 {
        0 => document(9000 - id, hot[id as usize / 3 % hot.len()]),
        1 => document(9000 - id, hot[id as usize / 3 % hot.len()] ^ 1 << (id % 60)),
        _ => document(9000 - id, SplitMix(id).next()),
    });
    let (database, model) = stored(&folder, all.collect());
    let snapshot = database.snapshot().unwrap();
    let (groups, pairs) = collect_pairs(&snapshot, 3);
    let documents_with = |fingerprint: Fingerprint| {
        let found = model.within(fingerprint, 0);
        found.into_iter().map(|found| found.id).collect::<Vec<_>>()
    };
    let fingerprints: BTreeSet<_> = groups.iter().map(|group| group.0).collect();
    assert_eq!(fingerprints.len(), groups.len());
    assert!(groups.len() > 10);
    for (fingerprint, documents) in &groups {
        assert_eq!(*documents, documents_with(*fingerprint));
        assert!(documents.len() > 1);
    }
    let ends: BTreeSet<_> = pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    assert_eq!(ends.len(), pairs.len());
    for pair in &pairs {
        for (id, fingerprint) in [pair.a, pair.b].into_iter().zip(pair.fingerprints) {
            assert_eq!(id, documents_with(fingerprint)[0]);
        }
        let [a, b] = pair.fingerprints;
        assert_eq!(pair.distance, a.distance(b));
        assert!((1..=3).contains(&pair.distance));
    }
    assert_pairs(&database, &model, [0, 2, 3, 4]);
}

#[test]
fn memtable_documents_pair_with_flushed_documents() {
    let folder = folder();
    let (database, mut model) = stored(&folder, near_each_other(7, 0, 1500));
    let changes = later_changes(&model, 1500, 2000..2600, 300);
    model.apply_all(changes.clone());
    database.apply(changes).unwrap();
    assert_pairs(&database, &model, [0, 1, 3, 4, 8]);
    let before = database.snapshot().unwrap();
    database.merge().unwrap();
    assert_pairs(&database, &model, [0, 1, 3, 4, 8]);
    assert_eq!(document_pairs(&before, 3), expected(&model, 3));
}

#[test]
fn unflushed_database_has_expected_pairs() {
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let all = near_each_other(9, 0, 1200);
    let model = Model::new(all.clone(), false);
    database.apply(all.into_iter().map(Change::Insert)).unwrap();
    assert_pairs(&database, &model, [0, 3, 8]);
}

#[test]
fn unreliable_documents_are_in_no_pair() {
    let folder = folder();
    let unreliable = |id: u64| Document {
        reliable: !id.is_multiple_of(3),
        ..document(id, id % 7)
    };
    let (database, mut model) = stored(&folder, (0..300).map(unreliable).collect());
    assert_pairs(&database, &model, [0, 1, 3]);
    let changes: Vec<Change> = (300..400)
        .map(|id| Change::Insert(unreliable(id)))
        .collect();
    model.apply_all(changes.clone());
    database.apply(changes).unwrap();
    assert_pairs(&database, &model, [0, 1, 3]);
}

#[test]
fn expired_documents_are_in_no_pair() {
    let folder = folder();
    let retention = window(Duration::from_secs(1));
    let database = builder()
        .retention(retention)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let arrived = |(number, document): (u64, Document)| Document {
        arrival: Some(Timestamp(10_000 + number)),
        ..document
    };
    let all: Vec<Document> = (0..)
        .zip(near_each_other(11, 0, 2600))
        .map(arrived)
        .collect();
    let stays = |document: &&Document| document.arrival >= Some(Timestamp(12_599 - 1000));
    for (place, some) in all.chunks(650).enumerate() {
        let changes: Vec<Change> = some.iter().cloned().map(Change::Insert).collect();
        database.apply(changes).unwrap();
        if place == 1 {
            database.merge().unwrap();
        }
    }
    let model = Model::new(all.iter().filter(stays).cloned(), false);
    assert_eq!(model.documents.len(), 1001);
    assert_pairs(&database, &model, [0, 3, 6]);
    database.merge().unwrap();
    assert_pairs(&database, &model, [0, 3, 6]);
}

#[test]
fn visitor_can_stop_at_any_event_and_query_meanwhile() {
    let folder = folder();
    let (database, _) = stored(&folder, near_each_other(12, 0, 2000));
    let snapshot = database.snapshot().unwrap();
    let events = stop_at_each_event(|on_event| snapshot.pairs(3, |_| on_event()).map(drop));
    assert!(events > 10, "{events}");

    let mut met = 0;
    snapshot
        .pairs(3, |event| {
            if let PairsEvent::Pairs(pairs) = event {
                for pair in pairs {
                    let found = snapshot.within(pair.fingerprints[0], 3).unwrap();
                    assert!(found.iter().any(|found| found.id == pair.b));
                    met += 1;
                }
                let queries: Vec<_> = pairs.iter().map(|pair| pair.fingerprints[1]).collect();
                snapshot.within_batch(&queries, 3).unwrap();
                let _ = database.remove(pairs[0].b).unwrap();
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(met > 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn pairs_after_any_history_equal_plain_scan(
        steps in steps(),
        radius in 0..9_u32,
    ) {
        let (database, model, _folder) = database_of(steps);
        let found = document_pairs(&database.snapshot().unwrap(), radius);
        prop_assert_eq!(found, expected(&model, radius));
    }
}
