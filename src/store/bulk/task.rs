//! [`Task`]: work on another thread, which its caller can abandon.

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::error::Result;

/// The time between two calls of the function that may end a wait.
const WAIT: Duration = Duration::from_millis(5);

/// Work on a thread of its own, because a sort cannot be interrupted. A task that is dropped is
/// waited for only if it writes a file, which then has freed its space on the disk.
pub(super) struct Task<T> {
    result: Receiver<T>,
    thread: Option<JoinHandle<()>>,
    state: Arc<TaskState>,
}

#[derive(Default)]
pub(super) struct TaskState {
    is_abandoned: AtomicBool,
    is_writing: AtomicBool,
}

impl TaskState {
    /// To be called before a file is created; then [`check`](Self::check) while it is written.
    pub(super) fn begin_writing(&self) -> io::Result<()> {
        self.is_writing.store(true, Ordering::SeqCst);
        self.check()
    }

    /// An error if the task was dropped.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.is_abandoned.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }
}

impl<T: Send + 'static> Task<T> {
    pub(super) fn begin(work: impl FnOnce(&TaskState) -> T + Send + 'static) -> io::Result<Self> {
        let (sender, result) = sync_channel(1);
        let state = Arc::new(TaskState::default());
        let shared = Arc::clone(&state);
        let thread = Builder::new().name("simdb-sort".into()).spawn(move || {
            // Without a receiver the result is dropped here.
            drop(sender.send(work(&shared)));
        })?;
        Ok(Self {
            result,
            thread: Some(thread),
            state,
        })
    }
}

impl<T> Task<T> {
    /// Waits for the result, and abandons the task if `check` fails. A panic of the thread
    /// continues in the caller.
    pub(super) fn wait(mut self, mut check: impl FnMut() -> Result<()>) -> Result<T> {
        loop {
            match self.result.recv_timeout(WAIT) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => check()?,
                // The thread has panicked.
                Err(RecvTimeoutError::Disconnected) => {
                    if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                        resume_unwind(panic);
                    }
                    unreachable!("a thread without a panic sends its result");
                }
            }
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.state.is_abandoned.store(true, Ordering::SeqCst);
        if self.state.is_writing.load(Ordering::SeqCst) {
            // A panic of the thread is ignored: another panic may be dropping this task.
            drop(self.thread.take().map(JoinHandle::join));
        }
    }
}
