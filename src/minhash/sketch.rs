//! [`Sketch`]: a bit of each minimum of a text, which rejects most candidates before their texts are read.

use super::{MINIMA, Minima};

/// A bit of each minimum of a text. Sketches of unrelated texts differ in about half of the bits, and in
/// fewer the more shingles the texts have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sketch(u128);

/// The bit after those of the minima says that the shingles are those of a long text.
const IS_LONG: u128 = 1 << MINIMA;

const MINIMA_BITS: u128 = IS_LONG - 1;

/// The factor that mixes a minimum: minima are small numbers, so their own bits are not evenly distributed.
pub(super) const FACTOR: u32 = 0x9e37_79b9;

impl Sketch {
    pub(super) fn new(minima: &Minima, is_long: bool) -> Self {
        let mut bits = if is_long { IS_LONG } else { 0 };
        for (at, minimum) in minima.iter().enumerate() {
            bits |= u128::from(minimum.wrapping_mul(FACTOR) >> 31) << at;
        }
        Self(bits)
    }

    pub(crate) fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u128 {
        self.0
    }

    fn is_long(self) -> bool {
        self.0 & IS_LONG != 0
    }

    fn distance(self, other: Self) -> u32 {
        ((self.0 ^ other.0) & MINIMA_BITS).count_ones()
    }
}

/// The sketches of a text: of its shingles as a short text, as a long text, or both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sketches(Vec<Sketch>);

impl Sketches {
    pub(super) fn push(&mut self, sketch: Sketch) {
        self.0.push(sketch);
    }

    pub(super) fn first(&self) -> Option<Sketch> {
        self.0.first().copied()
    }

    /// Returns `true` unless the sketch of another text, for shingles of the same length, differs in more
    /// bits.
    pub(crate) fn may_be_near(&self, other: Option<Sketch>, max_distance: u32) -> bool {
        other.is_none_or(|other| {
            let same_length = |own: &&Sketch| own.is_long() == other.is_long();
            let own = self.0.iter().find(same_length);
            own.is_none_or(|own| own.distance(other) <= max_distance)
        })
    }
}
