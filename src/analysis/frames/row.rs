//! The row of a key. A database keeps what a learner has counted in rows, and writes the rows that
//! have changed.

/// The number of rows, each with a 256th of all lines. Together at most 45 MiB, and 12 MiB usually.
pub(crate) const ROWS: usize = 256;

/// The row of a line, a sentence or a group, by its key.
pub(super) fn row_of(key: u64) -> usize {
    (key >> 56) as usize
}
