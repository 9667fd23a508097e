//! The shingles that ASCII texts have in common, without their hashes: [`LongShingles`] has a bound for long
//! texts, [`ShortShingles`] the Jaccard index for short ones.

use super::jaccard::jaccard_index;
use crate::minhash::{LONG_SHINGLE, SHORT_SHINGLE};

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

/// Normalised ASCII letters and digits.
const SYMBOLS: usize = 36;

const SHORT_WORDS: usize = SYMBOLS.pow(SHORT_SHINGLE as u32).div_ceil(64);

/// The shingles of a short text of ASCII letters and digits as a set of bits, one for each possible shingle.
pub(super) struct ShortShingles {
    bits: Box<[u64; SHORT_WORDS]>,
    /// The number of distinct shingles.
    shingles: usize,
}

impl ShortShingles {
    /// `None` for letters that are not ASCII, or fewer than a shingle.
    pub(super) fn new(letters: &[u8]) -> Option<Self> {
        let mut bits = Box::new([0; SHORT_WORDS]);
        let mut shingles = 0;
        for_each_short_shingle(letters, |word, bit| {
            shingles += usize::from(bits[word] & bit == 0);
            bits[word] |= bit;
        })?;
        Some(Self { bits, shingles })
    }

    /// The Jaccard index with the shingles of other letters, cut as those of a short text; `None` for letters
    /// that are not ASCII, or fewer than a shingle.
    pub(super) fn jaccard(&self, letters: &[u8]) -> Option<f64> {
        let mut seen = [0; SHORT_WORDS];
        let (mut common, mut others) = (0, 0);
        for_each_short_shingle(letters, |word, bit| {
            let is_new = seen[word] & bit == 0;
            seen[word] |= bit;
            others += usize::from(is_new);
            common += usize::from(is_new && self.bits[word] & bit != 0);
        })?;
        Some(jaccard_index(common, self.shingles, others))
    }
}

/// Calls `visit` with the word and the bit of each shingle. `None` for letters without such bits.
#[inline]
fn for_each_short_shingle(letters: &[u8], mut visit: impl FnMut(usize, u64)) -> Option<()> {
    if letters.len() < SHORT_SHINGLE {
        return None;
    }
    let symbol = |byte: &u8| match byte {
        b'0'..=b'9' => Some(usize::from(byte - b'0')),
        b'a'..=b'z' => Some(usize::from(byte - b'a') + 10),
        _ => None,
    };
    let mut shingle = 0;
    for (at, byte) in letters.iter().enumerate() {
        // Symbols before the shingle leave the number.
        shingle = (shingle * SYMBOLS + symbol(byte)?) % SYMBOLS.pow(SHORT_SHINGLE as u32);
        if at + 1 >= SHORT_SHINGLE {
            visit(shingle / 64, 1 << (shingle % 64));
        }
    }
    Some(())
}
