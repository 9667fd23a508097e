//! [`QueryLimits`]: the sizes at which a query splits its work or pauses.

/// The sizes at which a query splits its work or pauses. No limit changes which documents match.
///
/// The search for all pairs runs in *turns*. After each turn, control returns to the loop that
/// calls the visitor and reports progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryLimits {
    /// Matching fingerprints of a batch of queries whose documents are looked up in one walk
    /// through `block0`.
    pub(crate) matches_per_lookup: usize,
    /// Documents that the answers to several queries hold together. The answer to a single query
    /// may hold more.
    pub(crate) documents_held: usize,
    /// Ranges of fingerprints into which the search for copies is split at first.
    pub(crate) copy_ranges: u64,
    /// Documents, 512 KiB, after which the search for copies in a range pauses. The pause keeps two
    /// fingerprints with half a million copies each from being in memory together.
    pub(crate) documents_per_turn: usize,
    /// Pairs of fingerprints, 4 MiB, whose documents are looked up together. A larger number
    /// decodes fewer chunks of `block0` twice.
    pub(crate) pairs_per_lookup: usize,
    /// Expected fingerprints above which a range is split without being read.
    pub(crate) expected_range_length: u64,
    /// Fingerprints, 4 MiB, after which the read of a range ends and the range is split.
    pub(crate) range_length: usize,
    /// Pairs after which the join of two ranges pauses.
    pub(crate) pairs_per_turn: usize,
    /// Comparisons, some tens of milliseconds, after which the join of two ranges pauses.
    pub(crate) comparisons_per_turn: u64,
    /// Comparisons up to which two ranges are compared all with all instead of being split.
    pub(crate) comparisons_unsplit: u64,
    /// Fingerprints, approximately, in each part of a range that is split in memory.
    pub(crate) split_length: usize,
    /// Texts compared between two reports of the progress of clustering.
    pub(crate) texts_per_report: usize,
    /// Documents whose neighbours are visited between two reports of the progress of clustering.
    pub(crate) documents_per_report: u64,
    /// Distinct fingerprints of a cluster up to which all are compared with all for the diameter.
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
    /// Limits for unit tests: a few hundred documents reach every path.
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
