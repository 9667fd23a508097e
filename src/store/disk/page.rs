//! The page size and the checksum that all formats of the store share.

/// Bytes of a page: of redb, of the checksum pages and of a chunk with its key.
pub(crate) const PAGE_BYTES: usize = 4096;

/// The crc32 of the bytes that `before` is the crc32 of, followed by `bytes`.
pub(crate) fn checksum_on(before: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(bytes);
    hasher.finalize()
}

/// A stored text or setting with its crc32 in front.
pub(crate) fn seal(payload: &[u8]) -> Vec<u8> {
    [&crc32fast::hash(payload).to_le_bytes(), payload].concat()
}

/// The payload that [`seal`] was given, or `None` if the bytes are damaged.
pub(crate) fn unseal(sealed: &[u8]) -> Option<&[u8]> {
    let (crc, payload) = sealed.split_first_chunk::<4>()?;
    (crc32fast::hash(payload) == u32::from_le_bytes(*crc)).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_bytes_come_back_or_not_at_all() {
        let sealed = seal("名言".as_bytes());
        assert_eq!(unseal(&sealed), Some("名言".as_bytes()));
        for bit in 0..sealed.len() * 8 {
            let mut damaged = sealed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unseal(&damaged), None);
        }
        assert_eq!(unseal(&[1, 2]), None);
    }
}
