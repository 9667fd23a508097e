//! Words of memory that are read without a lock, and fetched ahead.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

const CACHE_LINE_WORDS: usize = 8;

/// The lines that are fetched ahead. The processor itself fetches the next lines.
const TOUCHED_LINES: usize = 8;

/// The words that are fetched ahead.
pub(crate) const TOUCHED_WORDS: usize = TOUCHED_LINES * CACHE_LINE_WORDS;

pub(crate) fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// Fetches the first words of several slices into the cache of the processor, without a computation between the
/// reads, so that they do not wait for each other.
pub(crate) fn touch<'w>(slices: impl Iterator<Item = &'w [AtomicU64]>) {
    let words = slices.flat_map(|words| words.iter().step_by(CACHE_LINE_WORDS).take(TOUCHED_LINES));
    black_box(words.fold(0, |all, word| all ^ load(word)));
}
