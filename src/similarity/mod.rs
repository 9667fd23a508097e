//! Measures of how alike two texts are, and the decision whether two texts are near-duplicates.
//!
//! A Hamming distance is quick and says little about what differs. The measures of this module read
//! both texts. They are pure functions: nothing is stored, nothing is looked up in a database.
//!
//! | measure | made of | by | says |
//! |---|---|---|---|
//! | edit similarity | characters | [`edit_similarity`], [`edit_similarity_at_least`] | how much of the longer text stays as it is |
//! | Jaccard index of shingles | [`tokens`] | [`shingle_jaccard`] | how many of the phrases are in both texts |
//! | both | normalised letters and digits | [`Resemblance`] | whether the texts are near-duplicates |
//! | SimHash | features of a recipe | [`Fingerprinter`](crate::Fingerprinter), [`Fingerprint::distance`](crate::Fingerprint::distance) | the angle between the features, roughly |
//!
//! All are symmetric. Edit similarity and Jaccard index are from 0, nothing in common, to 1, alike;
//! two equal texts give 1. Two texts with nothing to compare (empty, or nothing but punctuation where
//! punctuation is no token) give 1; one of them and another text give 0.
//!
//! # Normalisation
//! The two functions take texts as they are: edit similarity counts commas. To compare texts as the
//! recipes do, without regard to width, case, punctuation, white space, and traditional against
//! simplified characters, normalise both first, with [`Normaliser::letters`] for characters and
//! [`Normaliser::sentences`] for tokens. [`Resemblance`] normalises by itself.
//!
//! # Examples
//!
//! ```
//! use std::num::NonZeroUsize;
//! use simdb::Normaliser;
//! use simdb::similarity::shingle_jaccard;
//!
//! let normaliser = Normaliser::new();
//! let one = normaliser.sentences("The cat sat on the mat!");
//! let other = normaliser.sentences("the cat sat on a mat");
//!
//! let pairs = NonZeroUsize::new(2).unwrap();
//! // the cat, cat sat, sat on; not on the, the mat, on a, a mat.
//! assert_eq!(shingle_jaccard(&one, &other, pairs), 3.0 / 7.0);
//! ```

mod edit;
mod jaccard;
mod phrases;

use crate::feature::{LEAST_SHINGLES, is_repetitive};
use crate::minhash::count_shingles;
use crate::text::{Normaliser, is_informative};
use jaccard::jaccard_index;
use phrases::phrases;

pub use edit::{edit_similarity, edit_similarity_at_least};
pub use jaccard::{shingle_jaccard, shingles, tokens};

/// The length in characters above which the edit similarity of two texts is not computed: it takes
/// 3 to 14 ms for two texts of this length, and the time grows with the product of the lengths.
const MOST_EDITED_CHARACTERS: usize = 1 << 13;

/// The Jaccard index of the shingles of characters below which texts are not compared any further.
/// Bands would find one of 25 pairs with this index.
const LEAST_COMMON: f64 = 0.1;

/// A text with fewer distinct shingles of characters than the first number, which occur on average
/// at least as often as the second, is repetitive: two such texts are alike by chance. Two rows of
/// the letters x and o have an edit similarity of 0.71, whatever they say.
///
/// Prose of a few thousand letters has each of its shingles up to five times in languages of few
/// syllables, so there are no bounds for more distinct shingles, as the recipe `ngram` has.
const REPETITIVE_SHINGLES: [(usize, u64); 2] = [(32, 2), (100, 4)];

/// The same bounds for phrases: two long tables over few words have all of their phrases in common.
/// There are 1,000 phrases of three digits; prose of no language has that few that occur twice on
/// average.
const REPETITIVE_PHRASES: [(usize, u64); 2] = [(32, 2), (1024, 4)];

/// Thresholds above which two texts count as near-duplicates: either measure is enough.
///
/// The edit similarity forgives misspellings, replaced words and cut ends; the Jaccard index
/// forgives parts that have been moved. Two texts with too little content (a number, a single word,
/// one phrase over and over, or a long table over few words) are near-duplicates only if their
/// wording is the same.
///
/// Whatever the thresholds, texts that are stored, or clustered, are not compared with a text that
/// has less than a tenth of its shingles of characters in common with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// The least edit similarity of the letters and digits: 0.65, so two thirds of the longer text
    /// are in the other, in the same order.
    pub edit_similarity: f64,
    /// The least Jaccard index of the shingles of three tokens: 0.55, so two thirds of the shingles
    /// of either text are in the other. A token is a CJK character or a word; of Thai, Lao, Burmese
    /// and Khmer, and of runs of letters too long for a word, four characters count as one.
    pub jaccard: f64,
}

impl Default for Likeness {
    fn default() -> Self {
        Self {
            edit_similarity: 0.65,
            jaccard: 0.55,
        }
    }
}

/// The measures of two texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resemblance {
    /// `true` if the normalised letters and digits are the same. For texts without letters or digits:
    /// `true` if the texts are equal.
    pub same_wording: bool,
    /// The [`edit_similarity`] of the letters and digits; `None` for texts of more than 8,192
    /// characters with another wording, for which it would take too long.
    pub edit_similarity: Option<f64>,
    /// The Jaccard index of the sets of shingles of three tokens.
    pub jaccard: f64,
    /// `true` if both texts have enough content to be compared by their parts.
    pub comparable: bool,
}

impl Resemblance {
    /// Measures two texts.
    ///
    /// # Cost
    /// That of [`edit_similarity`](edit_similarity()).
    ///
    /// # Examples
    ///
    /// ```
    /// use simdb::{Likeness, Normaliser, Resemblance};
    ///
    /// let normaliser = Normaliser::new();
    /// let measured = |a, b| Resemblance::new(&normaliser, a, b);
    /// let edited = measured("你妈妈喊你回家吃饭哦，回家罗回家罗", "你妈妈叫你回家吃饭啦，回家罗回家罗");
    /// assert_eq!(edited.edit_similarity, Some(1.0 - 2.0 / 16.0));
    /// assert!(edited.is_enough(&Likeness::default()));
    ///
    /// // Numbers are the same or they are not.
    /// assert!(!measured("13800138000", "13800138001").is_enough(&Likeness::default()));
    /// ```
    pub fn new(normaliser: &Normaliser, a: &str, b: &str) -> Self {
        let [a, b] = [a, b].map(|text| Wording::new(normaliser, text));
        if a.letters == b.letters && a.raw == b.raw {
            return a.itself();
        }
        let are_short = a.characters.max(b.characters) <= MOST_EDITED_CHARACTERS;
        Self {
            same_wording: false,
            edit_similarity: are_short.then(|| edit_similarity(&a.letters, &b.letters)),
            jaccard: a.phrase_jaccard(&b),
            comparable: a.is_informative && b.is_informative,
        }
    }

    /// The larger of the two measures, from 0 to 1.
    pub fn score(&self) -> f64 {
        self.edit_similarity.unwrap_or(0.0).max(self.jaccard)
    }

    /// Returns `true` if the texts are near-duplicates by these thresholds.
    pub fn is_enough(&self, likeness: &Likeness) -> bool {
        let is_alike = self.edit_similarity >= Some(likeness.edit_similarity)
            || self.jaccard >= likeness.jaccard;
        self.same_wording || self.comparable && is_alike
    }
}

/// A text prepared for comparisons.
#[derive(Clone, Debug)]
pub(crate) struct Wording {
    letters: String,
    characters: usize,
    /// The text itself, if it has no letters or digits.
    raw: Option<String>,
    /// The shingles of characters that the bands of the text are made of, sorted.
    shingles: Vec<u64>,
    /// The distinct shingles of tokens, sorted.
    phrases: Vec<u64>,
    /// `true` if the text has enough content to be compared by its parts.
    is_informative: bool,
}

impl Wording {
    pub(crate) fn new(normaliser: &Normaliser, text: &str) -> Self {
        Self::from_letters(normaliser, text, normaliser.letters(text))
    }

    fn from_letters(normaliser: &Normaliser, text: &str, letters: String) -> Self {
        let characters = letters.chars().count();
        let counts = count_shingles(&letters, characters);
        let mut shingles = counts.hashes;
        shingles.sort_unstable();
        let mut phrases = phrases(&normaliser.sentences(text));
        let all_phrases = phrases.len() as u64;
        phrases.sort_unstable();
        phrases.dedup();
        let is_repetitive = is_repetitive(shingles.len(), counts.total, &REPETITIVE_SHINGLES)
            || is_repetitive(phrases.len(), all_phrases, &REPETITIVE_PHRASES);
        Self {
            characters,
            raw: letters.is_empty().then(|| text.to_owned()),
            is_informative: shingles.len() >= LEAST_SHINGLES
                && !is_repetitive
                && is_informative(normaliser, text, &letters),
            shingles,
            phrases,
            letters,
        }
    }

    /// The normalised letters and digits of the text.
    pub(crate) fn letters(&self) -> &str {
        &self.letters
    }

    /// Bytes of the letters, the shingles and the phrases.
    pub(crate) fn len_bytes(&self) -> usize {
        self.letters.len() + size_of_val(&*self.shingles) + size_of_val(&*self.phrases)
    }

    /// The measures of this text and another if the texts are near-duplicates, otherwise `None`.
    ///
    /// # Cost
    /// A text with little in common is normalised and cut to shingles, no more.
    pub(crate) fn compare(
        &self,
        normaliser: &Normaliser,
        text: &str,
        likeness: &Likeness,
    ) -> Option<Resemblance> {
        let letters = normaliser.letters(text);
        if letters == self.letters {
            let is_same = self.raw.as_deref().is_none_or(|raw| raw == text);
            return is_same.then(|| self.itself());
        }
        if !self.is_informative || self.shingle_jaccard(&letters) < LEAST_COMMON {
            return None;
        }
        let other = Self::from_letters(normaliser, text, letters);
        if !other.is_informative {
            return None;
        }
        let jaccard = self.phrase_jaccard(&other);
        let are_short = self.characters.max(other.characters) <= MOST_EDITED_CHARACTERS;
        let is_enough = jaccard >= likeness.jaccard;
        let edit_similarity = if !are_short {
            None
        } else if is_enough {
            Some(edit_similarity(&self.letters, &other.letters))
        } else {
            let least = likeness.edit_similarity;
            edit_similarity_at_least(&self.letters, &other.letters, least)
        };
        (is_enough || edit_similarity.is_some()).then_some(Resemblance {
            same_wording: false,
            edit_similarity,
            jaccard,
            comparable: true,
        })
    }

    /// The measures of the text and itself.
    fn itself(&self) -> Resemblance {
        Resemblance {
            same_wording: true,
            edit_similarity: Some(1.0),
            jaccard: 1.0,
            comparable: self.is_informative,
        }
    }

    /// The Jaccard index of the shingles of characters, those of the other text cut as this text's.
    fn shingle_jaccard(&self, letters: &str) -> f64 {
        let others = count_shingles(letters, self.characters).hashes;
        sorted_jaccard(&self.shingles, &others)
    }

    /// The Jaccard index of the shingles of tokens.
    fn phrase_jaccard(&self, other: &Self) -> f64 {
        sorted_jaccard(&self.phrases, &other.phrases)
    }
}

/// The Jaccard index of two sets, the first of them sorted.
fn sorted_jaccard(sorted: &[u64], others: &[u64]) -> f64 {
    let both = others
        .iter()
        .filter(|hash| sorted.binary_search(hash).is_ok());
    jaccard_index(both.count(), sorted.len(), others.len())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use proptest::prelude::*;

    use super::*;

    fn measured(a: &str, b: &str) -> Resemblance {
        Resemblance::new(&Normaliser::new(), a, b)
    }

    fn is_enough(a: &str, b: &str) -> bool {
        measured(a, b).is_enough(&Likeness::default())
    }

    #[test]
    fn edits_and_moves_are_forgiven_and_other_texts_are_not() {
        let moved = (
            "Three ships sailed past the lighthouse. Nobody on the shore saw them go.",
            "Nobody on the shore saw them go. Three ships sailed past the lighthouse.",
        );
        assert!(measured(moved.0, moved.1).edit_similarity < Some(0.65));
        for (a, b) in [
            (
                "The quick brown fox jumps over the lazy dog",
                "the quick brwon fox jumped over a lazy dog",
            ),
            (
                "你妈妈喊你回家吃饭哦，回家罗回家罗",
                "你妈妈叫你回家吃饭啦，回家罗回家罗",
            ),
            moved,
        ] {
            assert!(is_enough(a, b), "{a} / {b}");
        }
        for (a, b) in [
            (
                "The quick brown fox jumps over the lazy dog",
                "The slow green frog sits under a busy bee",
            ),
            ("床前明月光，疑是地上霜", "生存还是毁灭，这是一个问题"),
        ] {
            assert!(!is_enough(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn texts_that_say_too_little_are_near_duplicates_of_their_equals_only() {
        let texts = [
            "",
            " ",
            "。",
            "…",
            "👍",
            "👎",
            "1",
            "13800138000",
            "13800138001",
            "2026-11-21",
            "hello",
            "hallo",
            "internationalization",
            "internationalisation",
            "ha ha",
            "ha ha ha",
            "好",
            "好的",
            "哈哈",
            "哈哈哈",
            "哈哈哈哈",
        ];
        for (i, a) in texts.iter().enumerate() {
            for (j, b) in texts.iter().enumerate() {
                assert_eq!(is_enough(a, b), i == j, "{a:?} / {b:?}");
            }
        }
        assert!(is_enough("hello", "HELLO!"));
    }

    #[test]
    fn very_long_texts_are_decided_by_their_phrases() {
        let long: String = (0..20_000)
            .map(|i| format!("{} ", i * 7919 % 10_007))
            .collect();
        let edited = long.clone() + "and the end of it";
        let found = measured(&("a tale ".to_owned() + &long), &edited);
        assert_eq!(found.edit_similarity, None);
        assert!(found.jaccard > 0.99 && found.is_enough(&Likeness::default()));
    }

    proptest! {
        #[test]
        fn comparing_gives_the_same_as_measuring_all(
            words in prop::collection::vec("[a-d]{1,4}|[一二三四]{1,3}", 0..40),
            edits in prop::collection::vec((0..40_usize, "[a-d]{1,4}|[一二三四]{0,3}"), 0..12),
        ) {
            let mut edited = words.clone();
            for (at, word) in edits {
                if let Some(place) = edited.get_mut(at) {
                    *place = word;
                }
            }
            let (a, b) = (words.join(" "), edited.join(" "));
            let normaliser = Normaliser::new();
            let measured = Resemblance::new(&normaliser, &a, &b);
            prop_assert_eq!(measured, Resemblance::new(&normaliser, &b, &a));
            if !measured.same_wording {
                let three = NonZeroUsize::new(3).unwrap();
                prop_assert_eq!(measured.jaccard, shingle_jaccard(&a, &b, three));
            }

            let likeness = Likeness::default();
            let wording = Wording::new(&normaliser, &a);
            let has_little = wording.shingle_jaccard(&normaliser.letters(&b)) < LEAST_COMMON;
            match wording.compare(&normaliser, &b, &likeness) {
                Some(found) => {
                    prop_assert!(measured.is_enough(&likeness));
                    prop_assert_eq!(found.jaccard, measured.jaccard);
                    let is_same = found.edit_similarity == measured.edit_similarity;
                    let is_less = measured.edit_similarity < Some(likeness.edit_similarity);
                    prop_assert!(is_same || is_less && found.edit_similarity.is_none());
                }
                None => prop_assert!(has_little || !measured.is_enough(&likeness)),
            }
        }
    }
}
