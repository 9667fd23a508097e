//! [`WeightedFeatures`]: the features of a text with their weights, before the merge.

use std::ops::Range;

use crate::feature::{FeatureWeights, UnreliableReason};

/// The features of a text with integer weights. The lists have one entry per feature, in the same
/// order.
pub(super) struct WeightedFeatures<P = Range<usize>> {
    pub(super) normalised: String,
    pub(super) hashes: Vec<u64>,
    pub(super) weights: FeatureWeights,
    /// The first occurrence of each feature in the normalised text; `()` if not needed.
    pub(super) positions: Vec<P>,
    /// The reason why the fingerprint is not reliable, if any.
    pub(super) unreliable: Option<UnreliableReason>,
}

impl WeightedFeatures {
    /// The features with positions of another type.
    pub(super) fn map_positions<P>(
        self,
        position_of: impl Fn(Range<usize>) -> P,
    ) -> WeightedFeatures<P> {
        WeightedFeatures {
            normalised: self.normalised,
            hashes: self.hashes,
            weights: self.weights,
            positions: self.positions.into_iter().map(position_of).collect(),
            unreliable: self.unreliable,
        }
    }
}
