//! Every answer equals the plain scan: of a million fingerprints with planted neighbours, before
//! and after a reopen and ten thousand changes, and of skewed fingerprints.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use simdb::{Change, Database, DocId, Document, Fingerprint, Outcome, Snapshot};
use test_support::SplitMix;

const DOCUMENTS: u64 = 1_000_000;
const CENTRES: usize = 12;

/// Every distribution of `flips` over the four blocks of a fingerprint.
fn spreads(flips: u32) -> Vec<[u32; 4]> {
    let mut spreads = Vec::new();
    for a in 0..=flips {
        for b in 0..=flips - a {
            for c in 0..=flips - a - b {
                spreads.push([a, b, c, flips - a - b - c]);
            }
        }
    }
    spreads
}

/// `centre` with the given number of flipped bits in each block, at random positions.
fn flipped(centre: u64, spread: [u32; 4], random: &mut SplitMix) -> u64 {
    let mut flips = 0_u64;
    for (block, count) in spread.into_iter().enumerate() {
        let block_mask = 0xffff_u64 << (48 - 16 * block);
        while (flips & block_mask).count_ones() < count {
            flips |= 1 << (48 - 16 * block as u64 + random.next() % 16);
        }
    }
    assert_eq!(flips.count_ones(), spread.iter().sum::<u32>());
    centre ^ flips
}

/// Matches by comparison with every document, in the order of answers.
fn plain_scan(documents: &BTreeMap<u64, u64>, query: u64, radius: u32) -> Vec<(u32, u64)> {
    let distances = documents
        .iter()
        .map(|(id, bits)| ((bits ^ query).count_ones(), *id));
    let mut matches: Vec<(u32, u64)> = distances
        .filter(|(distance, _)| *distance <= radius)
        .collect();
    matches.sort_unstable();
    matches
}

fn within(snapshot: &Snapshot, query: u64, radius: u32) -> Vec<(u32, u64)> {
    let matches = snapshot
        .within(Fingerprint::from_bits(query), radius)
        .unwrap();
    for found in &matches {
        assert_eq!(
            found.fingerprint.distance(Fingerprint::from_bits(query)),
            found.distance
        );
    }
    matches
        .iter()
        .map(|found| (found.distance, found.id.0))
        .collect()
}

/// Compares every query with the plain scan; returns the number of matches.
fn compare(db: &Database, documents: &BTreeMap<u64, u64>, queries: &[u64]) -> usize {
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.len().unwrap(), documents.len() as u64);
    let mut matches = 0;
    for query in queries {
        let expected = plain_scan(documents, *query, 3);
        assert_eq!(within(&snapshot, *query, 3), expected, "query {query:016x}");
        matches += expected.len();
    }
    matches
}

#[test]
fn million_documents_equal_plain_scan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recall.simdb");
    let mut random = SplitMix(42);
    let mut documents: BTreeMap<u64, u64> = (0..DOCUMENTS).map(|id| (id, random.next())).collect();
    // Neighbours of each centre at distance 0 to 4, in every distribution over the blocks.
    let centres: Vec<u64> = (0..CENTRES).map(|_| random.next()).collect();
    for centre in &centres {
        for spread in (0..=4).flat_map(spreads) {
            // Neighbours lie anywhere in the order of ids.
            let id = DOCUMENTS + (random.next() >> 20);
            documents.insert(id, flipped(*centre, spread, &mut random));
        }
    }

    let mut load = Database::builder().bulk_create(&path, 64 << 20).unwrap();
    for (id, bits) in &documents {
        load.push(Document::new(DocId(*id), Fingerprint::from_bits(*bits)))
            .unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();

    let mut queries = centres.clone();
    queries.extend(documents.values().step_by(90_001));
    queries.extend((0..10).map(|_| random.next()));
    let db = Database::open(&path).unwrap();
    // 1 + 4 + 10 + 20 neighbours lie within radius 3, the other 35 do not.
    assert!(compare(&db, &documents, &queries) >= CENTRES * 35);
    drop(db);
    let db = Database::open(&path).unwrap();
    compare(&db, &documents, &queries);

    let ids: Vec<u64> = documents.keys().copied().collect();
    for _ in 0..10 {
        let mut changes = Vec::new();
        for _ in 0..1_000 {
            let known = ids[random.next() as usize % ids.len()];
            let near = flipped(
                centres[random.next() as usize % CENTRES],
                [1, 0, 1, 0],
                &mut random,
            );
            let bits = if random.next().is_multiple_of(2) {
                near
            } else {
                random.next()
            };
            let document = |id| Document::new(DocId(id), Fingerprint::from_bits(bits));
            changes.push(match random.next() % 3 {
                0 => {
                    documents.remove(&known);
                    Change::Remove(DocId(known))
                }
                1 => {
                    documents.insert(known, bits);
                    Change::Upsert(document(known))
                }
                _ => {
                    let id = random.next();
                    documents.entry(id).or_insert(bits);
                    Change::Insert(document(id))
                }
            });
        }
        let outcomes = db.apply(changes).unwrap();
        assert!(
            outcomes
                .iter()
                .all(|outcome| !matches!(outcome, Outcome::Exists { .. }))
        );
    }
    compare(&db, &documents, &queries);
    drop(db);
    let db = Database::open(&path).unwrap();
    compare(&db, &documents, &queries);
    assert_eq!(db.check().unwrap(), Vec::<String>::new());
}

#[test]
fn every_radius_equals_plain_scan() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::create(folder.path().join("radius.simdb")).unwrap();
    let mut random = SplitMix(7);
    let centre = random.next();
    let mut documents = BTreeMap::new();
    for id in 0..3_000 {
        let distance = (id % 65) as u32;
        let mut flips = 0_u64;
        while flips.count_ones() < distance {
            flips |= 1 << (random.next() % 64);
        }
        documents.insert(id, centre ^ flips);
    }
    let insert = |(id, bits): (&u64, &u64)| {
        Change::Insert(Document::new(DocId(*id), Fingerprint::from_bits(*bits)))
    };
    db.apply(documents.iter().map(insert)).unwrap();
    let snapshot = db.snapshot().unwrap();
    for radius in 0..=64 {
        let expected = plain_scan(&documents, centre, radius);
        assert_eq!(
            within(&snapshot, centre, radius),
            expected,
            "radius {radius}"
        );
        for limit in [1, 10, 100] {
            let limited = snapshot
                .within_limit(Fingerprint::from_bits(centre), radius, limit)
                .unwrap();
            let limited: Vec<(u32, u64)> = limited
                .iter()
                .map(|found| (found.distance, found.id.0))
                .collect();
            assert_eq!(limited, expected[..limit.min(expected.len())]);
        }
    }
    for count in [1, 7, 100, 1_500, 5_000] {
        let nearest = snapshot
            .nearest(Fingerprint::from_bits(centre), count)
            .unwrap();
        let nearest: Vec<(u32, u64)> = nearest
            .iter()
            .map(|found| (found.distance, found.id.0))
            .collect();
        let expected = plain_scan(&documents, centre, 64);
        assert_eq!(nearest, expected[..count.min(expected.len())]);
    }
}

#[test]
fn skewed_fingerprints_equal_plain_scan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("skew.simdb");
    let mut random = SplitMix(3);
    // A third have one of five fingerprints, a third share the key of block 0, the rest differ.
    let hot: Vec<u64> = (0..5).map(|_| random.next() >> 16).collect();
    let documents: BTreeMap<u64, u64> = (0..30_000)
        .map(|id| {
            let bits = match id % 3 {
                0 => hot[random.next() as usize % hot.len()],
                1 => random.next() >> 16,
                _ => random.next(),
            };
            (random.next(), bits)
        })
        .collect();
    let mut queries: Vec<u64> = hot
        .iter()
        .flat_map(|bits| [*bits, bits ^ 0x1_0001_0001, bits ^ (1 << 63)])
        .collect();
    queries.extend(documents.values().step_by(3_001));

    let mut load = Database::builder().bulk_create(&path, 0).unwrap();
    for (id, bits) in &documents {
        load.push(Document::new(DocId(*id), Fingerprint::from_bits(*bits)))
            .unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    let loaded = Database::open(&path).unwrap();
    assert!(compare(&loaded, &documents, &queries) > 10_000);
    assert!(loaded.check().unwrap().is_empty());

    let grown = Database::create(folder.path().join("grown.simdb")).unwrap();
    let mut changes = documents
        .iter()
        .map(|(id, bits)| Change::Insert(Document::new(DocId(*id), Fingerprint::from_bits(*bits))));
    while let Some(change) = changes.next() {
        grown
            .apply(std::iter::once(change).chain(changes.by_ref().take(4_999)))
            .unwrap();
    }
    compare(&grown, &documents, &queries);
    assert!(grown.check().unwrap().is_empty());

    // A fingerprint leaves the index with its last document, not before.
    let holders: Vec<u64> = documents
        .iter()
        .filter(|(_, bits)| **bits == hot[0])
        .map(|(id, _)| *id)
        .collect();
    let query = Fingerprint::from_bits(hot[0]);
    for part in holders.chunks(holders.len().div_ceil(3)) {
        assert!(!grown.within(query, 0).unwrap().is_empty());
        grown
            .apply(part.iter().map(|id| Change::Remove(DocId(*id))))
            .unwrap();
        assert!(grown.check().unwrap().is_empty());
    }
    assert!(grown.within(query, 0).unwrap().is_empty());
}

/// A bucket of 60,000 fingerprints is not read whole; all matches are found.
#[test]
fn huge_bucket_equals_plain_scan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hot_keys.simdb");
    let mut random = SplitMix(5);
    let centres: Vec<u64> = (0..3).map(|_| random.next() >> 16).collect();
    let mut fingerprints: Vec<u64> = Vec::new();
    for centre in &centres {
        for spread in (0..=8).flat_map(spreads) {
            fingerprints.push(flipped(*centre, spread, &mut random));
        }
    }
    // Three blocks have a hot key: 0 in two of them, 0x1234 in the third.
    fingerprints.extend((0..60_000).map(|_| random.next() >> 16));
    fingerprints.extend((0..40_000).map(|_| random.next() & !0xffff));
    fingerprints.extend((0..20_000).map(|_| random.next() & !0xffff_0000 | 0x1234_0000));
    let documents: BTreeMap<u64, u64> = (0..).zip(fingerprints).collect();
    let mut load = Database::builder().bulk_create(&path, 64 << 20).unwrap();
    for (id, bits) in &documents {
        load.push(Document::new(DocId(*id), Fingerprint::from_bits(*bits)))
            .unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    let db = Database::open(&path).unwrap();
    let snapshot = db.snapshot().unwrap();

    let mut queries = centres.clone();
    queries.extend(centres.iter().map(|centre| centre & !0xffff));
    queries.extend(
        centres
            .iter()
            .map(|centre| centre & !0xffff_0000 | 0x1234_0000),
    );
    queries.extend(documents.values().step_by(10_007));
    for radius in 0..=8 {
        for query in &queries {
            let expected = plain_scan(&documents, *query, radius);
            assert_eq!(within(&snapshot, *query, radius), expected, "{radius}");
        }
        let batch: Vec<Fingerprint> = queries
            .iter()
            .copied()
            .map(Fingerprint::from_bits)
            .collect();
        let answers = snapshot.within_batch(&batch, radius).unwrap();
        for (query, answer) in batch.iter().zip(answers) {
            assert_eq!(answer, snapshot.within(*query, radius).unwrap());
        }
    }
}
