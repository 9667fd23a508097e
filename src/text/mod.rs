//! Text to normalised text to tokens.
//!
//! A [`Normaliser`] removes differences that do not matter. The result is cut in one of two ways:
//! [`shingles`] are overlapping runs of characters, which need no dictionary and no separators; a
//! [`WordSegmenter`] finds the words of jieba-rs. Both return byte ranges, so no token is copied.
//!
//! Invariants: a text has the same tokens on every machine and in every release. Every function
//! takes time linear in the text.

mod ascii;
mod informative;
mod normalise;
mod shingles;
mod words;

pub(crate) use informative::{MAX_WORD_BYTES, has_letter, is_informative, is_south_east_asian};
pub use normalise::Normaliser;
pub(crate) use normalise::{Traditional, is_letter_or_digit, is_mark};
pub(crate) use shingles::{CJK_SHINGLE, count_non_cjk, is_cjk, shingles, shingles_of_run};
pub(crate) use words::{
    DictionaryWord, MAX_PIECE_BYTES, WordSegmenter, floor_char_boundary, jieba_with,
};

/// The lines of a built-in table, without comments.
pub(crate) fn table_lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.starts_with('#'))
}
