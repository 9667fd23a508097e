//! [`MemoryUse`]: an estimate of the memory of a memtable.

/// Bytes of a hash table entry.
// This and the sizes below are measured averages: hash tables are half to seven eighths full, and
// vectors grow by doubling.
const ENTRY_BYTES: usize = 28;
/// Bytes of a fingerprint: a hash table entry and one place in the buckets of each block.
const FINGERPRINT_BYTES: usize = ENTRY_BYTES + 4 * 12;
/// Bytes of another document in a posting list.
const COPY_BYTES: usize = 24;
/// Bytes of an empty memtable, mostly its 4 × 256 shards: 160 KiB.
pub(super) const EMPTY_BYTES: usize = 160 << 10;

/// The number of entries of each kind, to estimate the memory.
#[derive(Default)]
pub(super) struct MemoryUse {
    pub(super) documents: usize,
    /// Distinct fingerprints.
    pub(super) fingerprints: usize,
    /// Documents in posting lists of fingerprints, except the first of each list.
    pub(super) copies: usize,
    pub(super) text_bytes: usize,
    /// Keys of all versions in the forest, with repetitions.
    pub(super) text_keys: usize,
    /// Keys of documents, with repetitions.
    pub(super) keys: usize,
}

impl MemoryUse {
    /// The bytes of all entries.
    pub(super) fn bytes(&self) -> usize {
        self.documents * ENTRY_BYTES
            + self.fingerprints * FINGERPRINT_BYTES
            + self.copies * COPY_BYTES
            + self.text_bytes
            + self.text_keys * size_of::<u64>()
            + self.keys * ENTRY_BYTES
    }
}
