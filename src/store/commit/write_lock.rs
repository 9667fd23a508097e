//! The write lock: a fair lock, which writers get in arrival order.
//!
//! The group-commit thread holds the lock for one commit and locks again at once. Without fairness
//! it would starve a bulk load, which holds the lock for minutes.
//!
//! The lock knows the thread that holds it: a thread that has a transaction open and inserts would
//! wait for itself, and gets an error instead.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::lock_api::ArcMutexGuard;
use parking_lot::{FairMutex, RawFairMutex};

use crate::store::journal::Journal;
use crate::store::memtable::Memtable;
use crate::store::tables::edit::Totals;

/// The lock around the state that only the writer uses. The state is `None` when the tables hold
/// every commit; the next commit sets it.
pub(crate) struct WriteLock {
    state: Arc<FairMutex<Option<ActiveLog>>>,
    holder: Arc<WriteHolder>,
}

/// The number of the thread that holds the write lock; 0 if no thread does.
#[derive(Debug, Default)]
pub(crate) struct WriteHolder(AtomicU64);

impl WriteHolder {
    /// Returns `true` if the calling thread holds the lock, so that a wait for it would not end.
    pub(crate) fn is_this_thread(&self) -> bool {
        // Relaxed: only this thread stores its own number.
        self.0.load(Ordering::Relaxed) == this_thread()
    }
}

/// The number of the calling thread, from 1 on.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

impl WriteLock {
    pub(super) fn new(state: Option<ActiveLog>) -> Self {
        Self {
            state: Arc::new(FairMutex::new(state)),
            holder: Arc::default(),
        }
    }

    pub(super) fn holder(&self) -> &Arc<WriteHolder> {
        &self.holder
    }

    /// Waits for the lock.
    pub(super) fn lock(&self) -> WriteGuard {
        let state = self.state.lock_arc();
        self.holder.0.store(this_thread(), Ordering::Relaxed);
        WriteGuard {
            holder: Arc::clone(&self.holder),
            state,
        }
    }
}

/// The right to write, until the guard is dropped.
pub(crate) struct WriteGuard {
    holder: Arc<WriteHolder>,
    state: ArcMutexGuard<RawFairMutex, Option<ActiveLog>>,
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        // Before the lock is released, or the number of the next holder would be overwritten.
        self.holder.0.store(0, Ordering::Relaxed);
    }
}

impl Deref for WriteGuard {
    type Target = Option<ActiveLog>;

    fn deref(&self) -> &Self::Target {
        &self.state
    }
}

impl DerefMut for WriteGuard {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.state
    }
}

/// The journal and the memtable that commits are appended to.
pub(crate) struct ActiveLog {
    pub(crate) journal: Journal,
    /// Holds the commits that are in the journal.
    pub(crate) memtable: Arc<Memtable>,
    /// The totals of the database, with the memtable.
    pub(crate) counts: Totals,
}

impl ActiveLog {
    /// A new journal with an empty memtable. `counts` are the totals of the earlier generations.
    pub(crate) fn new(journal: Journal, counts: Totals) -> Self {
        Self {
            journal,
            memtable: Arc::new(Memtable::new()),
            counts,
        }
    }

    /// The memtable with 0 visible edits.
    pub(crate) fn empty_memtable(&self) -> (Arc<Memtable>, u32) {
        (Arc::clone(&self.memtable), 0)
    }
}
