//! [`FlushOptions`]: the size of a memtable to be flushed, and of the transactions that flush it.

/// A memtable is large from one change per 64 documents of the database on, ten changes for each
/// page of a block table.
// A flush rewrites every page that it touches. With fewer changes each change would cost more
// bytes: 3,600 with one per 100 documents, 2,940 with one per 64. With more changes, memory and the
// replay after a crash grow: 0.6 µs a change, 6 µs a text with text keys.
const DOCUMENTS_PER_CHANGE: u64 = 64;
/// A memtable is large from 256 MiB on, even with few changes.
const LARGE_BYTES: usize = 256 << 20;
/// At twice the size of a large memtable, writers wait for the flush of the sealed one.
const MAX_GROWTH: usize = 2;

/// At most 2,048 documents are flushed in one transaction with all of their entries.
const MAX_DOCUMENTS_AT_ONCE: usize = 2048;
/// At most 8,192 entries of one table are changed per transaction.
// In a table of millions each entry is in a page of its own, so a transaction writes up to 8,192
// pages.
const MAX_ENTRIES_PER_TRANSACTION: usize = 8 << 10;
/// At most 4 Mi changes of text keys, 64 MiB, are sorted at a time.
const MAX_COLLECTED_KEYS: usize = 4 << 20;

/// The thresholds of the flush, all derived from `min_changes`: tests set a small one and so reach
/// every path with a few hundred documents.
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

    /// Returns `true` if a memtable of this size should be sealed and flushed.
    pub(super) fn is_large(self, changes: usize, bytes: usize, documents: u64) -> bool {
        changes >= self.large_changes(documents) || bytes >= LARGE_BYTES
    }

    /// Returns `true` if a memtable of this size must not grow before the sealed one is flushed.
    pub(super) fn is_too_large(self, changes: usize, bytes: usize, documents: u64) -> bool {
        changes >= self.large_changes(documents).saturating_mul(MAX_GROWTH)
            || bytes >= MAX_GROWTH * LARGE_BYTES
    }

    fn large_changes(self, documents: u64) -> usize {
        self.min_changes
            .max((documents / DOCUMENTS_PER_CHANGE) as usize)
    }

    /// Documents to flush in one transaction with all of their entries.
    pub(super) fn documents_at_once(self) -> usize {
        (self.min_changes / 32).clamp(1, MAX_DOCUMENTS_AT_ONCE)
    }

    /// Entries of one table per transaction, if the documents do not fit into one transaction.
    pub(super) fn entries_per_transaction(self) -> usize {
        (self.min_changes / 8).clamp(1, MAX_ENTRIES_PER_TRANSACTION)
    }

    /// Changes of text keys in one transaction with all other entries of their documents.
    pub(super) fn key_changes_at_once(self) -> usize {
        // A text has dozens of keys, each in a page of its own.
        4 * self.entries_per_transaction()
    }

    pub(super) fn collected_key_changes(self) -> usize {
        // The more changes are applied in order, the fewer pages are written for each.
        self.min_changes.saturating_mul(64).min(MAX_COLLECTED_KEYS)
    }
}
