//! The recipe `python-simhash`: the features of the Python package simhash.

use xxhash_rust::xxh3::xxh3_64;

use super::character_class::CharacterClass;
use super::lower::{LOWER, Lower, is_word_character};
use super::weigh_by_counts;
use crate::feature::TokenCounter;
use crate::recipe::Constants;
use crate::recipe::feature_list::Merging;
use crate::recipe::weighted_features::WeightedFeatures;
use crate::text::shingles_of_run;

/// Characters per window.
const WINDOW: usize = 4;

/// The bounds of [`is_repetitive`](crate::feature::is_repetitive) for unreliable fingerprints.
const REPETITIVE: [(usize, u64); 2] = [(32, 2), (300, 4)];

pub(in crate::recipe) const CONSTANTS: Constants = Constants {
    name: "python-simhash",
    min_features: 5,
    merging: Merging::Numpy,
    hash: |token| md5(token) as u64,
    hash128: Some(md5),
    ..Constants::OWN
};

/// The description without the name. Databases store it, so it must never change.
pub(in crate::recipe) fn description(characters: Option<&CharacterClass>) -> String {
    let characters = match characters {
        None => "letters and numbers (categories unicode-properties 0.1.5) and _".to_owned(),
        Some(class) => format!("characters {}", class.pattern()),
    };
    let [(few, twice), (some, often)] = REPETITIVE;
    format!(
        "as simhash 2.1.2 of Python; lower case {:016x}, sigma by its place{CHARACTERS_START}{characters}{CHARACTERS_END} \
         in windows of {WINDOW}, a short text whole; weight 1 each time; the last 8 bytes of MD5 of \
         UTF-8 (128 bits: all 16), most significant first; a bit is 1 if more than half of the \
         weight says so; unreliable below {} distinct, if one outweighs the rest, \
         below {few} distinct occurring {twice} times each, or below {some} distinct occurring {often} times each",
        xxh3_64(LOWER.as_bytes()),
        CONSTANTS.min_features,
    )
}

/// The parts of a description before and after the class of characters.
const CHARACTERS_START: &str = "; of it ";
const CHARACTERS_END: &str = " joined,";

/// The class of characters in a description; `None` for the default class.
pub(in crate::recipe) fn described_characters(description: &str) -> Option<CharacterClass> {
    // The last end, not the first: a pattern may contain any text.
    let (_, rest) = description.split_once(CHARACTERS_START)?;
    let (characters, _) = rest.rsplit_once(CHARACTERS_END)?;
    CharacterClass::parse(characters.strip_prefix("characters ")?).ok()
}

/// The 128-bit hash of a token. The lower half is the 64-bit hash.
fn md5(token: &str) -> u128 {
    u128::from_be_bytes(md5::compute(token).0)
}

pub(in crate::recipe) struct PythonSimhash {
    lower: Lower,
    characters: Option<CharacterClass>,
}

impl PythonSimhash {
    pub(in crate::recipe) fn new(characters: Option<CharacterClass>) -> Self {
        Self {
            lower: Lower::new(),
            characters,
        }
    }

    /// The text in lower case with the characters of the class only.
    pub(in crate::recipe) fn normalise(&self, text: &str) -> String {
        let mut lower = self.lower.lower(text);
        match &self.characters {
            None => lower.retain(is_word_character),
            Some(class) => lower.retain(|c| class.contains(c)),
        }
        lower
    }

    /// The features of a text: windows of four characters. A text shorter than a window is one
    /// window, even if the text is empty.
    pub(in crate::recipe) fn weigh(&self, text: &str) -> WeightedFeatures {
        let normalised = self.normalise(text);
        // Windows are counted by xxh3_64. MD5 takes some hundred nanoseconds, so only distinct
        // windows are hashed with MD5.
        let mut counter = TokenCounter::new(normalised.len());
        shingles_of_run(&normalised, 0..normalised.len(), WINDOW, &mut |range| {
            counter.add((xxh3_64(normalised[range.clone()].as_bytes()), range));
        });
        let counts = counter.finish();
        weigh_by_counts(normalised, counts, &CONSTANTS, &REPETITIVE)
    }
}
