//! [`Pool`]: the threads of a database, for work on all cores.
//!
//! A rayon thread that waits for work of its own pool runs other tasks of that pool in the meantime.
//! If the caller of the library is such a thread and holds a lock, one of those tasks may wait for
//! the same lock: a deadlock. So the library never uses the pool of its caller, and a rayon thread
//! of another pool waits for the work without running tasks.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread::Builder;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool with a thread for each core, started when it is first needed.
#[derive(Default)]
pub(crate) struct Pool {
    /// `None` if the system gives no more threads.
    pool: OnceLock<Option<ThreadPool>>,
}

impl Pool {
    /// Runs work in the pool, or without a pool on the calling thread.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let pool = self.pool.get_or_init(|| {
            ThreadPoolBuilder::new()
                .thread_name(|number| format!("simdb-{number}"))
                .build()
                .ok()
        });
        let Some(pool) = pool else {
            return work();
        };
        let is_in_other_pool =
            rayon::current_thread_index().is_some() && pool.current_thread_index().is_none();
        if !is_in_other_pool {
            return pool.install(work);
        }
        // `install` would run tasks of the other pool while it waits; a plain thread blocks.
        let mut work = Some(work);
        let done = std::thread::scope(|scope| {
            let task = || work.take().map(|work| pool.install(work));
            // If the system gives no thread, `task` is dropped without having taken the work.
            let waiting = Builder::new().spawn_scoped(scope, task).ok()?;
            waiting.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        match (done, work) {
            (Some(done), _) => done,
            (None, Some(work)) => work(),
            (None, None) => unreachable!("work that was taken is done, or panics"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rayon::prelude::*;

    use super::*;

    /// With `install`, tasks that wait for work while they hold a lock would run each other.
    #[test]
    fn task_of_other_pool_may_hold_lock_during_work() {
        let pool = Pool::default();
        let lock = Mutex::new(0_u64);
        let sum = || (0..1_000_u64).into_par_iter().map(|n| n % 7).sum::<u64>();
        let caller = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        caller.install(|| {
            (0..200).into_par_iter().for_each(|_| {
                let mut total = lock.lock().unwrap();
                *total += pool.run(sum);
            });
        });
        assert_eq!(lock.into_inner().unwrap(), 200 * sum());
    }
}
