//! The write lock: a fair lock that writers get in arrival order.
//!
//! A group of small changes takes it for a commit, a bulk load for minutes. Without fairness the
//! group-commit thread, which locks again at once, would starve a bulk load.

use std::sync::Arc;

use parking_lot::lock_api::ArcMutexGuard;
use parking_lot::{FairMutex, RawFairMutex};

use crate::store::journal::Journal;
use crate::store::memtable::Memtable;
use crate::store::tables::edit::Counts;

/// A lock around the state that only the writer uses: `None` until the first commit after the tables
/// held everything.
pub(crate) type WriteLock = FairMutex<Option<ActiveLog>>;

/// The right to write. The next writer gets the lock when the guard is dropped.
pub(crate) type WriteGuard = ArcMutexGuard<RawFairMutex, Option<ActiveLog>>;

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
