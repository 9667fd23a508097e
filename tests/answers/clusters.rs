//! Clusters equal the clusters of a plain implementation that compares each document with all
//! others, for each shape, radius and rule to choose the keeper.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::history::{database_of, later_changes, steps};
use crate::stopped_visits::stop_at_each_event;
use proptest::prelude::*;
use simdb::clusters::{Cluster, Clustering, ClustersEvent, Keep, Member, Shape};
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Change, Database, Decision, DocId, Document, Error, Fingerprint, Snapshot, Timestamp};
use test_support::{Model, SplitMix, builder, document, documents, folder, planted, window};

const CONNECTED: Shape = Shape::Connected { most_documents: 0 };

fn clustering(radius: u32, shape: Shape) -> Clustering {
    Clustering {
        radius,
        shape,
        ..Clustering::default()
    }
}

/// The clusters, and the split components that are reported before them.
fn collect_clusters(
    snapshot: &Snapshot,
    clustering: &Clustering,
) -> (Vec<Cluster>, Vec<(DocId, u64)>) {
    let (mut clusters, mut split) = (Vec::new(), Vec::new());
    snapshot
        .clusters(clustering, |event| {
            match event {
                ClustersEvent::Split { id, documents } => {
                    assert!(clusters.is_empty());
                    split.push((id, documents));
                }
                ClustersEvent::Cluster(cluster) => clusters.push(cluster.clone()),
                event => panic!("{event:?}"),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    (clusters, split)
}

/// Groups of near-duplicates by comparison of all documents, the keeper of each first.
fn groups<'d>(
    in_order: &[&'d Document],
    shape: Shape,
    are_near: &dyn Fn(&Document, &Document) -> bool,
) -> Vec<Vec<&'d Document>> {
    let mut left = in_order.to_vec();
    let mut groups = Vec::new();
    while !left.is_empty() {
        let mut group = vec![left.remove(0)];
        let mut reached = 0;
        while let Some(from) = group.get(reached).copied() {
            let (near, others) = left.iter().partition(|other| are_near(from, other));
            left = others;
            group.extend::<Vec<_>>(near);
            reached += 1;
            if shape == Shape::Star {
                break;
            }
        }
        groups.push(group);
    }
    groups
}

/// Clusters by the plain rules, of documents in order of priority.
fn plain_clusters(
    in_order: &[&Document],
    shape: Shape,
    are_near: &dyn Fn(&Document, &Document) -> bool,
) -> Vec<Cluster> {
    let cluster = |group: Vec<&Document>| {
        let keeper = group[0];
        let mut members: Vec<Member> = group
            .iter()
            .map(|document| Member {
                id: document.id,
                distance: keeper.fingerprint.distance(document.fingerprint),
            })
            .collect();
        members.sort_unstable();
        let of_each = group.iter().flat_map(|a| {
            let from = a.fingerprint;
            group.iter().map(move |b| from.distance(b.fingerprint))
        });
        let diameter = of_each.max().unwrap();
        Cluster {
            id: members[0].id,
            keeper: keeper.id,
            members,
            diameter,
            most_diameter: diameter,
        }
    };
    let groups = groups(in_order, shape, are_near);
    let several = groups.into_iter().filter(|group| group.len() > 1);
    let mut clusters: Vec<Cluster> = several.map(cluster).collect();
    clusters.sort_by_key(|cluster| cluster.id);
    clusters
}

/// Clusters by fingerprint, with the smallest id as keeper.
fn expected(model: &Model, radius: u32, shape: Shape) -> Vec<Cluster> {
    let are_near = |a: &Document, b: &Document| a.fingerprint.distance(b.fingerprint) <= radius;
    plain_clusters(&reliable(model), shape, &are_near)
}

fn reliable(model: &Model) -> Vec<&Document> {
    let documents = model.documents.values();
    documents.filter(|document| document.reliable).collect()
}

fn assert_clusters(database: &Database, model: &Model, radii: impl IntoIterator<Item = u32>) {
    let snapshot = database.snapshot().unwrap();
    for radius in radii {
        for shape in [Shape::Star, CONNECTED] {
            let (found, _) = collect_clusters(&snapshot, &clustering(radius, shape));
            let expected = expected(model, radius, shape);
            assert!(found == expected, "radius {radius}, {shape:?}: {found:#?}");
        }
    }
}

fn stored(folder: &tempfile::TempDir, documents: Vec<Document>) -> (Database, Model) {
    let path = folder.path().join("docs.simdb");
    let mut load = builder().bulk_create(&path, 16 << 20).unwrap();
    for document in documents.clone() {
        load.push(document).unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    (builder().open(&path).unwrap(), Model::new(documents, false))
}

/// Documents two thirds of which are near an earlier one, at each distance up to 8; every seventh
/// is a copy. Ids are in no order.
fn near_each_other(seed: u64, first_id: u64, count: u64) -> Vec<Document> {
    let mut sequence = SplitMix(seed);
    let mut made: Vec<Document> = Vec::new();
    for number in 0..count {
        let near = match number % 3 {
            0 => Fingerprint::from_bits(sequence.next()),
            _ => {
                let of = made[sequence.below(made.len() as u64) as usize].fingerprint;
                let distance = if number % 7 == 0 {
                    0
                } else {
                    sequence.below(9) as u32
                };
                planted(&mut sequence, of, distance)
            }
        };
        // 7919 is coprime to any count used here.
        made.push(Document::new(DocId(first_id + number * 7919 % count), near));
    }
    made
}

/// A chain: each document is three bits from the next.
fn chain(first_id: u64, count: u64) -> Vec<Document> {
    let link = |id| 0b111_u64.rotate_left((3 * id) as u32 % 63);
    let mut bits = 0x1234_5678_9abc_def0;
    let grow = (first_id..first_id + count).map(|id| {
        bits ^= link(id);
        document(id, bits)
    });
    grow.collect()
}

#[test]
fn clusters_of_random_and_planted_documents_equal_plain_rules() {
    let folder = folder();
    let mut all = near_each_other(1, 0, 1500);
    all.extend(documents(2, 3000, 300));
    let (database, model) = stored(&folder, all);
    assert_clusters(&database, &model, 0..=8);
    assert!(expected(&model, 3, Shape::Star).len() > 100);
}

#[test]
fn chain_is_one_component_and_several_stars() {
    let folder = folder();
    let (database, model) = stored(&folder, chain(0, 20));
    let snapshot = database.snapshot().unwrap();
    let (stars, _) = collect_clusters(&snapshot, &clustering(3, Shape::Star));
    assert_eq!(stars.len(), 10);
    for star in &stars {
        assert_eq!((star.members.len(), star.diameter), (2, 3));
    }
    let (components, _) = collect_clusters(&snapshot, &clustering(3, CONNECTED));
    assert_eq!(components.len(), 1);
    assert_eq!(components[0].members.len(), 20);
    assert_eq!(components[0].diameter, 57);
    assert_clusters(&database, &model, 0..=8);
}

#[test]
fn component_above_cap_is_reported_and_split() {
    let folder = folder();
    let mut all = chain(100, 20);
    let far = |id, bits: u64| document(id, !0x1234_5678_9abc_def0 ^ bits);
    all.extend([far(3, 0), far(1, 0b11), far(2, 0b1111)]);
    let (database, model) = stored(&folder, all);
    let snapshot = database.snapshot().unwrap();
    for (most_documents, split) in [
        (20, vec![]),
        (19, vec![(DocId(100), 20)]),
        (2, vec![(DocId(1), 3), (DocId(100), 20)]),
    ] {
        let (found, told_split) = collect_clusters(
            &snapshot,
            &clustering(3, Shape::Connected { most_documents }),
        );
        assert_eq!(told_split, split);
        let whole = expected(&model, 3, CONNECTED);
        let mut wanted: Vec<Cluster> = whole
            .into_iter()
            .filter(|cluster| cluster.members.len() as u64 <= most_documents)
            .collect();
        let stars = expected(&model, 3, Shape::Star).into_iter();
        let is_split = |star: &Cluster| {
            let in_chain = star.id >= DocId(100);
            let id = if in_chain { DocId(100) } else { DocId(1) };
            split.iter().any(|(split, _)| *split == id)
        };
        wanted.extend(stars.filter(is_split));
        wanted.sort_by_key(|cluster| cluster.id);
        assert_eq!(found, wanted);
    }
}

#[test]
fn clique_or_copies_form_one_cluster() {
    let folder = folder();
    // Each fingerprint is one bit from its centre, so two bits from the others; five copies of
    // each.
    let all = (0..300).map(|number| {
        let centre = SplitMix(number % 3).next();
        document(number * 11 % 307, centre ^ 1 << (number / 15))
    });
    let (database, model) = stored(&folder, all.collect());
    let (found, _) = collect_clusters(&database.snapshot().unwrap(), &clustering(3, Shape::Star));
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|cluster| cluster.members.len() == 100));
    assert_clusters(&database, &model, [0, 1, 2, 3, 5]);
}

#[test]
fn many_copies_form_one_cluster_quickly() {
    let folder = folder();
    let copies = (0..60_000).map(|id| document(id, 0xabc ^ (id % 2)));
    let (database, _) = stored(&folder, copies.collect());
    let snapshot = database.snapshot().unwrap();
    for shape in [Shape::Star, CONNECTED] {
        let (found, _) = collect_clusters(&snapshot, &clustering(6, shape));
        assert_eq!(found.len(), 1, "{shape:?}");
        assert_eq!(found[0].members.len(), 60_000);
    }
}

#[test]
fn clusters_in_crowded_prefixes_equal_plain_rules() {
    let folder = folder();
    let mut sequence = SplitMix(3);
    let all = (0..1500).map(|id| {
        let kept = [u64::MAX >> 16, 0xffff_0000_0000_ffff, 0xffff_ffff][id as usize % 3];
        document(id, sequence.next() & sequence.next() & kept)
    });
    let (database, model) = stored(&folder, all.collect());
    assert_clusters(&database, &model, [0, 1, 3, 4, 7]);
}

#[test]
fn unflushed_documents_are_clustered_and_removed_ones_are_not() {
    let folder = folder();
    let (database, mut model) = stored(&folder, near_each_other(7, 0, 700));
    let changes = later_changes(&model, 700, 1000..1300, 200);
    model.apply_all(changes.clone());
    database.apply(changes).unwrap();
    assert_clusters(&database, &model, [0, 1, 3, 4, 8]);
    let before = database.snapshot().unwrap();
    database.merge().unwrap();
    assert_clusters(&database, &model, [0, 1, 3, 4, 8]);
    let (found, _) = collect_clusters(&before, &clustering(3, Shape::Star));
    assert_eq!(found, expected(&model, 3, Shape::Star));
}

#[test]
fn unreliable_documents_are_in_no_cluster() {
    let folder = folder();
    let unreliable = |id: u64| Document {
        reliable: !id.is_multiple_of(3),
        ..document(id, id % 7 * 0x1111)
    };
    let (database, mut model) = stored(&folder, (0..300).map(unreliable).collect());
    let changes: Vec<Change> = (300..400)
        .map(|id| Change::Insert(unreliable(id)))
        .collect();
    model.apply_all(changes.clone());
    database.apply(changes).unwrap();
    assert_clusters(&database, &model, [0, 3, 4, 8]);
    let (found, _) = collect_clusters(&database.snapshot().unwrap(), &clustering(0, Shape::Star));
    assert_eq!(found.len(), 7);
    for cluster in found {
        assert!(cluster.members.iter().all(|member| member.id.0 % 3 != 0));
    }
}

#[test]
fn unreliable_documents_with_one_text_are_a_cluster() {
    let folder = folder();
    // Two texts have one fingerprint, and one text has the fingerprint of a reliable document.
    let texts = [
        "ha ha ha", "ha ha", "ha ha ha", "12345", "ha ha ha", "ha ha", "12345", "one", "", "",
    ];
    let documents = texts.iter().zip(0..).map(|(text, id)| Document {
        reliable: false,
        ..document(id, if text.starts_with("ha") { 7 } else { 70 }).with_text(*text)
    });
    let others =
        [(100, 7), (101, 70 ^ 1)].map(|(id, bits)| document(id, bits).with_text("a reliable text"));
    let documents: Vec<Document> = documents.chain(others).collect();
    let groups = |keeps_texts: bool, name: &str, shape| {
        let database = builder()
            .keep_texts(keeps_texts)
            .create(folder.path().join(name))
            .unwrap();
        // The last documents are in the journal.
        let insert = |documents: &[Document]| {
            let changes = documents.iter().cloned().map(Change::Insert);
            database.apply(changes.collect::<Vec<_>>()).unwrap();
        };
        insert(&documents[..5]);
        database.merge().unwrap();
        insert(&documents[5..]);
        let (found, _) = collect_clusters(&database.snapshot().unwrap(), &clustering(3, shape));
        let ids = |cluster: &Cluster| -> Vec<u64> {
            cluster.members.iter().map(|member| member.id.0).collect()
        };
        found.iter().map(ids).collect::<Vec<_>>()
    };
    let connected = Shape::Connected { most_documents: 0 };
    let expected = [vec![0, 2, 4], vec![1, 5], vec![3, 6], vec![100, 101]];
    assert_eq!(groups(true, "texts.simdb", Shape::Star), expected);
    assert_eq!(groups(true, "connected.simdb", connected), expected);
    assert_eq!(
        groups(false, "no_texts.simdb", Shape::Star),
        [vec![100, 101]]
    );
}

#[test]
fn expired_documents_are_in_no_cluster_and_oldest_of_rest_is_kept() {
    let folder = folder();
    let retention = window(Duration::from_secs(1));
    let database = builder()
        .retention(retention)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    // Later ids arrive earlier, two at a time.
    let arrived = |(number, document): (u64, Document)| Document {
        arrival: Some(Timestamp(12_000 - number / 2)),
        ..document
    };
    let all: Vec<Document> = (0..)
        .zip(near_each_other(11, 0, 2600))
        .map(arrived)
        .collect();
    for (place, some) in all.chunks(650).enumerate() {
        let changes: Vec<Change> = some.iter().cloned().map(Change::Insert).collect();
        database.apply(changes).unwrap();
        if place == 1 {
            database.merge().unwrap();
        }
    }
    let stays = |document: &&Document| document.arrival >= Some(Timestamp(12_000 - 1000));
    let model = Model::new(all.iter().filter(stays).cloned(), false);
    assert_eq!(model.documents.len(), 2002);
    let mut oldest: Vec<&Document> = all.iter().filter(stays).collect();
    oldest.sort_by_key(|document| (document.arrival, document.id));
    let are_near = |a: &Document, b: &Document| a.fingerprint.distance(b.fingerprint) <= 3;
    for _ in 0..2 {
        assert_clusters(&database, &model, [3]);
        let clustering = Clustering {
            keep: Keep::Oldest,
            ..Clustering::default()
        };
        let (found, _) = collect_clusters(&database.snapshot().unwrap(), &clustering);
        assert_eq!(found, plain_clusters(&oldest, Shape::Star, &are_near));
        database.merge().unwrap();
    }
}

#[test]
fn highest_score_is_kept_and_ties_go_to_smallest_id() {
    let folder = folder();
    let (database, model) = stored(&folder, near_each_other(13, 0, 900));
    let score = |id: DocId| match id.0 % 5 {
        0 => f64::NAN,
        rest => -(rest as f64) / 2.0,
    };
    let are_near = |a: &Document, b: &Document| a.fingerprint.distance(b.fingerprint) <= 4;
    let mut in_order = reliable(&model);
    in_order.sort_by(|a, b| {
        let key =
            |document: &Document| (score(document.id).is_nan(), document.id.0 % 5, document.id);
        key(a).cmp(&key(b))
    });
    for shape in [Shape::Star, CONNECTED] {
        let mut found = Vec::new();
        let mut asked = Vec::new();
        let score = |id| {
            asked.push(id);
            score(id)
        };
        database
            .snapshot()
            .unwrap()
            .clusters_by_score(&clustering(4, shape), score, |event| {
                if let ClustersEvent::Cluster(cluster) = event {
                    found.push(cluster.clone());
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(asked.is_sorted_by(|a, b| a < b) && asked.len() < 900);
        assert_eq!(found, plain_clusters(&in_order, shape, &are_near));
        assert!(found.iter().any(|cluster| cluster.id != cluster.keeper));
    }
}

/// Documents with texts, some of them unrelated texts with near fingerprints.
fn with_texts() -> Vec<Document> {
    let words = ["river", "stone", "lantern", "harvest", "winter", "copper"];
    let mut sequence = SplitMix(21);
    let mut all = Vec::new();
    for id in 0..240_u64 {
        let topic = id % 6;
        let mut text: Vec<&str> = (0..24)
            .map(|place| words[SplitMix(topic * 100 + place).below(6) as usize])
            .collect();
        // Texts range from light edits to an unrelated text.
        for _ in 0..sequence.below(14) {
            text[sequence.below(24) as usize] = words[sequence.below(6) as usize];
        }
        let bits = SplitMix(topic / 2).next() ^ 1 << sequence.below(8) ^ 1 << sequence.below(8);
        all.push(Document {
            text: (id % 11 != 0)
                .then(|| format!("{} {}", text.join(" "), "x".repeat(id as usize % 4))),
            ..document(id * 17 % 241, bits)
        });
    }
    all
}

#[test]
fn text_verification_splits_unlike_texts() {
    let folder = folder();
    let all = with_texts();
    let database = builder()
        .keep_texts(true)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let (merged, others) = all.split_at(120);
    database
        .apply(merged.iter().cloned().map(Change::Insert))
        .unwrap();
    database.merge().unwrap();
    database
        .apply(others.iter().cloned().map(Change::Insert))
        .unwrap();
    let model = Model::new(all, true);
    let normaliser = simdb::Normaliser::new();
    let likeness = Likeness {
        edit_similarity: 0.8,
        jaccard: 0.6,
    };
    let are_alike = |a: &Document, b: &Document| {
        let (Some(one), Some(other)) = (&a.text, &b.text) else {
            return false;
        };
        a.fingerprint.distance(b.fingerprint) <= 3
            && Resemblance::new(&normaliser, one, other).is_enough(&likeness)
    };
    let snapshot = database.snapshot().unwrap();
    let first = reliable(&model);
    let mut longest = first.clone();
    longest.sort_by_key(|document| {
        let characters = document
            .text
            .as_ref()
            .map_or(0, |text| text.chars().count());
        (Reverse(characters), document.id)
    });
    // The number of clusters must depend on the settings, and the texts must matter, or the
    // comparison below would prove nothing.
    let mut counts = BTreeSet::new();
    for (keep, in_order) in [(Keep::First, &first), (Keep::Longest, &longest)] {
        for shape in [Shape::Star, CONNECTED] {
            let clustering = Clustering {
                keep,
                likeness: Some(likeness),
                decision: Decision::Alike,
                ..clustering(3, shape)
            };
            let (found, _) = collect_clusters(&snapshot, &clustering);
            assert_eq!(
                found,
                plain_clusters(in_order, shape, &are_alike),
                "{keep:?} {shape:?}"
            );
            counts.insert(found.len());
            let without = Clustering {
                likeness: None,
                ..clustering
            };
            assert_ne!(collect_clusters(&snapshot, &without).0, found);
        }
    }
    assert!(
        counts.len() > 1 && counts.iter().all(|count| *count > 3),
        "{counts:?}"
    );
}

#[test]
fn clustering_by_data_not_stored_is_refused() {
    let folder = folder();
    let (database, _) = stored(&folder, chain(0, 3));
    let snapshot = database.snapshot().unwrap();
    let refused = |clustering: Clustering| {
        let outcome = snapshot.clusters(&clustering, |event| panic!("{event:?}"));
        outcome.unwrap_err()
    };
    let with = |keep, likeness| Clustering {
        keep,
        likeness,
        ..Clustering::default()
    };
    let likeness = Some(Likeness::default());
    assert!(matches!(
        refused(with(Keep::First, likeness)),
        Error::KeepsNoTexts { .. }
    ));
    assert!(matches!(
        refused(with(Keep::Longest, None)),
        Error::KeepsNoTexts { .. }
    ));
    assert!(matches!(
        refused(with(Keep::Oldest, None)),
        Error::NoArrivals { .. }
    ));
}

#[test]
fn visitor_can_stop_at_any_event_and_query_meanwhile() {
    let folder = folder();
    let mut all = near_each_other(12, 0, 900);
    all.extend(chain(2000, 20));
    let (database, _) = stored(&folder, all);
    let snapshot = database.snapshot().unwrap();
    let clustering = clustering(3, Shape::Connected { most_documents: 5 });
    let events =
        stop_at_each_event(|on_event| snapshot.clusters(&clustering, |_| on_event()).map(drop));
    assert!(events > 100, "{events}");

    let mut met = 0;
    snapshot
        .clusters(&clustering, |event| {
            if let ClustersEvent::Cluster(cluster) = event {
                let keeper = snapshot.get(cluster.keeper).unwrap().unwrap();
                let near = snapshot.within(keeper.fingerprint, 64).unwrap();
                assert!(near.len() >= cluster.members.len());
                let _ = database.remove(cluster.members[1].id).unwrap();
                met += 1;
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(met > 50);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn clusters_after_any_history_equal_plain_rules(
        steps in steps(),
        radius in 0..9_u32,
        is_star in any::<bool>(),
    ) {
        let (database, model, _folder) = database_of(steps);
        let shape = if is_star { Shape::Star } else { CONNECTED };
        let snapshot = database.snapshot().unwrap();
        let (found, split) = collect_clusters(&snapshot, &clustering(radius, shape));
        prop_assert!(split.is_empty());
        for cluster in &found {
            prop_assert!(cluster.members.len() > 1);
            let farthest = cluster.members.iter().map(|member| member.distance).max();
            prop_assert!(shape == CONNECTED || farthest <= Some(radius));
        }
        prop_assert_eq!(found, expected(&model, radius, shape));
    }
}
