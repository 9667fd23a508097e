//! [`SimilarPair`]: two documents with similar texts.

use crate::ids::DocId;
use crate::measure::Resemblance;
use crate::measure::containment::Verdict;

/// Two documents with similar texts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SimilarPair {
    /// The smaller id.
    pub a: DocId,
    /// The larger id.
    pub b: DocId,
    /// The Hamming distance of the fingerprints.
    pub distance: u32,
    /// The likeness of the texts.
    pub resemblance: Resemblance,
    /// The verdict about the texts of `a` and `b`; `None` with
    /// [`Decision::Alike`](crate::Decision).
    pub verdict: Option<Verdict>,
}

/// An event that [`Snapshot::similar_pairs`](crate::Snapshot::similar_pairs) passes to its visitor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SimilarPairsEvent<'p> {
    /// The documents of a text that several documents have, in order of their ids. All such texts
    /// are passed before the first pair. Pairs name only the first of these documents.
    Copies(&'p [DocId]),
    /// Some pairs of documents with different texts, in no order. Each pair of texts is passed
    /// once, with the smallest document id of each text.
    Pairs(&'p [SimilarPair]),
}
