//! The decisions about the records of a corpus that is copied, in any format.

use anyhow::Result;

/// The decision about a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyDecision {
    /// Leave the record out.
    Drop,
    /// Copy the record with the values of the [`AddedField`]s, in their order; without a value, the
    /// fields are null.
    Keep(Vec<Option<u64>>),
    /// Copy a bad record unchanged; fields are added only if they can be.
    Unread,
    /// Copy the record with this text in place of its text.
    Rewrite(String),
}

/// A field or column that is added to the records of a copy.
#[derive(Clone, Copy, Debug)]
pub struct AddedField<'n> {
    pub name: &'n str,
    pub kind: AddedKind,
    /// The option that names the field, for messages.
    pub option: &'static str,
}

/// The kind of the values of an added field, which are numbers of 64 bits here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedKind {
    /// An id or a count: an INT64 with the same bits in Parquet.
    Long,
    /// A distance: an INT32 in Parquet.
    Short,
    /// Milliseconds since 1970: a timestamp in Parquet, and RFC 3339 in text.
    Time,
}

/// Returns the number of the next record of an input and the decision about it; `None` at the end.
pub type NextDecision<'d> = dyn FnMut() -> Result<Option<(u64, CopyDecision)>> + 'd;
