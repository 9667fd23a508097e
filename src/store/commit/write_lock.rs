//! The write lock: a fair lock that writers get in arrival order.
//!
//! A group of small changes takes it for a commit, a bulk load for minutes. Without fairness the
//! group-commit thread, which locks again at once, would starve a bulk load.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::store::journal::Journal;
use crate::store::memtable::Memtable;
use crate::store::tables::edit::Counts;

/// A ticket lock around the state that only the writer uses.
pub(crate) struct WriteLock {
    queue: Mutex<WriteQueue>,
    released: Condvar,
}

/// The writers that wait, by the tickets they have drawn.
struct WriteQueue {
    /// `None` while a writer holds the lock.
    state: Option<WriteState>,
    /// The ticket that has, or gets next, the lock.
    serving: u64,
    /// The ticket of the next writer to arrive.
    next_ticket: u64,
}

/// State that only the holder of the write lock uses.
#[derive(Default)]
pub(crate) struct WriteState {
    /// `None` until the first change after the tables held everything.
    pub(crate) active: Option<ActiveLog>,
}

/// The journal and the memtable that commits are appended to.
pub(crate) struct ActiveLog {
    pub(crate) journal: Journal,
    /// The content of the journal.
    pub(crate) memtable: Arc<Memtable>,
    /// The counts of the database, the memtable included.
    pub(crate) counts: Counts,
}

impl ActiveLog {
    /// An empty memtable beside a new journal.
    pub(crate) fn new(journal: Journal, counts: Counts) -> Self {
        Self {
            journal,
            memtable: Arc::new(Memtable::new()),
            counts,
        }
    }

    /// The memtable and the number of its edits that readers see: none yet.
    pub(crate) fn empty_memtable(&self) -> (Arc<Memtable>, u32) {
        (Arc::clone(&self.memtable), 0)
    }
}

/// The right to write. The next writer gets the lock when the guard is dropped.
pub(crate) struct WriteGuard {
    state: WriteState,
    lock: Arc<WriteLock>,
}

impl WriteLock {
    pub(crate) fn new(state: WriteState) -> Arc<Self> {
        Arc::new(Self {
            queue: Mutex::new(WriteQueue {
                state: Some(state),
                serving: 0,
                next_ticket: 0,
            }),
            released: Condvar::new(),
        })
    }

    /// Waits for the lock.
    pub(crate) fn lock(self: &Arc<Self>) -> WriteGuard {
        let mut queue = self.queue.lock();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        loop {
            if queue.serving == ticket
                && let Some(state) = queue.state.take()
            {
                let lock = Arc::clone(self);
                return WriteGuard { state, lock };
            }
            self.released.wait(&mut queue);
        }
    }
}

impl WriteGuard {
    pub(crate) fn active(&mut self) -> &mut Option<ActiveLog> {
        &mut self.state.active
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        let mut queue = self.lock.queue.lock();
        queue.state = Some(std::mem::take(&mut self.state));
        queue.serving += 1;
        // Every waiter wakes; the one that holds the ticket goes on.
        self.lock.released.notify_all();
    }
}
