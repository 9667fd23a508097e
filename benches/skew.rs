//! What do hot spots cost?
//!
//! `cargo bench --bench skew -- [DOCUMENTS]`, 1,000,000 documents unless said otherwise, in three
//! databases:
//!
//! - **uniform**: random fingerprints;
//! - **shared**: one document in a hundred has one of ten fingerprints, as boilerplate does;
//! - **crowded**: of one document in twenty the first 16 bits are zero, as where a recipe or a
//!   corpus is lopsided; the other 48 bits are random.
//!
//! Queries that have nothing to do with the hot spots are asked of all three in turns: they should
//! cost at most one and a half times what they cost in the uniform one. Then come the queries that
//! meet a hot spot. Every query of a sample of each kind must be answered as the plain scan does, or
//! with the first matches of that where there is a limit.
//!
//! Keys are splitmix64 from seed 1, ids count from 0; queries are splitmix64 from seed 77; the hot
//! fingerprints splitmix64 from seed 5.

#![allow(clippy::print_stdout)]

mod common;

use common::arguments::Usage;
use common::contender::{Asker, Contender, affordable, latencies};
use common::database::{cache_for, folder, load};
use common::keys::{Query, SplitMix, key, queries_of};
use common::plain_scan;
use common::table::{Table, number, ratio, time};
use common::timing::{Latency, TURNS, middle, times};
use simdb::{Database, Fingerprint, Snapshot};

const USAGE: Usage = Usage {
    line: "cargo bench --bench skew -- [DOCUMENTS]",
    flags: &[],
    options: &[],
};

const RADIUS: u32 = 3;
const QUERIES: usize = 10_000;
/// Queries of each kind that are compared with the plain scan.
const CHECKED: usize = 10;

const HOT_SEED: u64 = 5;
const HOT_FINGERPRINTS: u64 = 10;
/// One document in so many has a hot fingerprint.
const SHARED_ONE_IN: u64 = 100;
/// One document in so many has the hot prefix.
const CROWDED_ONE_IN: u64 = 20;
const BEHIND_PREFIX: u64 = u64::MAX >> 16;

const LIMITS: [usize; 4] = [1, 10, 1000, usize::MAX];

fn main() {
    let documents = USAGE.arguments().size(1_000_000);
    let folder = folder();
    let databases = [uniform, shared, crowded].map(|fingerprint| {
        let path = folder.path().join("skew.simdb");
        let file_bytes = load(&path, false, (0..documents).map(fingerprint));
        let builder = Database::builder().cache_bytes(cache_for(file_bytes));
        let database = builder.open(&path).expect("open");
        // The open file is all that is needed.
        std::fs::remove_file(&path).expect("the file is there");
        Skewed {
            keys: (0..documents).map(fingerprint).collect(),
            snapshot: database.snapshot().expect("snapshot"),
            _database: database,
        }
    });
    let [uniform, shared, crowded] = &databases;
    let mut measured = Measured {
        table: Table::new(
            &format!("{documents} documents, radius {RADIUS}, warm"),
            &["p50", "p99", "× uniform p50", "matches"],
        ),
        uniform: &uniform.snapshot,
        unrelated: random(|bits| bits),
    };

    let unrelated = measured.unrelated.clone();
    for (what, skewed) in [
        ("uniform", uniform),
        ("shared", shared),
        ("crowded", crowded),
    ] {
        measured.row(
            &format!("{what}: an unrelated query"),
            skewed,
            usize::MAX,
            &unrelated,
        );
    }
    let hot: Vec<Query> = (0..HOT_FINGERPRINTS).map(|n| query(hot(n))).collect();
    let hot = hot.repeat(QUERIES / HOT_FINGERPRINTS as usize);
    for limit in LIMITS {
        let what = match limit {
            usize::MAX => "no limit".to_owned(),
            limit => format!("limit {limit}"),
        };
        measured.row(
            &format!("shared: a hot fingerprint, {what}"),
            shared,
            limit,
            &hot,
        );
    }
    let in_prefix = random(|bits| bits & BEHIND_PREFIX);
    let near = queries_of(
        &|id| crowded.keys[(id * CROWDED_ONE_IN) as usize],
        documents / CROWDED_ONE_IN,
        2 * QUERIES,
        RADIUS,
    );
    let near: Vec<Query> = near
        .into_iter()
        .filter(|query| query.planted.is_some() && query.bits & !BEHIND_PREFIX == 0)
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
        0 => key(id) & BEHIND_PREFIX,
        _ => key(id),
    }
}

fn hot(number: u64) -> u64 {
    let mut draws = SplitMix(HOT_SEED);
    (0..=number).fold(0, |_, _| draws.next())
}

/// Random queries, each changed in a way.
fn random(change: impl Fn(u64) -> u64) -> Vec<Query> {
    let random = queries_of(&key, 1, 2 * QUERIES, RADIUS).into_iter();
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
    _database: Database,
}

/// A snapshot that is asked for the first matches only.
struct Limited<'s> {
    snapshot: &'s Snapshot,
    limit: usize,
}

impl Contender for Limited<'_> {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| {
            let fingerprint = Fingerprint::from_bits(query);
            let matches = self.snapshot.within_limit(fingerprint, radius, self.limit);
            let matches = matches.expect("query").into_iter();
            matches.map(|found| (found.distance, found.id.0)).collect()
        })
    }
}

struct Measured<'s> {
    table: Table,
    uniform: &'s Snapshot,
    unrelated: Vec<Query>,
}

impl Measured<'_> {
    /// Checks and times queries of one kind, in turns with unrelated ones of the uniform database.
    fn row(&mut self, label: &str, skewed: &Skewed, limit: usize, queries: &[Query]) {
        let contender = Limited {
            snapshot: &skewed.snapshot,
            limit,
        };
        let mut ask = contender.asker();
        let mut matches = 0;
        for query in &queries[..CHECKED] {
            let mut expected = plain_scan::answer(&skewed.keys, query.bits, RADIUS);
            expected.truncate(limit);
            let answer = ask(query.bits, RADIUS);
            assert!(answer == expected, "{label}: not what the plain scan gives");
            matches += answer.len();
        }
        let queries = &queries[..affordable(&contender, queries, RADIUS)];
        latencies(self.uniform, &self.unrelated, RADIUS);
        let turns = (0..TURNS).map(|_| {
            let floor = Latency::of(latencies(self.uniform, &self.unrelated, RADIUS));
            let own = Latency::of(latencies(&contender, queries, RADIUS));
            (own, times(own.p50, floor.p50))
        });
        let turns: Vec<_> = turns.collect();
        let own: Vec<Latency> = turns.iter().map(|(own, _)| *own).collect();
        let latency = Latency::middle(&own);
        let over = middle(turns.iter().map(|(_, over)| *over));
        let values = [
            time(latency.p50),
            time(latency.p99),
            ratio(over),
            number(matches as f64 / CHECKED as f64),
        ];
        self.table.row(label, &values);
    }
}
