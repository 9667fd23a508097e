//! Whose turn it is to write.
//!
//! One at a time may write, a group of small changes as well as a bulk load that takes minutes.
//! Whoever writes holds the pen; the others wait for it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::edit::Counts;
use super::journal::Journal;
use super::tail::Tail;

/// Where the pen lies.
#[derive(Default)]
pub(super) struct PenHolder {
    /// Nothing while somebody writes.
    pen: Mutex<Option<Ink>>,
    is_back: Condvar,
}

/// What only the writer uses.
#[derive(Default)]
pub(super) struct Ink {
    /// Nothing before the first change since the tables held everything.
    pub(super) writing: Option<Writing>,
}

/// Where changes are written to.
pub(super) struct Writing {
    pub(super) journal: Journal,
    /// What the journal holds.
    pub(super) tail: Arc<Tail>,
    /// What the database holds with it.
    pub(super) counts: Counts,
}

impl Writing {
    /// From the beginning of a journal on.
    pub(super) fn new(journal: Journal, counts: Counts) -> Self {
        Self {
            journal,
            tail: Arc::new(Tail::new()),
            counts,
        }
    }

    /// The tail as its readers see it before anything is written to it.
    pub(super) fn empty_tail(&self) -> (Arc<Tail>, u32) {
        (Arc::clone(&self.tail), 0)
    }
}

/// The right to write. Dropped, it is the next one's turn.
pub(crate) struct Pen {
    ink: Ink,
    holder: Arc<PenHolder>,
}

impl PenHolder {
    pub(super) fn new(ink: Ink) -> Arc<Self> {
        Arc::new(Self {
            pen: Mutex::new(Some(ink)),
            is_back: Condvar::new(),
        })
    }

    /// Waits for the pen.
    pub(super) fn take(self: &Arc<Self>) -> Pen {
        let mut pen = self.pen.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(ink) = pen.take() {
                return Pen {
                    ink,
                    holder: Arc::clone(self),
                };
            }
            pen = self
                .is_back
                .wait(pen)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Pen {
    pub(super) fn writing(&mut self) -> &mut Option<Writing> {
        &mut self.ink.writing
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        let ink = std::mem::take(&mut self.ink);
        let mut pen = self
            .holder
            .pen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *pen = Some(ink);
        self.holder.is_back.notify_one();
    }
}
