//! [`Limits`]: the sizes at which the store changes its method.

/// A bucket of up to 16,384 fingerprints is read whole, 128 KiB, and cached, in at most 96 KiB.
pub(crate) const MAX_BUCKET_LEN: usize = 16 << 10;

/// A transaction holds at most 64 MiB of texts in memory.
const MAX_TRANSACTION_BYTES: usize = 64 << 20;

/// The sizes at which the store changes its method. Unit tests set smaller sizes, so that a small
/// database takes each path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// A bucket with more fingerprints is read in parts and not cached.
    pub(crate) max_bucket_len: usize,
    /// From this number of chunks on, a scan of a table goes through the bucket cache. In a smaller
    /// table buckets are so short that reading the chunks is faster.
    pub(crate) min_chunks_for_bucket_scan: u64,
    /// A memtable with fewer changes is not flushed before the database is closed, unless it takes
    /// much memory. At least 1; `None` for the default.
    pub(crate) min_flush_changes: Option<usize>,
    /// A transaction with more bytes of texts in memory continues in the tables.
    pub(crate) max_transaction_bytes: usize,
}

/// The default of [`Limits::flush_changes`].
const FLUSH_CHANGES: usize = 64 << 10;
/// The default with text keys.
// A text has 25 keys, so 65,536 texts touch nearly every page of the keys of a million texts, and
// 131,072 texts hardly more.
const TEXT_FLUSH_CHANGES: usize = 2 * FLUSH_CHANGES;

impl Limits {
    /// A memtable with fewer changes is not flushed before the database is closed, unless it takes
    /// much memory.
    pub(crate) fn flush_changes(&self, keeps_text_keys: bool) -> usize {
        let default = match keeps_text_keys {
            true => TEXT_FLUSH_CHANGES,
            false => FLUSH_CHANGES,
        };
        self.min_flush_changes.unwrap_or(default)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bucket_len: MAX_BUCKET_LEN,
            min_chunks_for_bucket_scan: 16 << 10,
            min_flush_changes: None,
            max_transaction_bytes: MAX_TRANSACTION_BYTES,
        }
    }
}

#[cfg(test)]
impl Limits {
    /// Limits that a database of a few thousand documents reaches.
    pub(crate) fn small() -> Self {
        Self {
            max_bucket_len: 1 << 10,
            min_chunks_for_bucket_scan: 64,
            min_flush_changes: Some(256),
            max_transaction_bytes: MAX_TRANSACTION_BYTES,
        }
    }
}
