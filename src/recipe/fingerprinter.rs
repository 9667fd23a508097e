//! [`Fingerprinter`]: a recipe with its tables loaded.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

#[cfg(feature = "jieba")]
use super::compat::cppjieba::Cppjieba;
use super::compat::java_string_hash;
use super::compat::python_simhash::PythonSimhash;
use super::feature_list::{FeatureList, Merging};
#[cfg(feature = "jieba")]
use super::jieba::Jieba;
use super::ngram::Ngram;
#[cfg(not(feature = "jieba"))]
use super::no_dictionary::{NoDictionary as Cppjieba, NoDictionary as Jieba};
use super::weighted_features::WeightedFeatures;
use super::{Constants, Recipe, RecipeKind};
use crate::error::{Error, Result};
use crate::feature::{Feature, FeatureWeights, UnreliableReason};
use crate::ids::{Fingerprint, Fingerprint128, TextFingerprint};
use crate::simhash::fingerprint_of;

/// A [`Recipe`] with its tables and dictionaries loaded.
///
/// Usable without a database. A fingerprinter has no mutable state, so all threads can share it.
/// The fingerprint of a text depends on the text and the recipe only, not on the machine, the
/// thread or earlier texts. There is one exception: jieba-rs chooses between two segmentations by
/// sums of logarithms that the platform computes, so with the recipes `jieba` and `cppjieba` a tie
/// within the last digit may be decided differently on another platform.
///
/// # Cost
/// Creating a fingerprinter takes some milliseconds, or about 0.1 s and 60 MB for `jieba` and
/// `cppjieba`, so create one and share it. A fingerprint takes time linear in the text, and memory
/// for the normalised text and its distinct features.
///
/// # Examples
///
/// ```
/// use simdb::{Fingerprinter, Recipe};
///
/// let fingerprinter = Fingerprinter::new(Recipe::ngram());
/// let original = fingerprinter.fingerprint("你妈妈喊你回家吃饭哦，回家罗回家罗")?;
/// let edited = fingerprinter.fingerprint("你妈妈叫你回家吃饭啦，回家罗回家罗")?;
/// let unrelated = fingerprinter.fingerprint("The cat sat on the mat.")?;
///
/// assert!(original.reliable);
/// let near = original.fingerprint.distance(edited.fingerprint);
/// assert!(near < original.fingerprint.distance(unrelated.fingerprint));
///
/// // Width, punctuation and traditional characters make no difference at all.
/// let cosmetic = fingerprinter.fingerprint("你媽媽喊你回家吃飯哦!! 回家羅、回家羅")?;
/// assert_eq!(cosmetic, original);
/// # Ok::<(), simdb::Error>(())
/// ```
///
/// # Source
/// M. Charikar, *Similarity estimation techniques from rounding algorithms*, STOC 2002, section
/// 3; G. S. Manku, A. Jain, A. Das Sarma, *Detecting near-duplicates for web crawling*, WWW 2007,
/// section 2. The steps from features to fingerprint are shown in [`simhash`](crate::simhash).
pub struct Fingerprinter {
    recipe: Recipe,
    tables: RecipeTables,
}

/// A fingerprinter that the first call makes: a dictionary takes a tenth of a second to load.
#[derive(Debug)]
pub(crate) struct LazyFingerprinter {
    recipe: Recipe,
    made: OnceLock<Fingerprinter>,
}

impl LazyFingerprinter {
    pub(crate) fn new(recipe: Recipe) -> Self {
        Self {
            recipe,
            made: OnceLock::new(),
        }
    }

    pub(crate) fn get(&self) -> &Fingerprinter {
        self.made
            .get_or_init(|| Fingerprinter::new(self.recipe.clone()))
    }
}

/// The tables of a recipe.
enum RecipeTables {
    Ngram(Box<Ngram>),
    Jieba(Box<Jieba>),
    PythonSimhash(PythonSimhash),
    Cppjieba(Box<Cppjieba>),
    JavaStringHash,
    Weighted,
    /// The recipe needs the dictionary of jieba, and this build does not have the dictionary.
    NoDictionary,
}

impl Fingerprinter {
    /// Loads the tables of the recipe.
    pub fn new(recipe: Recipe) -> Self {
        let traditional = recipe.kind.constants().traditional;
        let tables = match recipe.kind {
            RecipeKind::Ngram | RecipeKind::NgramTraditional => {
                RecipeTables::Ngram(Box::new(Ngram::new(traditional)))
            }
            RecipeKind::Jieba | RecipeKind::JiebaTraditional => {
                Jieba::load(traditional, &recipe.files)
                    .map_or(RecipeTables::NoDictionary, |jieba| {
                        RecipeTables::Jieba(Box::new(jieba))
                    })
            }
            RecipeKind::PythonSimhash => {
                RecipeTables::PythonSimhash(PythonSimhash::new(recipe.characters.clone()))
            }
            RecipeKind::Cppjieba => Cppjieba::load(recipe.top, &recipe.files)
                .map_or(RecipeTables::NoDictionary, |cppjieba| {
                    RecipeTables::Cppjieba(Box::new(cppjieba))
                }),
            RecipeKind::JavaStringHash => RecipeTables::JavaStringHash,
            RecipeKind::Weighted => RecipeTables::Weighted,
        };
        Self { recipe, tables }
    }

    /// The recipe of this fingerprinter.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The fingerprint of a text, and whether the fingerprint is reliable.
    ///
    /// # Errors
    /// [`Error::NoTexts`] for the recipe `weighted`; [`Error::NoDictionary`] for `jieba`,
    /// `jieba-traditional` and `cppjieba` if simdb was built without its feature `jieba`. No text
    /// is refused by another recipe.
    pub fn fingerprint(&self, text: &str) -> Result<TextFingerprint> {
        // The weights of `cppjieba` are doubles, whose sums depend on their order. `weigh` returns
        // integer weights, so `cppjieba` takes the way of given tokens.
        if let RecipeTables::Cppjieba(cppjieba) = &self.tables {
            return self.fingerprint_tokens(&cppjieba.keywords(text));
        }
        let features = self.weigh(text, |_| ())?;
        let bits = self.merge(&features.hashes, &features.weights);
        Ok(TextFingerprint {
            fingerprint: Fingerprint::from_bits(bits),
            reliable: features.unreliable.is_none(),
        })
    }

    /// The reason why the fingerprint of a text is not reliable; `None` if the fingerprint is
    /// reliable.
    ///
    /// # Errors
    /// [`Error::NoTexts`] for the recipe `weighted`.
    ///
    /// # Cost
    /// About as [`fingerprint`](Self::fingerprint).
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe, UnreliableReason};
    ///
    /// let fingerprinter = Fingerprinter::new(Recipe::ngram());
    /// let reason = |text| fingerprinter.unreliable_reason(text);
    /// assert_eq!(reason("13800138000")?, Some(UnreliableReason::NoLetter));
    /// assert_eq!(reason("The cat sat on the mat.")?, None);
    ///
    /// let shown = reason("好的")?.unwrap().to_string();
    /// assert_eq!(shown, "it has 1 distinct features where 5 are needed");
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn unreliable_reason(&self, text: &str) -> Result<Option<UnreliableReason>> {
        if let RecipeTables::Cppjieba(cppjieba) = &self.tables {
            let keywords = cppjieba.keywords(text).into_iter();
            let hashed = keywords.map(|(word, weight)| (u128::from(self.hash(word)), weight));
            let least = self.constants().min_features;
            return Ok(FeatureList::new(hashed)?.unreliable_reason(least));
        }
        Ok(self.weigh(text, |_| ())?.unreliable)
    }

    /// The fingerprint of 128 bits, from the same features and weights as the fingerprint of 64
    /// bits.
    ///
    /// With `ngram` and `jieba` a feature votes with its `xxh3_128`. Neither half of the result is
    /// the fingerprint of 64 bits, which comes from `xxh3_64`. With `python-simhash` and
    /// `java-string-hash` the lower half is the fingerprint of 64 bits.
    ///
    /// # Errors
    /// [`Error::Only64Bits`] for the recipe `cppjieba`; [`Error::NoTexts`],
    /// [`Error::NoDictionary`].
    pub fn fingerprint128(&self, text: &str) -> Result<Fingerprint128> {
        let features = self.weigh(text, |range| range)?;
        let hash128 = self.hash_function128()?;
        let ranges = features.positions.into_iter();
        let hashes: Vec<u128> = ranges
            .map(|range| hash128(&features.normalised[range]))
            .collect();
        // Bits are summed independently, so two merges of 64 bits give the 128 bits.
        let merge_half = |shift| {
            let half: Vec<_> = hashes.iter().map(|hash| (hash >> shift) as u64).collect();
            u128::from(self.merge(&half, &features.weights))
        };
        Ok(Fingerprint128::from_bits(
            merge_half(64) << 64 | merge_half(0),
        ))
    }

    /// The features of which the fingerprint of a text is made, heaviest first, ties by token. With
    /// `cppjieba`, in the order in which the fingerprint sums their weights, also heaviest first.
    ///
    /// Each feature is listed once, with one exception: with `ngram` a CJK character without a CJK
    /// neighbour is listed as a pair and as a single character.
    ///
    /// # Errors
    /// [`Error::NoTexts`], [`Error::NoDictionary`].
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let features = Fingerprinter::new(Recipe::ngram()).features("回家罗回家罗！")?;
    /// let tokens: Vec<_> = features.iter().map(|f| (f.token.as_str(), f.weight)).collect();
    /// // Two occurrences weigh 1 + ln 2, to the nearest 1/1024; a single character weighs seven tenths.
    /// let (pair, character) = (1734.0 / 1024.0, 1214.0 / 1024.0);
    /// assert_eq!(tokens[..3], [("回家", pair), ("家罗", pair), ("回", character)]);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn features(&self, text: &str) -> Result<Vec<Feature>> {
        if let RecipeTables::Cppjieba(cppjieba) = &self.tables {
            let feature = |(token, weight): (&str, f64)| Feature {
                token: token.to_owned(),
                weight,
                hash: self.hash(token),
            };
            return Ok(cppjieba.keywords(text).into_iter().map(feature).collect());
        }
        let weighted = self.weigh(text, |range| range)?;
        let unit = self.constants().weight_unit as f64;
        let mut features: Vec<_> = weighted
            .hashes
            .into_iter()
            .zip(weighted.weights.each())
            .zip(weighted.positions)
            .map(|((hash, weight), range)| Feature {
                token: weighted.normalised[range].to_owned(),
                weight: weight as f64 / unit,
                hash,
            })
            .collect();
        features.sort_unstable_by(|a, b| {
            let heavier = b.weight.total_cmp(&a.weight);
            heavier.then_with(|| a.token.cmp(&b.token))
        });
        Ok(features)
    }

    /// The fingerprint of tokens with given weights, hashed, merged and signed by the recipe.
    /// Tokens are not normalised. A token that is given twice votes twice.
    ///
    /// The features of a text in the order of [`features`](Self::features) give the fingerprint of
    /// the text. With `cppjieba`, `java-string-hash` and `python-simhash` sums are doubles, as in
    /// the imitated software, so the order of the list can matter for weights that are fractions.
    /// With other recipes the order never matters.
    ///
    /// The fingerprint is reliable if there are as many distinct features as a text needs, and no
    /// feature weighs as much as all others together.
    ///
    /// # Errors
    /// [`Error::InvalidWeight`] for a weight that is negative, above 2^40, or not a number.
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let weighted = Fingerprinter::new(Recipe::weighted());
    /// let song = [("tempo 120", 2.0), ("key d minor", 1.5), ("oboe", 0.7), ("live", 0.4)];
    /// let louder = [("live", 0.5), ("oboe", 0.7), ("tempo 120", 2.0), ("key d minor", 1.5)];
    /// let made = weighted.fingerprint_tokens(&song)?;
    /// assert!(made.reliable);
    /// assert!(made.fingerprint.distance(weighted.fingerprint_tokens(&louder)?.fingerprint) < 8);
    ///
    /// let refused = weighted.fingerprint("a text").unwrap_err();
    /// assert!(refused.to_string().contains("no fingerprints of texts"));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn fingerprint_tokens<T: AsRef<str>>(
        &self,
        features: &[(T, f64)],
    ) -> Result<TextFingerprint> {
        let hashed: Vec<_> = features
            .iter()
            .map(|(token, weight)| (self.hash(token.as_ref()), *weight))
            .collect();
        self.fingerprint_hashes(&hashed)
    }

    /// The fingerprint of 128 bits of tokens with given weights. See
    /// [`fingerprint_tokens`](Self::fingerprint_tokens).
    ///
    /// # Errors
    /// [`Error::Only64Bits`] for the recipe `cppjieba`; [`Error::InvalidWeight`].
    pub fn fingerprint128_tokens<T: AsRef<str>>(
        &self,
        features: &[(T, f64)],
    ) -> Result<Fingerprint128> {
        let hash128 = self.hash_function128()?;
        let hashed = features
            .iter()
            .map(|(token, weight)| (hash128(token.as_ref()), *weight));
        let bits = FeatureList::new(hashed)?.merge::<128>(self.constants().merging);
        Ok(Fingerprint128::from_bits(bits))
    }

    /// The fingerprint of features with given hashes and weights. See
    /// [`fingerprint_tokens`](Self::fingerprint_tokens).
    ///
    /// # Errors
    /// [`Error::InvalidWeight`].
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let weighted = Fingerprinter::new(Recipe::weighted());
    /// let made = weighted.fingerprint_hashes(&[(0b0011, 1.0), (0b0101, 1.0), (0b1001, 1.5)])?;
    /// assert_eq!(made.fingerprint.bits(), 0b0001);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn fingerprint_hashes(&self, features: &[(u64, f64)]) -> Result<TextFingerprint> {
        let features = features
            .iter()
            .map(|&(hash, weight)| (u128::from(hash), weight));
        let list = FeatureList::new(features)?;
        let Constants {
            merging,
            min_features,
            ..
        } = *self.constants();
        Ok(TextFingerprint {
            fingerprint: Fingerprint::from_bits(list.merge::<64>(merging) as u64),
            reliable: list.unreliable_reason(min_features).is_none(),
        })
    }

    /// The 64 bits that a token votes with.
    pub fn hash(&self, token: &str) -> u64 {
        (self.constants().hash)(token)
    }

    /// The 128 bits that a token votes with.
    ///
    /// # Errors
    /// [`Error::Only64Bits`] for the recipe `cppjieba`.
    pub fn hash128(&self, token: &str) -> Result<u128> {
        Ok(self.hash_function128()?(token))
    }

    /// The text in the form that the recipe compares.
    ///
    /// - `ngram`, `jieba`: letters, digits and marks in the normal form NFKC, with case folded and
    ///   traditional characters simplified. `jieba` finds words in the text with separators; the
    ///   result here has none.
    /// - `python-simhash`: letters, digits and `_` in lower case.
    /// - other recipes: the unchanged text.
    ///
    /// Normalising a normalised text changes nothing.
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let fingerprinter = Fingerprinter::new(Recipe::ngram());
    /// assert_eq!(fingerprinter.normalise("《漢語》 Ｖｅｒ．１！"), "汉语ver1");
    /// ```
    pub fn normalise(&self, text: &str) -> String {
        match &self.tables {
            RecipeTables::Ngram(ngram) => ngram.normaliser.letters(text),
            RecipeTables::Jieba(jieba) => jieba.normaliser().letters(text),
            RecipeTables::PythonSimhash(python) => python.normalise(text),
            RecipeTables::Cppjieba(_)
            | RecipeTables::JavaStringHash
            | RecipeTables::Weighted
            | RecipeTables::NoDictionary => text.to_owned(),
        }
    }

    /// The words from which the keywords of a text are chosen, in text order, with stop words and
    /// repetitions. `jieba` normalises the text and leaves out words of one character; `cppjieba`
    /// returns all words of the unchanged text. Empty for other recipes.
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let jieba = Fingerprinter::new(Recipe::jieba());
    /// let words = jieba.words("你妈妈喊你回家吃饭哦，回家罗回家罗");
    /// assert_eq!(words, ["妈妈", "回家", "吃饭", "回家", "回家"]);
    /// ```
    pub fn words(&self, text: &str) -> Vec<String> {
        match &self.tables {
            RecipeTables::Jieba(jieba) => jieba.words(text),
            RecipeTables::Cppjieba(cppjieba) => cppjieba.words(text),
            _ => Vec::new(),
        }
    }

    /// The inverse document frequency of one of the [`words`](Self::words). `None` for a stop word,
    /// and for recipes without words.
    ///
    /// A word that is not in the table of the recipe has the median of the table (`jieba`: about
    /// 12), or the mean (`cppjieba`).
    pub fn idf(&self, word: &str) -> Option<f64> {
        match &self.tables {
            RecipeTables::Jieba(jieba) => jieba.idf(word),
            RecipeTables::Cppjieba(cppjieba) => cppjieba.idf(word),
            _ => None,
        }
    }

    /// The features of a text. `position_of` converts the byte range of the first occurrence of
    /// each feature. A caller that needs no positions returns `()`, and the positions take no
    /// memory.
    fn weigh<P>(
        &self,
        text: &str,
        position_of: impl Fn(Range<usize>) -> P,
    ) -> Result<WeightedFeatures<P>> {
        match &self.tables {
            RecipeTables::Ngram(ngram) => Ok(ngram.weigh(text, position_of)),
            RecipeTables::Jieba(jieba) => Ok(jieba.weigh(text, position_of)),
            RecipeTables::PythonSimhash(python) => {
                // Positions are needed for the hashes of the imitated software, so they are made in
                // any case.
                Ok(python.weigh(text).map_positions(position_of))
            }
            RecipeTables::JavaStringHash => {
                Ok(java_string_hash::weigh(text).map_positions(position_of))
            }
            // Only `fingerprint128` calls `weigh` with `cppjieba`: the other callers handle
            // `cppjieba` before.
            RecipeTables::Cppjieba(_) => Err(self.only_64_bits()),
            RecipeTables::Weighted => Err(Error::NoTexts {
                recipe: self.recipe.to_string(),
            }),
            RecipeTables::NoDictionary => Err(Error::NoDictionary {
                recipe: self.recipe.to_string(),
            }),
        }
    }

    /// The fingerprint of integer weights. Recipes that imitate software with doubles get the bits
    /// of that software: their weights are counts of occurrences, whose sums are far below 2^53,
    /// and so exact in doubles too.
    fn merge(&self, hashes: &[u64], weights: &FeatureWeights) -> u64 {
        if self.constants().merging == Merging::DoublesTiesOne {
            // `fingerprint_of` makes a tie a 0. With all votes inverted and the result inverted
            // again, a tie becomes a 1.
            let opposite: Vec<_> = hashes.iter().map(|hash| !hash).collect();
            !fingerprint_of(&opposite, weights)
        } else {
            fingerprint_of(hashes, weights)
        }
    }

    fn constants(&self) -> &'static Constants {
        self.recipe.kind.constants()
    }

    fn hash_function128(&self) -> Result<fn(&str) -> u128> {
        let hash128 = self.constants().hash128;
        hash128.ok_or_else(|| self.only_64_bits())
    }

    fn only_64_bits(&self) -> Error {
        let recipe = self.recipe.to_string();
        Error::Only64Bits { recipe }
    }
}

/// Shows the recipe, which determines the tables.
impl fmt::Debug for Fingerprinter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprinter")
            .field("recipe", &self.recipe)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "jieba")]
    use crate::recipe::jieba;

    #[cfg(feature = "jieba")]
    #[test]
    fn texts_with_too_little_content_are_unreliable() {
        let ngram = Fingerprinter::new(Recipe::ngram());
        let filler = "哈哈哈".repeat(1000);
        let phrase = "click here ".repeat(3);
        // All shingles of the four letters occur about equally often, in every such text.
        let letters: String = (0..3_000_u64)
            .map(|n| b"acgt"[(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 37) as usize % 4] as char)
            .collect();
        for text in [
            "",
            "  \n",
            "👍👍👍👍👍👍",
            "好的",
            "ok",
            &filler,
            &phrase,
            &letters,
        ] {
            assert!(!ngram.fingerprint(text).unwrap().reliable, "{text:?}");
        }
        for text in [
            "生存还是毁灭呢",
            "to be or not to be",
            "一二三四五，上山打老虎",
        ] {
            assert!(ngram.fingerprint(text).unwrap().reliable, "{text:?}");
        }

        let jieba = Fingerprinter::new(Recipe::jieba());
        let one_word = "美国 ".repeat(30) + "飞碟 雇员 灰色";
        for text in ["", "好的", "我们的，就是你们的", "--- +++ ...", &one_word] {
            assert!(!jieba.fingerprint(text).unwrap().reliable, "{text:?}");
        }
        let text = "美国51区雇员称内部有9架飞碟，曾看见灰色外星人";
        assert!(jieba.fingerprint(text).unwrap().reliable);
    }

    #[cfg(not(feature = "jieba"))]
    #[test]
    fn recipe_without_its_dictionary_is_refused_and_others_work() {
        for recipe in Recipe::all().into_iter().filter(Recipe::takes_texts) {
            let needs_dictionary =
                ["jieba", "jieba-traditional", "cppjieba"].contains(&recipe.name());
            match Fingerprinter::new(recipe).fingerprint("生存还是毁灭，这是个问题") {
                Err(Error::NoDictionary { .. }) => assert!(needs_dictionary),
                made => assert!(!needs_dictionary && made.is_ok()),
            }
        }
    }

    /// All recipes that take texts.
    #[cfg(feature = "jieba")]
    fn text_recipes() -> impl Iterator<Item = Fingerprinter> {
        let recipes = Recipe::all().into_iter().filter(Recipe::takes_texts);
        recipes.map(Fingerprinter::new)
    }

    #[cfg(feature = "jieba")]
    #[test]
    fn empty_text_gives_zero_or_value_of_imitated_software() {
        for fingerprinter in text_recipes() {
            let made = fingerprinter.fingerprint("").unwrap();
            let name = fingerprinter.recipe().name();
            let expected = match name {
                // The lower half of the MD5 of the empty string.
                "python-simhash" => 0xe980_0998_ecf8_427e,
                "java-string-hash" => u64::MAX,
                _ => 0,
            };
            assert_eq!(made.fingerprint.bits(), expected, "{name}");
            assert!(!made.reliable, "{name}");
            let features = fingerprinter.features("").unwrap().len();
            assert_eq!(features, usize::from(name == "python-simhash"), "{name}");
        }
    }

    #[cfg(feature = "jieba")]
    #[test]
    fn features_of_text_give_its_fingerprint() {
        let text = "美国51区雇员称内部有9架飞碟，曾看见灰色外星人。The cat sat on the mat.";
        for fingerprinter in text_recipes() {
            let name = fingerprinter.recipe().name();
            let features = fingerprinter.features(text).unwrap();
            assert!(features.is_sorted_by_key(|f| -f.weight), "{name}");
            let tokens = features.iter().map(|f| (f.token.as_str(), f.weight));
            let tokens: Vec<_> = tokens.collect();
            let made = fingerprinter.fingerprint(text).unwrap();
            assert_eq!(
                fingerprinter.fingerprint_tokens(&tokens).unwrap(),
                made,
                "{name}"
            );
            let hashes: Vec<_> = features.iter().map(|f| (f.hash, f.weight)).collect();
            assert_eq!(
                fingerprinter.fingerprint_hashes(&hashes).unwrap(),
                made,
                "{name}"
            );
            let wide = fingerprinter.fingerprint128(text);
            match fingerprinter.fingerprint128_tokens(&tokens) {
                Ok(expected) => assert_eq!(wide.unwrap(), expected, "{name}"),
                Err(_) => assert!(matches!(wide, Err(Error::Only64Bits { .. })), "{name}"),
            }
        }
    }

    #[cfg(feature = "jieba")]
    #[test]
    fn fingerprint_is_unreliable_exactly_if_reason_exists() {
        let filler = "哈哈哈".repeat(1000);
        let one_word = "美国 ".repeat(30) + "飞碟 雇员 灰色";
        for fingerprinter in text_recipes() {
            let name = fingerprinter.recipe().name();
            for text in [
                "",
                "好的",
                &filler,
                &one_word,
                "13800138000",
                "美国雇员称内部有飞碟，曾看见灰色外星人",
            ] {
                let reason = fingerprinter.unreliable_reason(text).unwrap();
                let made = fingerprinter.fingerprint(text).unwrap();
                assert_eq!(made.reliable, reason.is_none(), "{name}: {text}");
            }
        }
        let ngram = Fingerprinter::new(Recipe::ngram());
        let reason = |text: &str| ngram.unreliable_reason(text).unwrap();
        let few = UnreliableReason::TooFewFeatures { found: 1, least: 5 };
        assert_eq!(reason("好的"), Some(few));
        // "clickhere", repeated, has nine distinct shingles of three letters.
        let phrase = reason(&"click here, ".repeat(4));
        let repetitive = UnreliableReason::Repetitive {
            distinct: 9,
            total: 34,
        };
        assert_eq!(phrase, Some(repetitive));
        assert_eq!(reason("13800138000"), Some(UnreliableReason::NoLetter));
        assert_eq!(
            reason("internationalization"),
            Some(UnreliableReason::SingleWord)
        );
        let jieba = Fingerprinter::new(Recipe::jieba());
        assert_eq!(
            jieba.unreliable_reason(&one_word).unwrap(),
            Some(UnreliableReason::OneOutweighs)
        );
    }

    #[test]
    fn recipe_without_texts_returns_no_texts_error() {
        let weighted = Fingerprinter::new(Recipe::weighted());
        let refused = Err(Error::NoTexts {
            recipe: "weighted v1".to_owned(),
        });
        let shown = |result: Result<()>| result.map_err(|error| error.to_string());
        let refused = shown(refused);
        assert_eq!(shown(weighted.fingerprint("text").map(drop)), refused);
        assert_eq!(shown(weighted.fingerprint128("text").map(drop)), refused);
        assert_eq!(shown(weighted.features("text").map(drop)), refused);
    }

    #[cfg(feature = "jieba")]
    #[test]
    fn keywords_are_the_twenty_heaviest() {
        let by_words = Fingerprinter::new(Recipe::jieba());
        let text = "今天纽约的天气真好啊，京华大酒店的张尧经理吃了一只北京烤鸭。\
                    后天纽约的天气不好，昨天纽约的天气也不好，北京烤鸭真好吃";
        let tokens: Vec<_> = by_words
            .features(text)
            .unwrap()
            .into_iter()
            .map(|f| f.token)
            .collect();
        assert_eq!(tokens[..3], ["北京烤鸭", "纽约", "天气"]);

        let long: String = (0..200).map(|i| format!("word{i} ")).collect();
        assert_eq!(by_words.features(&long).unwrap().len(), jieba::KEYWORDS);
    }

    #[cfg(feature = "jieba")]
    #[test]
    fn words_are_normalised_and_rare_words_have_a_larger_idf() {
        let jieba = Fingerprinter::new(Recipe::jieba());
        let words = jieba.words("美國“５１區”雇員 -- CSDN博客, 3.14!");
        assert_eq!(words, ["美国", "51", "雇员", "csdn", "博客", "3.14"]);
        assert!(jieba.words("的 -- a").is_empty());
        assert_eq!(jieba.idf("我们"), None);
        assert!(jieba.idf("美国") < jieba.idf("飞碟"));
        let ngram = Fingerprinter::new(Recipe::ngram());
        assert!(ngram.words("飞碟").is_empty() && ngram.idf("飞碟").is_none());
    }
}
