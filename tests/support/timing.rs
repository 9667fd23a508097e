//! Waiting for what must happen, and how long things take on a machine that is busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything that is waited for takes, unless it never comes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so; not for ever.
#[track_caller]
pub fn wait_until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sets a flag when it is dropped, so that threads that go on until then end also where the test
/// fails.
pub struct SetWhenDropped<'f>(pub &'f AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// How long something takes.
pub fn timed<T>(run: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

/// The shortest times of two that take turns: what else the machine does makes few of them longer.
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
