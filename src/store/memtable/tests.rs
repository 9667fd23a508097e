//! Memtables against a plain map, concurrent readers, and a measurement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::postings::PAGE;
use super::view::LatestVersion;
use super::*;
use crate::analysis::Analysed;
use crate::block::{BLOCK_BITS, BLOCKS};
use crate::document::Match;
use crate::forest::ForestSearch;
use crate::ids::Timestamp;
use crate::ids::scope::{IdRanges, ScopeNumber};

const CENTRES: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0x1ee7_79b9_7f4a_0000];

fn state(bits: u64) -> StoredDocument {
    StoredDocument {
        fingerprint: Fingerprint::from_bits(bits),
        reliable: true,
        arrival: None,
    }
}

fn insertion(id: u64, bits: u64) -> DocumentEdit {
    DocumentEdit {
        id: DocId(id),
        before: None,
        after: Some(state(bits)),
        text: TextEdit::Keep,
        copies: None,
    }
}

/// A text whose keys are its letters, so that many texts share keys.
fn keyed(text: &str) -> Arc<Analysed> {
    let keys: BTreeSet<u64> = text.bytes().map(u64::from).collect();
    Arc::new(Analysed::with_keys(text, keys.into_iter().collect()))
}

fn view_of(memtable: &Arc<Memtable>) -> MemtableView {
    MemtableView::new([(Arc::clone(memtable), memtable.len())])
}

/// Memtables whose limits are so small that a few edits take each path: one list or buckets, edits
/// one by one or grouped.
fn memtables() -> impl Iterator<Item = Arc<Memtable>> {
    [
        (MAX_LIST_LEN, MIN_GROUPED_EDITS),
        (0, MIN_GROUPED_EDITS),
        (0, 0),
        (2, 3),
    ]
    .map(|(list, grouped)| Arc::new(Memtable::with_limits(SHARDS, list, grouped)))
    .into_iter()
}

/// The expected content, as plain maps.
#[derive(Clone, Default)]
struct Model {
    /// All documents, also the documents of the tables.
    stored: BTreeMap<DocId, StoredDocument>,
    /// The edited documents, each with the change of its text.
    touched: BTreeMap<DocId, TextEdit>,
}

impl Model {
    fn apply(&mut self, id: DocId, after: Option<StoredDocument>, text: &TextEdit) -> DocumentEdit {
        let before = match after {
            Some(after) => self.stored.insert(id, after),
            None => self.stored.remove(&id),
        };
        let net = self.touched.entry(id).or_insert(TextEdit::Keep);
        if *text != TextEdit::Keep {
            net.clone_from(text);
        }
        DocumentEdit {
            id,
            before,
            after,
            text: text.clone(),
            copies: None,
        }
    }

    fn in_forest(&self, keys: &[u64]) -> Vec<DocId> {
        let has_key = |text: &TextEdit| {
            let has = |keyed: &Analysed| keys.iter().any(|key| keyed.text_keys().contains(key));
            matches!(text, TextEdit::Put(keyed) if has(keyed))
        };
        let touched = self.touched.iter();
        let found = touched.filter(|(id, text)| has_key(text) && self.stored.contains_key(id));
        found.map(|(id, _)| *id).collect()
    }

    fn within(&self, query: Fingerprint, radius: u32) -> Vec<Match> {
        let states = self
            .touched
            .keys()
            .filter_map(|id| Some((*id, self.stored.get(id)?)));
        let mut matches: Vec<Match> = states
            .filter(|(_, state)| state.reliable && state.fingerprint.distance(query) <= radius)
            .map(|(id, state)| Match {
                id,
                fingerprint: state.fingerprint,
                distance: state.fingerprint.distance(query),
            })
            .collect();
        matches.sort_unstable();
        matches
    }
}

/// Compares each answer of a view with the model.
fn assert_view_is(view: &MemtableView, model: &Model, ids: u64) {
    assert_eq!(view.is_empty(), model.touched.is_empty());
    let touched: Vec<DocId> = model.touched.keys().copied().collect();
    assert_eq!(view.sorted_ids(), touched);
    for id in (0..ids).map(DocId) {
        let expected = model.touched.get(&id).map(|text| LatestVersion {
            state: model.stored.get(&id).copied(),
            text: text.clone(),
        });
        assert_eq!(view.contains(id), expected.is_some());
        assert_eq!(view.latest(id), expected);
    }
    for key in b'a'..=b'd' {
        for keys in [vec![key.into()], vec![key.into(), b'b'.into()], vec![]] {
            let expected = model.in_forest(&keys);
            let search = ForestSearch::of_keys(keys.clone());
            let found = |passes| {
                view.in_forest(&search, ScopeNumber::default(), |_| passes)
                    .unwrap()
            };
            assert_eq!(found(true), expected, "{keys:?}");
            assert_eq!(found(false), []);
        }
    }
    for centre in CENTRES {
        let query = Fingerprint::from_bits(centre ^ 1);
        for radius in [0, 1, 2, 3, 4, 7, 12, 15, 16, 33, 64] {
            let expected = model.within(query, radius);
            assert_eq!(view.within(query, radius), expected, "radius {radius}");
            for limit in [0, 2] {
                let expected = &expected[..limit.min(expected.len())];
                assert_eq!(
                    view.within_limit(query, radius, &IdRanges::ALL, limit, |_| true),
                    expected
                );
            }
            let is_odd = |bits: u64| bits & 1 == 1;
            let passes = |state: StoredDocument| is_odd(state.fingerprint.bits());
            let mut odd = expected.clone();
            odd.retain(|found| is_odd(found.fingerprint.bits()));
            odd.truncate(2);
            assert_eq!(
                view.within_limit(query, radius, &IdRanges::ALL, 2, passes),
                odd
            );
        }
    }
}

const IDS: u64 = 12;

prop_compose! {
    fn any_state()(
        centre in 0..CENTRES.len(),
        // Often no flip, for documents with equal fingerprints.
        flips in vec(0..64_u32, 0..4),
        reliable in prop::bool::weighted(0.9),
        arrival in proptest::option::of(0..3_u64),
    ) -> StoredDocument {
        let flips = flips.iter().fold(0, |flips, bit| flips ^ 1_u64 << bit);
        StoredDocument {
            fingerprint: Fingerprint::from_bits(CENTRES[centre] ^ flips),
            reliable,
            arrival: arrival.map(Timestamp),
        }
    }
}

fn any_text() -> impl Strategy<Value = TextEdit> {
    prop_oneof![
        3 => Just(TextEdit::Keep),
        1 => Just(TextEdit::Remove),
        2 => "[a-c]{0,2}".prop_map(|text| TextEdit::Put(keyed(&text))),
    ]
}

type Batch = BTreeMap<u64, (Option<StoredDocument>, TextEdit)>;

fn any_batch() -> impl Strategy<Value = Batch> {
    let change = (proptest::option::weighted(0.75, any_state()), any_text());
    btree_map(0..IDS, change, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/proptest-regressions/memtable.txt",
        ))),
        ..ProptestConfig::default()
    })]

    /// Each view is checked at its commit and again after all later commits, with one memtable and
    /// with two.
    #[test]
    fn every_view_equals_plain_model(
        stored in btree_map(0..IDS, any_state(), 0..4),
        batches in vec(any_batch(), 1..12),
        split in 0..12_usize,
        kind in 0..4_usize,
    ) {
        let [older, newer] = [memtables(), memtables()].map(|mut memtables| memtables.nth(kind).unwrap());
        let mut model = Model::default();
        model.stored.extend(stored.iter().map(|(id, state)| (DocId(*id), *state)));
        let mut net = [model.clone(), model.clone()];
        let mut views = vec![(MemtableView::default(), model.clone())];
        for (number, batch) in batches.iter().enumerate() {
            let half = usize::from(number >= split);
            let edits: Vec<DocumentEdit> = batch
                .iter()
                .map(|(id, (after, text))| {
                    net[half].apply(DocId(*id), *after, text);
                    model.apply(DocId(*id), *after, text)
                })
                .collect();
            if half == 0 {
                net[1].stored.clone_from(&model.stored);
            }
            let view = if half == 0 {
                MemtableView::new([(Arc::clone(&older), older.append(&edits))])
            } else {
                let visible = newer.append(&edits);
                let older = (Arc::clone(&older), older.len());
                MemtableView::new([(Arc::clone(&newer), visible), older])
            };
            assert_view_is(&view, &model, IDS);
            views.push((view, model.clone()));
        }
        for (view, model) in &views {
            assert_view_is(view, model, IDS);
        }
        let first: BTreeMap<_, _> = stored.iter().map(|(id, s)| (DocId(*id), *s)).collect();
        let middle = net[0].stored.clone();
        for ((memtable, before), after) in [older, newer].iter().zip([first, middle]).zip(&net) {
            let expected: Vec<DocumentEdit> = after
                .touched
                .iter()
                .map(|(id, text)| DocumentEdit {
                    id: *id,
                    before: before.get(id).copied(),
                    after: after.stored.get(id).copied(),
                    text: text.clone(),
                    copies: None,
                })
                .collect();
            prop_assert_eq!(memtable.coalesced_edits(memtable.len()), expected);
        }
    }
}

/// For each way to distribute the flipped bits over the four blocks.
#[test]
fn fingerprint_is_found_from_its_distance_on_and_at_no_smaller_radius() {
    let low_bits = |count: u32| (1_u64 << count) - 1;
    for radius in (0..=20_u32).chain([31, 32, 63, 64]) {
        let mut flips = Vec::new();
        for w in 0..=radius.min(BLOCK_BITS) {
            for x in 0..=(radius - w).min(BLOCK_BITS) {
                for y in 0..=(radius - w - x).min(BLOCK_BITS) {
                    let z = radius - w - x - y;
                    if z <= BLOCK_BITS {
                        let spread = [w, x, y, z].map(low_bits);
                        flips.push(spread.iter().fold(0, |all, each| all << BLOCK_BITS | each));
                    }
                }
            }
        }
        assert!(radius > 3 || flips.len() >= BLOCKS.min(1 + 3 * radius as usize));
        let edits: Vec<_> = std::iter::zip(0.., &flips)
            .map(|(id, flips)| insertion(id, CENTRES[0] ^ flips))
            .collect();
        for memtable in memtables() {
            memtable.append(&edits);
            let query = Fingerprint::from_bits(CENTRES[0]);
            let found = view_of(&memtable).within(query, radius);
            assert!(
                found
                    .iter()
                    .map(|found| found.id.0)
                    .eq(0..flips.len() as u64)
            );
            if let Some(less) = radius.checked_sub(1) {
                assert_eq!(view_of(&memtable).within(query, less), []);
            }
        }
    }
}

#[test]
fn copies_of_one_fingerprint_on_many_pages_are_found_in_id_order() {
    let count = 5 * PAGE as u64;
    for memtable in memtables() {
        // Inserted from the largest id to the smallest; then the smaller half is removed.
        let edits: Vec<_> = (0..count)
            .rev()
            .map(|id| insertion(id, CENTRES[0]))
            .collect();
        edits.chunks(100).for_each(|batch| {
            memtable.append(batch);
        });
        let whole = view_of(&memtable);
        let removals = edits[edits.len() / 2..].iter().map(|edit| DocumentEdit {
            before: edit.after,
            after: None,
            ..edit.clone()
        });
        memtable.append(&removals.collect::<Vec<_>>());
        let query = Fingerprint::from_bits(CENTRES[0] ^ 7);
        let ids = |view: &MemtableView, limit| {
            let found = view
                .within_limit(query, 3, &IdRanges::ALL, limit, |_| true)
                .into_iter();
            found.map(|found| found.id.0).collect::<Vec<_>>()
        };
        assert!(ids(&whole, usize::MAX).into_iter().eq(0..count));
        assert!(ids(&whole, 300).into_iter().eq(0..300));
        assert!(
            ids(&view_of(&memtable), usize::MAX)
                .into_iter()
                .eq(count / 2..count)
        );
        assert!(
            ids(&view_of(&memtable), 2)
                .into_iter()
                .eq(count / 2..count / 2 + 2)
        );
    }
}

/// Sets a flag when it is dropped, even if the test fails, so that the readers end.
struct SetWhenDropped<'f>(&'f AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Each batch moves a pair of documents to another fingerprint and adds one more pair. In every
/// view both documents of a pair must have the fingerprint of the last batch that moved the pair.
#[test]
fn readers_see_whole_batches_during_appends() {
    const BATCHES: u64 = 3_000;
    const MOVED: u64 = 5;
    /// The appender waits if the readers have checked less than one view per 20 batches: without
    /// the wait, a fast appender could finish before a reader starts.
    const BATCHES_PER_CHECK: u64 = 20;
    const TIMEOUT: Duration = Duration::from_secs(60);
    let bits = |batch: u64| batch.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for memtable in memtables() {
        let (visible, done) = (AtomicU32::new(0), AtomicBool::new(false));
        let checks = AtomicU64::new(0);
        let check = || {
            let seen = visible.load(Ordering::Acquire);
            let view = MemtableView::new([(Arc::clone(&memtable), seen)]);
            let batches = u64::from(seen / 4);
            // The last visible batch is found whole.
            let Some(last) = batches.checked_sub(1) else {
                return;
            };
            let moved = DocId(last % MOVED);
            let mirrored = DocId(moved.0 + MOVED);
            let added = [last * 2, last * 2 + 1].map(|id| DocId(100 + id));
            let query = Fingerprint::from_bits(bits(last));
            let found = view.within(query, 0);
            let ids: Vec<DocId> = found.iter().map(|found| found.id).collect();
            assert_eq!(ids, [moved, mirrored, added[0], added[1]]);
            // Each earlier pair still has the fingerprint of its own last batch.
            for (id, before) in (0..MOVED)
                .flat_map(|n| last.checked_sub(n))
                .map(|n| (n % MOVED, n))
            {
                let pair = [id, id + MOVED].map(|id| view.latest(DocId(id)).unwrap().state);
                assert_eq!(pair, [Some(state(bits(before))); 2]);
            }
            // The appender may be in the middle of the next batch, of which nothing is visible.
            let next = Fingerprint::from_bits(bits(last + 1));
            assert_eq!(view.within(next, 0), []);
            if last % 64 == 0 {
                let touched = batches.min(MOVED) * 2 + batches * 2;
                assert_eq!(view.sorted_ids().len() as u64, touched);
                assert_eq!(view.within(query, 64).len() as u64, touched);
            }
            checks.fetch_add(1, Ordering::Release);
        };
        std::thread::scope(|scope| {
            let _ended = SetWhenDropped(&done);
            let reader = || {
                while !done.load(Ordering::Acquire) {
                    check();
                }
            };
            let readers: Vec<_> = (0..3).map(|_| scope.spawn(reader)).collect();
            for batch in 0..BATCHES {
                let moved = batch % MOVED;
                let ids = [moved, moved + MOVED, 100 + batch * 2, 101 + batch * 2];
                let edits = ids.map(|id| insertion(id, bits(batch)));
                visible.store(memtable.append(&edits), Ordering::Release);
                let started = Instant::now();
                while checks.load(Ordering::Acquire) < batch / BATCHES_PER_CHECK
                    && !readers.iter().any(|reader| reader.is_finished())
                {
                    assert!(started.elapsed() < TIMEOUT, "no reader checks");
                    std::thread::yield_now();
                }
            }
        });
        check();
        assert_eq!(u64::from(memtable.len()), BATCHES * 4);
    }
}

#[test]
fn memory_estimate_is_small_without_edits_and_includes_text_bytes() {
    let memtable = Memtable::new();
    assert!(memtable.bytes() < 1 << 18);
    memtable.append(&[DocumentEdit {
        text: TextEdit::put_without_keys("a".repeat(1_000)),
        ..insertion(1, 1)
    }]);
    assert!((1_000..1_500).contains(&(memtable.bytes() - Memtable::new().bytes())));
}

/// Prints times and memory with a million edits:
/// `cargo test --release --lib measure_million_edits -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
#[allow(clippy::print_stdout)]
fn measure_million_edits() {
    const COUNT: u64 = 1_000_000;
    let mixed = |n: u64| {
        let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ n >> 31
    };
    let edits: Vec<DocumentEdit> = (0..COUNT).map(|n| insertion(n * 3, mixed(n))).collect();
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = pages
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse::<usize>().ok());
        pages.unwrap_or(0) * 4096
    };
    let cpu_ms = || {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let ticks = |nth| {
            stat.split(' ')
                .nth(nth)
                .and_then(|ticks| ticks.parse::<u64>().ok())
        };
        (ticks(13).unwrap_or(0) + ticks(14).unwrap_or(0)) * 10
    };
    for _ in 0..3 {
        let start = Instant::now();
        std::hint::black_box(Memtable::new()).append(&edits[..1]);
        println!("first edit: {:?}", start.elapsed());
    }
    for batch in [1, 10, 1_000, 20_000, COUNT as usize] {
        let before = resident();
        let memtable = Arc::new(Memtable::new());
        let (start, cpu_before) = (Instant::now(), cpu_ms());
        let mut longest = std::time::Duration::ZERO;
        for edits in edits.chunks(batch) {
            let start = Instant::now();
            memtable.append(edits);
            longest = longest.max(start.elapsed());
        }
        println!(
            "append by {batch}: {:?} per edit, {} ms of CPU time, longest batch {longest:?}; \
             {} bytes per edit, {} estimated",
            start.elapsed() / COUNT as u32,
            cpu_ms() - cpu_before,
            (resident() - before) / COUNT as usize,
            memtable.bytes() / COUNT as usize,
        );
        if batch != 10 && batch != COUNT as usize {
            std::mem::forget(memtable);
            continue;
        }
        let view = view_of(&memtable);
        for radius in [0, 3, 7, 11, 15, 16, 20] {
            let queries = if radius < 8 { 20_000 } else { 500 };
            let mut times: Vec<_> = (0..queries)
                .map(|n| {
                    // Every fourth query has a match at distance 1.
                    let query = if n % 4 == 0 { n * 40 } else { COUNT + n };
                    let query = Fingerprint::from_bits(mixed(query) ^ 1 << 60);
                    let start = Instant::now();
                    let found = std::hint::black_box(view.within(query, radius));
                    let time = start.elapsed();
                    assert!(!found.is_empty() || n % 4 != 0 || radius == 0);
                    time
                })
                .collect();
            times.sort_unstable();
            let percentile = |percent: usize| times[times.len() * percent / 100];
            let (p50, p99) = (percentile(50), percentile(99));
            println!("within {radius}: p50 {p50:?}, p99 {p99:?}");
        }
        let start = Instant::now();
        let limited = view.within_limit(Fingerprint::from_bits(1), 64, &IdRanges::ALL, 3, |_| true);
        println!("within 64, limit {}: {:?}", limited.len(), start.elapsed());
        let start = Instant::now();
        let all = view.within(Fingerprint::from_bits(1), 64).len();
        println!("within 64, all {all}: {:?}", start.elapsed());
        let start = Instant::now();
        let touched = (0..COUNT).filter(|n| view.contains(DocId(n * 7))).count();
        println!("contains: {:?} ({touched})", start.elapsed() / COUNT as u32);
        let start = Instant::now();
        println!(
            "sorted_ids: {} in {:?}",
            view.sorted_ids().len(),
            start.elapsed()
        );
        let start = Instant::now();
        println!(
            "coalesced_edits: {} in {:?}",
            memtable.coalesced_edits(memtable.len()).len(),
            start.elapsed()
        );
        std::mem::forget((memtable, view));
    }
    let memtable = Arc::new(Memtable::new());
    let copies: Vec<_> = (0..COUNT).rev().map(|n| insertion(n, CENTRES[0])).collect();
    let start = Instant::now();
    copies.chunks(10).for_each(|batch| {
        memtable.append(batch);
    });
    println!(
        "copies of one: {:?} per edit",
        start.elapsed() / COUNT as u32
    );
    let start = Instant::now();
    let found = view_of(&memtable).within_limit(
        Fingerprint::from_bits(CENTRES[0]),
        3,
        &IdRanges::ALL,
        3,
        |_| true,
    );
    println!("three of them ({:?}): {:?}", found[0].id, start.elapsed());
    let start = Instant::now();
    let found = view_of(&memtable).within(Fingerprint::from_bits(CENTRES[0]), 3);
    println!("all {} of them: {:?}", found.len(), start.elapsed());
}
