//! [`Vector`]: a text in the vector space model, a weight for each of its terms.

use std::cmp::Ordering;

/// A text in the vector space model: how much each of its terms weighs.
///
/// Terms are what one chooses: [`tokens`](super::tokens), the words of [`Words`](super::Words).
/// Their weights are how often they occur, times, where that is wanted, how much a term says
/// ([`weighed`](Self::weighed)). All weights are greater than 0; a term that would weigh nothing is
/// no part of the vector.
///
/// # Cost
/// A copy of each distinct term. Making one sorts the terms; comparing two walks through both.
///
/// # Source
/// G. Salton, A. Wong, C. S. Yang, *A vector space model for automatic indexing*, Communications
/// of the ACM 18, 1975.
///
/// # Examples
///
/// ```
/// use simdb::measure::{DocumentFrequencies, Vector, tokens};
///
/// let texts = ["the cat sat on the mat", "the cat sat on a mat", "we all scream for ice cream"];
/// let [one, other, unrelated] = texts.map(|text| Vector::of(tokens(text)));
/// assert_eq!(one.weights().find(|(term, _)| *term == "the"), Some(("the", 2.0)));
/// assert!(one.cosine(&other) > 0.8);
/// assert_eq!(one.cosine(&unrelated), 0.0);
///
/// // With weights that say how rare a term is in this collection.
/// let frequencies = DocumentFrequencies::of(texts.map(tokens));
/// let [one, other] = [one, other].map(|text| text.weighed(|term| frequencies.idf(term)));
/// assert!(one.cosine(&other) > 0.7);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector {
    /// In the order of the terms, each once.
    weights: Vec<(String, f64)>,
}

impl Vector {
    /// The vector in which each term weighs as often as it occurs.
    pub fn of<T: AsRef<str>>(terms: impl IntoIterator<Item = T>) -> Self {
        let mut terms: Vec<T> = terms.into_iter().collect();
        terms.sort_unstable_by(|a, b| a.as_ref().cmp(b.as_ref()));
        let weights = terms
            .chunk_by(|a, b| a.as_ref() == b.as_ref())
            .map(|occurrences| (occurrences[0].as_ref().to_owned(), occurrences.len() as f64))
            .collect();
        Self { weights }
    }

    /// The same vector with each weight multiplied by what its term weighs. A term is left out for
    /// which that is not a finite number greater than 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use simdb::measure::Vector;
    ///
    /// let vector = Vector::of(["的", "作者", "的"]).weighed(|term| if term == "的" { 0.5 } else { 5.0 });
    /// let weights: Vec<_> = vector.weights().collect();
    /// assert_eq!(weights, [("作者", 5.0), ("的", 1.0)]);
    /// ```
    pub fn weighed(mut self, weight_of: impl Fn(&str) -> f64) -> Self {
        for (term, weight) in &mut self.weights {
            *weight *= weight_of(term);
        }
        self.weights
            .retain(|(_, weight)| *weight > 0.0 && weight.is_finite());
        self
    }

    /// Each term and its weight, in the order of the terms' UTF-8.
    pub fn weights(&self) -> impl Iterator<Item = (&str, f64)> {
        self.weights
            .iter()
            .map(|(term, weight)| (term.as_str(), *weight))
    }

    /// The cosine of the angle between two vectors.
    ///
    /// From 0, no term in common, to 1, the same terms in the same proportion: the length of a
    /// text makes no difference, nor does the order of its words. Two vectors without terms give
    /// 1, one without and one with terms 0.
    ///
    /// SimHash estimates the angle itself: of two fingerprints from the same vectors the expected
    /// share of differing bits is the angle divided by π (Charikar, STOC 2002). So a distance of 3
    /// of 64 bits is a cosine of 0.99, and unrelated texts differ in half of the bits.
    pub fn cosine(&self, other: &Self) -> f64 {
        match (self.heaviest(), other.heaviest()) {
            (None, None) => return 1.0,
            (None, _) | (_, None) => return 0.0,
            _ => {}
        }
        // The weights of each vector are taken in proportion to its heaviest, so that no square
        // overflows.
        let (a, b) = (self.scaled(), other.scaled());
        let (mut rest, mut product) = (b.as_slice(), 0.0);
        for (term, weight) in &a {
            while let Some(((next, other_weight), behind)) = rest.split_first() {
                match next.cmp(term) {
                    Ordering::Less => rest = behind,
                    Ordering::Equal => {
                        product += weight * other_weight;
                        break;
                    }
                    Ordering::Greater => break,
                }
            }
        }
        let square = |vector: &[(&str, f64)]| -> f64 {
            vector.iter().map(|(_, weight)| weight * weight).sum()
        };
        // The root of a square is exact, so that equal vectors give 1 and not nearly 1.
        (product / (square(&a) * square(&b)).sqrt()).min(1.0)
    }

    fn heaviest(&self) -> Option<f64> {
        self.weights
            .iter()
            .map(|(_, weight)| *weight)
            .reduce(f64::max)
    }

    fn scaled(&self) -> Vec<(&str, f64)> {
        let heaviest = self.heaviest().unwrap_or(1.0);
        self.weights()
            .map(|(term, weight)| (term, weight / heaviest))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::measure::{DocumentFrequencies, tokens};

    fn cosine(a: &str, b: &str) -> f64 {
        Vector::of(tokens(a)).cosine(&Vector::of(tokens(b)))
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn examples_of_the_articles_give_what_is_counted_by_hand() {
        // the cat sat on mat a: (2 1 1 1 1 0) and (1 1 1 1 1 1), so 6 / √(8 × 6).
        assert_near(
            cosine("the cat sat on the mat", "the cat sat on a mat"),
            0.75_f64.sqrt(),
        );
        assert_eq!(
            cosine("the cat sat on the mat", "we all scream for ice cream"),
            0.0
        );
        // 你妈喊回家吃饭哦罗 in one, 叫 and 啦 for 喊 and 哦 in the other. 你 and 妈 occur twice, 回 and
        // 家 three times, 罗 twice: 3 × 4 + 2 × 9 + 4 × 1 in each, all but 2 in common.
        assert_near(
            cosine(
                "你妈妈喊你回家吃饭哦，回家罗回家罗",
                "你妈妈叫你回家吃饭啦，回家罗回家罗",
            ),
            32.0 / 34.0,
        );
        // The class of an article is run on these. china people s republic of chinese: (5 3 3 3 3 1)
        // and (4 2 2 2 2 1) if case is folded, so 45 / √(62 × 33).
        let long = "china people's republic of china chinese china people's republic of china \
                    people's republic of china";
        let short = "china people's republic of china chinese china people's republic of china";
        assert_near(cosine(long, short), 45.0 / (62.0 * 33.0_f64).sqrt());
    }

    /// The keywords and weights by which an article shows what SimHash does, and a sentence that
    /// has three words fewer.
    #[test]
    fn keywords_count_by_their_weights() {
        let weights = BTreeMap::from([
            ("美国", 4.0),
            ("51区", 5.0),
            ("雇员", 3.0),
            ("称", 1.0),
            ("内部", 2.0),
            ("有", 1.0),
            ("9架", 3.0),
            ("飞碟", 5.0),
            ("曾", 1.0),
            ("看见", 3.0),
            ("灰色", 4.0),
            ("外星人", 5.0),
        ]);
        let whole = Vector::of(weights.keys()).weighed(|term| weights[term]);
        let rest = weights
            .keys()
            .filter(|term| !["称", "有", "曾"].contains(*term));
        let rest = Vector::of(rest).weighed(|term| weights[term]);
        // The squares of the weights: 141 in all, 138 without the three.
        assert_near(whole.cosine(&rest), 138.0 / (141.0 * 138.0_f64).sqrt());
        let heavy = Vector::of(["飞碟"]).weighed(|term| weights[term]);
        assert_near(whole.cosine(&heavy), 5.0 / 141.0_f64.sqrt());
    }

    #[test]
    fn rare_terms_of_a_collection_weigh_more() {
        let texts = [
            "the cat sat on the mat",
            "the cat sat on a mat",
            "we all scream for ice cream",
        ];
        let frequencies = DocumentFrequencies::of(texts.map(tokens));
        let [one, other, _] =
            texts.map(|text| Vector::of(tokens(text)).weighed(|term| frequencies.idf(term)));
        // ln(4/3) + 1 for what two of three have, ln(4/2) + 1 for what one has.
        let (common, rare) = ((4.0_f64 / 3.0).ln() + 1.0, 2.0_f64.ln() + 1.0);
        let (common, rare) = (common * common, rare * rare);
        let expected = 6.0 * common / (8.0 * common * (5.0 * common + rare)).sqrt();
        assert_near(one.cosine(&other), expected);
        assert!(
            expected < 0.75_f64.sqrt(),
            "the term that differs is a rare one"
        );
    }

    #[test]
    fn vectors_without_terms_are_alike_and_like_no_other() {
        let (nothing, something) = (Vector::default(), Vector::of(["a"]));
        assert_eq!(nothing.cosine(&Vector::of(tokens("..."))), 1.0);
        assert_eq!(nothing.cosine(&something), 0.0);
        assert_eq!(something.cosine(&nothing), 0.0);
        for weightless in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(something.clone().weighed(|_| weightless), nothing);
        }
    }

    #[test]
    fn weights_of_any_size_are_compared() {
        let terms = || Vector::of(["a", "b", "b"]);
        for weight in [f64::MAX / 4.0, 1e-300, f64::MIN_POSITIVE] {
            assert_near(terms().weighed(|_| weight).cosine(&terms()), 1.0);
            let one = Vector::of(["a"]).weighed(|_| weight);
            assert_near(one.cosine(&terms()), 1.0 / 5.0_f64.sqrt());
        }
    }

    proptest! {
        #[test]
        fn the_cosine_of_any_vectors_is_that_of_the_definition(
            a in prop::collection::vec("[a-e]{1,2}", 0..30),
            b in prop::collection::vec("[a-e]{1,2}", 0..30),
        ) {
            let count = |terms: &[String], term: &str| {
                terms.iter().filter(|each| *each == term).count() as f64
            };
            let mut all: Vec<&String> = a.iter().chain(&b).collect();
            all.sort();
            all.dedup();
            let dot = |x: &[String], y: &[String]| -> f64 {
                all.iter().map(|term| count(x, term) * count(y, term)).sum()
            };
            let expected = match (a.is_empty(), b.is_empty()) {
                (true, true) => 1.0,
                (false, false) => dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt(),
                _ => 0.0,
            };
            let (x, y) = (Vector::of(&a), Vector::of(&b));
            let found = x.cosine(&y);
            prop_assert!((found - expected).abs() < 1e-12);
            prop_assert_eq!(y.cosine(&x), found);
            prop_assert_eq!(x.cosine(&x), 1.0);
            prop_assert!((0.0..=1.0).contains(&found));
        }

        #[test]
        fn equal_vectors_have_a_cosine_of_exactly_1_whatever_they_weigh(
            weights in prop::collection::vec(1e-9..1e9, 1..20_usize),
        ) {
            let terms: Vec<String> = (0..weights.len()).map(|n| n.to_string()).collect();
            let weight_of = |term: &str| weights[term.parse::<usize>().unwrap()];
            let vector = Vector::of(&terms).weighed(weight_of);
            prop_assert_eq!(vector.cosine(&vector), 1.0);
        }
    }
}
