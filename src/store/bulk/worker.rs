//! [`Worker`]: a thread that never outlives its handle.

use std::io;
use std::panic::resume_unwind;
use std::thread::{Builder, JoinHandle};

/// A thread that is joined on drop. A thread that outlived a failed load would keep the deleted
/// temporary files open, and the disk would not free their space.
#[derive(Debug)]
pub(super) struct Worker<T>(Option<JoinHandle<T>>);

impl<T: Send + 'static> Worker<T> {
    pub(super) fn spawn(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let thread = Builder::new().name(name.into()).spawn(work)?;
        Ok(Self(Some(thread)))
    }

    /// Waits for the thread, and returns its result; `None` after the first call. A panic of the
    /// thread continues in the caller.
    pub(super) fn join(&mut self) -> Option<T> {
        let ended = self.0.take()?.join();
        Some(ended.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A panic of the thread is ignored: another panic may be dropping this handle, and a
            // second panic would abort the process.
            drop(thread.join());
        }
    }
}
