//! [`Ticket`]: a handle to submitted changes, and the request behind the handle.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::ingest::{Outcome, PreparedChange};
use crate::store::{Store, WriteHolder};

/// A handle to changes that were submitted to a database, which returns their outcomes.
///
/// Dropping a ticket does not withdraw its changes.
#[must_use = "the outcomes of the changes are known only by waiting"]
pub struct Ticket {
    request: Arc<Request>,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}

impl Ticket {
    pub(crate) fn new(request: Arc<Request>) -> Self {
        Self { request }
    }

    /// Waits until the changes are durable, and returns their outcomes. In the thread of a
    /// transaction the wait would not end: the changes are withdrawn.
    ///
    /// # Errors
    /// As [`Database::apply`](crate::Database::apply).
    pub fn wait(self) -> Result<Vec<Outcome>> {
        self.request.wait(None)
    }

    /// Waits until the changes are durable, and returns their outcomes. Changes whose commit has
    /// not begun within `timeout` are withdrawn. A commit that has begun is waited for, even beyond
    /// `timeout`.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if the changes were withdrawn; nothing was changed. Otherwise
    /// as [`wait`](Self::wait).
    pub fn wait_timeout(self, timeout: Duration) -> Result<Vec<Outcome>> {
        self.request.wait(Instant::now().checked_add(timeout))
    }

    /// Returns `true` if [`wait`](Self::wait) would return at once.
    pub fn is_done(&self) -> bool {
        matches!(*self.request.state.lock(), RequestState::Answered(_))
    }
}

/// Submitted changes, which are committed together, and the answer to them.
pub(crate) struct Request {
    path: PathBuf,
    /// Not the store: a ticket does not keep the file open.
    write_holder: Arc<WriteHolder>,
    pub(crate) changes: Vec<PreparedChange>,
    state: Mutex<RequestState>,
    is_answered: Condvar,
}

/// The state of a request: `Queued`, then either `Withdrawn`, or `Claimed`, `Answered` and
/// `Collected`.
enum RequestState {
    Queued,
    /// The deadline of the caller passed before the commit thread claimed the request.
    Withdrawn,
    Claimed,
    Answered(Result<Vec<Outcome>>),
    Collected,
}

impl Request {
    pub(crate) fn new(store: &Store, changes: Vec<PreparedChange>) -> Arc<Self> {
        Arc::new(Self {
            path: store.path().to_path_buf(),
            write_holder: Arc::clone(store.write_holder()),
            changes,
            state: Mutex::new(RequestState::Queued),
            is_answered: Condvar::new(),
        })
    }

    /// Claims the request for a commit, after which it cannot be withdrawn. Returns `false` if the
    /// request is withdrawn.
    pub(crate) fn claim(&self) -> bool {
        let mut state = self.state.lock();
        let is_queued = matches!(*state, RequestState::Queued);
        if is_queued {
            *state = RequestState::Claimed;
        }
        is_queued
    }

    pub(crate) fn answer(&self, answer: Result<Vec<Outcome>>) {
        *self.state.lock() = RequestState::Answered(answer);
        self.is_answered.notify_one();
    }

    /// Waits for the answer. Withdraws the request if it is still queued at the deadline.
    fn wait(&self, deadline: Option<Instant>) -> Result<Vec<Outcome>> {
        let mut state = self.state.lock();
        loop {
            // The answer is moved out, because errors are not `Clone`.
            match std::mem::replace(&mut *state, RequestState::Collected) {
                RequestState::Answered(answer) => return answer,
                other => *state = other,
            }
            // Only a queued request can time out. `claim` needs the lock that is held here, so no
            // request is both reported as timed out and committed.
            match deadline.filter(|_| matches!(*state, RequestState::Queued)) {
                Some(deadline) if deadline <= Instant::now() => {
                    *state = RequestState::Withdrawn;
                    return Err(self.timed_out());
                }
                Some(deadline) => drop(self.is_answered.wait_until(&mut state, deadline)),
                // The commit waits for the transaction of this thread.
                None if matches!(*state, RequestState::Queued) && self.is_blocked() => {
                    *state = RequestState::Withdrawn;
                    return Err(self.transaction_open());
                }
                None => self.is_answered.wait(&mut state),
            }
        }
    }

    /// Returns `true` if the calling thread holds the write lock, for which the commit has to wait.
    pub(crate) fn is_blocked(&self) -> bool {
        self.write_holder.is_this_thread()
    }

    fn timed_out(&self) -> Error {
        let path = self.path.clone();
        Error::TimedOut { path }
    }

    pub(crate) fn transaction_open(&self) -> Error {
        let path = self.path.clone();
        Error::TransactionOpen { path }
    }
}
