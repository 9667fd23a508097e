//! A named, versioned way from text to fingerprint.

mod fingerprinter;
mod ngram;

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::feature::{STOP_WORDS, UNKNOWN_WORD, WORD_WEIGHTS};
use crate::text::{MOST_PIECE_BYTES, SIMPLIFIED};

pub use fingerprinter::{Fingerprinter, TextFingerprint};

/// How many keywords of a text the recipe `jieba` keeps.
const KEYWORDS: usize = 20;

/// Fewer keywords than this say nothing.
const LEAST_KEYWORDS: usize = 4;

/// A named, versioned way from text to fingerprint.
///
/// Fingerprints can be compared only if the same recipe made them, so a database keeps the
/// [description](Self::description) of its recipe. There are two:
///
/// | name | features | weights | for |
/// |---|---|---|---|
/// | `ngram`, the default | CJK characters and their pairs, threes to sixes of other letters and digits | 1 + ln tf | any language; finds more, several times faster |
/// | `jieba` | the 20 heaviest words jieba-rs finds | tf × idf | Chinese, as it is usually taught |
///
/// Both normalise first. `ngram` compares nothing but letters and digits: for it, texts that
/// differ in white space, width, punctuation, case, or in traditional against simplified
/// characters are the same text. For `jieba` they nearly always are; where words end may depend
/// on a space.
///
/// `jieba` knows Chinese, ASCII words and numbers; a text in another script has no keywords for
/// it, and so no reliable fingerprint.
///
/// # Examples
///
/// ```
/// use simdb::Recipe;
///
/// let recipe = Recipe::by_name("jieba")?;
/// assert_eq!(recipe, Recipe::jieba());
/// assert_eq!(recipe.to_string(), "jieba v1");
/// assert_eq!(Recipe::default(), Recipe::ngram());
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Recipe(Kind);

/// One variant for each name and version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Kind {
    #[default]
    NgramV2,
    JiebaV1,
}

impl Recipe {
    /// `ngram`: overlapping runs of characters, weighted by 1 + ln tf. The default.
    pub const fn ngram() -> Self {
        Self(Kind::NgramV2)
    }

    /// `jieba`: the heaviest words that jieba-rs finds, weighted by tf × idf.
    pub const fn jieba() -> Self {
        Self(Kind::JiebaV1)
    }

    /// All recipes, the default first.
    pub fn all() -> Vec<Self> {
        vec![Self::ngram(), Self::jieba()]
    }

    /// The newest recipe of that name.
    ///
    /// # Errors
    /// [`Error::UnknownRecipe`] if there is none.
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::all().into_iter().find(|recipe| recipe.name() == name);
        found.ok_or_else(|| Error::UnknownRecipe {
            name: name.to_owned(),
            known: Self::all()
                .iter()
                .map(Self::name)
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    /// Its name, as the tools' `--recipe` takes it.
    pub const fn name(&self) -> &'static str {
        match self.0 {
            Kind::NgramV2 => "ngram",
            Kind::JiebaV1 => "jieba",
        }
    }

    /// Its version. What changes a bit of any fingerprint is a new version.
    pub const fn version(&self) -> u32 {
        match self.0 {
            Kind::NgramV2 => 2,
            Kind::JiebaV1 => 1,
        }
    }

    /// One line that names every choice that decides a bit, the same on every machine.
    ///
    /// A database stores it when it is created and compares it when it is opened. Tables are
    /// named by the version of their package or by their `xxh3_64`.
    pub fn description(&self) -> String {
        let normaliser = format!(
            "NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, simplified \
             characters {:016x}, categories unicode-properties 0.1.5, to a fixed point",
            xxh3_64(SIMPLIFIED.as_bytes()),
        );
        let simhash = "feature hash xxh3_64 seed 0 (128 bits: xxh3_128) of UTF-8; hash bit i \
                       votes for bit i; a bit is 1 if its sum is above 0";
        match self.0 {
            Kind::NgramV2 => format!("{self}: {normaliser}; {}; {simhash}", ngram::description()),
            Kind::JiebaV1 => format!(
                "{self}: {normaliser}; separators to spaces except +#&._%-; words of 2 and more \
                 characters by jieba-rs 0.11.0 with its dictionary and the model of \
                 jieba-macros 0.11.0, in pieces of {MOST_PIECE_BYTES} bytes cut at spaces, without stop words \
                 {:016x}; weight tf x idf, of table {:016x}, other words \
                 {UNKNOWN_WORD}; top {KEYWORDS}, ties by word; {simhash}; unreliable below {LEAST_KEYWORDS} distinct or if one \
                 outweighs the rest",
                xxh3_64(STOP_WORDS.as_bytes()),
                xxh3_64(WORD_WEIGHTS),
            ),
        }
    }
}

/// Name and version: `ngram v1`.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}", self.name(), self.version())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_are_found_by_name() {
        for recipe in Recipe::all() {
            assert_eq!(Recipe::by_name(recipe.name()).unwrap(), recipe);
        }
        let error = Recipe::by_name("ngrams").unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no recipe \"ngrams\"; known are ngram, jieba"
        );
    }

    #[test]
    fn descriptions_never_change_without_a_new_version() {
        assert_eq!(
            Recipe::ngram().description(),
            "ngram v2: NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, \
             simplified characters 3ede2e415f2f44e4, categories unicode-properties \
             0.1.5, to a fixed point; letters, digits and marks of one script; shingles \
             of 2 in runs of CJK, and of 1 at 717/1024; of 3 and 6 in other runs, short \
             runs whole, the share of the latter growing with the logarithm of the other \
             characters from 1024 to 8 times as many; weight round(1024 (1 + ln tf)), ln \
             by libm 0.2.16, times the share in 1024ths, rounded; unreliable without two \
             different words and a letter, below 5 distinct, if one outweighs the rest, \
             or below 32 distinct occurring 2 times each, below 100 distinct occurring 4 \
             times each, below 5000 distinct occurring 8 times each; feature hash \
             xxh3_64 seed 0 (128 bits: xxh3_128) of UTF-8; hash bit i votes for bit i; a \
             bit is 1 if its sum is above 0"
        );
        assert_eq!(
            Recipe::jieba().description(),
            "jieba v1: NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, \
             simplified characters 3ede2e415f2f44e4, categories unicode-properties \
             0.1.5, to a fixed point; separators to spaces except +#&._%-; words of 2 \
             and more characters by jieba-rs 0.11.0 with its dictionary and the model of \
             jieba-macros 0.11.0, in pieces of 65536 bytes cut at spaces, without stop words 8b1aa2ffa17a34be; weight tf x idf, of table \
             e1678ae38e085d59, other words 12242; top 20, ties by word; feature hash \
             xxh3_64 seed 0 (128 bits: xxh3_128) of UTF-8; hash bit i votes for bit i; a \
             bit is 1 if its sum is above 0; unreliable below 4 distinct or if one \
             outweighs the rest"
        );
    }

    #[test]
    fn described_packages_are_those_built_in() {
        let lock = include_str!("../Cargo.lock");
        for package in [
            "caseless\"\nversion = \"0.2.2",
            "jieba-macros\"\nversion = \"0.11.0",
            "jieba-rs\"\nversion = \"0.11.0",
            "libm\"\nversion = \"0.2.16",
            "unicode-normalization\"\nversion = \"0.1.26",
            "unicode-properties\"\nversion = \"0.1.5",
        ] {
            assert!(lock.contains(package), "{package}");
        }
    }
}
