//! Something that answers queries, and how fast it does.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::keys::Query;
use super::timing::{Latency, TURN, TURNS, middle, times};

/// Distance and id of each document within the radius, nearest first, then smallest id.
pub type Answer = Vec<(u32, u64)>;

/// One thread's way to ask: query and radius to answer.
pub type Asker<'a> = Box<dyn FnMut(u64, u32) -> Answer + 'a>;

/// Something that answers queries from any number of threads.
pub trait Contender: Sync {
    fn asker(&self) -> Asker<'_>;
}

/// How fast a contender answers.
pub struct Speed {
    pub latency: Latency,
    /// How many times as long as the floor it took to answer half the queries.
    pub over_floor: f64,
    /// Answers in a second, by one thread and by two at once.
    pub throughput: [f64; 2],
    /// How many times as many answers two threads gave.
    pub scaling: f64,
}

/// Queries that [`measure`] asks at a time.
const QUERIES: usize = 20_000;

/// How many queries [`measure`] needs, so that it asks none of them twice: else a cache that is too
/// small for everything might hold just what they need.
pub const MEASURED_QUERIES: usize = QUERIES * (1 + 3 * TURNS);

/// Measures a contender and the floor in turns, with as many of the queries as a turn has time for.
/// Every planted query must find its document.
pub fn measure(
    contender: &dyn Contender,
    floor: &dyn Contender,
    queries: &[Query],
    radius: u32,
) -> Speed {
    let mut parts = queries.chunks_exact(QUERIES);
    let mut part = || parts.next().expect("queries for every turn");
    let affordable = affordable(contender, part(), radius);
    let mut fresh = || &part()[..affordable];
    let (mut own, mut of_floor) = (Vec::new(), Vec::new());
    let (mut by_one, mut by_two) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let queries = fresh();
        of_floor.push(Latency::of(latencies(floor, queries, radius)));
        own.push(Latency::of(latencies(contender, queries, radius)));
        by_one.push(throughput(contender, fresh(), radius, 1));
        by_two.push(throughput(contender, fresh(), radius, 2));
    }
    let turns = || own.iter().zip(&of_floor);
    Speed {
        latency: Latency::middle(&own),
        over_floor: middle(turns().map(|(own, floor)| times(own.p50, floor.p50))),
        scaling: middle(by_one.iter().zip(&by_two).map(|(one, two)| two / one)),
        throughput: [middle(by_one.into_iter()), middle(by_two.into_iter())],
    }
}

/// How long each query takes on one thread.
pub fn latencies(contender: &dyn Contender, queries: &[Query], radius: u32) -> Vec<Duration> {
    let mut ask = contender.asker();
    let time = |query: &Query| {
        let started = Instant::now();
        let answer = ask(query.bits, radius);
        let time = started.elapsed();
        let planted = |id| answer.iter().any(|(_, found)| *found == id);
        assert!(query.planted.is_none_or(planted), "a document is not found");
        time
    };
    queries.iter().map(time).collect()
}

/// How many of the queries, asked once before, fit in a turn; at least two of them.
pub fn affordable(contender: &dyn Contender, queries: &[Query], radius: u32) -> usize {
    let mut ask = contender.asker();
    let started = Instant::now();
    for (number, query) in queries.iter().enumerate() {
        black_box(ask(query.bits, radius));
        if number >= 1 && started.elapsed() > TURN {
            return number + 1;
        }
    }
    queries.len()
}

/// Answers in a second of threads that share the queries.
fn throughput(contender: &dyn Contender, queries: &[Query], radius: u32, threads: usize) -> f64 {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for share in queries.chunks(queries.len().div_ceil(threads)) {
            scope.spawn(move || {
                let mut ask = contender.asker();
                for query in share {
                    black_box(ask(query.bits, radius));
                }
            });
        }
    });
    queries.len() as f64 / started.elapsed().as_secs_f64()
}
