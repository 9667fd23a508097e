//! [`Ticket`]: changes that were handed over, and what became of them.

use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::ingest::{Outcome, Prepared};

/// Changes on their way into a database, and the right to hear what became of them.
///
/// Dropping it changes nothing: the changes are made all the same.
#[must_use = "what became of the changes is known only by waiting"]
pub struct Ticket {
    request: Arc<Request>,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Ticket");
        shown
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}

/// Changes that are to be made together, and the answer.
pub(crate) struct Request {
    path: Arc<Path>,
    pub(crate) changes: Vec<Prepared>,
    state: Mutex<State>,
    is_answered: Condvar,
}

enum State {
    /// In the queue.
    Waiting,
    /// Taken up by the writer.
    Taken,
    /// Taken back before that.
    Withdrawn,
    Answered(Result<Vec<Outcome>>),
    /// The answer was collected.
    Collected,
}

impl Ticket {
    pub(crate) fn new(request: Arc<Request>) -> Self {
        Self { request }
    }

    /// Waits until the changes are durable, and returns what became of each.
    ///
    /// # Errors
    /// Those of [`Database::apply`](crate::Database::apply).
    pub fn wait(self) -> Result<Vec<Outcome>> {
        self.request.wait(None)
    }

    /// The same, but changes that the writer has not taken up in this time are taken back. Those
    /// that it has are waited for: their commit is under way.
    ///
    /// # Errors
    /// [`Error::TimedOut`]: nothing was changed. Those of [`wait`](Self::wait).
    pub fn wait_timeout(self, timeout: Duration) -> Result<Vec<Outcome>> {
        self.request.wait(Instant::now().checked_add(timeout))
    }

    /// Whether waiting would return at once.
    pub fn is_done(&self) -> bool {
        matches!(*self.request.state.lock(), State::Answered(_))
    }
}

impl Request {
    pub(crate) fn new(path: &Arc<Path>, changes: Vec<Prepared>) -> Arc<Self> {
        Arc::new(Self {
            path: Arc::clone(path),
            changes,
            state: Mutex::new(State::Waiting),
            is_answered: Condvar::new(),
        })
    }

    /// Whether the changes are still to be made; if so, they can no longer be taken back.
    pub(crate) fn take(&self) -> bool {
        let mut state = self.state.lock();
        let is_waiting = matches!(*state, State::Waiting);
        if is_waiting {
            *state = State::Taken;
        }
        is_waiting
    }

    pub(crate) fn answer(&self, answer: Result<Vec<Outcome>>) {
        *self.state.lock() = State::Answered(answer);
        self.is_answered.notify_one();
    }

    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Result<Vec<Outcome>> {
        let mut state = self.state.lock();
        loop {
            match std::mem::replace(&mut *state, State::Collected) {
                State::Answered(answer) => return answer,
                other => *state = other,
            }
            let remaining = deadline.map(|deadline| deadline.duration_since(Instant::now()));
            match remaining {
                Some(Duration::ZERO) if matches!(*state, State::Waiting) => {
                    *state = State::Withdrawn;
                    return Err(self.timed_out());
                }
                Some(remaining) if matches!(*state, State::Waiting) => {
                    self.is_answered.wait_for(&mut state, remaining);
                }
                _ => self.is_answered.wait(&mut state),
            }
        }
    }

    pub(crate) fn timed_out(&self) -> Error {
        let path = self.path.to_path_buf();
        Error::TimedOut { path }
    }
}
