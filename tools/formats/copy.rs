//! The decisions about the records of a corpus that is copied, in any format.

use anyhow::Result;

/// The decision about a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyDecision {
    /// Leave the record out.
    Drop,
    /// Copy the record, with this mark if records are marked.
    Keep(Option<KeeperMark>),
    /// Copy a bad record unchanged; with marks only if they can be added.
    Unread,
    /// Copy the record with this text in place of its text.
    Rewrite(String),
}

/// The mark of a duplicate that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeeperMark {
    /// The id of the document that the record duplicates.
    pub keeper: u64,
    /// The distance of the fingerprints of both, in bits; `None` if unknown.
    pub distance: Option<u32>,
}

/// The names of the fields or columns of marks: the keeper's and the distance's.
pub type MarkNames<'n> = [&'n str; 2];

/// Returns the number of the next record of an input and the decision about it; `None` at the end.
pub type NextDecision<'d> = dyn FnMut() -> Result<Option<(u64, CopyDecision)>> + 'd;
