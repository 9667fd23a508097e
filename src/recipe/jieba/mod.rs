//! The recipe `jieba`: the 20 heaviest words that jieba-rs finds, weighted by tf × idf.
//!
//! The description needs no dictionary, so that a build without the feature `jieba` knows the
//! databases of this recipe.

#[cfg(feature = "jieba")]
mod keywords;

use super::{Constants, SIMHASH};
use crate::feature::{UNKNOWN_WORD_WEIGHT, WEIGHT_UNIT};
use crate::text::{MAX_PIECE_BYTES, Traditional};
#[cfg(feature = "jieba")]
pub(super) use keywords::Jieba;

/// The `xxh3_64` of the stop words.
const STOP_WORDS_XXH3: u64 = 0x8b1a_a2ff_a17a_34be;

/// The `xxh3_64` of the compressed table of inverse document frequencies.
pub(super) const WORD_WEIGHTS_XXH3: u64 = 0xe167_8ae3_8e08_5d59;

/// At most 20 keywords per text.
pub(super) const KEYWORDS: usize = 20;

pub(super) const CONSTANTS: Constants = Constants {
    name: "jieba",
    weight_unit: WEIGHT_UNIT,
    ..Constants::OWN
};

pub(super) const TRADITIONAL: Constants = Constants {
    name: "jieba-traditional",
    traditional: Traditional::Kept,
    ..CONSTANTS
};

/// The description without the name. Databases store it, so it must never change.
pub(super) fn description(traditional: Traditional) -> String {
    format!(
        "{}; separators to spaces except +#&._%-; words of 2 and more \
         characters by jieba-rs 0.11.0 with its dictionary and the model of \
         jieba-macros 0.11.0, in pieces of {MAX_PIECE_BYTES} bytes cut at spaces, without stop words \
         {:016x}; weight tf x idf, of table {:016x}, other words \
         {UNKNOWN_WORD_WEIGHT}; top {KEYWORDS}, ties by word; {SIMHASH}; unreliable below {} distinct or if one \
         outweighs the rest",
        traditional.normalisation(),
        STOP_WORDS_XXH3,
        WORD_WEIGHTS_XXH3,
        CONSTANTS.min_features,
    )
}
