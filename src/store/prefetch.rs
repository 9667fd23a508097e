//! Arrays of atomic integers, read without a lock and fetched ahead of their use.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

const CACHE_LINE_WORDS: usize = 8;

/// Cache lines fetched at the start of each array.
// The processor itself fetches the lines after them.
const TOUCHED_LINES: usize = 8;

/// Integers fetched at the start of each array.
pub(crate) const TOUCHED_WORDS: usize = TOUCHED_LINES * CACHE_LINE_WORDS;

pub(crate) fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// Fetches the starts of several arrays into the cache of the processor.
pub(crate) fn touch<'w>(slices: impl Iterator<Item = &'w [AtomicU64]>) {
    let words = slices.flat_map(|words| words.iter().step_by(CACHE_LINE_WORDS).take(TOUCHED_LINES));
    // No read needs the result of another read, so the processor waits for all of them at once. The
    // compiler would remove the reads of an unused sum.
    black_box(words.fold(0, |all, word| all ^ load(word)));
}
