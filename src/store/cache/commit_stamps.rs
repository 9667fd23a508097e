//! [`CommitStamps`]: the last commit that changed each slot of a cache.
//!
//! All caches keep one rule. A commit is recorded, and each cached value that it changes is
//! removed, before a snapshot can see the commit; and no value is cached that was read before the
//! last change of its slot. So a cached value is valid for the commit from which it was read and
//! for all later commits. An older snapshot may use the value if the slot was not changed after the
//! commit of the snapshot.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The last commit that changed each of a number of slots. A slot may stand for many values.
pub(super) struct CommitStamps {
    slots: usize,
    /// The last commit that may have changed any slot.
    all: AtomicU64,
    /// Eight bytes a slot, allocated by the first change: a database that is only read needs none.
    by_slot: OnceLock<Box<[AtomicU64]>>,
}

impl CommitStamps {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            all: AtomicU64::new(0),
            by_slot: OnceLock::new(),
        }
    }

    /// Returns `true` if no commit after `commit` has changed the slot.
    pub(super) fn is_unchanged_since(&self, slot: usize, commit: u64) -> bool {
        let slots = self.by_slot.get();
        // Two slots may share a stamp. An older snapshot then reads from the file what did not
        // change, and no snapshot gets a value that did.
        let last = slots.map_or(0, |all| all[slot % self.slots].load(Ordering::Acquire));
        last.max(self.all.load(Ordering::Acquire)) <= commit
    }

    /// Records a commit that changes a slot.
    pub(super) fn record(&self, slot: usize, commit: u64) {
        let unchanged = || (0..self.slots).map(|_| AtomicU64::new(0)).collect();
        let slots = self.by_slot.get_or_init(unchanged);
        slots[slot % self.slots].fetch_max(commit, Ordering::AcqRel);
    }

    /// Records a commit that may change any slot.
    pub(super) fn record_all(&self, commit: u64) {
        self.all.fetch_max(commit, Ordering::AcqRel);
    }
}
