//! Copying records of a corpus: the decisions that a copy in any format follows.

use anyhow::Result;

/// The decision about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDecision {
    /// The record is left out.
    Drop,
    /// The record is copied. If records are marked, it gets this mark.
    Keep(Option<KeeperMark>),
}

/// The mark of a record that is copied although another is kept in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeeperMark {
    /// The id of the document that is kept.
    pub keeper: u64,
    /// The number of bits in which the fingerprints of both differ, if it is known.
    pub distance: Option<u32>,
}

/// The names of the two fields or columns of marks: that of the keeper and that of the distance.
pub type MarkNames<'n> = [&'n str; 2];

/// Returns the number of the next record of an input and the decision about it; `None` at the end.
pub type NextDecision<'d> = dyn FnMut() -> Result<Option<(u64, CopyDecision)>> + 'd;
