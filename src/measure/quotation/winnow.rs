//! [`winnow`]: some of the hashes of a text, at least one of each few in a row.

use std::collections::VecDeque;

/// A window has 4 phrases, and at least one of them is selected, so two texts with 6 words in a row
/// in common have a selected phrase in common. On average, two of five phrases are selected.
const WINDOW: usize = 4;

/// The upper half of the smallest hash of each window, in ascending order, without repetitions. A
/// list shorter than a window is one window.
///
/// The selection depends on the hashes of the window alone, so a run of words has the same selected
/// phrases in each text.
pub(crate) fn winnow(hashes: &[u64]) -> Vec<u32> {
    let mut selected = Vec::with_capacity(hashes.len() / 2 + 1);
    // The places of the window that can become its smallest; their hashes ascend.
    let mut smallest: VecDeque<usize> = VecDeque::with_capacity(WINDOW);
    for (at, hash) in hashes.iter().enumerate() {
        while smallest.back().is_some_and(|last| hashes[*last] >= *hash) {
            smallest.pop_back();
        }
        smallest.push_back(at);
        if smallest[0] + WINDOW <= at {
            smallest.pop_front();
        }
        if at + 1 >= WINDOW.min(hashes.len()) {
            selected.push((hashes[smallest[0]] >> 32) as u32);
        }
    }
    selected.sort_unstable();
    selected.dedup();
    selected
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn smallest_hash_of_each_window_is_selected(
            hashes in prop::collection::vec(any::<u64>(), 0..40),
        ) {
            let windows = hashes.windows(WINDOW.min(hashes.len()).max(1));
            let smallest = windows.filter_map(|window| window.iter().min());
            let expected: BTreeSet<u32> = smallest.map(|hash| (hash >> 32) as u32).collect();
            prop_assert_eq!(winnow(&hashes), expected.into_iter().collect::<Vec<_>>());
        }
    }
}
