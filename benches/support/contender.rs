//! A contender: an index that answers queries, and the measurement of its speed.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::keys::Query;
use super::timing::{Latency, TURN_TIME, TURNS, median, time_ratio};

/// Distance and id of each document within the radius, by distance, then id.
pub type Answer = Vec<(u32, u64)>;

/// A function from query and radius to answer, with the scratch memory of one thread.
pub type Asker<'a> = Box<dyn FnMut(u64, u32) -> Answer + 'a>;

/// An index that any number of threads can query.
pub trait Contender: Sync {
    fn asker(&self) -> Asker<'_>;
}

pub struct Speed {
    pub latency: Latency,
    /// The median latency as a multiple of the latency of the floor.
    pub over_floor: f64,
    /// Answers per second, by one thread and by two.
    pub throughput: [f64; 2],
    /// The throughput of two threads as a multiple of the throughput of one.
    pub scaling: f64,
}

/// Queries per measurement, if a turn has time for as many.
const QUERIES: usize = 20_000;

/// The number of queries that [`measure`] needs to ask none twice. Repeated queries would be
/// answered from a cache that is too small for the whole index.
pub const MEASURED_QUERIES: usize = QUERIES * (1 + 3 * TURNS);

/// Measures a contender and the floor in turns, with as many queries as a turn has time for. Panics
/// if a planted query does not find its document.
pub fn measure(
    contender: &dyn Contender,
    floor: &dyn Contender,
    queries: &[Query],
    radius: u32,
) -> Speed {
    // A slow contender answers fewer queries, each of them only once: parts are taken in order.
    let mut parts = queries.chunks_exact(QUERIES);
    let mut part = || parts.next().expect("queries for every turn");
    let queries_per_turn = queries_per_turn(contender, part(), radius);
    let mut fresh = || &part()[..queries_per_turn];
    let (mut own, mut of_floor) = (Vec::new(), Vec::new());
    let (mut by_one, mut by_two) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        // The floor directly before the contender, so that both meet the same load of the machine.
        let queries = fresh();
        of_floor.push(Latency::new(latencies(floor, queries, radius)));
        own.push(Latency::new(latencies(contender, queries, radius)));
        by_one.push(throughput(contender, fresh(), radius, 1));
        by_two.push(throughput(contender, fresh(), radius, 2));
    }
    let turns = || own.iter().zip(&of_floor);
    Speed {
        latency: Latency::median(&own),
        over_floor: median(turns().map(|(own, floor)| time_ratio(own.p50, floor.p50))),
        scaling: median(by_one.iter().zip(&by_two).map(|(one, two)| two / one)),
        throughput: [median(by_one.into_iter()), median(by_two.into_iter())],
    }
}

/// The latency of each query on one thread. Panics if a planted query does not find its document.
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

/// Asks queries for one turn and returns their number, at least two. Also warms the caches.
pub fn queries_per_turn(contender: &dyn Contender, queries: &[Query], radius: u32) -> usize {
    let mut ask = contender.asker();
    let started = Instant::now();
    for (number, query) in queries.iter().enumerate() {
        black_box(ask(query.bits, radius));
        if number >= 1 && started.elapsed() > TURN_TIME {
            return number + 1;
        }
    }
    queries.len()
}

/// Answers per second, by threads that share the queries.
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
