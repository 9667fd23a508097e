//! [`SlotSet`]: the slots that a search has met.

/// The cells of a new set: 16 KiB.
const FIRST_CELLS: usize = 1 << 12;

/// A cell without a slot.
const EMPTY: u32 = u32::MAX;

/// A set of slots: a hash table with linear probing, and the slots in the order of their insertion.
///
/// Slots are numbers that the index gives, so no text can choose slots with one hash.
pub(crate) struct SlotSet {
    cells: Vec<u32>,
    slots: Vec<u32>,
}

impl SlotSet {
    pub(crate) fn new() -> Self {
        Self {
            cells: vec![EMPTY; FIRST_CELLS],
            slots: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, slot: u32) {
        if put(&mut self.cells, slot) {
            self.slots.push(slot);
            if self.slots.len() * 2 > self.cells.len() {
                self.grow();
            }
        }
    }

    fn grow(&mut self) {
        let len = self.cells.len() * 4;
        self.cells.clear();
        self.cells.resize(len, EMPTY);
        for slot in &self.slots {
            put(&mut self.cells, *slot);
        }
    }

    pub(crate) fn slots(&self) -> &[u32] {
        &self.slots
    }
}

/// Returns `true` if the slot was in no cell.
#[inline]
fn put(cells: &mut [u32], slot: u32) -> bool {
    let mask = cells.len() - 1;
    let mut at = (slot.wrapping_mul(0x9e37_79b1) >> 7) as usize & mask;
    loop {
        match cells[at] {
            found if found == slot => return false,
            EMPTY => {
                cells[at] = slot;
                return true;
            }
            _ => at = (at + 1) & mask,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn set_has_each_slot_once() {
        let mut set = SlotSet::new();
        let draws = (0..40_000_u32).map(|n| n.wrapping_mul(n) % 30_011);
        let expected: BTreeSet<u32> = draws.clone().collect();
        draws.for_each(|slot| set.insert(slot));
        assert_eq!(set.slots().len(), expected.len());
        assert_eq!(
            set.slots().iter().copied().collect::<BTreeSet<_>>(),
            expected
        );
    }
}
