//! Waiting for events, and measuring time on a busy machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Upper bound for any wait; an event that takes longer never comes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds. Panics after [`PATIENCE`].
#[track_caller]
pub fn wait_until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sets a flag on drop, so that threads waiting for the flag end also if the test panics.
pub struct SetWhenDropped<'f>(pub &'f AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The run time of a closure.
pub fn timed<T>(run: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

/// The shortest run times of two closures that alternate. The minimum filters out other load.
pub fn shortest(
    turns: usize,
    mut one: impl FnMut() -> Duration,
    mut other: impl FnMut() -> Duration,
) -> (Duration, Duration) {
    let most = (Duration::MAX, Duration::MAX);
    (0..turns).fold(most, |(first, second), _| {
        (first.min(one()), second.min(other()))
    })
}
