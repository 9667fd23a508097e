//! [`Weighed`]: what a recipe makes of a text, ready to be merged.

use std::ops::Range;

use crate::feature::{Counted, Doubt, Weights};

/// The features of a text, as ranges of its normalised form.
pub(super) struct Weighed<P = Range<usize>> {
    pub(super) normalised: String,
    pub(super) hashes: Vec<u64>,
    pub(super) weights: Weights,
    pub(super) places: Vec<P>,
    /// Why the fingerprint is not reliable; nothing if it is.
    pub(super) doubt: Option<Doubt>,
}

impl Weighed {
    /// Features that weigh as much as they occur often, each hashed by `hash`.
    ///
    /// They are in doubt if they are fewer than `least`, or repeat themselves as `repetitive` says.
    pub(super) fn by_counts(
        normalised: String,
        counted: Counted<Range<usize>>,
        hash: impl Fn(&str) -> u64,
        least: usize,
        repetitive: &[(usize, u64)],
    ) -> Self {
        let Counted {
            counts,
            places,
            total,
            ..
        } = counted;
        let weights = Weights::of(counts.iter().map(|&count| count as i64));
        let hashes = places.iter().map(|place| hash(&normalised[place.clone()]));
        Self {
            hashes: hashes.collect(),
            doubt: Doubt::of_counts(places.len(), total, least, repetitive)
                .or_else(|| Doubt::of_weights(&weights)),
            weights,
            places,
            normalised,
        }
    }
}
