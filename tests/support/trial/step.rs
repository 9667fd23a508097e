//! The kinds of steps.

/// An operation on a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Creates a file, empty or loaded.
    Create,
    BulkCreate,
    Open,
    Insert,
    InsertUnique,
    Upsert,
    Remove,
    Batch,
    Submit,
    Transaction,
    DroppedTransaction,
    BulkLoad,
    Prune,
    Merge,
    Close,
    Check,
    Vacuum,
    Backup,
    /// Takes a snapshot, and keeps it during later steps.
    Snapshot,
}

impl Step {
    /// All steps of an existing database.
    pub const ON_A_DATABASE: [Self; 16] = [
        Self::Insert,
        Self::InsertUnique,
        Self::Upsert,
        Self::Remove,
        Self::Batch,
        Self::Submit,
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

    /// Steps that change few documents, or none.
    pub const LIGHT: [Self; 7] = [
        Self::Insert,
        Self::InsertUnique,
        Self::Upsert,
        Self::Remove,
        Self::Batch,
        Self::Submit,
        Self::Snapshot,
    ];
}
