//! The recipe `cppjieba`: the keywords of the C++ library simhash of yanyiwu, and of gosimhash.
//!
//! The description needs no dictionary, so that a build without the feature `jieba` knows the
//! databases of this recipe.

#[cfg(feature = "jieba")]
mod keywords;

use super::lookup3::hashlittle2;
use crate::recipe::Constants;
use crate::recipe::feature_list::Merging;
use crate::recipe::jieba::WORD_WEIGHTS_XXH3;
use crate::text::MAX_PIECE_BYTES;
#[cfg(feature = "jieba")]
pub(in crate::recipe) use keywords::Cppjieba;

/// The `xxh3_64` of the stop words.
const STOP_WORDS_XXH3: u64 = 0x48fe_afe6_57d2_40fa;

/// The `xxh3_64` of the compressed differences of the frequencies from the rounded ones.
const EXACT_WEIGHTS_XXH3: u64 = 0xf052_b785_7828_d814;

/// The count of a word without a count, as in cppjieba: the median of the dictionary.
pub(super) const DEFAULT_COUNT: u32 = 3;

/// The words of cppjieba's default user dictionary.
pub(super) const USER_WORDS: [(&str, u32); 3] = [
    ("云计算", DEFAULT_COUNT),
    ("蓝翔", DEFAULT_COUNT),
    ("区块链", 10),
];

/// By default a text has one keyword per 120 bytes.
const BYTES_PER_KEYWORD: usize = 120;

/// By default a text has at least 5 and at most 200 keywords.
const MIN_TOP: usize = 5;
const MAX_TOP: usize = 200;

pub(in crate::recipe) const CONSTANTS: Constants = Constants {
    name: "cppjieba",
    merging: Merging::Doubles,
    hash: |token| hashlittle2(token.as_bytes(), 0, 0),
    hash128: None,
    ..Constants::OWN
};

/// The description without the name. Databases store it, so it must never change.
pub(in crate::recipe) fn description(top: Option<u32>) -> String {
    let top = match top {
        Some(top) => format!("top {top}"),
        None => {
            format!("top by length, one for {BYTES_PER_KEYWORD} bytes, {MIN_TOP} to {MAX_TOP}")
        }
    };
    let [one, two, three] = USER_WORDS.map(|(word, count)| format!("{word} {count}"));
    format!(
        "as simhash of yanyiwu; words by the rules of cppjieba's mixed segmenter with dictionary and \
         model of jieba-rs 0.11.0, jieba-macros 0.11.0 and the words {one}, {two}, {three}, in \
         pieces of {MAX_PIECE_BYTES} bytes; of 2 and more characters, without stop words {:016x}; \
         weight tf x idf of table {:016x} {:016x}, other words the mean; {top}, by partial_sort of \
         libstdc++ from the order of UTF-8; lookup3 hashlittle2 seeds 0 0; sums of doubles in that \
         order; a bit is 1 if its sum is above 0; unreliable below {} keywords or if \
         one outweighs the rest",
        STOP_WORDS_XXH3, WORD_WEIGHTS_XXH3, EXACT_WEIGHTS_XXH3, CONSTANTS.min_features,
    )
}

/// The number of keywords in a description; `None` if the description has the rule by length.
pub(in crate::recipe) fn described_top(description: &str) -> Option<u32> {
    let (_, rest) = description.split_once("; top ")?;
    rest.split_once(',')?.0.parse().ok()
}
