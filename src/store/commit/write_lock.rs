//! Whose turn it is to write.
//!
//! One at a time may write, a group of small changes as well as a bulk load that takes minutes.
//! Whoever writes holds the pen; the others wait for it, in the order in which they came: who writes
//! without end, as the thread for small changes may, would else always be there first.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::store::journal::Journal;
use crate::store::memtable::Tail;
use crate::store::tables::edit::Counts;

/// Where the pen lies.
pub(crate) struct PenHolder {
    line: Mutex<Line>,
    is_back: Condvar,
}

/// Those who wait for the pen, by the numbers they have drawn.
struct Line {
    /// Nothing while somebody writes.
    pen: Option<Ink>,
    /// Whose turn it is, or will be when the pen is back.
    turn: u64,
    /// What the next to come draws.
    next: u64,
}

/// What only the writer uses.
#[derive(Default)]
pub(crate) struct Ink {
    /// Nothing before the first change since the tables held everything.
    pub(crate) writing: Option<Writing>,
}

/// Where changes are written to.
pub(crate) struct Writing {
    pub(crate) journal: Journal,
    /// What the journal holds.
    pub(crate) tail: Arc<Tail>,
    /// What the database holds with it.
    pub(crate) counts: Counts,
}

impl Writing {
    /// From the beginning of a journal on.
    pub(crate) fn new(journal: Journal, counts: Counts) -> Self {
        Self {
            journal,
            tail: Arc::new(Tail::new()),
            counts,
        }
    }

    /// The tail as its readers see it before anything is written to it.
    pub(crate) fn empty_tail(&self) -> (Arc<Tail>, u32) {
        (Arc::clone(&self.tail), 0)
    }
}

/// The right to write. Dropped, it is the next one's turn.
pub(crate) struct Pen {
    ink: Ink,
    holder: Arc<PenHolder>,
}

impl PenHolder {
    pub(crate) fn new(ink: Ink) -> Arc<Self> {
        Arc::new(Self {
            line: Mutex::new(Line {
                pen: Some(ink),
                turn: 0,
                next: 0,
            }),
            is_back: Condvar::new(),
        })
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the pen.
    pub(crate) fn take(self: &Arc<Self>) -> Pen {
        let mut line = self.line();
        let number = line.next;
        line.next += 1;
        loop {
            if line.turn == number
                && let Some(ink) = line.pen.take()
            {
                return Pen {
                    ink,
                    holder: Arc::clone(self),
                };
            }
            let woken = self.is_back.wait(line);
            line = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Pen {
    pub(crate) fn writing(&mut self) -> &mut Option<Writing> {
        &mut self.ink.writing
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        let ink = std::mem::take(&mut self.ink);
        let mut line = self.holder.line();
        line.pen = Some(ink);
        line.turn += 1;
        // Only one of them has the number.
        self.holder.is_back.notify_all();
    }
}
