//! Text to normalised text to tokens.
//!
//! There are two ways to cut a text: [`shingles`], overlapping runs of characters, need no dictionary
//! and no separators; a [`WordSegmenter`] finds the words of jieba-rs. Both hand out byte ranges, so
//! that no token is copied before it is read.

mod ascii;
mod informative;
mod normalise;
mod shingles;
mod words;

pub(crate) use informative::{MOST_WORD_BYTES, has_letter, is_informative, is_south_east_asian};
pub use normalise::Normaliser;
pub(crate) use normalise::{Script, is_letter_or_digit, is_mark};
pub(crate) use shingles::{CJK_SHINGLE, count_other_characters, is_cjk, shingles, shingles_of_run};
pub(crate) use words::{
    DictionaryWord, MOST_PIECE_BYTES, WordSegmenter, floor_char_boundary, jieba_with,
};

/// The lines of a table that is part of the program, without comments.
pub(crate) fn table_lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.starts_with('#'))
}
