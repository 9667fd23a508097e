//! Whether two texts are near-duplicates of each other, decided by their wording.

mod phrases;

use crate::feature::{LEAST_SHINGLES, is_repetitive};
use crate::measure::{edit_similarity, edit_similarity_at_least};
use crate::minhash::count_shingles;
use crate::text::{Normaliser, says_something};
use phrases::phrases;

/// Of texts with more characters than this, the edit similarity is not computed: two that long take
/// 3 to 14 ms, and the time grows with the product of their lengths.
const MOST_EDITED_CHARACTERS: usize = 1 << 13;

/// Texts that have a smaller share of their shingles of characters in common than this are not
/// compared any further. Bands would find one pair of 25 that have just so many.
const LEAST_COMMON: f64 = 0.1;

/// With fewer distinct shingles of characters than the first number, ones that occur as often as the
/// second on average say nothing: two such texts are alike by chance. Two rows of the letters x and
/// o have an edit similarity of 0.71, whatever they say.
///
/// Prose of a few thousand letters has each of its shingles up to five times in languages of few
/// syllables, so there are no bounds for more distinct ones, as the recipe `ngram` has.
const REPETITIVE_SHINGLES: [(usize, u64); 2] = [(32, 2), (100, 4)];

/// The same of phrases: two long tables over few words have all of their phrases in common. There
/// are 1,000 of three digits; prose of no language has so few that occur twice on average.
const REPETITIVE_PHRASES: [(usize, u64); 2] = [(32, 2), (1024, 4)];

/// From where on two texts count as near-duplicates of each other: either measure is enough.
///
/// The edit similarity forgives misspellings, replaced words and cut ends; the Jaccard index
/// forgives parts that have been moved. Two texts that say too little, a number, a single word, one
/// phrase over and over, or a long table over few words, are near-duplicates only if their wording
/// is the same.
///
/// Whatever is asked for here, texts that are stored, or clustered, are not compared with one that
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

/// What two texts have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resemblance {
    /// Whether the letters and digits are the same, normalised. Of texts without any, whether all
    /// is the same.
    pub same_wording: bool,
    /// The [`edit_similarity`] of the letters and digits; nothing for texts of more than 8,192
    /// characters with another wording, for which it would take too long.
    pub edit_similarity: Option<f64>,
    /// The Jaccard index of the sets of shingles of three tokens.
    pub jaccard: f64,
    /// Whether both texts say enough to be compared by their parts.
    pub comparable: bool,
}

impl Resemblance {
    /// What two texts have in common.
    ///
    /// # Cost
    /// That of [`edit_similarity`](crate::measure::edit_similarity).
    ///
    /// # Examples
    ///
    /// ```
    /// use simdb::measure::Normaliser;
    /// use simdb::{Likeness, Resemblance};
    ///
    /// let normaliser = Normaliser::new();
    /// let of = |a, b| Resemblance::of(&normaliser, a, b);
    /// let edited = of("你妈妈喊你回家吃饭哦，回家罗回家罗", "你妈妈叫你回家吃饭啦，回家罗回家罗");
    /// assert_eq!(edited.edit_similarity, Some(1.0 - 2.0 / 16.0));
    /// assert!(edited.is_enough(&Likeness::default()));
    ///
    /// // Numbers are the same or they are not.
    /// assert!(!of("13800138000", "13800138001").is_enough(&Likeness::default()));
    /// ```
    pub fn of(normaliser: &Normaliser, a: &str, b: &str) -> Self {
        let (a, b) = (Wording::new(normaliser, a), Wording::new(normaliser, b));
        if a.is_same(&b) {
            return a.same();
        }
        let are_short = a.characters.max(b.characters) <= MOST_EDITED_CHARACTERS;
        Self {
            same_wording: false,
            edit_similarity: are_short.then(|| edit_similarity(&a.letters, &b.letters)),
            jaccard: a.jaccard(&b),
            comparable: a.says_enough && b.says_enough,
        }
    }

    /// The larger of the two measures, from 0 to 1.
    pub fn score(&self) -> f64 {
        self.edit_similarity.unwrap_or(0.0).max(self.jaccard)
    }

    /// Whether it is enough to call one text a near-duplicate of the other.
    pub fn is_enough(&self, likeness: &Likeness) -> bool {
        let is_alike = self.edit_similarity >= Some(likeness.edit_similarity)
            || self.jaccard >= likeness.jaccard;
        self.same_wording || self.comparable && is_alike
    }
}

/// What a text says, made ready to be compared.
#[derive(Clone, Debug)]
pub(crate) struct Wording {
    letters: String,
    characters: usize,
    /// The text itself, if it has no letters or digits.
    raw: Option<String>,
    /// The shingles of characters that its bands are made of, sorted.
    shingles: Vec<u64>,
    /// The shingles of tokens, each once, sorted.
    phrases: Vec<u64>,
    /// Whether it can be told by its parts.
    says_enough: bool,
}

impl Wording {
    pub(crate) fn new(normaliser: &Normaliser, text: &str) -> Self {
        Self::with_letters(normaliser, text, normaliser.letters(text))
    }

    /// The letters and digits of the text, normalised.
    pub(crate) fn letters(&self) -> &str {
        &self.letters
    }

    fn with_letters(normaliser: &Normaliser, text: &str, letters: String) -> Self {
        let characters = letters.chars().count();
        let counted = count_shingles(&letters, characters);
        let mut shingles = counted.hashes;
        shingles.sort_unstable();
        let mut phrases = phrases(&normaliser.sentences(text));
        let all_phrases = phrases.len() as u64;
        phrases.sort_unstable();
        phrases.dedup();
        let repeats_itself = is_repetitive(shingles.len(), counted.total, &REPETITIVE_SHINGLES)
            || is_repetitive(phrases.len(), all_phrases, &REPETITIVE_PHRASES);
        Self {
            characters,
            raw: letters.is_empty().then(|| text.to_owned()),
            says_enough: shingles.len() >= LEAST_SHINGLES
                && !repeats_itself
                && says_something(normaliser, text, &letters),
            shingles,
            phrases,
            letters,
        }
    }

    /// Bytes of the text and of its shingles.
    pub(crate) fn len_bytes(&self) -> usize {
        self.letters.len() + size_of_val(&*self.shingles) + size_of_val(&*self.phrases)
    }

    /// What the text has in common with another, if that is enough.
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
            return is_same.then(|| self.same());
        }
        if !self.says_enough || self.common(&letters) < LEAST_COMMON {
            return None;
        }
        let other = Self::with_letters(normaliser, text, letters);
        if !other.says_enough {
            return None;
        }
        let jaccard = self.jaccard(&other);
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

    fn is_same(&self, other: &Self) -> bool {
        self.letters == other.letters && self.raw == other.raw
    }

    /// What it has in common with itself.
    fn same(&self) -> Resemblance {
        Resemblance {
            same_wording: true,
            edit_similarity: Some(1.0),
            jaccard: 1.0,
            comparable: self.says_enough,
        }
    }

    /// The Jaccard index of the shingles of characters.
    fn common(&self, letters: &str) -> f64 {
        let others = count_shingles(letters, self.characters).hashes;
        let both = others
            .iter()
            .filter(|shingle| self.shingles.binary_search(shingle).is_ok());
        index(both.count(), self.shingles.len(), others.len())
    }

    /// The Jaccard index of the shingles of tokens.
    fn jaccard(&self, other: &Self) -> f64 {
        let both = other
            .phrases
            .iter()
            .filter(|phrase| self.phrases.binary_search(phrase).is_ok());
        index(both.count(), self.phrases.len(), other.phrases.len())
    }
}

/// The Jaccard index of two sets that have so many in common.
fn index(both: usize, one: usize, other: usize) -> f64 {
    both as f64 / (one + other - both).max(1) as f64
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use proptest::prelude::*;

    use super::*;
    use crate::measure::shingle_jaccard;

    fn of(a: &str, b: &str) -> Resemblance {
        Resemblance::of(&Normaliser::new(), a, b)
    }

    fn is_enough(a: &str, b: &str) -> bool {
        of(a, b).is_enough(&Likeness::default())
    }

    #[test]
    fn edits_and_moves_are_forgiven_and_other_texts_are_not() {
        let moved = (
            "Three ships sailed past the lighthouse. Nobody on the shore saw them go.",
            "Nobody on the shore saw them go. Three ships sailed past the lighthouse.",
        );
        assert!(of(moved.0, moved.1).edit_similarity < Some(0.65));
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
        let found = of(&("a tale ".to_owned() + &long), &edited);
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
            let measured = Resemblance::of(&normaliser, &a, &b);
            prop_assert_eq!(measured, Resemblance::of(&normaliser, &b, &a));
            if !measured.same_wording {
                let three = NonZeroUsize::new(3).unwrap();
                prop_assert_eq!(measured.jaccard, shingle_jaccard(&a, &b, three));
            }

            let likeness = Likeness::default();
            let wording = Wording::new(&normaliser, &a);
            let has_little = wording.common(&normaliser.letters(&b)) < LEAST_COMMON;
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
