//! [`Pool`]: the threads of a database, for work on all cores.
//!
//! A rayon thread that waits for work of its own pool meanwhile runs other tasks of that pool. If
//! the caller of the library is such a thread and holds a lock, one of those tasks may wait for the
//! same lock: a deadlock. So the library never uses its caller's pool, and a caller on a rayon
//! thread of another pool is blocked until the work is done.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread::Builder;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool with a thread for each core, started when it is first needed.
#[derive(Default)]
pub(crate) struct Pool {
    /// `None` inside if the system refused to start threads.
    pool: OnceLock<Option<ThreadPool>>,
}

impl Pool {
    /// Runs work in the pool, or on the calling thread if the pool could not be started.
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
            // If the system refuses the thread, `task` is dropped and the work is still in `work`.
            let waiting = Builder::new().spawn_scoped(scope, task).ok()?;
            waiting.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        match (done, work) {
            (Some(done), _) => done,
            (None, Some(work)) => work(),
            (None, None) => unreachable!("work that was taken has returned or panicked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rayon::prelude::*;

    use super::*;

    /// With plain `install`, a task that holds the lock would run another task, which waits for the
    /// lock.
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
