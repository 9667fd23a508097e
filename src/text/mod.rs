//! Text to normalised text to tokens.
//!
//! A [`Normaliser`] removes differences that do not matter. The result is cut in one of two ways:
//! [`shingles`] are overlapping runs of characters, which need no dictionary and no separators; a
//! [`WordSegmenter`] finds the words of jieba-rs. Both return byte ranges, so no token is copied.
//!
//! Invariants: a text has the same tokens on every machine and in every release. Every function
//! takes time linear in the text.

#[cfg(feature = "jieba")]
mod ascii;
mod informative;
mod normalise;
mod shingles;
mod tokens;
#[cfg(feature = "jieba")]
mod words;

pub(crate) use informative::{MAX_WORD_BYTES, has_letter, is_informative, is_south_east_asian};
pub use normalise::Normaliser;
pub(crate) use normalise::{Traditional, is_letter_or_digit, is_mark};
pub(crate) use shingles::{CJK_SHINGLE, count_non_cjk, is_cjk, shingles, shingles_of_run};
pub use tokens::tokens;
#[cfg(feature = "jieba")]
pub(crate) use words::{WordSegmenter, jieba_with};

/// At most 64 KiB of text per call of jieba-rs, which takes some 40 bytes of memory per byte of
/// text. Part of the description of a recipe: a word across the end of a piece is cut.
pub(crate) const MAX_PIECE_BYTES: usize = 1 << 16;

/// A word of a dictionary and its count in some corpus. For `None` jieba-rs computes a count with
/// which the word is found whole.
pub(crate) type DictionaryWord = (String, Option<u32>);

/// The lines of a built-in table, without comments.
pub(crate) fn table_lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.starts_with('#'))
}

/// Returns `true` for ASCII digits alone, and for an empty text.
pub(crate) fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The last character boundary of a text at or before an offset; the end of the text for a later
/// offset.
pub(crate) fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
