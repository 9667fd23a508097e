//! [`Arena`]: byte strings in large blocks of memory.

/// The bytes of a block. A longer string has a block of its own.
const BLOCK_BYTES: usize = 1 << 20;

/// The bytes of the length before a string.
const PREFIX_BYTES: usize = 4;

/// The place of a string in an [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ArenaPlace {
    block: u32,
    at: u32,
}

impl ArenaPlace {
    /// The place of no string.
    pub(super) const NONE: Self = Self {
        block: u32::MAX,
        at: u32::MAX,
    };
}

/// Byte strings that are never removed. A string takes its length and four bytes.
#[derive(Default)]
pub(super) struct Arena {
    blocks: Vec<Vec<u8>>,
    len_bytes: usize,
}

impl Arena {
    /// Adds a string of less than 4 GiB; a longer string is cut.
    pub(super) fn push(&mut self, bytes: &[u8]) -> ArenaPlace {
        let bytes = &bytes[..bytes.len().min(u32::MAX as usize)];
        let needed = PREFIX_BYTES + bytes.len();
        let has_room = |block: &Vec<u8>| block.capacity() - block.len() >= needed;
        if !self.blocks.last().is_some_and(has_room) {
            // Small indexes take small blocks.
            let next = self.len_bytes.clamp(BLOCK_BYTES / 256, BLOCK_BYTES);
            let block = Vec::with_capacity(needed.max(next));
            self.len_bytes += block.capacity();
            self.blocks.push(block);
        }
        let number = self.blocks.len() - 1;
        let block = &mut self.blocks[number];
        let at = block.len() as u32;
        block.extend((bytes.len() as u32).to_le_bytes());
        block.extend(bytes);
        let block = number as u32;
        ArenaPlace { block, at }
    }

    /// The string at a place; `None` for [`ArenaPlace::NONE`].
    #[inline]
    pub(super) fn get(&self, place: ArenaPlace) -> Option<&[u8]> {
        let block = self.blocks.get(place.block as usize)?;
        let (len, rest) = block.get(place.at as usize..)?.split_first_chunk()?;
        rest.get(..u32::from_le_bytes(*len) as usize)
    }

    /// The bytes of all blocks.
    pub(super) fn len_bytes(&self) -> usize {
        self.len_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_any_length_are_found_at_their_places() {
        let mut arena = Arena::default();
        let strings: Vec<Vec<u8>> = (0..3000_usize)
            .map(|n| vec![n as u8; if n % 1000 == 9 { 3 << 20 } else { n }])
            .collect();
        let places: Vec<ArenaPlace> = strings.iter().map(|string| arena.push(string)).collect();
        for (string, place) in strings.iter().zip(places) {
            assert!(arena.get(place) == Some(string));
        }
        assert_eq!(arena.get(ArenaPlace::NONE), None);
        let bytes: usize = strings.iter().map(|string| string.len() + 4).sum();
        assert!((bytes..bytes + bytes / 4).contains(&arena.len_bytes()));
    }
}
