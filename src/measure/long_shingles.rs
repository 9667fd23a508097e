//! [`LongShingles`]: a bound for the shingles that long ASCII texts have in common, without their
//! hashes.

use crate::analysis::ShingleLength;

/// The letters of a shingle of a long text.
const LONG_SHINGLE: usize = ShingleLength::Five.letters();

/// A set has 2¹⁶ bits, 8 KiB. A text of a thousand letters sets one of 64 bits.
const BITS: u32 = 16;
const WORDS: usize = 1 << BITS >> 6;

/// The shingles of a long ASCII text as a set of bits.
pub(super) struct LongShingles {
    bits: Box<[u64; WORDS]>,
    /// The number of distinct shingles.
    shingles: usize,
    /// The number of distinct shingles without a bit of their own.
    hidden: usize,
}

impl LongShingles {
    /// The shingles of normalised letters; `shingles` is the number of distinct ones.
    pub(super) fn new(letters: &[u8], shingles: usize) -> Self {
        let mut bits = Box::new([0; WORDS]);
        for bit in shingle_bits(letters) {
            set(&mut bits, bit);
        }
        let distinct_bits: u32 = bits.iter().map(|word| word.count_ones()).sum();
        Self {
            bits,
            shingles,
            hidden: shingles.saturating_sub(distinct_bits as usize),
        }
    }

    /// An upper bound of the Jaccard index with the shingles of other ASCII letters.
    pub(super) fn most_common_share(&self, letters: &[u8]) -> f64 {
        let mut seen = [0; WORDS];
        let mut common = self.hidden;
        for bit in shingle_bits(letters) {
            let is_own = self.bits[bit >> 6] >> (bit & 63) & 1 == 1;
            common += usize::from(is_own && set(&mut seen, bit));
        }
        // The union has at least all own shingles.
        common as f64 / self.shingles.max(1) as f64
    }
}

/// Sets a bit. Returns `true` if it was not set.
fn set(bits: &mut [u64; WORDS], bit: usize) -> bool {
    let word = &mut bits[bit >> 6];
    let before = *word;
    *word |= 1 << (bit & 63);
    *word != before
}

/// The index of the bit of each shingle.
fn shingle_bits(letters: &[u8]) -> impl Iterator<Item = usize> {
    letters.windows(LONG_SHINGLE).map(|shingle| {
        let key = shingle
            .iter()
            .fold(0, |key, byte| key << 8 | u64::from(*byte));
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BITS)) as usize
    })
}
