//! [`Weighed`]: what a recipe makes of a text, ready to be merged.

use std::ops::Range;

use crate::feature::{Doubt, Tally, Weights};

/// The room a tally has at first, at most. It grows with the distinct tokens, not with the text.
const MOST_FIRST_ROOM: usize = 1 << 14;

/// The features of a text, as ranges of its normalised form.
pub(super) struct Weighed<P = Range<usize>> {
    pub(super) normalised: String,
    pub(super) hashes: Vec<u64>,
    pub(super) weights: Weights,
    pub(super) places: Vec<P>,
    /// Why the fingerprint is not reliable; nothing if it is.
    pub(super) doubt: Option<Doubt>,
}

/// A tally for a text with so many distinct tokens at most.
pub(super) fn first_tally<P: Clone>(most_distinct: usize) -> Tally<P> {
    Tally::with_room(most_distinct.min(MOST_FIRST_ROOM))
}
