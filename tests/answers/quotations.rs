//! Texts that longer texts contain: cut, abridged, quoted and wrapped copies of real texts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use simdb::clusters::{ClustersEvent, Keep};
use simdb::containment::{Containment, Verdict, Weights};
use simdb::join::{SimilarJoin, SimilarPairsEvent};
use simdb::similarity::Likeness;
use simdb::{Decision, DocId, Error, Normaliser, Snapshot};
use test_support::folder;

use crate::similar_join::{database, real_texts};

/// The id of a contained text is the id of the text that contains it, plus this number.
const SHORT: u64 = 1000;

/// The sentences of a text, with the characters after them.
fn sentences(text: &str) -> Vec<&str> {
    // A point within a name or a number ends no sentence, and neither does the point of an item.
    let mut start = 0;
    let ends = text
        .match_indices(['。', '！', '？', '.'])
        .filter(|(at, end)| {
            *end != "."
                || text[at + 1..].starts_with(' ') && !text[..*at].ends_with(char::is_numeric)
        });
    let ends = ends.map(|(at, end)| at + end.len() + usize::from(end == "."));
    let ends: Vec<usize> = ends.chain([text.len()]).collect();
    let sentences = ends
        .into_iter()
        .map(|end| &text[std::mem::replace(&mut start, end)..end]);
    sentences.filter(|sentence| sentence.len() > 30).collect()
}

/// The text in other letters, with another mark behind its sentences.
fn edited(text: &str) -> String {
    let text = text.to_uppercase().replace('。', "！");
    let sentences = sentences(&text).into_iter();
    let marked = sentences.map(|sentence| match sentence.strip_suffix(". ") {
        Some(sentence) => format!("{sentence}! "),
        None => sentence.to_owned(),
    });
    marked.collect()
}

/// Real texts of some sentences: each is contained in a longer text, with small edits.
fn texts() -> BTreeMap<u64, String> {
    let long: Vec<String> = real_texts()
        .filter(|text| (250..1500).contains(&text.len()) && sentences(text).len() > 3)
        .collect();
    let mut all = BTreeMap::new();
    for (number, text) in (0..).zip(&long) {
        let sentences = sentences(text);
        let next = &long[(number as usize + 1) % long.len()];
        let (short, longer) = match number % 4 {
            0 => (sentences[..sentences.len() / 2].concat(), text.clone()),
            1 => (sentences.iter().step_by(2).copied().collect(), text.clone()),
            2 => (text.clone(), format!("{text}\n{next}")),
            _ => {
                let short = sentences[..2].concat();
                let longer = format!(
                    "Home | News | Weather | Sign in. {short} Copyright of the publisher; comments are \
                     closed, print this page or send it by mail."
                );
                (short, longer)
            }
        };
        // An edit that covers the same: case, and punctuation of sentences.
        all.insert(number, longer);
        all.insert(number + SHORT, edited(&short));
    }
    all
}

fn join(contained_up_to: f64, memory_bytes: usize) -> SimilarJoin<'static> {
    let mut join = SimilarJoin::default();
    // With the lower thresholds of a join, texts that share half are found without quotations.
    join.likeness = Some(Likeness::default());
    join.contained_up_to = contained_up_to;
    join.memory_bytes = memory_bytes;
    join
}

/// The contained documents, each with a document that says it.
fn contained(snapshot: &Snapshot, join: &SimilarJoin<'_>) -> BTreeSet<(u64, u64)> {
    let mut found = BTreeSet::new();
    let pairs = snapshot.similar_pairs(join, |event| {
        if let SimilarPairsEvent::Pairs(pairs) = event {
            for pair in pairs {
                let (a, b) = match pair.verdict {
                    Some(Verdict::BInA) => (pair.b.0, pair.a.0),
                    _ => (pair.a.0, pair.b.0),
                };
                assert!(found.insert((a, b)), "{pair:?}");
            }
        }
        ControlFlow::Continue(())
    });
    pairs.unwrap();
    found
}

/// The removed documents, each with its keeper.
fn removed(snapshot: &Snapshot, join: &SimilarJoin<'_>, keep: Keep) -> BTreeMap<u64, u64> {
    let mut removed = BTreeMap::new();
    let clusters = snapshot.similar_clusters(join, keep, |event| {
        if let ClustersEvent::Cluster(cluster) = event {
            let members = cluster.members.iter().map(|member| member.id);
            let others = members.filter(|id| *id != cluster.keeper);
            removed.extend(others.map(|id| (id.0, cluster.keeper.0)));
        }
        ControlFlow::Continue(())
    });
    clusters.unwrap();
    removed
}

#[test]
fn most_contained_copies_are_found_and_covered_by_their_keepers() {
    let (folder, texts) = (folder(), texts());
    let database = database(&folder, &texts);
    let snapshot = database.snapshot().unwrap();
    let copies = texts.keys().filter(|id| **id >= SHORT).count();
    assert!(copies > 60, "{copies}");
    let without = removed(&snapshot, &join(1.0, 1 << 29), Keep::First);
    assert!(without.len() * 2 < copies, "{}", without.len());

    let found = removed(&snapshot, &join(10.0, 1 << 29), Keep::First);
    let right = found.keys().filter(|id| **id >= SHORT).count();
    assert!(right * 100 >= copies * 85, "{right} of {copies}");
    for (id, keeper) in &found {
        let [text, keeper] = [id, keeper].map(|id| &texts[id]);
        let verdict =
            Containment::new(&Normaliser::new(), Weights::builtin(), text, keeper).verdict;
        assert!(verdict.is_a_in_b(), "{text} / {keeper}");
    }
    // Parts of any size remove the same texts. A text that two others quote may have another
    // keeper.
    let in_parts = removed(&snapshot, &join(10.0, 1 << 15), Keep::First);
    assert!(in_parts.keys().eq(found.keys()));
    let pairs = contained(&snapshot, &join(10.0, 1 << 29));
    assert_eq!(contained(&snapshot, &join(10.0, 1 << 15)), pairs);
}

#[test]
fn longest_text_stays_if_the_first_does_not_quote_all() {
    let quoted = "The bakery beside the old station opens at six and sells rye bread, buns and coffee \
                  to the drivers of the night buses.";
    let longer = format!(
        "Monika writes: {quoted} I went there yesterday. Nobody else was awake in the whole street, and \
         the windows of the bakery were the only light for miles around."
    );
    let texts = [
        (1, quoted.to_owned()),
        (2, longer.to_uppercase()),
        (3, longer.clone()),
        (
            4,
            format!("{longer} Then the first tram of the day came round the corner, empty."),
        ),
    ];
    let (folder, texts) = (folder(), texts.into());
    let database = database(&folder, &texts);
    let snapshot = database.snapshot().unwrap();
    let all = [(1, 4), (2, 4), (3, 4)].into();
    assert_eq!(removed(&snapshot, &join(10.0, 1 << 29), Keep::First), all);
    // The first of the two that say the same stays, for it says the quoted text too.
    drop(database.remove(DocId(4)).unwrap());
    let snapshot = database.snapshot().unwrap();
    let both = [(1, 2), (3, 2)].into();
    assert_eq!(removed(&snapshot, &join(10.0, 1 << 29), Keep::First), both);
}

#[test]
fn ratio_below_one_or_without_containment_is_refused() {
    let (folder, texts) = (folder(), [(1, "a text of some words".to_owned())].into());
    let database = database(&folder, &texts);
    let snapshot = database.snapshot().unwrap();
    let mut alike = join(10.0, 1 << 29);
    alike.decision = Decision::Alike;
    let (nan, small) = (join(f64::NAN, 1 << 29), join(0.5, 1 << 29));
    for join in [nan, small, join(f64::INFINITY, 1 << 29), alike] {
        let refused = snapshot.similar_pairs(&join, |_| ControlFlow::Continue(()));
        let is_named = matches!(refused, Err(Error::InvalidContainedUpTo { .. }));
        assert!(is_named, "{refused:?}");
        let refused = snapshot.similar_clusters(&join, Keep::First, |_| ControlFlow::Continue(()));
        assert!(refused.is_err());
    }
}
