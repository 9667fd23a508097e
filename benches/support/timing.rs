//! Timing on a machine with other load: contenders are measured in turns, directly after each
//! other, and the median turn is the result.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// Turns per measurement. Odd, so that the median is a turn.
pub const TURNS: usize = 5;

/// The time for the queries of one turn.
pub const TURN_TIME: Duration = Duration::from_millis(500);

/// Percentiles of the latency.
#[derive(Clone, Copy)]
pub struct Latency {
    pub p50: Duration,
    pub p99: Duration,
}

impl Latency {
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self {
            p50: times[times.len() / 2],
            p99: times[times.len() * 99 / 100],
        }
    }

    /// The median of several turns, for each percentile.
    pub fn median(turns: &[Self]) -> Self {
        Self {
            p50: median(turns.iter().map(|turn| turn.p50)),
            p99: median(turns.iter().map(|turn| turn.p99)),
        }
    }
}

/// The median of an odd number of values.
pub fn median<T: PartialOrd>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).expect("a number"));
    let place = values.len() / 2;
    values.into_iter().nth(place).expect("at least one turn")
}

/// The result of `work`, and the time that it takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let result = work();
    (result, started.elapsed())
}

/// The result of `work`, and the CPU time of all threads of this process meanwhile.
pub fn cpu_timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = ProcessTime::now();
    let result = work();
    (result, before.elapsed())
}

/// A time as a multiple of `floor`.
pub fn time_ratio(time: Duration, floor: Duration) -> f64 {
    time.as_secs_f64() / floor.as_secs_f64()
}
