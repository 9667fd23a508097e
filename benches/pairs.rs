//! The cost of all pairs of a database, and of its clusters.
//!
//! `cargo bench --features peers --bench pairs -- [DOCUMENTS] [--radius R] [--planted-one-in N]
//! [--cache-mib N] [--skew]`, by default 1,000,000 documents and radius 3. One document in a
//! hundred is planted: it differs by at least one bit, and at most the radius, from the document
//! before it.
//!
//! 1. The first 50,000 documents are compared with each other in memory, on all cores. The result
//!    defines the right answer, which simdb must find too. The time is the baseline, and grows with
//!    the square of the number of documents.
//! 2. All documents are loaded, and a new process finds all pairs twice. Its peak memory is that of
//!    this search and its cache. The first search reads the file, usually from the page cache of
//!    the system; the second search has a warm cache. Every planted pair must be found.
//! 3. Another process finds the clusters twice, as stars, at the same radius. A planted document
//!    and its original must be in one cluster.
//! 4. `all-pairs-hamming` finds the pairs of the uniform documents, in memory on one core. It must
//!    find the same pairs.
//!
//! With `--skew` there are three databases, as in the bench `skew`: **uniform**; **shared**, where
//! one document in a hundred has one of ten fingerprints; **crowded**, where one document in twenty
//! has 16 leading zeros. The last two should take at most twice as long as the first.
//!
//! `support/keys.rs` makes the keys. The flipped bits of a planted document are drawn from its
//! id.

#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use all_pairs_hamming::ChunkedJoiner;

use bench_support::arguments::Usage;
use bench_support::database::{folder, load};
use bench_support::keys::{SplitMix, key};
use bench_support::memory;
use bench_support::plain_scan::count_within;
use bench_support::table::{Table, mebibytes, number, ratio, time};
use bench_support::timing::{time_ratio, timed};
use simdb::clusters::{Clustering, ClustersEvent};
use simdb::pairs::PairsEvent;
use simdb::{Database, Snapshot};

const USAGE: Usage = Usage {
    line: "cargo bench --features peers --bench pairs -- [DOCUMENTS] [--radius R] [--planted-one-in N] \
           [--cache-mib N] [--skew]",
    flags: &["--skew"],
    options: &["--radius", "--planted-one-in", "--cache-mib"],
};

/// Documents of the quadratic comparison.
const COMPARED: u64 = 50_000;

const HOT_SEED: u64 = 5;
const HOT_FINGERPRINTS: u64 = 10;
/// One document in a hundred has a hot fingerprint.
const SHARED_ONE_IN: u64 = 100;
/// One document in twenty has the hot prefix, 16 zeros.
const CROWDED_ONE_IN: u64 = 20;
/// The bits after the hot prefix.
const SUFFIX_MASK: u64 = u64::MAX >> 16;

/// The first argument of a process that finds pairs or clusters instead of running the bench.
const JOB_FLAG: &str = "--run-pairs";
const CLUSTERS_JOB_FLAG: &str = "--run-clusters";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((job, words)) = words.split_first()
        && [JOB_FLAG, CLUSTERS_JOB_FLAG].contains(&job.as_str())
    {
        return run_job(job, words);
    }
    let arguments = USAGE.arguments();
    let documents = arguments.size(1_000_000);
    let corpus = Corpus {
        radius: arguments.number("--radius", 3),
        planted_one_in: arguments.number("--planted-one-in", 100).max(2),
        skew: Skew::Uniform,
    };
    let cache_mib = arguments.number("--cache-mib", 1024);
    let table = Table::new(
        &format!("All pairs within radius {}", corpus.radius),
        &[
            "time",
            "per million",
            "× uniform",
            "pairs or clusters",
            "groups or largest",
            "peak memory",
        ],
    );
    let skews: &[Skew] = match arguments.flag("--skew") {
        true => &[Skew::Uniform, Skew::Shared, Skew::Crowded],
        false => &[Skew::Uniform],
    };
    let plain = compare(&table, &corpus);
    let extrapolated = plain.mul_f64((documents as f64 / COMPARED as f64).powi(2));
    let label = format!("plain scan of {documents}, extrapolated");
    table.row(&label, &[time(extrapolated)]);
    let mut uniform = None;
    for skew in skews {
        let corpus = Corpus {
            skew: *skew,
            ..corpus
        };
        let folder = folder();
        let path = folder.path().join("pairs.simdb");
        load(&path, false, (0..documents).map(|id| corpus.bits(id)));
        let [first, again] = corpus.run_in_process(JOB_FLAG, &path, documents, cache_mib);
        let clusters = corpus.run_in_process(CLUSTERS_JOB_FLAG, &path, documents, cache_mib);
        let floor = *uniform.get_or_insert(first.time);
        for (label, found) in [
            ("pairs in a fresh process", first),
            ("pairs again, warm", again),
            ("clusters in a fresh process", clusters[0]),
            ("clusters again, warm", clusters[1]),
        ] {
            let label = format!("{skew:?}: {documents}, {label}");
            let values = [
                time(found.time),
                time(found.time.mul_f64(1e6 / documents as f64)),
                ratio(time_ratio(found.time, floor)),
                found.pairs.to_string(),
                found.groups.to_string(),
                mebibytes(found.peak_bytes),
            ];
            table.row(&label, &values);
        }
        if matches!(skew, Skew::Uniform) {
            let joined = join(&corpus, documents);
            let label = format!("all-pairs-hamming: {documents}, in memory, one core");
            let values = [
                time(joined.time),
                time(joined.time.mul_f64(1e6 / documents as f64)),
                ratio(time_ratio(joined.time, floor)),
                joined.pairs.to_string(),
            ];
            table.row(&label, &values);
            assert_eq!(joined.pairs, first.pairs, "another number of pairs");
            assert_eq!(joined.sum, first.sum, "other pairs");
        }
        println!(
            "  plain, extrapolated: {} × as long",
            number(time_ratio(extrapolated, first.time))
        );
    }
}

#[derive(Clone, Copy, Debug)]
enum Skew {
    Uniform,
    Shared,
    Crowded,
}

/// The fingerprints of the documents, computed from their ids.
#[derive(Clone, Copy)]
struct Corpus {
    radius: u64,
    planted_one_in: u64,
    skew: Skew,
}

impl Corpus {
    fn bits(&self, id: u64) -> u64 {
        if !self.is_planted(id) {
            return self.unplanted(id);
        }
        let mut draws = SplitMix(id);
        let flips = 1 + draws.next() % self.radius.max(1);
        self.unplanted(id - 1) ^ draws.bits(flips as u32)
    }

    fn is_planted(&self, id: u64) -> bool {
        id % self.planted_one_in == self.planted_one_in - 1
    }

    fn unplanted(&self, id: u64) -> u64 {
        match self.skew {
            // The original of a planted document never has a hot fingerprint, so the planted
            // document has one neighbour.
            Skew::Shared if id.is_multiple_of(SHARED_ONE_IN) && !self.is_planted(id + 1) => {
                hot(id / SHARED_ONE_IN % HOT_FINGERPRINTS)
            }
            Skew::Crowded if id.is_multiple_of(CROWDED_ONE_IN) => key(id) & SUFFIX_MASK,
            _ => key(id),
        }
    }

    fn run_in_process(
        &self,
        job: &str,
        path: &Path,
        documents: u64,
        cache_mib: u64,
    ) -> [Outcome; 2] {
        let program = std::env::current_exe().expect("this program");
        let numbers = [self.radius, self.planted_one_in, cache_mib];
        let output = Command::new(program)
            .arg(job)
            .arg(path)
            .args(numbers.map(|number| number.to_string()))
            .stderr(std::process::Stdio::inherit())
            .output()
            .expect("a process");
        assert!(output.status.success(), "the search failed");
        let text = String::from_utf8(output.stdout).expect("numbers");
        let mut outcomes = text.lines().map(Outcome::read);
        let mut next = || outcomes.next().expect("two lines");
        let outcomes = [next(), next()];
        for outcome in outcomes {
            let planted = documents / self.planted_one_in;
            assert_eq!(outcome.planted, planted, "a planted document is not found");
        }
        outcomes
    }
}

fn hot(number: u64) -> u64 {
    let mut draws = SplitMix(HOT_SEED);
    (0..=number).fold(0, |_, _| draws.next())
}

/// Compares the first documents with each other, in memory and by simdb, and returns the time in
/// memory.
fn compare(table: &Table, corpus: &Corpus) -> Duration {
    let keys: Vec<u64> = (0..COMPARED).map(|id| corpus.bits(id)).collect();
    let (plain, plain_time) = timed(|| plain_pairs(&keys, corpus.radius as u32));
    let pairs = plain.len().to_string();
    let label = format!("plain scan of {COMPARED} in memory, all cores");
    table.row(&label, &[time(plain_time), "".into(), "".into(), pairs]);

    let folder = folder();
    let path = folder.path().join("pairs.simdb");
    load(&path, false, keys.iter().copied());
    let database = Database::open(&path).expect("open");
    let snapshot = database.snapshot().expect("snapshot");
    let (mut found, found_time) = timed(|| {
        let mut found = Vec::new();
        let take = |pair: simdb::pairs::Pair| {
            found.push((pair.a.0, pair.b.0));
            ControlFlow::Continue(())
        };
        snapshot
            .document_pairs(corpus.radius as u32, take)
            .expect("pairs");
        found
    });
    found.sort_unstable();
    assert!(
        found == plain,
        "simdb finds other pairs than the plain scan"
    );
    let pairs = found.len().to_string();
    let label = format!("simdb, {COMPARED}: the same pairs");
    table.row(&label, &[time(found_time), "".into(), "".into(), pairs]);
    plain_time
}

/// All pairs in order, by a comparison of each key with all later keys.
fn plain_pairs(keys: &[u64], radius: u32) -> Vec<(u64, u64)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Threads take keys in turn: the work of a key shrinks towards the end.
    let find = |first: usize| {
        let mut found = Vec::new();
        for a in (first..keys.len()).step_by(threads) {
            let others = &keys[a + 1..];
            if count_within(others, keys[a], radius) > 0 {
                let is_near = |b: &usize| (keys[a] ^ keys[*b]).count_ones() <= radius;
                let near = (a + 1..keys.len()).filter(is_near);
                found.extend(near.map(|b| (a as u64, b as u64)));
            }
        }
        found
    };
    let mut found: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| scope.spawn(move || find(first)))
            .collect();
        let found = workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a scan"));
        found.collect()
    });
    found.sort_unstable();
    found
}

struct Joined {
    time: Duration,
    pairs: u64,
    sum: u64,
}

fn join(corpus: &Corpus, documents: u64) -> Joined {
    let mut joiner = ChunkedJoiner::<u64>::new(1);
    for id in 0..documents {
        joiner.add([corpus.bits(id)]).expect("one chunk");
    }
    // The library takes the distance as a share of all bits.
    let (found, time) = timed(|| joiner.similar_pairs(corpus.radius as f64 / 64.0));
    let sums = found
        .iter()
        .map(|(a, b, _)| pair_hash(*a as u64, *b as u64));
    Joined {
        time,
        pairs: found.len() as u64,
        sum: sums.fold(0, u64::wrapping_add),
    }
}

/// A hash of a pair. The sum of the hashes of all pairs is a checksum that does not depend on their
/// order.
fn pair_hash(a: u64, b: u64) -> u64 {
    SplitMix(a << 32 ^ b).next()
}

/// The measurements of one search for all pairs or clusters.
#[derive(Clone, Copy)]
struct Outcome {
    time: Duration,
    /// The number of pairs, or of clusters.
    pairs: u64,
    /// The sum of the [`pair_hash`] of all pairs; 0 for clusters.
    sum: u64,
    /// The number of planted documents that were found.
    planted: u64,
    /// The number of groups of equal fingerprints, or the size of the largest cluster.
    groups: u64,
    peak_bytes: u64,
}

impl Outcome {
    fn from_pairs(snapshot: &Snapshot, radius: u32, is_planted: impl Fn(u64) -> bool) -> Self {
        let (mut pairs, mut sum, mut planted, mut groups) = (0, 0_u64, 0, 0);
        let (outcome, time) = timed(|| {
            snapshot.pairs(radius, |event| {
                match event {
                    PairsEvent::Pairs(found) => {
                        pairs += found.len() as u64;
                        for pair in found {
                            sum = sum.wrapping_add(pair_hash(pair.a.0, pair.b.0));
                        }
                        let is_planted = |pair: &&simdb::pairs::Pair| is_planted(pair.b.0);
                        let near = found.iter().filter(is_planted);
                        planted += near.filter(|pair| pair.b.0 - pair.a.0 == 1).count() as u64;
                    }
                    PairsEvent::Copies { .. } => groups += 1,
                    _ => {}
                }
                ControlFlow::Continue(())
            })
        });
        outcome.expect("pairs");
        Self {
            time,
            pairs,
            sum,
            planted,
            groups,
            peak_bytes: memory::peak_resident().unwrap_or(0),
        }
    }

    /// Finds all clusters.
    fn from_clusters(snapshot: &Snapshot, radius: u32, is_planted: impl Fn(u64) -> bool) -> Self {
        let (mut clusters, mut planted, mut largest) = (0, 0, 0);
        let clustering = Clustering {
            radius,
            ..Clustering::default()
        };
        let (outcome, time) = timed(|| {
            snapshot.clusters(&clustering, |event| {
                if let ClustersEvent::Cluster(cluster) = event {
                    clusters += 1;
                    largest = largest.max(cluster.members.len() as u64);
                    let is_beside = |two: &&[simdb::clusters::Member]| {
                        is_planted(two[1].id.0) && two[1].id.0 - two[0].id.0 == 1
                    };
                    planted += cluster.members.windows(2).filter(is_beside).count() as u64;
                }
                ControlFlow::Continue(())
            })
        });
        outcome.expect("clusters");
        Self {
            time,
            pairs: clusters,
            sum: 0,
            planted,
            groups: largest,
            peak_bytes: memory::peak_resident().unwrap_or(0),
        }
    }

    fn print(&self) {
        let Self {
            time,
            pairs,
            sum,
            planted,
            groups,
            peak_bytes,
        } = self;
        println!(
            "{} {pairs} {sum} {planted} {groups} {peak_bytes}",
            time.as_nanos()
        );
    }

    fn read(line: &str) -> Self {
        let numbers: Vec<u64> = line
            .split_whitespace()
            .map(|number| number.parse().expect("a number"))
            .collect();
        Self {
            time: Duration::from_nanos(numbers[0]),
            pairs: numbers[1],
            sum: numbers[2],
            planted: numbers[3],
            groups: numbers[4],
            peak_bytes: numbers[5],
        }
    }
}

/// Finds all pairs or clusters twice and prints the measurements, for the process of the bench.
fn run_job(job: &str, words: &[String]) {
    let [path, numbers @ ..] = words else {
        panic!("a path is missing");
    };
    let number = |index: usize| numbers[index].parse::<u64>().expect("a number");
    let (radius, planted_one_in, cache_mib) = (number(0), number(1), number(2));
    let builder = Database::builder().cache_bytes((cache_mib as usize) << 20);
    let database = builder.open(path).expect("open");
    let snapshot = database.snapshot().expect("snapshot");
    let is_planted = |id| id % planted_one_in == planted_one_in - 1;
    for _ in 0..2 {
        let outcome = match job {
            JOB_FLAG => Outcome::from_pairs(&snapshot, radius as u32, is_planted),
            _ => Outcome::from_clusters(&snapshot, radius as u32, is_planted),
        };
        outcome.print();
    }
}
