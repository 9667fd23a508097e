//! Edits decoded from bytes, eight bytes each, so that a fuzzer that inserts, deletes or moves
//! groups of eight bytes changes whole edits.

/// One edit. Its numbers are taken modulo the size of the edited thing.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    pub kind: u8,
    /// Index of the edited thing.
    pub which: usize,
    /// Position within the edited thing.
    pub at: usize,
    pub value: [u8; 4],
}

/// At most 64 edits per input: more would be slow and find little.
const MOST_EDITS: usize = 64;

pub fn edits(input: &[u8]) -> impl Iterator<Item = Edit> + '_ {
    let (edits, _) = input.as_chunks::<8>();
    edits.iter().take(MOST_EDITS).map(|bytes| {
        let [kind, which, low, high, value @ ..] = *bytes;
        Edit {
            kind,
            which: usize::from(which),
            at: usize::from(u16::from_le_bytes([low, high])),
            value,
        }
    })
}

impl Edit {
    pub fn word(&self) -> u32 {
        u32::from_le_bytes(self.value)
    }

    /// A second position.
    pub fn other(&self) -> usize {
        usize::from(u16::from_le_bytes([self.value[0], self.value[1]]))
    }

    /// A number of bytes, rows or records.
    pub fn count(&self) -> usize {
        usize::from(self.value[2])
    }

    /// Overwrites bytes from `at`, as far as `bytes` reaches.
    pub fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
        if let Some(place) = bytes.get_mut(at..).filter(|place| !place.is_empty()) {
            let count = new.len().min(place.len());
            place[..count].copy_from_slice(&new[..count]);
        }
    }
}
