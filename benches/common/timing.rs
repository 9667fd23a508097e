//! Percentiles, and what to do about a machine that others use at the same time: everything is
//! measured in turns, the contenders of a turn right after each other, and the turn in the middle
//! counts.

use std::time::{Duration, Instant};

/// Turns of each measurement; odd, so that one is in the middle.
pub const TURNS: usize = 5;

/// How long the queries of one turn may take.
pub const TURN: Duration = Duration::from_millis(500);

/// What half and what 99 of a hundred queries were answered in.
#[derive(Clone, Copy)]
pub struct Latency {
    pub p50: Duration,
    pub p99: Duration,
}

impl Latency {
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self {
            p50: times[times.len() / 2],
            p99: times[times.len() * 99 / 100],
        }
    }

    /// The middle of several turns.
    pub fn middle(turns: &[Self]) -> Self {
        Self {
            p50: middle(turns.iter().map(|turn| turn.p50)),
            p99: middle(turns.iter().map(|turn| turn.p99)),
        }
    }
}

/// The value in the middle.
pub fn middle<T: PartialOrd>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).expect("a number"));
    let place = values.len() / 2;
    values.into_iter().nth(place).expect("at least one turn")
}

/// What `work` gives, and how long it takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let result = work();
    (result, started.elapsed())
}

/// How many times as long as `floor` something took.
pub fn times(time: Duration, floor: Duration) -> f64 {
    time.as_secs_f64() / floor.as_secs_f64()
}
