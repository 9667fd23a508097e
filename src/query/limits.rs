//! The sizes at which a query splits, pauses or stops its work.

/// The sizes at which a query splits, pauses or stops its work.
///
/// None of them changes an answer. Unit tests set small values, so that a few hundred documents reach
/// every path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryLimits {
    /// Matching fingerprints of a batch of queries whose documents are looked up together, in one
    /// walk through `block0`.
    pub(crate) matches_per_lookup: usize,
    /// Documents that the answers of several queries hold together. The answer of one query may hold
    /// more.
    pub(crate) documents_held: usize,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            matches_per_lookup: 1 << 19,
            documents_held: 2 << 20,
        }
    }
}

#[cfg(test)]
impl QueryLimits {
    /// Limits that some hundred documents exceed.
    pub(crate) fn small() -> Self {
        Self {
            matches_per_lookup: 1 << 6,
            documents_held: 1 << 10,
        }
    }
}
