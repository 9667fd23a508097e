//! [`LastChanges`]: the last commit that changed each slot of a cache.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The last commit that changed each of a number of slots.
pub(super) struct LastChanges {
    slots: usize,
    /// The last commit that may have changed any slot.
    all: AtomicU64,
    /// Eight bytes a slot, allocated by the first change: 2 MiB.
    by_slot: OnceLock<Box<[AtomicU64]>>,
}

impl LastChanges {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            all: AtomicU64::new(0),
            by_slot: OnceLock::new(),
        }
    }

    pub(super) fn last_change(&self, index: usize) -> u64 {
        let slots = self.by_slot.get();
        let last = slots.map_or(0, |all| all[index].load(Ordering::Acquire));
        last.max(self.all.load(Ordering::Acquire))
    }

    /// Records a commit that changes a slot. Returns the last change before.
    pub(super) fn record(&self, index: usize, commit: u64) -> u64 {
        let unchanged = || (0..self.slots).map(|_| AtomicU64::new(0)).collect();
        let slots = self.by_slot.get_or_init(unchanged);
        let last = slots[index].fetch_max(commit, Ordering::AcqRel);
        last.max(self.all.load(Ordering::Acquire))
    }

    /// Records a commit that may change any slot.
    pub(super) fn record_all(&self, commit: u64) {
        self.all.fetch_max(commit, Ordering::Release);
    }
}
