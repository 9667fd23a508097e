//! Edit similarity, from the Levenshtein distance.

use rapidfuzz::distance::levenshtein::{self, Args};

/// The edit similarity of two texts: 1 − d / n, with the Levenshtein distance d and the number n of
/// characters of the longer text.
///
/// The distance is the least number of characters (Unicode code points) to insert, remove or
/// replace to turn one text into the other. The similarity is from 0 to 1, and 1 only for equal
/// texts. Two empty texts give 1.
///
/// # Cost
/// n × m / 64 steps for n and m characters without the common prefix and suffix. Two texts of 5,000
/// Latin letters take 1.3 ms; two of 5,000 Han characters take 5 ms, because more characters are
/// distinct. Ten times the length takes a hundred times as long. Memory: four bytes for each
/// character, and some dozens of bytes for each distinct character.
///
/// # Source
/// V. I. Levenshtein, *Binary codes capable of correcting deletions, insertions, and reversals*,
/// Soviet Physics Doklady 10, 1966 (the distance); H. Hyyrö, *A bit-vector algorithm for computing
/// Levenshtein and Damerau edit distances*, Nordic Journal of Computing 10, 2003 (64 characters at
/// a time). The package `rapidfuzz` computes the distance.
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
/// Always `None` for a `cutoff` above 1 or NaN; never `None` for a `cutoff` of 0 or less.
///
/// # Cost
/// Less than [`edit_similarity`], and less the nearer the cutoff is to 1. For two texts of 5,000
/// Latin letters and a cutoff of 0.7: 0.2 ms for unrelated texts, 0.5 ms for similar texts. Only
/// the time to count the characters if the lengths differ too much.
///
/// # Source
/// As for [`edit_similarity`]; E. Ukkonen, *Algorithms for approximate string matching*,
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
        // rapidfuzz treats a NaN cutoff as 0.
        .filter(|similarity| *similarity >= cutoff)
}

fn characters(text: &str) -> Vec<char> {
    // A slice has a known length, and rapidfuzz can skip a common suffix.
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
    fn examples_of_articles_equal_counts_by_hand() {
        for (a, b, edits, longer) in [
            // The article counts one differing character. There are two: 喊 and 叫, 哦 and 啦.
            (
                "你妈妈喊你回家吃饭哦，回家罗回家罗",
                "你妈妈叫你回家吃饭啦，回家罗回家罗",
                2.0,
                17.0,
            ),
            // t, h and e become a.
            ("the cat sat on the mat", "the cat sat on a mat", 3.0, 22.0),
            // For equal lengths the edit distance is at most the Hamming distance, here 2.
            ("1011101", "1001001", 2.0, 7.0),
            // The Hamming distance, in an article, is 3 too.
            ("10101", "00110", 3.0, 5.0),
            ("kitten", "sitting", 3.0, 7.0),
        ] {
            assert_eq!(edit_similarity(a, b), 1.0 - edits / longer, "{a} {b}");
        }
        let unrelated = edit_similarity("the cat sat on the mat", "we all scream for ice cream");
        assert!(unrelated < 0.4, "{unrelated}");
    }

    #[test]
    fn empty_texts_are_equal_to_each_other_only() {
        assert_eq!(edit_similarity("", ""), 1.0);
        assert_eq!(edit_similarity("", "a"), 0.0);
        assert_eq!(edit_similarity_at_least("", "", 1.0), Some(1.0));
        assert_eq!(edit_similarity_at_least("", "a", 0.5), None);
        assert_eq!(edit_similarity_at_least("", "a", 0.0), Some(0.0));
    }

    #[test]
    fn cutoff_out_of_bounds_refuses_nothing_or_everything() {
        for cutoff in [0.0, -0.0, -1.0, f64::NEG_INFINITY, f64::MIN_POSITIVE] {
            assert_eq!(edit_similarity_at_least("ab", "ac", cutoff), Some(0.5));
        }
        for cutoff in [1.0 + f64::EPSILON, f64::INFINITY, f64::NAN] {
            assert_eq!(edit_similarity_at_least("ab", "ab", cutoff), None);
        }
    }

    /// Pairs of texts, edited or unrelated: shorter and longer than a word of the bit-vector, with
    /// few and many distinct characters.
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
        fn edit_similarity_equals_its_definition((a, b) in texts()) {
            let expected = plain(&a, &b);
            prop_assert_eq!(edit_similarity(&a, &b), expected);
            prop_assert_eq!(edit_similarity(&b, &a), expected);
            prop_assert_eq!(edit_similarity(&a, &a), 1.0);
            prop_assert!((0.0..=1.0).contains(&expected));
        }

        #[test]
        fn cutoff_refuses_exactly_lower_similarities((a, b) in texts(), cutoff in 0.0..=1.0) {
            let expected = plain(&a, &b);
            // A rounding error would show at the similarity itself and at its neighbours.
            for cutoff in [cutoff, expected, expected.next_up(), expected.next_down()] {
                let found = edit_similarity_at_least(&a, &b, cutoff);
                prop_assert_eq!(found, Some(expected).filter(|found| *found >= cutoff));
                prop_assert_eq!(edit_similarity_at_least(&b, &a, cutoff), found);
            }
        }
    }
}
