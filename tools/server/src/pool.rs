//! [`Pool`]: a bounded number of threads for work that blocks, and a bounded number of requests
//! that wait for them.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::error::ApiError;

/// Threads for one kind of work. Different kinds have pools of their own, so that reports that take
/// seconds do not hold up queries that take microseconds.
pub struct Pool {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
}

impl Pool {
    /// A pool of `threads`, with at most `waiting` requests beside the running ones.
    pub fn new(threads: usize, waiting: usize) -> Self {
        Self {
            running: Arc::new(Semaphore::new(threads)),
            admitted: Arc::new(Semaphore::new(threads + waiting)),
        }
    }

    /// Runs work on a thread of the pool. Refuses work if too many requests wait.
    ///
    /// Work that has begun runs to its end, even if its request is gone, and keeps its place.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let Ok(admitted) = Arc::clone(&self.admitted).try_acquire_owned() else {
            return Err(ApiError::busy("the server is busy; try again"));
        };
        let work = move || {
            let _admitted = admitted;
            work()
        };
        self.run_in_turn(work).await
    }

    /// Runs work on a thread of the pool, however many requests wait: for a stream, which waits
    /// itself.
    pub async fn run_in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let stopped = || ApiError::internal("the server is stopping, or a thread has failed");
        let running = Arc::clone(&self.running)
            .acquire_owned()
            .await
            .map_err(|_| stopped())?;
        let work = move || {
            let _running = running;
            work()
        };
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|_| stopped())
    }
}
