//! A batch of queries returns the answers of its single queries.

use std::ops::ControlFlow;

use simdb::{Change, Database, DocId, Document, Error, Fingerprint, Match, Snapshot};
use test_support::SplitMix;

/// A database of random fingerprints, some with near neighbours and copies.
fn database(folder: &tempfile::TempDir, documents: u64, random: &mut SplitMix) -> Database {
    let path = folder.path().join("batch.simdb");
    let mut load = Database::builder().bulk_create(&path, 64 << 20).unwrap();
    let mut last = random.next();
    for id in 0..documents {
        last = match random.next() % 4 {
            0 => last,
            1 => last ^ 1 << (random.next() % 64),
            _ => random.next(),
        };
        load.push(Document::new(DocId(id), Fingerprint::from_bits(last)))
            .unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    Database::open(&path).unwrap()
}

/// Stored fingerprints with up to five flipped bits, absent fingerprints, and repetitions.
fn queries(snapshot: &Snapshot, count: usize, random: &mut SplitMix) -> Vec<Fingerprint> {
    let stored: Vec<u64> = snapshot
        .documents()
        .map(|document| document.unwrap().fingerprint.bits())
        .collect();
    let mut queries = Vec::with_capacity(count);
    while queries.len() < count {
        let bits = match random.next() % 4 {
            0 => random.next(),
            1 => *queries.last().unwrap_or(&5),
            flips => {
                let near = stored[random.next() as usize % stored.len()];
                (0..=flips).fold(near, |near, _| near ^ 1 << (random.next() % 64))
            }
        };
        queries.push(bits);
    }
    queries.into_iter().map(Fingerprint::from_bits).collect()
}

fn one_by_one(snapshot: &Snapshot, queries: &[Fingerprint], radius: u32) -> Vec<Vec<Match>> {
    let within = |query: &Fingerprint| snapshot.within(*query, radius).unwrap();
    queries.iter().map(within).collect()
}

#[test]
fn batch_of_any_size_equals_single_queries() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = SplitMix(11);
    // At this size all but the largest batches probe at radius 3.
    let db = database(&folder, 200_000, &mut random);
    let snapshot = db.snapshot().unwrap();
    for size in [0, 1, 2, 100, 1_000] {
        let queries = queries(&snapshot, size, &mut random);
        for radius in [0, 1, 2, 3, 4, 7, 11] {
            let answers = snapshot.within_batch(&queries, radius).unwrap();
            assert!(
                answers == one_by_one(&snapshot, &queries, radius),
                "radius {radius}"
            );
        }
    }
}

#[test]
fn batch_at_any_radius_equals_single_queries() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = SplitMix(14);
    let db = database(&folder, 3_000, &mut random);
    let snapshot = db.snapshot().unwrap();
    let queries = queries(&snapshot, 40, &mut random);
    for radius in 0..=64 {
        let answers = snapshot.within_batch(&queries, radius).unwrap();
        assert!(
            answers == one_by_one(&snapshot, &queries, radius),
            "radius {radius}"
        );
    }
}

#[test]
fn batch_limit_returns_nearest_and_visitor_can_stop() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = SplitMix(12);
    let db = database(&folder, 5_000, &mut random);
    let snapshot = db.snapshot().unwrap();
    let queries = queries(&snapshot, 500, &mut random);
    for limit in [1, 3] {
        let mut answers = Vec::new();
        snapshot
            .within_batch_with(&queries, 9, limit, |number, matches| {
                assert_eq!(number, answers.len());
                answers.push(matches);
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(answers.len(), queries.len());
        for (query, answer) in queries.iter().zip(answers) {
            assert_eq!(answer, snapshot.within_limit(*query, 9, limit).unwrap());
        }
    }
    let mut visited = 0;
    let ended = snapshot.within_batch_with(&queries, 3, 1, |_, _| {
        visited += 1;
        match visited {
            7 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
    assert_eq!(visited, 7);
}

/// Nine million matches exceed the memory of one pass: the batch is split.
#[test]
fn batch_beyond_memory_bound_returns_all_matches() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = SplitMix(13);
    let db = Database::create(folder.path().join("many.simdb")).unwrap();
    let centre = random.next();
    let near = |random: &mut SplitMix| {
        Fingerprint::from_bits(centre ^ random.next() & random.next() & random.next())
    };
    let documents = (0..3_000).map(|id| Document::new(DocId(id), near(&mut random)));
    let changes: Vec<Change> = documents.map(Change::Insert).collect();
    db.apply(changes).unwrap();
    let snapshot = db.snapshot().unwrap();
    let queries: Vec<Fingerprint> = (0..3_000).map(|_| near(&mut random)).collect();
    let mut matches = 0;
    snapshot
        .within_batch_with(&queries, 40, usize::MAX, |number, answer| {
            matches += answer.len();
            if number % 500 == 3 {
                assert_eq!(answer, snapshot.within(queries[number], 40).unwrap());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(matches > 8 << 20, "{matches}");
}

#[test]
fn a_query_misses_the_cache_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = SplitMix(12);
    let db = database(&folder, 10_000, &mut random);
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.cache_misses().buckets, 0);
    let query = queries(&snapshot, 1, &mut random)[0];
    let answer = snapshot.within(query, 3).unwrap();
    let misses = snapshot.cache_misses();
    // The bucket of each block.
    assert_eq!((misses.buckets, misses.nodes, misses.wordings), (4, 0, 0));
    assert_eq!(snapshot.within(query, 3).unwrap(), answer);
    assert_eq!(snapshot.cache_misses(), misses);
}
