//! Ascending numbers in unary: the upper half of Elias-Fano (Elias 1974; Fano 1971).
//!
//! Bit *number + index* is set for each number. So the `index`-th set bit, if it is bit *n*, is for
//! the number *n − index*: the number of zeros below the bit.

use multiversion::multiversion;

/// Sets the bit of the number with this index. `unary` begins as zeros.
pub(crate) fn set(unary: &mut [u8], index: usize, number: usize) {
    let bit = index + number;
    unary[bit / 8] |= 1 << (bit % 8);
}

/// The number of set bits: the number of numbers.
#[multiversion(targets("x86_64+popcnt", "aarch64+neon"))]
pub(crate) fn count(unary: &[u8]) -> usize {
    words(unary).map(|word| word.count_ones() as usize).sum()
}

/// Replaces `numbers` by the first `len` numbers, each below 65,536.
#[multiversion(targets("x86_64+avx2+popcnt+bmi1+bmi2", "x86_64+popcnt", "aarch64+neon"))]
pub(crate) fn decode(unary: &[u8], len: usize, numbers: &mut Vec<u16>) {
    decode_portable(unary, len, numbers);
}

/// Appends the numbers with these ascending indices to `numbers`.
#[multiversion(targets("x86_64+popcnt+bmi1+bmi2", "aarch64+neon"))]
pub(crate) fn select(unary: &[u8], indices: &[u32], numbers: &mut Vec<u16>) {
    select_portable(unary, indices, numbers);
}

/// Position after the n-th zero (select0); 0 for n = 0. `None` if there are fewer zeros. The bits
/// that fill up the last 8 bytes count as zeros.
#[multiversion(targets("x86_64+popcnt+bmi1+bmi2", "aarch64+neon"))]
pub(crate) fn behind_zero(unary: &[u8], number: usize) -> Option<usize> {
    behind_zero_portable(unary, number)
}

/// The set bits from `bit` on, in order.
pub(crate) fn ones_from(unary: &[u8], bit: usize) -> Ones<'_> {
    let word = word(unary, bit / 64) & u64::MAX << (bit % 64);
    Ones {
        unary,
        number: bit / 64,
        word,
    }
}

/// The positions of set bits.
#[derive(Clone)]
pub(crate) struct Ones<'b> {
    unary: &'b [u8],
    /// The number of the current word.
    number: usize,
    /// The bits of the current word that are left.
    word: u64,
}

impl Iterator for Ones<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.number += 1;
            if self.number * 8 >= self.unary.len() {
                return None;
            }
            self.word = word(self.unary, self.number);
        }
        let bit = self.number * 64 + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(bit)
    }
}

/// The bits in words of 64; zeros fill up the last word.
fn words(unary: &[u8]) -> impl Iterator<Item = u64> {
    let (words, rest) = unary.as_chunks::<8>();
    let words = words.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let rest = (!rest.is_empty()).then(|| padded(rest));
    words.chain(rest)
}

fn word(unary: &[u8], number: usize) -> u64 {
    let rest = unary.get(8 * number..).unwrap_or_default();
    match rest.first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => padded(rest),
    }
}

/// Fewer than 8 bytes as an integer.
fn padded(bytes: &[u8]) -> u64 {
    let fold = |word, byte: &u8| word << 8 | u64::from(*byte);
    bytes.iter().rev().fold(0, fold)
}

/// For each byte, the number of zero bits below each of its set bits, lowest first.
static ZEROS_BELOW: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut ones) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][ones] = (bit - ones) as u8;
                ones += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

// Inlined, so that each version of the caller compiles this loop for its own processor.
#[inline(always)]
fn decode_portable(unary: &[u8], len: usize, numbers: &mut Vec<u16>) {
    numbers.clear();
    numbers.resize(len + 8, 0);
    let (mut index, mut zeros) = (0, 0_u16);
    for byte in unary {
        // Writes 8 numbers without a branch. The next byte overwrites those behind the last set
        // bit.
        let Some(next) = numbers[index..].first_chunk_mut::<8>() else {
            break;
        };
        let below = &ZEROS_BELOW[usize::from(*byte)];
        for (number, below) in next.iter_mut().zip(below) {
            *number = zeros.wrapping_add(u16::from(*below));
        }
        let ones = byte.count_ones();
        index += ones as usize;
        zeros = zeros.wrapping_add(8 - ones as u16);
    }
    numbers.truncate(len);
}

#[inline(always)]
fn select_portable(unary: &[u8], indices: &[u32], numbers: &mut Vec<u16>) {
    let mut words = (0..).zip(words(unary));
    let (mut first_bit, mut word) = (0, 0_u64);
    // The set bits below the current word, and below the next word.
    let (mut before, mut up_to) = (0, 0);
    for index in indices {
        while up_to <= *index
            && let Some((number, next)) = words.next()
        {
            (first_bit, word) = (64 * number, next);
            (before, up_to) = (up_to, up_to + next.count_ones());
        }
        let mut bits = word;
        for _ in before..*index {
            bits &= bits.wrapping_sub(1);
        }
        numbers.push((first_bit + bits.trailing_zeros() - index) as u16);
    }
}

#[inline(always)]
fn behind_zero_portable(unary: &[u8], number: usize) -> Option<usize> {
    if number == 0 {
        return Some(0);
    }
    let mut above = number;
    for (first_bit, word) in (0..).step_by(64).zip(words(unary)) {
        let zeros = word.count_zeros() as usize;
        if above <= zeros {
            let mut bits = !word;
            for _ in 1..above {
                bits &= bits - 1;
            }
            return Some(first_bit + bits.trailing_zeros() as usize + 1);
        }
        above -= zeros;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(numbers: &[u16]) -> Vec<u8> {
        let bits = numbers
            .last()
            .map_or(0, |last| numbers.len() + usize::from(*last));
        let mut unary = vec![0; bits.div_ceil(8)];
        for (index, number) in numbers.iter().enumerate() {
            set(&mut unary, index, usize::from(*number));
        }
        unary
    }

    proptest! {
        #[test]
        fn all_reads_equal_plain_numbers_in_both_versions(
            mut numbers in prop::collection::vec(0..3_000_u16, 0..900),
            below in 1..3_001_u16,
            every in 1..40_usize,
        ) {
            numbers.iter_mut().for_each(|number| *number %= below);
            numbers.sort_unstable();
            let unary = encoded(&numbers);
            prop_assert_eq!(count(&unary), numbers.len());

            let (mut selected, mut portable) = (Vec::new(), Vec::new());
            decode(&unary, numbers.len(), &mut selected);
            decode_portable(&unary, numbers.len(), &mut portable);
            prop_assert_eq!(&selected, &numbers);
            prop_assert_eq!(&portable, &numbers);

            let indices: Vec<u32> = (0..numbers.len() as u32).step_by(every).collect();
            let expected: Vec<u16> = numbers.iter().copied().step_by(every).collect();
            selected.clear();
            portable.clear();
            select(&unary, &indices, &mut selected);
            select_portable(&unary, &indices, &mut portable);
            prop_assert_eq!(&selected, &expected);
            prop_assert_eq!(&portable, &expected);

            for number in (0..usize::from(below) + 70).step_by(every) {
                let bit = behind_zero(&unary, number);
                prop_assert_eq!(bit, behind_zero_portable(&unary, number));
                let index = numbers.partition_point(|each| usize::from(*each) < number);
                // Without this bit, all numbers are smaller.
                prop_assert_eq!(bit.map_or(numbers.len(), |bit| bit - number), index);
                let rest: Vec<u16> = bit.map_or(Vec::new(), |bit| {
                    let ones = ones_from(&unary, bit).zip(index..);
                    ones.map(|(bit, index)| (bit - index) as u16).collect()
                });
                prop_assert_eq!(&rest, &numbers[index..]);
            }
        }
    }
}
