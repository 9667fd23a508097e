//! [`Sketch`]: a bit of each minimum of a text, which rejects most candidates before their texts
//! are read.

/// The bits of a sketch, one for each of the first minima.
pub(crate) const SKETCH_BITS: usize = 128;

/// The factor that mixes a minimum: minima are small numbers, so their own bits are not evenly
/// distributed.
pub(crate) const SKETCH_FACTOR: u32 = 0x9e37_79b1;

/// A bit of each of the first 128 minima of a text. Sketches of unrelated texts differ in about
/// half of the bits, and in fewer the more shingles the texts have in common.
///
/// Two words, not a `u128`, which would leave gaps in tables of sketches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sketch([u64; SKETCH_BITS / 64]);

impl Sketch {
    pub(super) fn new(minima: &[u32]) -> Self {
        let mut words = [0; 2];
        for (at, minimum) in minima.iter().take(SKETCH_BITS).enumerate() {
            let bit = minimum.wrapping_mul(SKETCH_FACTOR) >> 31;
            words[at / 64] |= u64::from(bit) << (at % 64);
        }
        Self(words)
    }

    pub(crate) fn from_words(words: [u64; 2]) -> Self {
        Self(words)
    }

    pub(crate) fn words(self) -> [u64; 2] {
        self.0
    }

    /// The number of different bits.
    #[inline(always)]
    pub(crate) fn distance(self, other: Self) -> u32 {
        (self.0[0] ^ other.0[0]).count_ones() + (self.0[1] ^ other.0[1]).count_ones()
    }
}
