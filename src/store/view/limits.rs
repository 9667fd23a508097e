//! [`Limits`]: sizes from which on the store works in another way.

/// The most fingerprints of a bucket that is read whole: 128 KiB.
pub(crate) const MAX_BUCKET_LEN: usize = 16 << 10;

/// Sizes from which on the store works in another way. Unit tests set smaller ones, which a small
/// database reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// A bucket with more fingerprints is read in parts, and the bucket cache does not hold it.
    pub(crate) max_bucket_len: usize,
    /// A scan of a table with at least so many chunks goes through the bucket cache. The buckets of
    /// a smaller table are so short that reading its chunks is faster.
    pub(crate) min_chunks_for_bucket_scan: u64,
    /// A memtable with fewer changes is not flushed before the database is closed, unless it takes
    /// much memory. At least 1.
    pub(crate) min_flush_changes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bucket_len: MAX_BUCKET_LEN,
            min_chunks_for_bucket_scan: 16 << 10,
            min_flush_changes: 64 << 10,
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
            min_flush_changes: 256,
        }
    }
}
