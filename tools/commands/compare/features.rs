//! The features of two texts side by side, and their pull on each bit.

use std::collections::HashMap;

use serde_json::{Value, json};
use simdb::Feature;

use super::side::NAMES;
use crate::console::rows::{cells, or_dash};
use crate::console::table::Align::{Left, Right};
use crate::console::table::{Table, columns, one_line};

pub(super) const BITS: usize = 64;

/// At most 1,000 features in a list of JSON, so that a line stays readable for long texts.
const MAX_LISTED: usize = 1000;

/// At most 3 features are shown for each side of a bit.
const MAX_PULLING: usize = 3;

/// A feature of one or both texts.
struct SharedFeature {
    token: String,
    /// The weight in each text; 0 if the text lacks the feature.
    weights: [f64; 2],
    hash: u64,
}

/// The features of both texts, of the first text only, or of the second text only.
struct FeatureGroup<'c> {
    /// The heaviest first.
    features: Vec<&'c SharedFeature>,
    /// The share of these features in the weight of each text; `None` for a text without features.
    shares: [Option<f64>; 2],
}

pub(super) struct FeatureComparison {
    /// Sorted by weight, then by difference of the weights, both descending.
    features: Vec<SharedFeature>,
    /// The sum of weights to be expected of random bits: the square root of the sum of squared
    /// weights.
    pub chance: [f64; 2],
    /// The cosine of the angle between the weights of both texts.
    cosine: f64,
}

impl FeatureComparison {
    pub fn new(features: [Vec<Feature>; 2]) -> Self {
        let mut shared: HashMap<String, SharedFeature> = HashMap::new();
        for (text, features) in features.into_iter().enumerate() {
            for feature in features {
                // The recipe ngram makes some tokens twice, as a short and as a long shingle.
                let entry = shared.entry(feature.token.clone());
                let shared = entry.or_insert_with(|| SharedFeature {
                    token: feature.token,
                    weights: [0.0; 2],
                    hash: feature.hash,
                });
                shared.weights[text] += feature.weight;
            }
        }
        let mut features: Vec<_> = shared.into_values().collect();
        features.sort_by(|one, other| {
            // Equal weights are frequent, so the token decides last: the order must not depend on
            // the map.
            let heavier = other.heaviest().total_cmp(&one.heaviest());
            heavier
                .then_with(|| other.difference().total_cmp(&one.difference()))
                .then_with(|| one.token.cmp(&other.token))
        });
        let dot = |i: usize, j: usize| -> f64 {
            let products = features.iter().map(|f| f.weights[i] * f.weights[j]);
            products.sum()
        };
        let chance = [dot(0, 0).sqrt(), dot(1, 1).sqrt()];
        let lengths = chance[0] * chance[1];
        let cosine = if lengths > 0.0 {
            dot(0, 1) / lengths
        } else {
            0.0
        };
        Self {
            features,
            chance,
            cosine,
        }
    }

    /// The expected number of differing bits: 64 times the angle, divided by π.
    fn expected_distance(&self) -> f64 {
        BITS as f64 * self.cosine.clamp(-1.0, 1.0).acos() / std::f64::consts::PI
    }

    /// The features of both texts, of the first text only, and of the second text only.
    fn groups(&self) -> [FeatureGroup<'_>; 3] {
        let weight = |text: usize, features: &[&SharedFeature]| {
            let weights = features.iter().map(|feature| feature.weights[text]);
            // `sum` of no weights would be -0.0, which JSON prints.
            weights.fold(0.0, |sum, weight| sum + weight)
        };
        let all: Vec<_> = self.features.iter().collect();
        [[true, true], [true, false], [false, true]].map(|texts| {
            let is_in = |f: &&&SharedFeature| f.weights.map(|weight| weight > 0.0) == texts;
            let features: Vec<_> = all.iter().filter(is_in).copied().collect();
            let shares = [0, 1].map(|text| {
                let whole = weight(text, &all);
                (whole > 0.0).then(|| weight(text, &features) / whole)
            });
            FeatureGroup { features, shares }
        })
    }

    /// The sum of each text for a bit: the weight of the features with a 1 in the bit, minus the
    /// weight of the other features. Bit 0 is the least significant.
    pub fn sums(&self, bit: usize) -> [f64; 2] {
        [0, 1].map(|text| {
            self.features
                .iter()
                .fold(0.0, |sum, feature| match feature.hash >> bit & 1 {
                    1 => sum + feature.weights[text],
                    _ => sum - feature.weights[text],
                })
        })
    }

    /// The heaviest features that pull a bit to 0 or to 1.
    fn pulling(&self, bit: usize, to: u64) -> Vec<&SharedFeature> {
        let features = self.features.iter();
        let pulling = features.filter(|feature| feature.hash >> bit & 1 == to);
        pulling.take(MAX_PULLING).collect()
    }

    /// The heaviest features that pull a bit to 0 or to 1, in words: `回家 1.69 AB`.
    pub fn pulls(&self, bit: usize, to: u64) -> String {
        let pulls = self.pulling(bit, to).into_iter().map(|feature| {
            let texts = (0..2).filter(|text| feature.weights[*text] > 0.0);
            let texts: String = texts.map(|text| NAMES[text]).collect();
            let token = one_line(&feature.token, 16);
            format!("{token} {:.2} {texts}", feature.heaviest())
        });
        pulls.collect::<Vec<_>>().join(", ")
    }

    /// The groups with their shares, and the cosine of both texts.
    pub fn groups_table(&self) -> Table {
        let mut table = Table::new(&[Left, Right, Right, Right, Left]);
        table.row(["features", "", "of A", "of B", "the heaviest"]);
        let names = ["in both", "in A only", "in B only"];
        for (name, group) in names.into_iter().zip(self.groups()) {
            let percent = |share: f64| format!("{:.1}%", share * 100.0);
            let [a, b] = group.shares.map(|share| or_dash(share.map(percent)));
            let tokens: Vec<_> = group.features.iter().map(|f| f.token.as_str()).collect();
            let tokens = one_line(&tokens.join(" "), columns().saturating_sub(36).max(30));
            table.row(cells![name, group.features.len(), a, b, tokens]);
        }
        let cosine = format!("{:.3}", self.cosine);
        let expected = format!(
            "{:.1} bits are expected to differ",
            self.expected_distance()
        );
        table.row(["cosine", &cosine, "", "", &expected]);
        table
    }

    pub fn json(&self) -> Value {
        let [both, only_a, only_b] = self.groups().map(|group| {
            json!({
                "count": group.features.len(),
                "share_of_a": group.shares[0],
                "share_of_b": group.shares[1],
                "heaviest": list(&group.features),
            })
        });
        json!({
            "cosine": self.cosine,
            "expected_distance": self.expected_distance(),
            "both": both,
            "only_a": only_a,
            "only_b": only_b,
        })
    }

    pub fn bit_json(&self, bit: usize, block: usize) -> Value {
        let sums = self.sums(bit);
        json!({
            "bit": bit,
            "block": block,
            "sum_a": sums[0],
            "sum_b": sums[1],
            "chance_a": self.chance[0],
            "chance_b": self.chance[1],
            "to_one": list(&self.pulling(bit, 1)),
            "to_zero": list(&self.pulling(bit, 0)),
        })
    }
}

impl SharedFeature {
    fn heaviest(&self) -> f64 {
        self.weights[0].max(self.weights[1])
    }

    fn difference(&self) -> f64 {
        (self.weights[0] - self.weights[1]).abs()
    }
}

fn list(features: &[&SharedFeature]) -> Value {
    let features = features.iter().take(MAX_LISTED).map(|feature| {
        let [a, b] = feature.weights;
        json!({"token": feature.token, "a": a, "b": b})
    });
    features.collect()
}
