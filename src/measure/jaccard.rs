//! Tokens, shingles of tokens, and the Jaccard index of two sets of shingles.

use std::num::NonZeroUsize;

use crate::text::tokens;

/// The shingles of a list of tokens: each run of `tokens_per_shingle` tokens, in order, with
/// repetitions. Fewer tokens make one shingle; no tokens make none.
///
/// # Cost
/// No allocation: shingles are slices of `tokens`.
///
/// # Source
/// A. Z. Broder, *On the resemblance and containment of documents*, Compression and Complexity of
/// Sequences 1997, section 2.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroUsize;
/// use simdb::similarity::{shingles, tokens};
///
/// let three = NonZeroUsize::new(3).unwrap();
/// let tokens = tokens("a rose is a rose");
/// let found: Vec<_> = shingles(&tokens, three).map(|shingle| shingle.join(" ")).collect();
/// assert_eq!(found, ["a rose is", "rose is a", "is a rose"]);
/// ```
pub fn shingles<'s, 't>(
    tokens: &'s [&'t str],
    tokens_per_shingle: NonZeroUsize,
) -> impl Iterator<Item = &'s [&'t str]> {
    // `windows(0)` would panic; an empty slice has no windows of length 1.
    let length = tokens_per_shingle.get().min(tokens.len()).max(1);
    tokens.windows(length)
}

/// The Jaccard index of the [`shingles`] of two texts: the number of distinct shingles in both
/// texts, divided by the number of distinct shingles in at least one text.
///
/// The index is from 0 to 1; Broder calls it resemblance. The number and the order of occurrences
/// of a shingle do not matter. Two texts without [`tokens`] give 1; a text without and a text with
/// tokens give 0.
///
/// One changed token changes `tokens_per_shingle` shingles, so long shingles separate texts more
/// sharply. With 1, the order of the tokens does not matter.
///
/// # Cost
/// n log n comparisons to sort n shingles, and 32 bytes for each token. Too slow to compare each
/// text with every other text: a fingerprint of 64 bits is made for that.
///
/// # Source
/// A. Z. Broder, *On the resemblance and containment of documents*, Compression and Complexity of
/// Sequences 1997, section 2.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroUsize;
/// use simdb::similarity::shingle_jaccard;
///
/// let (one, other) = ("the cat sat on the mat", "the cat sat on a mat");
/// let [words, pairs] = [1, 2].map(|tokens| NonZeroUsize::new(tokens).unwrap());
/// assert_eq!(shingle_jaccard(one, other, words), 5.0 / 6.0);
/// assert_eq!(shingle_jaccard(one, other, pairs), 3.0 / 7.0);
/// ```
pub fn shingle_jaccard(a: &str, b: &str, tokens_per_shingle: NonZeroUsize) -> f64 {
    let [a, b] = [tokens(a), tokens(b)];
    // Sorted, because a standard hash set has a random seed, and nothing here may be random.
    let [a, b] = [&a, &b].map(|tokens| {
        let mut set: Vec<_> = shingles(tokens, tokens_per_shingle).collect();
        set.sort_unstable();
        set.dedup();
        set
    });
    let both = a.iter().filter(|one| b.binary_search(one).is_ok()).count();
    if a.is_empty() && b.is_empty() {
        1.0
    } else {
        jaccard_index(both, a.len(), b.len())
    }
}

/// The Jaccard index of two sets with `one` and `other` elements, `both` of them common; 0 for two
/// empty sets.
pub(super) fn jaccard_index(both: usize, one: usize, other: usize) -> f64 {
    both as f64 / (one + other - both).max(1) as f64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn length(tokens: usize) -> NonZeroUsize {
        NonZeroUsize::new(tokens).unwrap()
    }

    #[test]
    fn examples_of_articles_equal_counts_by_hand() {
        let mum = "你妈妈喊你回家吃饭哦，回家罗回家罗";
        let other_mum = "你妈妈叫你回家吃饭啦，回家罗回家罗";
        let (cat, other_cat) = ("the cat sat on the mat", "the cat sat on a mat");
        let scream = "we all scream for ice cream";
        for (a, b, tokens, expected) in [
            // 你妈喊回家吃饭哦罗 and 你妈叫回家吃饭啦罗: nine characters each, seven in both.
            (mum, other_mum, 1, 7.0 / 11.0),
            // Twelve pairs each: four touch 喊 or 哦, four others touch 叫 or 啦.
            (mum, other_mum, 2, 8.0 / 16.0),
            (cat, other_cat, 1, 5.0 / 6.0),
            (cat, other_cat, 2, 3.0 / 7.0),
            // In both: the cat sat, cat sat on. Each text has two more.
            (cat, other_cat, 3, 2.0 / 6.0),
            // A text of six tokens is one shingle.
            (cat, other_cat, 6, 0.0),
            (cat, cat, 7, 1.0),
            (cat, scream, 1, 0.0),
            (cat, scream, 7, 0.0),
        ] {
            assert_eq!(
                shingle_jaccard(a, b, length(tokens)),
                expected,
                "{a} {b} {tokens}"
            );
        }
    }

    #[test]
    fn texts_without_tokens_are_equal_to_each_other_only() {
        for tokens in [1, 2, usize::MAX] {
            assert_eq!(shingle_jaccard("", "", length(tokens)), 1.0);
            assert_eq!(shingle_jaccard("", "...", length(tokens)), 1.0);
            assert_eq!(shingle_jaccard("", "a", length(tokens)), 0.0);
        }
    }

    proptest! {
        #[test]
        fn shingle_jaccard_equals_its_definition(
            a in "([a-c]{1,2}[ ,]|[一-三])*",
            b in prop_oneof![any::<String>(), "([a-c]{1,2}[ ,]|[一-三])*"],
            per_shingle in 1..6_usize,
        ) {
            let set = |text: &str| -> HashSet<Vec<String>> {
                let tokens: Vec<String> = tokens(text).into_iter().map(str::to_owned).collect();
                match tokens.len() {
                    0 => HashSet::new(),
                    count => tokens.windows(per_shingle.min(count)).map(<[String]>::to_vec).collect(),
                }
            };
            let (x, y) = (set(&a), set(&b));
            let expected = match x.union(&y).count() {
                0 => 1.0,
                either => x.intersection(&y).count() as f64 / either as f64,
            };
            let found = shingle_jaccard(&a, &b, length(per_shingle));
            prop_assert_eq!(found, expected);
            prop_assert_eq!(shingle_jaccard(&b, &a, length(per_shingle)), found);
            prop_assert_eq!(shingle_jaccard(&b, &b, length(per_shingle)), 1.0);
            prop_assert!((0.0..=1.0).contains(&found));
        }
    }
}
