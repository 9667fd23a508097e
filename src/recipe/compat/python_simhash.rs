//! The recipe `python-simhash`: what the Python package simhash makes of a text by default.

use std::ops::Range;

use md5::{Digest, Md5};
use xxhash_rust::xxh3::xxh3_64;

use super::character_class::CharacterClass;
use super::lower::{LOWER, Lower, is_word_character};
use crate::feature::Tally;
use crate::recipe::weighed_features::Weighed;

/// How many characters make a window.
const WINDOW: usize = 4;

/// Fewer distinct windows than this say nothing.
pub(in crate::recipe) const LEAST_WINDOWS: usize = 5;

/// With fewer distinct windows than the first number, windows that occur as often as the second on
/// average say nothing.
const REPETITIVE: [(usize, u64); 2] = [(32, 2), (300, 4)];

/// What the description says after the name.
pub(in crate::recipe) fn description(letters: Option<&CharacterClass>) -> String {
    let letters = match letters {
        None => "letters and numbers (categories unicode-properties 0.1.5) and _".to_owned(),
        Some(class) => format!("characters {}", class.pattern()),
    };
    format!(
        "as simhash 2.1.2 of Python; lower case {:016x}, sigma by its place{LETTERS_START}{letters}{LETTERS_END} \
         in windows of {WINDOW}, a short text whole; weight 1 each time; the last 8 bytes of MD5 of \
         UTF-8 (128 bits: all 16), most significant first; a bit is 1 if more than half of the \
         weight says so; unreliable below {LEAST_WINDOWS} distinct, if one outweighs the rest, \
         below {} distinct occurring {} times each, or below {} distinct occurring {} times each",
        xxh3_64(LOWER.as_bytes()),
        REPETITIVE[0].0,
        REPETITIVE[0].1,
        REPETITIVE[1].0,
        REPETITIVE[1].1,
    )
}

/// What stands before and after the characters that count in a description.
const LETTERS_START: &str = "; of it ";
const LETTERS_END: &str = " joined,";

/// The characters that a description names.
pub(in crate::recipe) fn described_letters(description: &str) -> Option<CharacterClass> {
    let (_, rest) = description.split_once(LETTERS_START)?;
    let (letters, _) = rest.rsplit_once(LETTERS_END)?;
    CharacterClass::parse(letters.strip_prefix("characters ")?).ok()
}

/// The 128 bits that a token votes with; their lower half is its vote of 64 bits.
pub(in crate::recipe) fn hash(token: &[u8]) -> u128 {
    u128::from_be_bytes(Md5::digest(token).into())
}

/// The tables of the recipe.
pub(in crate::recipe) struct PythonSimhash {
    lower: Lower,
    letters: Option<CharacterClass>,
}

impl PythonSimhash {
    pub(in crate::recipe) fn new(letters: Option<CharacterClass>) -> Self {
        Self {
            lower: Lower::new(),
            letters,
        }
    }

    /// The text as windows are cut from it.
    pub(in crate::recipe) fn normalise(&self, text: &str) -> String {
        let mut lower = self.lower.lower(text);
        match &self.letters {
            None => lower.retain(is_word_character),
            Some(letters) => lower.retain(|c| letters.has(c)),
        }
        lower
    }

    /// The features of a text, each with where it first occurs.
    pub(in crate::recipe) fn weigh(&self, text: &str) -> Weighed {
        let normalised = self.normalise(text);
        let bytes = normalised.as_bytes();
        // MD5 takes some hundred nanoseconds, so a window is hashed by it only once.
        let mut tally = Tally::for_at_most(normalised.len());
        for_each_window(&normalised, |range| {
            tally.add((xxh3_64(&bytes[range.clone()]), range));
        });
        let counted = tally.finish();
        let hash = |window: &str| hash(window.as_bytes()) as u64;
        Weighed::by_counts(normalised, counted, hash, LEAST_WINDOWS, &REPETITIVE)
    }
}

/// Hands out the byte ranges of the windows of a text. The window of a text that is too short for
/// one is all of it, even if that is nothing.
fn for_each_window(text: &str, mut window: impl FnMut(Range<usize>)) {
    let starts = text.char_indices().map(|(at, _)| at);
    let mut ends = starts.clone().skip(WINDOW).chain([text.len()]);
    let Some(end) = ends
        .next()
        .filter(|_| text.chars().nth(WINDOW - 1).is_some())
    else {
        return window(0..text.len());
    };
    for (start, end) in starts.zip([end].into_iter().chain(ends)) {
        window(start..end);
    }
}
