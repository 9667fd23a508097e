//! The cost of hot fingerprints and hot block keys.
//!
//! `cargo bench --bench skew -- [DOCUMENTS]`, by default 1,000,000 documents, in four databases:
//!
//! - **uniform**: random fingerprints;
//! - **shared**: one document in a hundred has one of ten fingerprints, as boilerplate has;
//! - **crowded**: one document in twenty has 16 leading zeros, as with an unbalanced recipe or
//!   corpus; the other 48 bits are random;
//! - **scoped**: the documents of *uniform* in one scope, ten of them with hot fingerprints, and as
//!   many copies with these ten fingerprints in another scope. Queries are limited to the first.
//!
//! Queries that touch no hot spot are measured on all three, in turns. They should take at most 1.5
//! times as long as on the uniform database. Then follow queries that touch a hot spot. The bench
//! fails if a sample of each kind differs from the plain scan, or from its first matches if the
//! query has a limit.
//!
//! `support/keys.rs` makes keys and queries. The hot fingerprints are splitmix64 from
//! seed 5.

#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;
use std::path::Path;

use bench_support::arguments::Usage;
use bench_support::contender::{Asker, Contender, latencies, queries_per_turn};
use bench_support::database::{LOAD_MEMORY_BYTES, cache_for, folder, load};
use bench_support::keys::{Query, SplitMix, key, queries_for};
use bench_support::plain_scan;
use bench_support::table::{Table, number, ratio, time};
use bench_support::timing::{Latency, TURNS, median, time_ratio};
use simdb::{Database, DocId, Document, Fingerprint, Snapshot};

const USAGE: Usage = Usage {
    line: "cargo bench --bench skew -- [DOCUMENTS]",
    flags: &[],
    options: &[],
};

const RADIUS: u32 = 3;
const QUERIES: usize = 10_000;
/// Queries per kind that are compared with the plain scan.
const CHECKED: usize = 10;

const HOT_SEED: u64 = 5;
const HOT_FINGERPRINTS: u64 = 10;
/// One document in a hundred has a hot fingerprint.
const SHARED_ONE_IN: u64 = 100;
/// One document in twenty has the hot prefix, 16 zeros.
const CROWDED_ONE_IN: u64 = 20;
/// The bits after the hot prefix.
const SUFFIX_MASK: u64 = u64::MAX >> 16;

const LIMITS: [usize; 4] = [1, 10, 1000, usize::MAX];

fn main() {
    let documents = USAGE.arguments().size(1_000_000);
    let folder = folder();
    let databases = [uniform, shared, crowded].map(|fingerprint| {
        let path = folder.path().join("skew.simdb");
        let file_bytes = load(&path, false, (0..documents).map(fingerprint));
        let builder = Database::builder().cache_bytes(cache_for(file_bytes));
        let database = builder.open(&path).expect("open");
        // The database keeps the file open. Removed now, so that the next database can use the
        // name.
        std::fs::remove_file(&path).expect("the file is there");
        Skewed {
            keys: (0..documents).map(fingerprint).collect(),
            snapshot: database.snapshot().expect("snapshot"),
            database,
        }
    });
    let [uniform, shared, crowded] = &databases;
    let scoped = scoped(&folder.path().join("scoped.simdb"), documents);
    let mut measured = Measured {
        table: Table::new(
            &format!("{documents} documents, radius {RADIUS}, warm"),
            &["p50", "p99", "× uniform p50", "matches"],
        ),
        uniform: &uniform.snapshot,
        unrelated: random(|bits| bits),
    };

    let unrelated = measured.unrelated.clone();
    for (name, skewed) in [
        ("uniform", uniform),
        ("shared", shared),
        ("crowded", crowded),
        ("scoped", &scoped),
    ] {
        measured.row(
            &format!("{name}: an unrelated query"),
            skewed,
            usize::MAX,
            &unrelated,
        );
    }
    let hot: Vec<Query> = (0..HOT_FINGERPRINTS).map(|n| query(hot(n))).collect();
    let hot = hot.repeat(QUERIES / HOT_FINGERPRINTS as usize);
    for limit in LIMITS {
        let shown_limit = match limit {
            usize::MAX => "no limit".to_owned(),
            limit => format!("limit {limit}"),
        };
        measured.row(
            &format!("shared: a hot fingerprint, {shown_limit}"),
            shared,
            limit,
            &hot,
        );
    }
    measured.row(
        "scoped: a hot fingerprint of the other scope",
        &scoped,
        usize::MAX,
        &hot,
    );
    let in_prefix = random(|bits| bits & SUFFIX_MASK);
    let near = queries_for(
        &|id| crowded.keys[(id * CROWDED_ONE_IN) as usize],
        documents / CROWDED_ONE_IN,
        2 * QUERIES,
        RADIUS,
    );
    let near: Vec<Query> = near
        .into_iter()
        .filter(|query| query.planted.is_some() && query.bits & !SUFFIX_MASK == 0)
        .map(|near| query(near.bits))
        .collect();
    measured.row(
        "crowded: the hot prefix, near to nothing",
        crowded,
        usize::MAX,
        &in_prefix,
    );
    measured.row(
        "crowded: the hot prefix, near a document",
        crowded,
        usize::MAX,
        &near,
    );
}

/// The scope of the queries, whose first documents have one of the hot fingerprints each.
fn scoped(path: &Path, documents: u64) -> Skewed {
    let own = |id| match id {
        ..HOT_FINGERPRINTS => hot(id),
        _ => key(id),
    };
    let builder = Database::builder().scopes(true);
    let mut load = builder
        .bulk_create(path, LOAD_MEMORY_BYTES)
        .expect("a new file");
    let mut push = |scope, id: u64, bits| {
        let document = Document::new(format!("{scope}{id}"), Fingerprint::from_bits(bits));
        load.push(document.with_scope(scope)).expect("push");
    };
    (0..documents).for_each(|id| push("own", id, own(id)));
    let hot: Vec<u64> = (0..HOT_FINGERPRINTS).map(hot).collect();
    (0..documents).for_each(|id| push("other", id, hot[(id % HOT_FINGERPRINTS) as usize]));
    load.finish(|_| ControlFlow::Continue(())).expect("load");
    let file_bytes = std::fs::metadata(path).expect("the file").len();
    let builder = Database::builder().cache_bytes(cache_for(file_bytes));
    let database = builder.open(path).expect("open");
    let snapshot = database.snapshot().expect("snapshot");
    Skewed {
        keys: (0..documents).map(own).collect(),
        snapshot: snapshot.in_scopes(["own"]).expect("scopes"),
        database,
    }
}

fn uniform(id: u64) -> u64 {
    key(id)
}

fn shared(id: u64) -> u64 {
    match id % SHARED_ONE_IN {
        0 => hot(id / SHARED_ONE_IN % HOT_FINGERPRINTS),
        _ => key(id),
    }
}

fn crowded(id: u64) -> u64 {
    match id % CROWDED_ONE_IN {
        0 => key(id) & SUFFIX_MASK,
        _ => key(id),
    }
}

fn hot(number: u64) -> u64 {
    let mut draws = SplitMix(HOT_SEED);
    (0..=number).fold(0, |_, _| draws.next())
}

/// Random queries, each changed by a function.
fn random(change: impl Fn(u64) -> u64) -> Vec<Query> {
    let random = queries_for(&key, 1, 2 * QUERIES, RADIUS).into_iter();
    random
        .filter(|query| query.planted.is_none())
        .map(|random| query(change(random.bits)))
        .collect()
}

fn query(bits: u64) -> Query {
    Query {
        bits,
        planted: None,
    }
}

struct Skewed {
    keys: Vec<u64>,
    snapshot: Snapshot,
    /// Keeps the file open.
    database: Database,
}

/// A contender that returns the first matches of a snapshot.
struct Limited<'s> {
    snapshot: &'s Snapshot,
    limit: usize,
    is_scoped: bool,
}

impl Limited<'_> {
    /// The number of a document, from 0.
    fn number(&self, id: DocId) -> u64 {
        match self.is_scoped {
            // Of the first scope, whose documents were pushed first.
            true => id.0 - (1 << 40) - 1,
            false => id.0,
        }
    }
}

impl Contender for Limited<'_> {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| {
            let fingerprint = Fingerprint::from_bits(query);
            let matches = self.snapshot.within_limit(fingerprint, radius, self.limit);
            let matches = matches.expect("query").into_iter();
            matches
                .map(|found| (found.distance, self.number(found.id)))
                .collect()
        })
    }
}

struct Measured<'s> {
    table: Table,
    uniform: &'s Snapshot,
    unrelated: Vec<Query>,
}

impl Measured<'_> {
    /// Checks and measures queries of one kind, in turns with unrelated queries of the uniform
    /// database.
    fn row(&mut self, label: &str, skewed: &Skewed, limit: usize, queries: &[Query]) {
        let contender = Limited {
            snapshot: &skewed.snapshot,
            limit,
            is_scoped: skewed.database.settings().scopes,
        };
        let mut ask = contender.asker();
        let mut matches = 0;
        for query in &queries[..CHECKED] {
            let mut expected = plain_scan::answer(&skewed.keys, query.bits, RADIUS);
            expected.truncate(limit);
            let answer = ask(query.bits, RADIUS);
            assert!(answer == expected, "{label}: differs from the plain scan");
            matches += answer.len();
        }
        let queries = &queries[..queries_per_turn(&contender, queries, RADIUS)];
        // Not counted: warms the caches after the queries above.
        latencies(self.uniform, &self.unrelated, RADIUS);
        let turns = (0..TURNS).map(|_| {
            let floor = Latency::new(latencies(self.uniform, &self.unrelated, RADIUS));
            let own = Latency::new(latencies(&contender, queries, RADIUS));
            (own, time_ratio(own.p50, floor.p50))
        });
        let turns: Vec<_> = turns.collect();
        let own: Vec<Latency> = turns.iter().map(|(own, _)| *own).collect();
        let latency = Latency::median(&own);
        let over = median(turns.iter().map(|(_, over)| *over));
        let values = [
            time(latency.p50),
            time(latency.p99),
            ratio(over),
            number(matches as f64 / CHECKED as f64),
        ];
        self.table.row(label, &values);
    }
}
