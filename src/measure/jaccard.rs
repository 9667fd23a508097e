//! Tokens, shingles of tokens, and the Jaccard index of two sets of shingles.

use std::num::NonZeroUsize;

use crate::text::{is_cjk, is_letter_or_digit, is_mark};

/// The tokens of a text in text order: each CJK character (Han, kana, bopomofo, Hangul), and each
/// run of other letters and digits.
///
/// A combining mark belongs to the token before it. Any other character separates tokens. Tokens
/// are slices of the text as it is: normalise the text first
/// ([`Normaliser::sentences`](crate::Normaliser::sentences)) to ignore case and width.
///
/// # Cost
/// One pass over the text; 16 bytes for each token.
///
/// # Examples
///
/// ```
/// use simdb::similarity::tokens;
///
/// assert_eq!(tokens("CSDN博客, 3.14!"), ["CSDN", "博", "客", "3", "14"]);
/// ```
pub fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    // The start of the current token, and `true` if the token is a CJK character.
    let mut open: Option<(usize, bool)> = None;
    for (at, c) in text.char_indices() {
        let cjk = is_cjk(c);
        let continues = match open {
            None => false,
            Some((_, true)) => is_mark(c),
            Some((_, false)) => is_mark(c) || is_letter_or_digit(c) && !cjk,
        };
        if continues {
            continue;
        }
        tokens.extend(open.take().map(|(start, _)| &text[start..at]));
        if is_letter_or_digit(c) {
            open = Some((at, cjk));
        }
    }
    tokens.extend(open.map(|(start, _)| &text[start..]));
    tokens
}

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
    fn tokens_are_cjk_characters_and_runs_of_others() {
        for (text, expected) in [
            ("", &[][..]),
            (" ,。\n", &[]),
            ("the cat  sat", &["the", "cat", "sat"]),
            ("美国“51区”", &["美", "国", "51", "区"]),
            ("9架飞碟", &["9", "架", "飞", "碟"]),
            ("don't 3.14", &["don", "t", "3", "14"]),
            ("каша ガ한", &["каша", "ガ", "한"]),
            // A mark belongs to the character before it, also in decomposed text.
            (
                "cafe\u{301}s か\u{3099}き नमस्ते",
                &["cafe\u{301}s", "か\u{3099}", "き", "नमस्ते"],
            ),
            ("a・b〰c 👍", &["a", "b", "c"]),
        ] {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
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

        #[test]
        fn tokens_hold_all_letters_and_digits(text: String) {
            let expected: String = text.chars().filter(|c| is_letter_or_digit(*c)).collect();
            let found = tokens(&text).concat();
            let found: String = found.chars().filter(|c| !is_mark(*c)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
