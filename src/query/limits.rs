//! [`QueryLimits`]: sizes at which a query splits its work or pauses.

/// Sizes at which a query splits its work or pauses. None of them changes which documents match.
///
/// Unit tests set small values, so that a few hundred documents reach every path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryLimits {
    /// Matching fingerprints of a batch of queries whose documents are looked up together, in one
    /// walk through `block0`.
    pub(crate) matches_per_lookup: usize,
    /// Documents that the answers of several queries hold together. The answer of one query may hold
    /// more.
    pub(crate) documents_held: usize,
    /// Ranges of fingerprints into which the search for copies is split at first.
    pub(crate) copy_ranges: u64,
    /// Documents after which the search for copies in a range pauses, 512 KiB, so that the documents of
    /// two fingerprints with half a million copies each are not in memory together.
    pub(crate) documents_per_turn: usize,
    /// Pairs of fingerprints whose documents are looked up together, 4 MiB: the more, the fewer chunks
    /// of `block0` are decoded twice.
    pub(crate) pairs_per_lookup: usize,
    /// Split a range without reading it if its expected length in fingerprints exceeds this.
    pub(crate) expected_range_length: u64,
    /// Split a range that turns out to be longer while it is read, 4 MiB.
    pub(crate) range_length: usize,
    /// Pairs, and comparisons, after which the join of two ranges pauses: some tens of milliseconds.
    pub(crate) pairs_per_turn: usize,
    pub(crate) comparisons_per_turn: u64,
    /// Compare all fingerprints of two ranges if that takes no more comparisons, else split them.
    pub(crate) comparisons_unsplit: u64,
    /// Fingerprints that a part of a range in memory should have after a split, about.
    pub(crate) split_length: usize,
    /// Texts that are compared between two reports of progress while clusters are made.
    pub(crate) texts_per_report: usize,
    /// Documents whose neighbours are looked at between two reports of progress.
    pub(crate) documents_per_report: u64,
    /// The most different fingerprints of a cluster that are compared all with all for its diameter.
    pub(crate) fingerprints_compared: usize,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            matches_per_lookup: 1 << 19,
            documents_held: 2 << 20,
            copy_ranges: 1 << 10,
            documents_per_turn: 1 << 15,
            pairs_per_lookup: 1 << 18,
            expected_range_length: 1 << 18,
            range_length: 1 << 19,
            pairs_per_turn: 1 << 15,
            comparisons_per_turn: 1 << 28,
            comparisons_unsplit: 4096,
            split_length: 32,
            texts_per_report: 1024,
            documents_per_report: 1024,
            fingerprints_compared: 2048,
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
            copy_ranges: 7,
            documents_per_turn: 20,
            pairs_per_lookup: 100,
            expected_range_length: 200,
            range_length: 300,
            pairs_per_turn: 100,
            comparisons_per_turn: 10_000,
            comparisons_unsplit: 16,
            split_length: 2,
            texts_per_report: 3,
            documents_per_report: 2,
            fingerprints_compared: 20,
        }
    }
}
