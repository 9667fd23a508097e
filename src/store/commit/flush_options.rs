//! The thresholds of the flush: the size from which on a memtable is flushed, and the size of the
//! transactions that flush it.

/// A memtable is large with one change for so many documents in the tables. A flush rewrites every
/// page that it touches: the more changes, the fewer pages for each.
const DOCUMENTS_PER_CHANGE: u64 = 100;
/// A memtable of so many bytes is large, however few its changes are.
const LARGE_BYTES: usize = 256 << 20;
/// While a sealed memtable is flushed, the active one grows to so many times the size of a large
/// one; then writers wait for the flush.
const MAX_GROWTH: usize = 2;

/// At most so many documents are flushed in one transaction with all of their entries.
const MAX_DOCUMENTS_AT_ONCE: usize = 2048;
/// At most so many entries of one table are changed in one transaction. In a table of millions each
/// entry is in another page or half of one, so a transaction writes about as many pages.
const MAX_ENTRIES_PER_TRANSACTION: usize = 8 << 10;
/// At most so many changes of table `bands` are collected before they are sorted and applied:
/// 64 MiB.
const MAX_COLLECTED_BANDS: usize = 4 << 20;

/// The thresholds of the flush. The sizes of transactions are in proportion to the least memtable
/// that is flushed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlushOptions {
    /// A memtable with fewer changes is not large, unless it takes [`LARGE_BYTES`]. At least 1.
    min_changes: usize,
}

impl FlushOptions {
    pub(crate) fn new(min_changes: usize) -> Self {
        Self {
            min_changes: min_changes.max(1),
        }
    }

    /// Returns `true` if a memtable of this size is to be sealed and flushed.
    pub(super) fn is_large(self, changes: usize, bytes: usize, documents: u64) -> bool {
        changes >= self.large_changes(documents) || bytes >= LARGE_BYTES
    }

    /// Returns `true` if writers must wait for the flush before a memtable of this size grows on.
    pub(super) fn is_too_large(self, changes: usize, bytes: usize, documents: u64) -> bool {
        changes >= self.large_changes(documents).saturating_mul(MAX_GROWTH)
            || bytes >= MAX_GROWTH * LARGE_BYTES
    }

    fn large_changes(self, documents: u64) -> usize {
        self.min_changes
            .max((documents / DOCUMENTS_PER_CHANGE) as usize)
    }

    /// The most documents that are flushed in one transaction with all of their entries.
    pub(super) fn documents_at_once(self) -> usize {
        (self.min_changes / 32).clamp(1, MAX_DOCUMENTS_AT_ONCE)
    }

    /// The most entries of one table that are changed in one transaction, if there are more
    /// documents.
    pub(super) fn entries_per_transaction(self) -> usize {
        (self.min_changes / 8).clamp(1, MAX_ENTRIES_PER_TRANSACTION)
    }

    /// The most changes of table `bands` that are made in one transaction with all other entries of
    /// their documents. A text has dozens of bands, each in another page.
    pub(super) fn bands_at_once(self) -> usize {
        4 * self.entries_per_transaction()
    }

    /// The most changes of table `bands` that are collected before they are sorted and applied. The
    /// more, the fewer pages are written for each.
    pub(super) fn collected_bands(self) -> usize {
        self.min_changes.saturating_mul(64).min(MAX_COLLECTED_BANDS)
    }
}
