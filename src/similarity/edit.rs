//! Edit similarity: how much of a text must be rewritten to make another text of it.

use rapidfuzz::distance::levenshtein::{self, Args};

/// 1 − d / n, where d is the least number of characters (Unicode code points) to be inserted,
/// removed or replaced to turn one text into the other, and n the number of characters of the
/// longer text.
///
/// From 0 to 1; 1 exactly if the texts are equal. Two empty texts give 1.
///
/// # Cost
/// A common prefix and a common suffix are skipped. For n and m remaining characters, n × m / 64
/// steps: two texts of 5,000 Latin letters take 1.3 ms; two of 5,000 Han characters, of which there
/// are more distinct ones, take 5 ms; texts ten times as long take a hundred times as long. Memory
/// for the characters, and some dozens of bytes for each distinct character.
///
/// # Source
/// V. I. Levenshtein, *Binary codes capable of correcting deletions, insertions, and reversals*,
/// Soviet Physics Doklady 10, 1966 (the distance); H. Hyyrö, *A bit-vector algorithm for computing
/// Levenshtein and Damerau edit distances*, Nordic Journal of Computing 10, 2003 (64 characters at
/// a time). The package rapidfuzz computes the distance.
///
/// # Examples
///
/// ```
/// use simdb::similarity::edit_similarity;
///
/// // 2 of 17 characters differ.
/// let similarity = edit_similarity("你妈妈喊你回家吃饭哦，回家罗回家罗", "你妈妈叫你回家吃饭啦，回家罗回家罗");
/// assert_eq!(similarity, 1.0 - 2.0 / 17.0);
/// ```
pub fn edit_similarity(a: &str, b: &str) -> f64 {
    let (a, b) = (characters(a), characters(b));
    levenshtein::normalized_similarity(a.iter().copied(), b.iter().copied())
}

/// The [`edit_similarity`] of two texts if it is at least `cutoff`, otherwise `None`.
///
/// Always `None` for a `cutoff` above 1 or not a number; never for a `cutoff` of 0 or less.
///
/// # Cost
/// Less than that of [`edit_similarity`], the more so the nearer the cutoff is to 1: for two texts of
/// 5,000 Latin letters and a cutoff of 0.7 a fifth of a millisecond if the texts are unrelated, half
/// a millisecond if they are alike. Next to nothing if the lengths decide.
///
/// # Source
/// That of [`edit_similarity`]; E. Ukkonen, *Algorithms for approximate string matching*,
/// Information and Control 64, 1985 (a band along the diagonal is enough).
///
/// # Examples
///
/// ```
/// use simdb::similarity::edit_similarity_at_least;
///
/// let (one, other) = ("the cat sat on the mat", "the cat sat on a mat");
/// assert_eq!(edit_similarity_at_least(one, other, 0.8), Some(1.0 - 3.0 / 22.0));
/// assert_eq!(edit_similarity_at_least(one, other, 0.9), None);
/// ```
pub fn edit_similarity_at_least(a: &str, b: &str, cutoff: f64) -> Option<f64> {
    let (a, b) = (characters(a), characters(b));
    let args = Args::default().score_cutoff(cutoff);
    levenshtein::normalized_similarity_with_args(a.iter().copied(), b.iter().copied(), &args)
        // rapidfuzz takes a cutoff that is not a number for 0.
        .filter(|similarity| *similarity >= cutoff)
}

/// The characters as a slice: its length is known, and both ends can be compared first.
fn characters(text: &str) -> Vec<char> {
    text.chars().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The distance by its definition, a row at a time (Wagner and Fischer).
    fn plain_distance(a: &str, b: &str) -> usize {
        let b: Vec<char> = b.chars().collect();
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (above, x) in a.chars().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], above + 1);
            for (at, y) in b.iter().enumerate() {
                let replaced = diagonal + usize::from(x != *y);
                diagonal = row[at + 1];
                row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
            }
        }
        row[b.len()]
    }

    fn plain(a: &str, b: &str) -> f64 {
        let longer = a.chars().count().max(b.chars().count());
        match longer {
            0 => 1.0,
            _ => 1.0 - plain_distance(a, b) as f64 / longer as f64,
        }
    }

    #[test]
    fn examples_of_the_articles_give_what_is_counted_by_hand() {
        for (a, b, edits, longer) in [
            // An article says that they differ in one character. They do in two: 喊 and 叫, 哦 and 啦.
            (
                "你妈妈喊你回家吃饭哦，回家罗回家罗",
                "你妈妈叫你回家吃饭啦，回家罗回家罗",
                2.0,
                17.0,
            ),
            // t, h and e become a.
            ("the cat sat on the mat", "the cat sat on a mat", 3.0, 22.0),
            // Of equal length, the edit distance is at most the Hamming distance: 1011101 and
            // 1001001 differ in two places.
            ("1011101", "1001001", 2.0, 7.0),
            // The article's Hamming distance of these is 3, too.
            ("10101", "00110", 3.0, 5.0),
            ("kitten", "sitting", 3.0, 7.0),
        ] {
            assert_eq!(edit_similarity(a, b), 1.0 - edits / longer, "{a} {b}");
        }
        let unrelated = edit_similarity("the cat sat on the mat", "we all scream for ice cream");
        assert!(unrelated < 0.4, "{unrelated}");
    }

    #[test]
    fn empty_texts_are_alike_and_like_no_other() {
        assert_eq!(edit_similarity("", ""), 1.0);
        assert_eq!(edit_similarity("", "a"), 0.0);
        assert_eq!(edit_similarity_at_least("", "", 1.0), Some(1.0));
        assert_eq!(edit_similarity_at_least("", "a", 0.5), None);
        assert_eq!(edit_similarity_at_least("", "a", 0.0), Some(0.0));
    }

    #[test]
    fn a_cutoff_that_is_out_of_bounds_refuses_nothing_or_everything() {
        for cutoff in [0.0, -0.0, -1.0, f64::NEG_INFINITY, f64::MIN_POSITIVE] {
            assert_eq!(edit_similarity_at_least("ab", "ac", cutoff), Some(0.5));
        }
        for cutoff in [1.0 + f64::EPSILON, f64::INFINITY, f64::NAN] {
            assert_eq!(edit_similarity_at_least("ab", "ab", cutoff), None);
        }
    }

    /// Texts of many lengths, and as others come of them by edits: short, longer than the words of
    /// the bit-vector, of few characters and of many.
    fn texts() -> impl Strategy<Value = (String, String)> {
        let text = prop_oneof![
            any::<String>(),
            "[ab]{0,20}",
            "[一-十a-d]{50,90}",
            "[ab]{100,300}",
            "[一-龥]{120,400}",
            "[\u{0}-\u{10ffff}]{60,200}",
        ];
        let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 0..60);
        let edited = (text.clone(), edits).prop_map(|(text, edits)| {
            let mut edited: Vec<char> = text.chars().collect();
            for (at, c) in edits {
                let at = at.index(edited.len() + 1);
                match u32::from(c) % 3 {
                    0 => edited.insert(at, c),
                    _ if at == edited.len() => {}
                    1 => edited[at] = c,
                    _ => drop(edited.remove(at)),
                }
            }
            (text, edited.into_iter().collect())
        });
        prop_oneof![edited, (text.clone(), text)]
    }

    proptest! {
        #[test]
        fn the_similarity_of_any_texts_is_that_of_the_definition((a, b) in texts()) {
            let expected = plain(&a, &b);
            prop_assert_eq!(edit_similarity(&a, &b), expected);
            prop_assert_eq!(edit_similarity(&b, &a), expected);
            prop_assert_eq!(edit_similarity(&a, &a), 1.0);
            prop_assert!((0.0..=1.0).contains(&expected));
        }

        #[test]
        fn a_cutoff_refuses_exactly_what_is_less((a, b) in texts(), cutoff in 0.0..=1.0) {
            let expected = plain(&a, &b);
            // At the similarity itself, and just beside it, rounding would tell.
            for cutoff in [cutoff, expected, expected.next_up(), expected.next_down()] {
                let found = edit_similarity_at_least(&a, &b, cutoff);
                prop_assert_eq!(found, Some(expected).filter(|found| *found >= cutoff));
                prop_assert_eq!(edit_similarity_at_least(&b, &a, cutoff), found);
            }
        }
    }
}
