//! The write lock: a fair lock, which writers get in arrival order.
//!
//! The group-commit thread holds the lock for one commit and locks again at once. Without fairness it
//! would starve a bulk load, which holds the lock for minutes.

use std::sync::Arc;

use parking_lot::lock_api::ArcMutexGuard;
use parking_lot::{FairMutex, RawFairMutex};

use crate::store::journal::Journal;
use crate::store::memtable::Memtable;
use crate::store::tables::edit::Counts;

/// The lock around the state that only the writer uses. The state is `None` when the tables hold every
/// commit; the next commit sets it.
pub(crate) type WriteLock = FairMutex<Option<ActiveLog>>;

/// The right to write, until the guard is dropped.
pub(crate) type WriteGuard = ArcMutexGuard<RawFairMutex, Option<ActiveLog>>;

/// The journal and the memtable that commits are appended to.
pub(crate) struct ActiveLog {
    pub(crate) journal: Journal,
    /// The same commits as in the journal.
    pub(crate) memtable: Arc<Memtable>,
    /// The totals of the database, with the memtable.
    pub(crate) counts: Counts,
}

impl ActiveLog {
    /// A new journal with an empty memtable. `counts` are the totals of the earlier generations.
    pub(crate) fn new(journal: Journal, counts: Counts) -> Self {
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
