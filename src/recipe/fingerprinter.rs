//! [`Fingerprinter`]: a recipe made ready to be followed.

use std::fmt;
use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::compat::cppjieba::{self, Cppjieba};
use super::compat::python_simhash::{self, PythonSimhash};
use super::compat::{java_string_hash, string_hash};
use super::jieba::{self, Jieba};
use super::list::{self, Merging};
use super::weighed_features::Weighed;
use super::{Kind, Recipe, Script, ngram, weighted};
use crate::error::{Error, Result};
use crate::feature::{Doubt, Feature, LEAST_SHINGLES, LogWeights, WEIGHT_UNIT, Weights};
use crate::fingerprint::{Fingerprint, Fingerprint128};
use crate::simhash::fingerprint_of;
use crate::text::Normaliser;

/// The fingerprint of a text, and whether it says anything about the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextFingerprint {
    /// The fingerprint. That of a text without features is 0, or what the software that the recipe
    /// equals makes of it.
    pub fingerprint: Fingerprint,
    /// Whether the text has enough features for its fingerprint to mean anything.
    ///
    /// `false` for a text
    /// - with fewer than 5 distinct features (4 where features are words), where one changed
    ///   character replaces most of them, and unrelated texts soon share most of them;
    /// - in which one feature weighs at least as much as all others together, since it decides
    ///   every bit alone: any two texts it dominates would be equal;
    /// - that only repeats itself (`ngram`, `python-simhash`: few distinct features that occur many
    ///   times on average): it would match every text that repeats the same phrase, however often;
    /// - without a letter, or without two different words (`ngram`): numbers and single words that
    ///   differ in one place are no near-duplicates, however much of them is the same.
    ///
    /// [`Fingerprinter::doubt`] says which. Such a fingerprint is as deterministic as any other, but
    /// should never make its text a near-duplicate of another.
    pub reliable: bool,
}

/// A [`Recipe`] made ready: its tables and dictionaries are loaded.
///
/// Usable alone, without a database. It has no mutable state, so one can serve all threads. The
/// fingerprint of a text depends on nothing but the text and the recipe: not on the machine, the
/// thread, or the texts seen before. (One reservation: where jieba-rs chooses between two
/// segmentations it compares sums of logarithms that the platform computes, so for recipes `jieba`
/// and `cppjieba` a tie within the last digit may fall otherwise on another platform.)
///
/// # Cost
/// To make one: some milliseconds for most recipes, about a tenth of a second and 60 MB for `jieba`
/// and `cppjieba`, so make one and share it. A fingerprint takes time in proportion to the text, and memory
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
    normaliser: Normaliser,
    method: Method,
}

/// What a recipe needs beside the normaliser.
enum Method {
    Ngram(LogWeights),
    Jieba(Jieba),
    PythonSimhash(PythonSimhash),
    Cppjieba(Cppjieba),
    JavaStringHash,
    Weighted,
}

impl Fingerprinter {
    /// Makes the recipe ready.
    pub fn new(recipe: Recipe) -> Self {
        let normaliser = match &recipe.0 {
            Kind::NgramV2(Script::Apart) | Kind::JiebaV1(Script::Apart, _) => {
                Normaliser::keeping_traditional()
            }
            _ => Normaliser::new(),
        };
        let method = match &recipe.0 {
            Kind::NgramV2(_) => Method::Ngram(LogWeights::new()),
            Kind::JiebaV1(_, files) => Method::Jieba(Jieba::new(&normaliser, files)),
            Kind::PythonSimhashV1(letters) => {
                Method::PythonSimhash(PythonSimhash::new(letters.clone()))
            }
            Kind::CppjiebaV1(top, files) => Method::Cppjieba(Cppjieba::new(*top, files)),
            Kind::JavaStringHashV1 => Method::JavaStringHash,
            Kind::WeightedV1 => Method::Weighted,
        };
        Self {
            recipe,
            normaliser,
            method,
        }
    }

    /// The recipe it follows.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The fingerprint of a text, and whether it is reliable.
    ///
    /// # Errors
    /// [`Error::NoTexts`] for the recipe `weighted`, and for no other, whatever the text.
    pub fn fingerprint(&self, text: &str) -> Result<TextFingerprint> {
        if let Method::Cppjieba(method) = &self.method {
            return self.fingerprint_tokens(&method.keywords(text));
        }
        let weighed = self.weigh(text, |_| ())?;
        let bits = self.merge(&weighed.hashes, &weighed.weights);
        Ok(TextFingerprint {
            fingerprint: Fingerprint::from_bits(bits),
            reliable: weighed.doubt.is_none(),
        })
    }

    /// Why the fingerprint of a text is not reliable; nothing if it is.
    ///
    /// # Errors
    /// [`Error::NoTexts`] for the recipe `weighted`.
    ///
    /// # Cost
    /// About that of [`fingerprint`](Self::fingerprint).
    ///
    /// ```
    /// use simdb::{Doubt, Fingerprinter, Recipe};
    ///
    /// let fingerprinter = Fingerprinter::new(Recipe::ngram());
    /// assert_eq!(fingerprinter.doubt("13800138000")?, Some(Doubt::NoLetter));
    /// assert_eq!(fingerprinter.doubt("The cat sat on the mat.")?, None);
    ///
    /// let doubt = fingerprinter.doubt("好的")?.unwrap();
    /// assert_eq!(doubt.to_string(), "it has 1 distinct features where 5 are needed");
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn doubt(&self, text: &str) -> Result<Option<Doubt>> {
        if let Method::Cppjieba(method) = &self.method {
            let keywords = method.keywords(text).into_iter();
            let hashed = keywords.map(|(word, weight)| (u128::from(self.hash(word)), weight));
            let hashed: Vec<_> = hashed.collect();
            return Ok(list::doubt(&hashed, self.least_features()));
        }
        Ok(self.weigh(text, |_| ())?.doubt)
    }

    /// The fingerprint of 128 bits, from the same features and weights.
    ///
    /// By `ngram` and `jieba` a feature votes with its `xxh3_128`, bit for bit; neither half of the
    /// result is the fingerprint of 64 bits, whose votes come from `xxh3_64`. By `python-simhash`
    /// and `java-string-hash` the lower half is.
    ///
    /// # Errors
    /// [`Error::Only64Bits`] for the recipe `cppjieba`, [`Error::NoTexts`] for `weighted`.
    pub fn fingerprint128(&self, text: &str) -> Result<Fingerprint128> {
        let weighed = self.weigh(text, |range| range)?;
        let tokens = weighed.places.iter();
        let hashes = tokens.map(|place| self.hash128(&weighed.normalised[place.clone()]));
        let hashes = hashes.collect::<Result<Vec<_>>>()?;
        let half = |shift| {
            let half: Vec<_> = hashes.iter().map(|hash| (hash >> shift) as u64).collect();
            u128::from(self.merge(&half, &weighed.weights))
        };
        Ok(Fingerprint128::from_bits(half(64) << 64 | half(0)))
    }

    /// The features of a text that its fingerprint is made of, the heaviest first, ties in the
    /// order of their tokens (`cppjieba`: in the order in which they are added up). Each is there
    /// once, but for one thing: by `ngram` a CJK character between others that are none is a pair of
    /// its own, and a single character as well.
    ///
    /// # Errors
    /// [`Error::NoTexts`] for the recipe `weighted`.
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let features = Fingerprinter::new(Recipe::ngram()).features("回家罗回家罗！")?;
    /// let tokens: Vec<_> = features.iter().map(|f| (f.token.as_str(), f.weight)).collect();
    /// // Twice gives 1 + ln 2, to the nearest 1/1024; a single character counts for seven tenths.
    /// let (pair, character) = (1734.0 / 1024.0, 1214.0 / 1024.0);
    /// assert_eq!(tokens[..3], [("回家", pair), ("家罗", pair), ("回", character)]);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn features(&self, text: &str) -> Result<Vec<Feature>> {
        if let Method::Cppjieba(method) = &self.method {
            let features = method.keywords(text).into_iter();
            let features = features.map(|(token, weight)| Feature {
                token: token.to_owned(),
                weight,
                hash: self.hash(token),
            });
            return Ok(features.collect());
        }
        let weighed = self.weigh(text, |range| range)?;
        let unit = match &self.method {
            Method::Ngram(_) | Method::Jieba(_) => WEIGHT_UNIT as f64,
            _ => 1.0,
        };
        let weights = weighed.weights.each();
        let features = weighed.hashes.into_iter().zip(weights).zip(weighed.places);
        let features = features.map(|((hash, weight), place)| Feature {
            token: weighed.normalised[place].to_owned(),
            weight: weight as f64 / unit,
            hash,
        });
        let mut features: Vec<_> = features.collect();
        features.sort_unstable_by(|a, b| {
            let heavier = b.weight.total_cmp(&a.weight);
            heavier.then_with(|| a.token.cmp(&b.token))
        });
        Ok(features)
    }

    /// The fingerprint of features with the weights given: their tokens are hashed, merged and
    /// signed as the recipe says. The tokens are taken as they are, nothing is normalised; one
    /// that is there twice votes twice.
    ///
    /// For the features and weights of a text in the order of [`features`](Self::features) it is
    /// the fingerprint of the text. By `cppjieba`, `java-string-hash` and `python-simhash` sums are
    /// doubles as in the original, so the order of the list can matter where weights are fractions;
    /// by the others it never does.
    ///
    /// It is reliable if there are as many distinct features as in a text that is, and none weighs
    /// as much as all others together.
    ///
    /// # Errors
    /// [`Error::InvalidWeight`] for a weight that is negative, above 2^40, or no number.
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
        let hashed = features
            .iter()
            .map(|(token, weight)| (self.hash(token.as_ref()), *weight));
        self.fingerprint_hashes(&hashed.collect::<Vec<_>>())
    }

    /// The same of 128 bits.
    ///
    /// # Errors
    /// [`Error::Only64Bits`] for the recipe `cppjieba`; [`Error::InvalidWeight`].
    pub fn fingerprint128_tokens<T: AsRef<str>>(
        &self,
        features: &[(T, f64)],
    ) -> Result<Fingerprint128> {
        if matches!(self.method, Method::Cppjieba(_)) {
            return Err(self.only_64_bits());
        }
        list::check(features.iter().map(|&(_, weight)| weight))?;
        let hashed = features
            .iter()
            .map(|(token, weight)| Ok((self.hash128(token.as_ref())?, *weight)));
        let hashed = hashed.collect::<Result<Vec<_>>>()?;
        Ok(Fingerprint128::from_bits(list::merge::<128>(
            self.merging(),
            &hashed,
        )))
    }

    /// The same of features that are given by their hashes.
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
        list::check(features.iter().map(|&(_, weight)| weight))?;
        let wide = features
            .iter()
            .map(|&(hash, weight)| (u128::from(hash), weight));
        let wide: Vec<_> = wide.collect();
        let bits = list::merge::<64>(self.merging(), &wide) as u64;
        Ok(TextFingerprint {
            fingerprint: Fingerprint::from_bits(bits),
            reliable: list::doubt(&wide, self.least_features()).is_none(),
        })
    }

    /// The 64 bits that a token votes with.
    pub fn hash(&self, token: &str) -> u64 {
        match &self.method {
            Method::PythonSimhash(_) => python_simhash::hash(token.as_bytes()) as u64,
            Method::Cppjieba(_) => cppjieba::hash(token.as_bytes()),
            Method::JavaStringHash => string_hash(token) as u64,
            Method::Ngram(_) | Method::Jieba(_) | Method::Weighted => xxh3_64(token.as_bytes()),
        }
    }

    /// The 128 bits that a token votes with.
    ///
    /// # Errors
    /// [`Error::Only64Bits`] for the recipe `cppjieba`.
    pub fn hash128(&self, token: &str) -> Result<u128> {
        match &self.method {
            Method::PythonSimhash(_) => Ok(python_simhash::hash(token.as_bytes())),
            Method::Cppjieba(_) => Err(self.only_64_bits()),
            Method::JavaStringHash => Ok(string_hash(token)),
            Method::Ngram(_) | Method::Jieba(_) | Method::Weighted => {
                Ok(xxh3_128(token.as_bytes()))
            }
        }
    }

    /// The text as the recipe compares it.
    ///
    /// By `ngram` and `jieba`: letters, digits and marks only, in the normal form NFKC, with case
    /// folded and traditional characters simplified. For the recipe `jieba`, which needs the
    /// separators to find the words, this is the text without them. By `python-simhash`: letters,
    /// digits and `_` in lower case. By the others the text as it is. Normalising a normalised text
    /// changes nothing.
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let fingerprinter = Fingerprinter::new(Recipe::ngram());
    /// assert_eq!(fingerprinter.normalise("《漢語》 Ｖｅｒ．１！"), "汉语ver1");
    /// ```
    pub fn normalise(&self, text: &str) -> String {
        match &self.method {
            Method::Ngram(_) | Method::Jieba(_) => self.normaliser.letters(text),
            Method::PythonSimhash(method) => method.normalise(text),
            Method::Cppjieba(_) | Method::JavaStringHash | Method::Weighted => text.to_owned(),
        }
    }

    /// The words that the keywords of a text are chosen from, in text order, stop words and
    /// repetitions included: by `jieba` normalised and of two characters and more, by `cppjieba` all
    /// words of the text as it is. Empty for other recipes.
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let jieba = Fingerprinter::new(Recipe::jieba());
    /// let words = jieba.words("你妈妈喊你回家吃饭哦，回家罗回家罗");
    /// assert_eq!(words, ["妈妈", "回家", "吃饭", "回家", "回家"]);
    /// ```
    pub fn words(&self, text: &str) -> Vec<String> {
        match &self.method {
            Method::Jieba(method) => method.words(&self.normaliser, text),
            Method::Cppjieba(method) => method.words(text),
            _ => Vec::new(),
        }
    }

    /// The inverse document frequency of one of the [`words`](Self::words); `None` for a stop word,
    /// and for recipes without words.
    ///
    /// A word that the recipe's table does not have gets the median of the table (`jieba`: about 12),
    /// or the mean (`cppjieba`).
    pub fn idf(&self, word: &str) -> Option<f64> {
        match &self.method {
            Method::Jieba(method) => method.idf(word),
            Method::Cppjieba(method) => method.idf(word),
            _ => None,
        }
    }

    /// The features of a text, each with what `place_of` makes of where it first occurs.
    fn weigh<P: Clone>(
        &self,
        text: &str,
        place_of: impl Fn(Range<usize>) -> P,
    ) -> Result<Weighed<P>> {
        let listed = match &self.method {
            Method::Ngram(weights) => {
                return Ok(ngram::weigh(&self.normaliser, weights, text, place_of));
            }
            Method::Jieba(method) => return Ok(method.weigh(&self.normaliser, text, place_of)),
            Method::PythonSimhash(method) => method.weigh(text),
            Method::JavaStringHash => java_string_hash::weigh(text),
            Method::Cppjieba(_) => return Err(self.only_64_bits()),
            Method::Weighted => {
                let recipe = self.recipe.to_string();
                return Err(Error::NoTexts { recipe });
            }
        };
        Ok(Weighed {
            normalised: listed.normalised,
            hashes: listed.hashes,
            weights: listed.weights,
            places: listed.places.into_iter().map(place_of).collect(),
            doubt: listed.doubt,
        })
    }

    /// The fast way from exact weights to a fingerprint.
    fn merge(&self, hashes: &[u64], weights: &Weights) -> u64 {
        match &self.method {
            // A tie is a 1 for a recipe if it is a 0 for the recipe of opposite votes.
            Method::JavaStringHash => {
                let opposite: Vec<_> = hashes.iter().map(|hash| !hash).collect();
                !fingerprint_of(&opposite, weights)
            }
            _ => fingerprint_of(hashes, weights),
        }
    }

    /// How a list of features is merged.
    fn merging(&self) -> Merging {
        match &self.method {
            Method::Ngram(_) | Method::Jieba(_) | Method::Weighted => Merging::Exact,
            Method::PythonSimhash(_) => Merging::Numpy,
            Method::Cppjieba(_) => Merging::Doubles,
            Method::JavaStringHash => Merging::DoublesTiesOne,
        }
    }

    /// Fewer distinct features than this say nothing.
    fn least_features(&self) -> usize {
        match &self.method {
            Method::Ngram(_) => LEAST_SHINGLES,
            Method::Jieba(_) => jieba::LEAST_KEYWORDS,
            Method::PythonSimhash(_) => python_simhash::LEAST_WINDOWS,
            Method::Cppjieba(_) => cppjieba::LEAST_KEYWORDS,
            Method::JavaStringHash => java_string_hash::LEAST_TOKENS,
            Method::Weighted => weighted::LEAST_FEATURES,
        }
    }

    fn only_64_bits(&self) -> Error {
        let recipe = self.recipe.to_string();
        Error::Only64Bits { recipe }
    }
}

/// Shows the recipe; the tables are the same for all of one recipe.
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

    #[test]
    fn texts_that_say_nothing_are_unreliable() {
        let ngram = Fingerprinter::new(Recipe::ngram());
        let filler = "哈哈哈".repeat(1000);
        let phrase = "click here ".repeat(3);
        // All 256 runs of four of the letters come about equally often, in any such text.
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

    /// All recipes that take texts.
    fn text_recipes() -> impl Iterator<Item = Fingerprinter> {
        let recipes = Recipe::all().into_iter().filter(Recipe::takes_texts);
        recipes.map(Fingerprinter::new)
    }

    #[test]
    fn a_text_without_features_gives_zero_or_what_the_original_makes_of_it() {
        for fingerprinter in text_recipes() {
            let made = fingerprinter.fingerprint("").unwrap();
            let name = fingerprinter.recipe().name();
            let expected = match name {
                // The MD5 of nothing.
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

    #[test]
    fn the_features_give_the_fingerprint_back() {
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

    #[test]
    fn a_fingerprint_is_unreliable_exactly_if_there_is_a_reason() {
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
                let doubt = fingerprinter.doubt(text).unwrap();
                let made = fingerprinter.fingerprint(text).unwrap();
                assert_eq!(made.reliable, doubt.is_none(), "{name}: {text}");
            }
        }
        let ngram = Fingerprinter::new(Recipe::ngram());
        let doubt = |text: &str| ngram.doubt(text).unwrap();
        let few = Doubt::TooFewFeatures { found: 1, least: 5 };
        assert_eq!(doubt("好的"), Some(few));
        // "clickhere" over and over has nine runs of three letters.
        let phrase = doubt(&"click here, ".repeat(4));
        let repetitive = Doubt::Repetitive {
            distinct: 9,
            total: 34,
        };
        assert_eq!(phrase, Some(repetitive));
        assert_eq!(doubt("13800138000"), Some(Doubt::NoLetter));
        assert_eq!(doubt("internationalization"), Some(Doubt::SingleWord));
        let jieba = Fingerprinter::new(Recipe::jieba());
        assert_eq!(jieba.doubt(&one_word).unwrap(), Some(Doubt::OneOutweighs));
    }

    #[test]
    fn a_recipe_without_texts_says_so() {
        let weighted = Fingerprinter::new(Recipe::weighted());
        let refused = Err(Error::NoTexts {
            recipe: "weighted v1".to_owned(),
        });
        let said = |result: Result<()>| result.map_err(|error| error.to_string());
        let refused = said(refused);
        assert_eq!(said(weighted.fingerprint("text").map(drop)), refused);
        assert_eq!(said(weighted.fingerprint128("text").map(drop)), refused);
        assert_eq!(said(weighted.features("text").map(drop)), refused);
    }

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
