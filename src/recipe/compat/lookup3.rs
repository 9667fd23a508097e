//! [`hashlittle2`]: the hash function of the recipe `cppjieba`.

/// The start value of the three states, before length and seeds are added.
const START: u32 = 0xdead_beef;

/// Bytes per round of mixing.
const BLOCK_BYTES: usize = 12;

/// `hashlittle2` of lookup3: a 64-bit hash of bytes, with the first output in the upper half.
///
/// On every machine the result equals the result on a little-endian machine. Collisions can be
/// constructed.
///
/// # Source
/// Bob Jenkins, `lookup3.c`, May 2006, public domain: `hashlittle2` with `pc` and `pb`.
pub(crate) fn hashlittle2(key: &[u8], pc: u32, pb: u32) -> u64 {
    // The original has the length as a `size_t` and adds the lower 32 bits.
    let start = START.wrapping_add(key.len() as u32).wrapping_add(pc);
    let mut state = [start, start, start.wrapping_add(pb)];
    if !key.is_empty() {
        // The final mix takes the last block, which is never empty: a key of 12 bytes has no other
        // block.
        let last = (key.len() - 1) / BLOCK_BYTES * BLOCK_BYTES;
        let (whole, rest) = key.split_at(last);
        for block in whole.chunks_exact(BLOCK_BYTES) {
            add(&mut state, block);
            mix(&mut state);
        }
        add(&mut state, rest);
        mix_last(&mut state);
    }
    u64::from(state[2]) << 32 | u64::from(state[1])
}

/// Adds up to twelve bytes to the states, padded with zeros.
fn add(state: &mut [u32; 3], block: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(block.chunks(4)) {
        let mut padded = [0; 4];
        padded[..bytes.len()].copy_from_slice(bytes);
        *word = word.wrapping_add(u32::from_le_bytes(padded));
    }
}

/// `mix` of the original: a reversible mix of the three states.
fn mix([a, b, c]: &mut [u32; 3]) {
    fn step(x: &mut u32, y: &mut u32, z: u32, bits: u32) {
        *x = x.wrapping_sub(*y) ^ y.rotate_left(bits);
        *y = y.wrapping_add(z);
    }
    step(a, c, *b, 4);
    step(b, a, *c, 6);
    step(c, b, *a, 8);
    step(a, c, *b, 16);
    step(b, a, *c, 19);
    step(c, b, *a, 4);
}

/// `final` of the original: every bit of the states changes the last two.
fn mix_last([a, b, c]: &mut [u32; 3]) {
    fn step(x: &mut u32, y: u32, bits: u32) {
        *x = (*x ^ y).wrapping_sub(y.rotate_left(bits));
    }
    step(c, *b, 14);
    step(a, *c, 11);
    step(b, *a, 25);
    step(c, *b, 16);
    step(a, *c, 4);
    step(b, *a, 14);
    step(c, *b, 24);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_published_ones() {
        let text = b"Four score and seven years ago";
        for (key, pc, pb, expected) in [
            (&b""[..], 0, 0, 0xdead_beef_dead_beef),
            (b"", 0, START, 0xbd5b_7dde_dead_beef),
            (b"", START, START, 0x9c09_3ccd_bd5b_7dde),
            (text, 0, 0, 0x1777_0551_ce72_26e6),
            (text, 0, 1, 0xe360_7cae_bd37_1de4),
            (text, 1, 0, 0xcd62_8161_6cbe_a4b3),
        ] {
            assert_eq!(hashlittle2(key, pc, pb), expected, "{pc} {pb}");
        }
    }

    #[test]
    fn changed_byte_or_length_changes_hash() {
        let key: Vec<u8> = (0..40).collect();
        let mut seen = std::collections::BTreeSet::new();
        for length in 0..=key.len() {
            assert!(seen.insert(hashlittle2(&key[..length], 0, 0)), "{length}");
            for index in 0..length {
                let mut changed = key[..length].to_vec();
                changed[index] ^= 0x80;
                assert!(seen.insert(hashlittle2(&changed, 0, 0)), "{length} {index}");
            }
        }
    }
}
