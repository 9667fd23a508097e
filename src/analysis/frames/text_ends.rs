//! [`TextEnds`]: the lines and sentences at the ends of a text.

use std::cmp::Reverse;

use xxhash_rust::xxh3::xxh3_64;

use crate::analysis::words::stamps::{MAX_UNIT_BYTES, end_units};
use crate::text::{Normaliser, is_cjk};

/// A shorter line or sentence is a heading or a value. Two CJK characters count as a word.
const MIN_FRAME_WORDS: usize = 4;

/// The longest parts of a text that stand for its body.
const BODY_PARTS: usize = 4;

/// The lines and sentences at the ends of a text, and the parts that stand for its body: what
/// [`FrameCounter::push`](super::FrameCounter::push) counts.
///
/// Threads can prepare the ends of texts before one of them counts the ends in order.
#[derive(Clone, Debug)]
pub struct TextEnds {
    pub(super) units: Vec<EndUnit>,
    /// The longest parts of the text, the longest first.
    pub(super) parts: Vec<EndPart>,
}

#[derive(Clone, Debug)]
pub(super) struct EndUnit {
    pub(super) text: String,
    pub(super) form: String,
    /// The indexes of the parts that are not in the line or the sentence.
    pub(super) others: Vec<usize>,
    /// `true` if the line or the sentence stands before the longest of these parts.
    pub(super) is_head: bool,
}

#[derive(Clone, Debug)]
pub(super) struct EndPart {
    /// The hash of the letters and digits.
    pub(super) letters: u32,
    /// `None` for a part that is no frame of any collection.
    pub(super) form: Option<String>,
}

impl TextEnds {
    /// Cuts a text.
    ///
    /// # Cost
    /// Linear in the text. At most 20 lines and sentences are normalised.
    pub fn new(text: &str) -> Self {
        let mut parts: Vec<&str> = (text.split(['\n', '.', '。', '！', '？', '!', '?']))
            .map(str::trim)
            .collect();
        parts.sort_by_key(|part| Reverse(part.len()));
        parts.truncate(BODY_PARTS);
        let unit = |unit: &str| {
            let is_other = |at: &usize| !unit.contains(parts[*at]);
            let others: Vec<usize> = (0..parts.len()).filter(is_other).collect();
            let body = parts[*others.first()?];
            Some(EndUnit {
                text: unit.to_owned(),
                form: form(unit)?,
                others,
                is_head: unit.as_ptr() < body.as_ptr(),
            })
        };
        let part = |part: &&str| EndPart {
            letters: letters_hash(part),
            form: form(part),
        };
        Self {
            units: end_units(text).into_iter().filter_map(unit).collect(),
            parts: parts.iter().map(part).collect(),
        }
    }

    /// The lines and sentences at the ends that are neither too short nor too long for a frame.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.units.iter().map(|unit| &*unit.text)
    }
}

/// The form in which lines and sentences are compared; `None` if they are too short or too long.
pub(super) fn form(unit: &str) -> Option<String> {
    let is_long_enough = unit.len() <= MAX_UNIT_BYTES && words(unit) >= MIN_FRAME_WORDS;
    let form = is_long_enough.then(|| Normaliser::shared().sentences(unit))?;
    // The end of a sentence and dashes around a line are punctuation.
    Some(form.trim_matches(['.', '-', '_', '&', ' ']).to_owned())
}

/// The hash of the letters and digits of a part of a text.
fn letters_hash(part: &str) -> u32 {
    let letters = part.chars().filter(|c| c.is_alphanumeric());
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    xxh3_64(letters.as_bytes()) as u32
}

/// The words of a text, separated by white space; two CJK characters count as a word.
pub(super) fn words(text: &str) -> usize {
    let has_letter = |word: &&str| word.contains(|c: char| c.is_alphanumeric() && !is_cjk(c));
    text.split_whitespace().filter(has_letter).count()
        + text.chars().filter(|c| is_cjk(*c)).count() / 2
}
