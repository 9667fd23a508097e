//! Threads of a database's own for what is looked up on all cores.
//!
//! A thread of a pool that waits for work runs other tasks of its pool meanwhile. If the caller is
//! such a thread, these tasks are the caller's, and might wait for a lock that the caller holds. So
//! the work is never done in the caller's pool, and no thread of that waits for it in rayon's way.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread::Builder;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool with a thread for each core, started when it is first needed.
#[derive(Default)]
pub(crate) struct Pool {
    /// Nothing if the system gives no more threads.
    pool: OnceLock<Option<ThreadPool>>,
}

impl Pool {
    /// Does the work in the pool, or, where there is none, as the caller would.
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
        let is_in_a_pool_of_others =
            rayon::current_thread_index().is_some() && pool.current_thread_index().is_none();
        if !is_in_a_pool_of_others {
            return pool.install(work);
        }
        let mut work = Some(work);
        let done = std::thread::scope(|scope| {
            let task = || work.take().map(|work| pool.install(work));
            // Where the system gives no more threads, the work is still there.
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

    /// Tasks of a pool that hold a lock while they wait for work would run each other meanwhile.
    #[test]
    fn a_task_of_another_pool_that_holds_a_lock_can_wait_for_work() {
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
