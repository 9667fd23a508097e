//! Edits that a string of bytes stands for, eight bytes each: so that a fuzzer that puts in, takes
//! out or moves bytes eight at a time changes edits as a whole.

/// One edit. What its numbers mean depends on what is edited; they are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    pub kind: u8,
    /// Which of many.
    pub which: usize,
    /// Where in it.
    pub at: usize,
    pub value: [u8; 4],
}

/// More would make an input slow, and say little.
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

    /// Another place beside `at`.
    pub fn other(&self) -> usize {
        usize::from(u16::from_le_bytes([self.value[0], self.value[1]]))
    }

    /// How many bytes, or how much else.
    pub fn count(&self) -> usize {
        usize::from(self.value[2])
    }

    /// Puts bytes into others, as far as they reach.
    pub fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
        if let Some(place) = bytes.get_mut(at..).filter(|place| !place.is_empty()) {
            let count = new.len().min(place.len());
            place[..count].copy_from_slice(&new[..count]);
        }
    }
}
