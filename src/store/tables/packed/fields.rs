//! Integers of the same width in bits, packed one after the other, the least significant bit first.

use multiversion::multiversion;

/// Appends integers below 2^`width`; zeros fill up the last byte.
pub(super) fn push(bytes: &mut Vec<u8>, width: u32, fields: impl Iterator<Item = u64>) {
    if width == 0 {
        return;
    }
    let (mut word, mut bits) = (0, 0);
    for field in fields {
        word |= field << bits;
        bits += width;
        if bits >= 64 {
            bytes.extend_from_slice(&word.to_le_bytes());
            bits -= 64;
            // The bits of the field that are not in the word.
            word = field.checked_shr(width - bits).unwrap_or(0);
        }
    }
    bytes.extend_from_slice(&word.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// The bytes of `len` integers.
pub(super) fn len_bytes(len: usize, width: u32) -> usize {
    (len * width as usize).div_ceil(8)
}

/// The integer with this index. Faster if 8 more bytes follow the integer.
pub(super) fn get(bytes: &[u8], width: u32, index: usize) -> u64 {
    let bit = index * width as usize;
    let shift = (bit % 8) as u32;
    let rest = bytes.get(bit / 8..).unwrap_or_default();
    let mut field = match rest.first_chunk() {
        Some(word) => u64::from_le_bytes(*word) >> shift,
        None => {
            let fold = |word, byte: &u8| word << 8 | u64::from(*byte);
            rest.iter().rev().fold(0, fold) >> shift
        }
    };
    if shift + width > 64 {
        let above = rest.get(8).copied().unwrap_or(0);
        field |= u64::from(above) << (64 - shift);
    }
    field & below(width)
}

/// Sets bits of each of the `words`: the integer with the index of the word, shifted to the left.
/// The bits are zeros before.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl",
    "x86_64+avx2+bmi1+bmi2",
    "aarch64+neon",
))]
pub(super) fn set_in(words: &mut [u64], bytes: &[u8], width: u32, left: u32) {
    set_in_portable(words, bytes, width, left);
}

/// Two words of 8 bytes hold 8 integers of at most 16 bits, 4 each.
const MAX_WIDTH_OF_EIGHT: u32 = 16;

// Inlined, so that each version of the caller compiles this loop for its own processor.
#[inline(always)]
fn set_in_portable(words: &mut [u64], bytes: &[u8], width: u32, left: u32) {
    if width == 0 {
        return;
    }
    let mut done = 0;
    if width <= MAX_WIDTH_OF_EIGHT {
        let mask = below(width);
        // Eight integers begin at a whole byte, and the last four of them at half a byte.
        let (step, half) = (width as usize, width as usize / 2);
        for (group, words) in words.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let rest = bytes.get(group * step..).unwrap_or_default();
            let (Some(first), Some(second)) = (
                rest.first_chunk(),
                rest.get(half..).and_then(|rest| rest.first_chunk()),
            ) else {
                break;
            };
            let first = u64::from_le_bytes(*first);
            let second = u64::from_le_bytes(*second) >> (width % 2 * 4);
            for number in 0..4 {
                let right = number as u32 * width;
                words[number] |= (first >> right & mask) << left;
                words[number + 4] |= (second >> right & mask) << left;
            }
            done += 8;
        }
    }
    for (index, word) in words.iter_mut().enumerate().skip(done) {
        *word |= get(bytes, width, index) << left;
    }
}

/// A mask of the lowest bits.
pub(super) fn below(width: u32) -> u64 {
    u64::MAX.checked_shr(64 - width).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_width_are_read_back() {
        for width in 0..=64 {
            for len in [0, 1, 2, 7, 8, 9, 63, 64, 65, 200] {
                let mix = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
                let fields: Vec<u64> = (1..=len).map(|n| mix(n) & below(width)).collect();
                for behind in [0, 1, 9] {
                    let mut bytes = Vec::new();
                    push(&mut bytes, width, fields.iter().copied());
                    assert_eq!(bytes.len(), len_bytes(fields.len(), width));
                    bytes.resize(bytes.len() + behind, 0xff);
                    for (index, field) in fields.iter().enumerate() {
                        assert_eq!(get(&bytes, width, index), *field, "{width} bits, {index}");
                    }
                    let left = 64 - width.max(1);
                    let shifted: Vec<u64> = fields.iter().map(|field| field << left).collect();
                    let (mut set, mut portable) = (vec![0; fields.len()], vec![0; fields.len()]);
                    set_in(&mut set, &bytes, width, left);
                    set_in_portable(&mut portable, &bytes, width, left);
                    assert_eq!(set, shifted, "{width} bits");
                    assert_eq!(portable, shifted, "{width} bits");
                }
            }
        }
    }
}
