//! The crc32 that all formats of the store share.

/// Extends a crc32 by more bytes; the crc32 of no bytes is 0.
pub(crate) fn crc32_append(before: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(bytes);
    hasher.finalize()
}

/// The payload with its crc32 in front: the stored form of texts and settings.
pub(crate) fn with_crc(payload: &[u8]) -> Vec<u8> {
    [&crc32fast::hash(payload).to_le_bytes(), payload].concat()
}

/// The payload that [`with_crc`] was given, or `None` if the bytes do not match their crc32.
pub(crate) fn verify_crc(stored: &[u8]) -> Option<&[u8]> {
    let (crc, payload) = stored.split_first_chunk::<4>()?;
    (crc32fast::hash(payload) == u32::from_le_bytes(*crc)).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_returned_only_if_no_bit_flipped() {
        let stored = with_crc("名言".as_bytes());
        assert_eq!(verify_crc(&stored), Some("名言".as_bytes()));
        for bit in 0..stored.len() * 8 {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verify_crc(&damaged), None);
        }
        assert_eq!(verify_crc(&[1, 2]), None);
    }
}
