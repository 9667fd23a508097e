//! Threads of a database's own for what is looked up on all cores.
//!
//! A thread that waits in a pool runs other tasks of that pool meanwhile. In a pool shared with the
//! caller these might be the caller's, and wait for a lock that the caller holds. So it is not.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool with a thread for each core, started when it is first needed.
#[derive(Default)]
pub(crate) struct Workers {
    /// Nothing if the system gives no more threads.
    pool: OnceLock<Option<ThreadPool>>,
}

impl Workers {
    /// Does the work in the pool, or, where there is none, as the caller would.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let pool = self.pool.get_or_init(|| {
            ThreadPoolBuilder::new()
                .thread_name(|number| format!("simdb-{number}"))
                .build()
                .ok()
        });
        match pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").finish_non_exhaustive()
    }
}
