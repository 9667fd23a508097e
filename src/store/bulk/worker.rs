//! [`Worker`]: a thread that never outlives its handle.

use std::io;
use std::panic::resume_unwind;
use std::thread::{Builder, JoinHandle};

/// A thread that is joined on drop: after a failed load it would keep temporary files open, and
/// their space taken.
#[derive(Debug)]
pub(super) struct Worker<T>(Option<JoinHandle<T>>);

impl<T: Send + 'static> Worker<T> {
    pub(super) fn spawn(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let thread = Builder::new().name(name.into()).spawn(work)?;
        Ok(Self(Some(thread)))
    }

    /// The result of the thread; `None` if it was joined before. A panic continues in the caller.
    pub(super) fn join(&mut self) -> Option<T> {
        let ended = self.0.take()?.join();
        Some(ended.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A panic while another one unwinds would abort.
            drop(thread.join());
        }
    }
}
