//! What is done to a database, by kind.

/// Something that is done to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A new file, empty or loaded.
    Create,
    BulkCreate,
    Open,
    Insert,
    InsertUnique,
    Upsert,
    Remove,
    Batch,
    Submits,
    Transaction,
    DroppedTransaction,
    BulkLoad,
    Prune,
    Merge,
    Close,
    Check,
    Vacuum,
    Backup,
    /// A snapshot is taken, and kept while others write.
    Snapshot,
}

impl Step {
    /// Everything that is done to a database that is there.
    pub const ON_A_DATABASE: [Self; 16] = [
        Self::Insert,
        Self::InsertUnique,
        Self::Upsert,
        Self::Remove,
        Self::Batch,
        Self::Submits,
        Self::Transaction,
        Self::DroppedTransaction,
        Self::BulkLoad,
        Self::Prune,
        Self::Merge,
        Self::Close,
        Self::Check,
        Self::Vacuum,
        Self::Backup,
        Self::Snapshot,
    ];

    /// All that changes a few documents, or none.
    pub const LIGHT: [Self; 7] = [
        Self::Insert,
        Self::InsertUnique,
        Self::Upsert,
        Self::Remove,
        Self::Batch,
        Self::Submits,
        Self::Snapshot,
    ];
}
