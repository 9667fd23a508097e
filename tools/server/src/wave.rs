//! [`Waves`]: requests that are not submitted yet.

use std::mem;

use parking_lot::Mutex;
use simdb::{Change, Outcome};
use tokio::sync::oneshot;

use crate::error::ApiError;
use crate::writer::Committed;

/// The requests of one wave after the other. Their number is bounded by the number of connections.
#[derive(Default)]
pub struct Waves(Mutex<Wave>);

#[derive(Default)]
struct Wave {
    requests: Vec<WaitingRequest>,
    /// `true` if a task submits the requests.
    is_gathered: bool,
}

pub struct WaitingRequest {
    pub changes: Vec<Change>,
    pub reply: oneshot::Sender<Result<Vec<Outcome>, ApiError>>,
}

impl Waves {
    /// Adds a request to the wave. Returns its outcomes to be, and `true` for the first request of
    /// a wave, for which the caller starts a task that [takes](Self::take) the wave.
    pub fn push(&self, changes: Vec<Change>) -> (Committed, bool) {
        let (reply, outcomes) = oneshot::channel();
        let mut wave = self.0.lock();
        wave.requests.push(WaitingRequest { changes, reply });
        let is_first = !mem::replace(&mut wave.is_gathered, true);
        (Committed::new(outcomes), is_first)
    }

    /// The number of requests of the wave.
    pub fn len(&self) -> usize {
        self.0.lock().requests.len()
    }

    /// Takes the requests of the wave. The next request begins another wave.
    pub fn take(&self) -> Vec<WaitingRequest> {
        mem::take(&mut *self.0.lock()).requests
    }
}
