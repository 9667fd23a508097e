//! [`Fingerprinter`]: a recipe made ready to be followed.

use std::fmt;
use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::ngram;
use super::{KEYWORDS, Kind, LEAST_KEYWORDS, Recipe};
use crate::feature::{Counted, Feature, Idf, LogWeights, Tally, Weights};
use crate::fingerprint::{Fingerprint, Fingerprint128};
use crate::simhash::fingerprint_of;
use crate::text::{Normaliser, Words};

/// The room a tally has at first, at most. It grows with the distinct tokens, not with the text.
const MOST_FIRST_ROOM: usize = 1 << 14;

/// Fewer bytes of text than there are for each distinct word, as a rule.
const BYTES_PER_WORD: usize = 8;

/// The fingerprint of a text, and whether it says anything about the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFingerprint {
    /// The fingerprint. That of a text without features is 0.
    pub fingerprint: Fingerprint,
    /// Whether the text has enough features for its fingerprint to mean anything.
    ///
    /// `false` for a text
    /// - with fewer than 5 distinct features (`jieba`: fewer than 4), where one changed character
    ///   replaces most of them, and unrelated texts soon share most of them;
    /// - without a letter, or without two different words (`ngram`): numbers and single words that
    ///   differ in one place are no near-duplicates, however much of them is the same;
    /// - in which one feature weighs at least as much as all others together, since it decides
    ///   every bit alone: any two texts it dominates would be equal;
    /// - that only repeats itself (`ngram`: fewer than 32 distinct features that occur twice on
    ///   average, fewer than 100 that occur four times, or fewer than 5,000 that occur eight times):
    ///   it would match every text that repeats the same phrase, however often.
    ///
    /// Such a fingerprint is as deterministic as any other, but should never make its text a
    /// near-duplicate of another.
    pub reliable: bool,
}

/// A [`Recipe`] made ready: its tables and dictionaries are loaded.
///
/// Usable alone, without a database. It has no mutable state, so one can serve all threads. The
/// fingerprint of a text depends on nothing but the text and the recipe: not on the machine, the
/// thread, or the texts seen before. (One reservation: where jieba-rs chooses between two
/// segmentations it compares sums of logarithms that the platform computes, so for recipe `jieba`
/// a tie within the last digit may fall otherwise on another platform.)
///
/// # Cost
/// To make one: some milliseconds for `ngram`, about a tenth of a second and 60 MB for `jieba`,
/// so make one and share it. A fingerprint takes time in proportion to the text, and memory
/// for the normalised text and its distinct features.
///
/// # Examples
///
/// ```
/// use simdb::{Fingerprinter, Recipe};
///
/// let fingerprinter = Fingerprinter::new(Recipe::ngram());
/// let original = fingerprinter.fingerprint("你妈妈喊你回家吃饭哦，回家罗回家罗");
/// let edited = fingerprinter.fingerprint("你妈妈叫你回家吃饭啦，回家罗回家罗");
/// let unrelated = fingerprinter.fingerprint("The cat sat on the mat.");
///
/// assert!(original.reliable);
/// let near = original.fingerprint.distance(edited.fingerprint);
/// assert!(near < original.fingerprint.distance(unrelated.fingerprint));
///
/// // Width, punctuation and traditional characters make no difference at all.
/// let cosmetic = fingerprinter.fingerprint("你媽媽喊你回家吃飯哦!! 回家羅、回家羅");
/// assert_eq!(cosmetic, original);
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
    Jieba(Words, Idf),
}

/// The features of a text, as ranges of its normalised form.
pub(super) struct Weighed<P> {
    pub(super) normalised: String,
    pub(super) hashes: Vec<u64>,
    pub(super) weights: Weights,
    pub(super) places: Vec<P>,
    pub(super) reliable: bool,
}

impl Fingerprinter {
    /// Makes the recipe ready.
    pub fn new(recipe: Recipe) -> Self {
        let method = match recipe.0 {
            Kind::NgramV2 => Method::Ngram(LogWeights::new()),
            Kind::JiebaV1 => Method::Jieba(Words::new(), Idf::new()),
        };
        Self {
            recipe,
            normaliser: Normaliser::new(),
            method,
        }
    }

    /// The recipe it follows.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The fingerprint of a text, and whether it is reliable.
    pub fn fingerprint(&self, text: &str) -> TextFingerprint {
        let weighed = self.weigh(text, |_| ());
        TextFingerprint {
            fingerprint: Fingerprint::from_bits(fingerprint_of(&weighed.hashes, &weighed.weights)),
            reliable: weighed.reliable,
        }
    }

    /// The fingerprint of 128 bits, from the same features and weights.
    ///
    /// A feature votes with its `xxh3_128`, bit for bit; neither half of the result is the
    /// fingerprint of 64 bits, whose votes come from `xxh3_64`.
    pub fn fingerprint128(&self, text: &str) -> Fingerprint128 {
        let weighed = self.weigh(text, |range| range);
        let bytes = weighed.normalised.as_bytes();
        let hashes = weighed
            .places
            .iter()
            .map(|place| xxh3_128(&bytes[place.clone()]));
        let hashes: Vec<_> = hashes.collect();
        let half = |shift| {
            let half: Vec<_> = hashes.iter().map(|hash| (hash >> shift) as u64).collect();
            u128::from(fingerprint_of(&half, &weighed.weights))
        };
        Fingerprint128::from_bits(half(64) << 64 | half(0))
    }

    /// The features of a text that its fingerprint is made of, the heaviest first, ties in the
    /// order of their tokens.
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let features = Fingerprinter::new(Recipe::ngram()).features("回家罗回家罗！");
    /// let tokens: Vec<_> = features.iter().map(|f| (f.token.as_str(), f.weight)).collect();
    /// // Twice gives 1024 × (1 + ln 2), once 1024; a single character counts for seven tenths.
    /// assert_eq!(tokens[..3], [("回家", 1734), ("家罗", 1734), ("回", 1214)]);
    /// ```
    pub fn features(&self, text: &str) -> Vec<Feature> {
        let weighed = self.weigh(text, |range| range);
        let weights = weighed.weights.each();
        let features = weighed.hashes.into_iter().zip(weights).zip(weighed.places);
        let features = features.map(|((hash, weight), place)| Feature {
            token: weighed.normalised[place].to_owned(),
            weight,
            hash,
        });
        let mut features: Vec<_> = features.collect();
        features
            .sort_unstable_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.token.cmp(&b.token)));
        features
    }

    /// The text as the recipe compares it: letters, digits and marks only, in the normal form
    /// NFKC, with case folded and traditional characters simplified.
    ///
    /// Normalising a normalised text changes nothing. For the recipe `jieba`, which needs the
    /// separators to find the words, this is the text without them.
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let fingerprinter = Fingerprinter::new(Recipe::ngram());
    /// assert_eq!(fingerprinter.normalise("《漢語》 Ｖｅｒ．１！"), "汉语ver1");
    /// ```
    pub fn normalise(&self, text: &str) -> String {
        self.normaliser.letters(text)
    }

    /// The features of a text, each with what `place_of` makes of where it first occurs.
    fn weigh<P: Clone>(&self, text: &str, place_of: impl Fn(Range<usize>) -> P) -> Weighed<P> {
        match &self.method {
            Method::Ngram(weights) => ngram::weigh(&self.normaliser, weights, text, place_of),
            Method::Jieba(words, idf) => self.weigh_keywords(text, words, idf, place_of),
        }
    }

    fn weigh_keywords<P>(
        &self,
        text: &str,
        words: &Words,
        idf: &Idf,
        place_of: impl Fn(Range<usize>) -> P,
    ) -> Weighed<P> {
        let normalised = self.normaliser.sentences(text);
        let bytes = normalised.as_bytes();
        let mut tally = first_tally(normalised.len() / BYTES_PER_WORD);
        words.for_each(&normalised, |range| {
            tally.add((xxh3_64(&bytes[range.clone()]), range))
        });

        let Counted {
            hashes,
            counts,
            places,
            ..
        } = tally.finish();
        let slots: Vec<_> = hashes.iter().map(|&hash| idf.first_slot(hash)).collect();
        let mut keywords = Vec::with_capacity(hashes.len());
        for (index, (&hash, slot)) in hashes.iter().zip(slots).enumerate() {
            let Some(weight) = idf.weight(hash, slot) else {
                continue;
            };
            // Characters that connect, such as `--`, are no word by themselves.
            let says_something = bytes[places[index].clone()]
                .iter()
                .any(|b| !b.is_ascii() || b.is_ascii_alphanumeric());
            if says_something {
                keywords.push((weight.saturating_mul(counts[index] as i64), index));
            }
        }
        if keywords.len() > KEYWORDS {
            // Heaviest first, ties by token: an order in which no two are equal.
            keywords.select_nth_unstable_by(KEYWORDS, |a, b| {
                let token = |index: usize| &bytes[places[index].clone()];
                b.0.cmp(&a.0).then_with(|| token(a.1).cmp(token(b.1)))
            });
            keywords.truncate(KEYWORDS);
        }
        let weights = Weights::of(keywords.iter().map(|&(weight, _)| weight));
        let reliable = keywords.len() >= LEAST_KEYWORDS && !weights.one_outweighs_the_rest();
        Weighed {
            hashes: keywords.iter().map(|&(_, index)| hashes[index]).collect(),
            places: keywords
                .iter()
                .map(|&(_, index)| place_of(places[index].clone()))
                .collect(),
            weights,
            normalised,
            reliable,
        }
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

pub(super) fn first_tally<P: Clone>(most_distinct: usize) -> Tally<P> {
    Tally::with_room(most_distinct.min(MOST_FIRST_ROOM))
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
            assert!(!ngram.fingerprint(text).reliable, "{text:?}");
        }
        for text in [
            "生存还是毁灭呢",
            "to be or not to be",
            "一二三四五，上山打老虎",
        ] {
            assert!(ngram.fingerprint(text).reliable, "{text:?}");
        }

        let jieba = Fingerprinter::new(Recipe::jieba());
        let one_word = "美国 ".repeat(30) + "飞碟 雇员 灰色";
        for text in ["", "好的", "我们的，就是你们的", "--- +++ ...", &one_word] {
            assert!(!jieba.fingerprint(text).reliable, "{text:?}");
        }
        let text = "美国51区雇员称内部有9架飞碟，曾看见灰色外星人";
        assert!(jieba.fingerprint(text).reliable);
    }

    #[test]
    fn a_text_without_features_gives_zero() {
        for recipe in Recipe::all() {
            let fingerprinter = Fingerprinter::new(recipe);
            assert_eq!(fingerprinter.fingerprint("…").fingerprint.bits(), 0);
            assert_eq!(fingerprinter.fingerprint128("…").bits(), 0);
            assert!(fingerprinter.features("…").is_empty());
        }
    }

    #[test]
    fn the_features_give_the_fingerprint_back() {
        use crate::simhash::{merge, sign, weigh};

        let text = "美国51区雇员称内部有9架飞碟，曾看见灰色外星人。The cat sat on the mat.";
        for recipe in Recipe::all() {
            let fingerprinter = Fingerprinter::new(recipe);
            let features = fingerprinter.features(text);
            assert!(features.is_sorted_by_key(|f| (std::cmp::Reverse(f.weight), f.token.clone())));
            let votes = features
                .iter()
                .map(|f| weigh::<64>(u128::from(f.hash), f.weight));
            let fingerprint = fingerprinter.fingerprint(text).fingerprint;
            assert_eq!(sign(merge(votes)), u128::from(fingerprint.bits()));
            let wide = features
                .iter()
                .map(|f| weigh::<128>(xxh3_128(f.token.as_bytes()), f.weight));
            assert_eq!(sign(merge(wide)), fingerprinter.fingerprint128(text).bits());
        }
    }

    #[test]
    fn keywords_are_the_twenty_heaviest() {
        let jieba = Fingerprinter::new(Recipe::jieba());
        let text = "今天纽约的天气真好啊，京华大酒店的张尧经理吃了一只北京烤鸭。\
                    后天纽约的天气不好，昨天纽约的天气也不好，北京烤鸭真好吃";
        let tokens: Vec<_> = jieba.features(text).into_iter().map(|f| f.token).collect();
        assert_eq!(tokens[..3], ["北京烤鸭", "纽约", "天气"]);

        let long: String = (0..200).map(|i| format!("word{i} ")).collect();
        assert_eq!(jieba.features(&long).len(), KEYWORDS);
    }

    #[test]
    fn a_fingerprinter_can_be_shared_by_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Fingerprinter>();
    }
}
