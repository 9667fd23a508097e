//! [`Vector`]: a text in the vector space model.

use std::collections::BTreeMap;

/// A text in the vector space model: a weight above 0 for each term.
///
/// # Source
/// G. Salton, A. Wong, C. S. Yang, *A vector space model for automatic indexing*, Communications
/// of the ACM 18, 1975.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector {
    weights: BTreeMap<String, f64>,
}

impl Vector {
    /// The vector of the number of occurrences of each term.
    pub fn new<T: Into<String>>(terms: impl IntoIterator<Item = T>) -> Self {
        let mut weights = BTreeMap::new();
        for term in terms {
            *weights.entry(term.into()).or_insert(0.0) += 1.0;
        }
        Self { weights }
    }

    /// Multiplies each weight by `weight_of` its term. A term is left out if the result is not
    /// finite or not above 0.
    pub fn weighed(mut self, weight_of: impl Fn(&str) -> f64) -> Self {
        self.weights.retain(|term, weight| {
            *weight *= weight_of(term);
            *weight > 0.0 && weight.is_finite()
        });
        self
    }

    /// The cosine of the angle between two vectors.
    ///
    /// The cosine is 0 without a term in common and 1 for the same terms in the same proportion.
    /// Neither the length of a text nor the order of its words matters. Two vectors without terms
    /// give 1; a vector with and a vector without terms give 0.
    ///
    /// SimHash estimates the angle: the expected share of bits that differ between the fingerprints
    /// of two vectors is their angle divided by π (Charikar, STOC 2002). A distance of 3 of 64 bits
    /// is a cosine of 0.99, and unrelated texts differ in half of the bits.
    pub fn cosine(&self, other: &Self) -> f64 {
        let (a, b) = match (self.heaviest(), other.heaviest()) {
            (None, None) => return 1.0,
            (None, _) | (_, None) => return 0.0,
            (Some(a), Some(b)) => (a, b),
        };
        // Weights are divided by the largest of their vector, so that no square overflows.
        let square = |vector: &Self, heaviest: f64| -> f64 {
            let weights = vector.weights.values().map(|weight| weight / heaviest);
            weights.map(|weight| weight * weight).sum()
        };
        let product = self.weights.iter().fold(0.0, |sum, (term, weight)| {
            let others = other.weights.get(term).copied().unwrap_or(0.0);
            sum + weight / a * (others / b)
        });
        // The root of a square is exact, so that equal vectors give 1 and not nearly 1.
        (product / (square(self, a) * square(other, b)).sqrt()).min(1.0)
    }

    /// The largest weight; `None` if there is no term.
    fn heaviest(&self) -> Option<f64> {
        self.weights.values().copied().reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use simdb::similarity::tokens;

    use super::*;

    fn cosine(a: &str, b: &str) -> f64 {
        Vector::new(tokens(a)).cosine(&Vector::new(tokens(b)))
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn cosine_equals_examples_of_the_articles() {
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
        // The class of an article is run on these. china people s republic of chinese: (5 3 3 3 3
        // 1) and (4 2 2 2 2 1) if case is folded, so 45 / √(62 × 33).
        let long = "china people's republic of china chinese china people's republic of china \
                    people's republic of china";
        let short = "china people's republic of china chinese china people's republic of china";
        assert_near(cosine(long, short), 45.0 / (62.0 * 33.0_f64).sqrt());
    }

    /// The keywords and weights of an article's example of SimHash, and the sentence without three
    /// of its words.
    #[test]
    fn cosine_uses_weights_of_keywords() {
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
        let whole = Vector::new(weights.keys().copied()).weighed(|term| weights[term]);
        let rest = weights
            .keys()
            .filter(|term| !["称", "有", "曾"].contains(*term));
        let rest = Vector::new(rest.copied()).weighed(|term| weights[term]);
        // The squares of the weights: 141 in all, 138 without the three.
        assert_near(whole.cosine(&rest), 138.0 / (141.0 * 138.0_f64).sqrt());
        let heavy = Vector::new(["飞碟"]).weighed(|term| weights[term]);
        assert_near(whole.cosine(&heavy), 5.0 / 141.0_f64.sqrt());
    }

    #[test]
    fn empty_vectors_are_alike_and_like_no_other() {
        let (nothing, something) = (Vector::default(), Vector::new(["a"]));
        assert_eq!(nothing.cosine(&Vector::new(tokens("..."))), 1.0);
        assert_eq!(nothing.cosine(&something), 0.0);
        assert_eq!(something.cosine(&nothing), 0.0);
        for weightless in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(something.clone().weighed(|_| weightless), nothing);
        }
    }

    #[test]
    fn cosine_of_extreme_weights_does_not_overflow() {
        let terms = || Vector::new(["a", "b", "b"]);
        for weight in [f64::MAX / 4.0, 1e-300, f64::MIN_POSITIVE] {
            assert_near(terms().weighed(|_| weight).cosine(&terms()), 1.0);
            let one = Vector::new(["a"]).weighed(|_| weight);
            assert_near(one.cosine(&terms()), 1.0 / 5.0_f64.sqrt());
        }
    }

    proptest! {
        #[test]
        fn cosine_equals_definition(
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
            let (x, y) = (Vector::new(a.clone()), Vector::new(b.clone()));
            let found = x.cosine(&y);
            prop_assert!((found - expected).abs() < 1e-12);
            prop_assert_eq!(y.cosine(&x), found);
            prop_assert_eq!(x.cosine(&x), 1.0);
            prop_assert!((0.0..=1.0).contains(&found));
        }

        #[test]
        fn cosine_of_equal_vectors_is_exactly_1(
            weights in prop::collection::vec(1e-9..1e9, 1..20_usize),
        ) {
            let terms: Vec<String> = (0..weights.len()).map(|n| n.to_string()).collect();
            let weight_of = |term: &str| weights[term.parse::<usize>().unwrap()];
            let vector = Vector::new(terms).weighed(weight_of);
            prop_assert_eq!(vector.cosine(&vector), 1.0);
        }
    }
}
