//! [`KeyFilter`]: the keys of the words of a text, as a Bloom filter of one hash function.

/// The bits for each word, so one of eight keys or fewer that a text does not have is found.
const BITS_PER_WORD: usize = 8;

/// Some bits, of which the keys of a text select the ones that are set.
#[derive(Clone, Copy)]
pub(crate) struct KeyFilter<'f>(&'f [u8]);

impl<'f> KeyFilter<'f> {
    /// The bytes of the filter of the words with these hashes of their keys.
    pub(crate) fn bytes(key_hashes: impl ExactSizeIterator<Item = u32>) -> Vec<u8> {
        let bits = key_hashes.len().next_power_of_two() * BITS_PER_WORD;
        let mut bytes = vec![0; bits / 8];
        for hash in key_hashes {
            let bit = hash as usize % bits;
            bytes[bit / 8] |= 1 << (bit % 8);
        }
        bytes
    }

    /// The filter with these bytes; `None` for no bytes.
    pub(crate) fn new(bytes: &'f [u8]) -> Option<Self> {
        (!bytes.is_empty()).then_some(Self(bytes))
    }

    /// Returns `false` only if no word has a key with this hash.
    #[inline]
    pub(crate) fn has(self, hash: u32) -> bool {
        // The number of bytes is a power of two.
        let byte = (hash as usize / 8) & (self.0.len() - 1);
        self.0[byte] & (1 << (hash % 8)) != 0
    }
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    #[test]
    fn filter_has_all_keys_and_few_others() {
        for len in [1, 2, 300, 1025] {
            let hash = |n: u32| xxh3_64(&n.to_le_bytes()) as u32;
            let hashes = |from: u32| (from..from + len).map(hash);
            let bytes = KeyFilter::bytes(hashes(0));
            let filter = KeyFilter::new(&bytes).unwrap();
            assert!(hashes(0).all(|hash| filter.has(hash)));
            let others = hashes(1 << 20).filter(|hash| filter.has(*hash)).count();
            assert!(others <= 1 + len as usize / 5, "{others} of {len}");
        }
        assert!(KeyFilter::new(&[]).is_none());
    }
}
