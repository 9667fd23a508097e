//! Measures of two texts: resemblance, containment and quotation, and the decision about a pair of
//! texts.
//!
//! | file | responsibility |
//! |---|---|
//! | `similarity` | the public functions: `edit`, `jaccard` |
//! | `verifier` | the tests by which a text is compared with candidates: `edit_lanes`, `long_shingles` |
//! | `containment/` | the words that one text has and another has not |
//! | `quotation/` | the test if a longer text quotes a shorter text |
//! | `decision` | the rule that decides about texts that are alike |

pub mod containment;
pub(crate) mod decision;
mod edit;
mod edit_lanes;
mod jaccard;
mod long_shingles;
pub(crate) mod quotation;
pub mod similarity;
mod verifier;

use crate::analysis::{Analysed, ShingleLength};
use crate::error::{Error, Result};
use crate::text::Normaliser;
use edit::{edit_similarity, edit_similarity_at_least};
use jaccard::jaccard_index;

pub(crate) use verifier::{SELECTED_TOGETHER, Verifier};

/// Edit similarity is computed for texts of at most 8,192 characters. Two such texts take 3 to
/// 14 ms, and the time grows with the product of the lengths.
pub(crate) const MAX_EDIT_CHARACTERS: usize = 1 << 13;

/// The least Jaccard index of the shingles of characters of a long text and another text: texts
/// with a lower index are not compared further. An edit distance of long texts takes long, and the
/// forest finds few pairs with this index.
const MIN_SHINGLE_JACCARD: f64 = 0.1;

/// The thresholds of near-duplicate texts. Two texts are near-duplicates if either measure reaches
/// its threshold.
///
/// Queries, inserts and clustering refuse a threshold that is not a number from 0 to 1, with
/// [`Error::InvalidLikeness`].
///
/// Edit similarity tolerates misspellings, replaced words and cut ends; the Jaccard index tolerates
/// moved parts. Texts with too little content are near-duplicates only if their normalised letters
/// and digits are equal: a number, a single word, one repeated phrase, or a long table over few
/// words.
///
/// Queries and clustering never compare a text of at least 100 characters with a text if the
/// Jaccard index of their shingles of characters is below 0.1, whatever the thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Likeness {
    /// The least edit similarity of the normalised letters and digits, from 0 to 1. By default
    /// 0.65: about two thirds of the longer text are in the other text, in the same order.
    pub edit_similarity: f64,
    /// The least Jaccard index of the shingles of three tokens, from 0 to 1. By default 0.55: about
    /// two thirds of the shingles of each text are in the other. A token is a CJK character or a
    /// word. In Thai, Lao, Burmese and Khmer, and in runs of letters too long for a word, four
    /// characters count as a token.
    pub jaccard: f64,
}

impl Likeness {
    /// The smaller threshold.
    pub(crate) fn least(&self) -> f64 {
        self.edit_similarity.min(self.jaccard)
    }

    /// Refuses a threshold that is not a number from 0 to 1.
    pub(crate) fn check(&self) -> Result<()> {
        let thresholds = [
            ("edit_similarity", self.edit_similarity),
            ("jaccard", self.jaccard),
        ];
        for (measure, value) in thresholds {
            // NaN is in no range.
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::InvalidLikeness { measure, value });
            }
        }
        Ok(())
    }
}

impl Default for Likeness {
    fn default() -> Self {
        Self {
            edit_similarity: 0.65,
            jaccard: 0.55,
        }
    }
}

/// The similarity of two texts after normalisation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Resemblance {
    /// `true` if the normalised letters and digits are equal. Texts without letters and digits have
    /// to be equal themselves.
    pub same_wording: bool,
    /// The [`edit_similarity`](similarity::edit_similarity) of the normalised letters and digits.
    /// `None` if they differ and one text has more than 8,192 characters: the computation would
    /// take too long.
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
    /// The cost of [`edit_similarity`](similarity::edit_similarity), and of normalising both texts.
    ///
    /// # Examples
    ///
    /// ```
    /// use simdb::similarity::{Likeness, Resemblance};
    /// use simdb::Normaliser;
    ///
    /// let normaliser = Normaliser::new();
    /// let measured = |a, b| Resemblance::new(&normaliser, a, b);
    /// let edited = measured("你妈妈喊你回家吃饭哦，回家罗回家罗", "你妈妈叫你回家吃饭啦，回家罗回家罗");
    /// assert_eq!(edited.edit_similarity, Some(1.0 - 2.0 / 16.0));
    /// assert!(edited.is_enough(&Likeness::default()));
    ///
    /// // Two different numbers are not near-duplicates.
    /// assert!(!measured("13800138000", "13800138001").is_enough(&Likeness::default()));
    /// ```
    pub fn new(normaliser: &Normaliser, a: &str, b: &str) -> Self {
        let [a, b] = [a, b].map(|text| Analysed::normalised(normaliser, text));
        Self::of(&a, &b)
    }

    /// Measures two texts.
    pub(crate) fn of(a: &Analysed, b: &Analysed) -> Self {
        if a.has_wording_of(b) {
            return itself(a);
        }
        let are_short = a.characters().max(b.characters()) <= MAX_EDIT_CHARACTERS;
        Self {
            same_wording: false,
            edit_similarity: are_short.then(|| edit_similarity(a.letters(), b.letters())),
            jaccard: phrase_jaccard(a, b),
            comparable: a.is_comparable() && b.is_comparable(),
        }
    }

    /// The larger of edit similarity and Jaccard index, from 0 to 1.
    pub fn score(&self) -> f64 {
        self.edit_similarity.unwrap_or(0.0).max(self.jaccard)
    }

    /// Returns `true` if the texts are near-duplicates by these thresholds.
    pub fn is_enough(&self, likeness: &Likeness) -> bool {
        // `None` is less than any threshold.
        let is_alike = self.edit_similarity >= Some(likeness.edit_similarity)
            || self.jaccard >= likeness.jaccard;
        self.same_wording || self.comparable && is_alike
    }
}

/// The similarity of two texts; `None` unless they are near-duplicates.
pub(crate) fn compare(a: &Analysed, b: &Analysed, likeness: &Likeness) -> Option<Resemblance> {
    if a.letters() == b.letters() {
        return a.has_wording_of(b).then(|| itself(a));
    }
    // Most candidates of a long text have little in common with it. They end here, without phrases
    // and without an edit distance.
    let has_little = || a.is_long() && shingle_jaccard(a, b.letters()) < MIN_SHINGLE_JACCARD;
    if !a.is_comparable() || has_little() {
        return None;
    }
    let jaccard = phrase_jaccard(a, b);
    let is_enough = jaccard >= likeness.jaccard;
    // If the Jaccard index already decides, the edit similarity is only reported. Otherwise it
    // is computed with a cutoff, which is several times faster for unrelated texts.
    let edit_similarity = if a.characters().max(b.characters()) > MAX_EDIT_CHARACTERS {
        None
    } else if is_enough {
        Some(edit_similarity(a.letters(), b.letters()))
    } else {
        edit_similarity_at_least(a.letters(), b.letters(), likeness.edit_similarity)
    };
    // Few texts are alike, so only their content is examined.
    let is_alike = is_enough || edit_similarity.is_some();
    (is_alike && b.is_comparable()).then_some(Resemblance {
        same_wording: false,
        edit_similarity,
        jaccard,
        comparable: true,
    })
}

/// The similarity of a text and itself.
pub(crate) fn itself(text: &Analysed) -> Resemblance {
    Resemblance {
        same_wording: true,
        edit_similarity: Some(1.0),
        jaccard: 1.0,
        comparable: text.is_comparable(),
    }
}

/// The Jaccard index of the shingles of characters of a text and of other letters.
fn shingle_jaccard(text: &Analysed, letters: &str) -> f64 {
    // The length of the text selects the shingle length for both.
    let length = ShingleLength::of_comparison(text.characters());
    sorted_jaccard(text.sorted_shingles(), &length.count(letters).hashes)
}

/// The Jaccard index of the phrases.
fn phrase_jaccard(a: &Analysed, b: &Analysed) -> f64 {
    sorted_jaccard(a.distinct_phrases(), b.distinct_phrases())
}

/// The Jaccard index of two sets; the first set is sorted.
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

    use super::jaccard::shingle_jaccard;
    use super::*;

    fn measured(a: &str, b: &str) -> Resemblance {
        Resemblance::new(Normaliser::shared(), a, b)
    }

    fn is_enough(a: &str, b: &str) -> bool {
        measured(a, b).is_enough(&Likeness::default())
    }

    #[test]
    fn edited_and_moved_texts_are_near_duplicates() {
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
    fn uninformative_texts_are_near_duplicates_of_equal_texts_only() {
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
    fn very_long_texts_are_compared_by_phrases() {
        let long: String = (0..20_000)
            .map(|i| format!("{} ", i * 7919 % 10_007))
            .collect();
        let edited = long.clone() + "and the end of it";
        let found = measured(&("a tale ".to_owned() + &long), &edited);
        assert_eq!(found.edit_similarity, None);
        assert!(found.jaccard > 0.99 && found.is_enough(&Likeness::default()));
    }

    /// Texts of few or many characters, words and scripts, and edited copies of them.
    fn pairs() -> impl Strategy<Value = (String, String)> {
        let word = "[a-d]{1,4}|[一二三四]{1,3}|[Éßあい]{1,4}|[0-9]{1,3}|[a-z一-龥]{1,9}";
        let words = prop_oneof![
            prop::collection::vec(word, 0..12),
            prop::collection::vec("[a-z]{2,8}", 0..40),
            prop::collection::vec(word, 30..120),
        ];
        let edit = (any::<prop::sample::Index>(), word);
        let edits = prop_oneof![
            prop::collection::vec(edit.clone(), 0..12),
            prop::collection::vec(edit, 0..40),
        ];
        (words, edits, any::<bool>()).prop_map(|(words, edits, is_moved)| {
            let mut edited = words.clone();
            for (at, word) in edits.into_iter().filter(|_| !words.is_empty()) {
                edited[at.index(words.len())] = word;
            }
            if is_moved {
                edited.rotate_left(words.len() / 3);
            }
            (words.join(" "), edited.join(" "))
        })
    }

    proptest! {
        #[test]
        fn packed_comparison_equals_comparison_of_texts(
            (a, b) in pairs(),
            least in (0.0..=1.0, 0.0..=1.0),
        ) {
            let text = Analysed::new(&a);
            let likenesses = [
                Likeness::default(),
                Likeness { edit_similarity: least.0, jaccard: least.1 },
                Likeness { edit_similarity: f64::INFINITY, jaccard: f64::INFINITY },
                Likeness { edit_similarity: 1.0, jaccard: 0.0 },
                Likeness { edit_similarity: 0.0, jaccard: 1.0 },
            ];
            for other in [&a, &b, &b.to_uppercase()] {
                let other = Analysed::new(other);
                let Some(packed) = other.packed() else {
                    continue;
                };
                for likeness in &likenesses {
                    let comparison = Verifier::new(&text, likeness);
                    let expected = compare(&text, &other, likeness);
                    prop_assert_eq!(comparison.compare(packed), expected);
                    let size = packed.size();
                    prop_assert!(expected.is_none() || comparison.may_be_alike_by_size(size));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn compare_agrees_with_resemblance(
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
            let measured = Resemblance::new(Normaliser::shared(), &a, &b);
            prop_assert_eq!(measured, Resemblance::new(Normaliser::shared(), &b, &a));
            if !measured.same_wording {
                let three = NonZeroUsize::new(3).unwrap();
                prop_assert_eq!(measured.jaccard, shingle_jaccard(&a, &b, three));
            }

            let likeness = Likeness::default();
            let text = Analysed::new(&a);
            let index = || super::shingle_jaccard(&text, &Normaliser::shared().letters(&b));
            let has_little = text.is_long() && index() < MIN_SHINGLE_JACCARD;
            let compared = compare(&text, &Analysed::new(&b), &likeness);
            match compared {
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
