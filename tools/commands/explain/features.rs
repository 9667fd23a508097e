//! What the features of two texts have in common, and what they say of each bit.

use std::collections::HashMap;

use simdb::Feature;

/// Bits of a fingerprint.
pub(super) const BITS: usize = 64;

/// A feature of one text or of both.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub token: String,
    /// Its weight in each text; 0 where it is not there.
    pub weights: [f64; 2],
    hash: u64,
}

/// The features of two texts.
pub(super) struct Comparison {
    /// All, the heaviest first; of equally heavy ones those first whose weights differ most.
    pub features: Vec<Shared>,
    /// What the features of each text say of each bit: the weight for a 1 less that for a 0. Bit 0
    /// is the least significant one.
    pub sums: [[f64; BITS]; 2],
    /// How large a sum of each text is by chance: the square root of the sum of squared weights.
    pub chance: [f64; 2],
    /// The cosine of the angle between the features.
    pub cosine: f64,
}

pub(super) fn compare(features: [Vec<Feature>; 2]) -> Comparison {
    let sums = [0, 1].map(|text| sums(&features[text]));
    // By ngram a token may be a feature twice, with the weight of a short and of a long shingle.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<Shared> = Vec::new();
    for (text, features) in features.into_iter().enumerate() {
        for Feature {
            token,
            weight,
            hash,
        } in features
        {
            let next = all.len();
            let place = *places.entry(token.clone()).or_insert(next);
            if place == next {
                let weights = [0.0; 2];
                all.push(Shared {
                    token,
                    weights,
                    hash,
                });
            }
            all[place].weights[text] += weight;
        }
    }
    all.sort_by(|a, b| {
        let heavier = b.heaviest().total_cmp(&a.heaviest());
        heavier
            .then_with(|| b.difference().total_cmp(&a.difference()))
            .then_with(|| a.token.cmp(&b.token))
    });
    let chance = [0, 1].map(|text| {
        let squares = all.iter().map(|f| f.weights[text] * f.weights[text]);
        squares.sum::<f64>().sqrt()
    });
    let dot: f64 = all.iter().map(|f| f.weights[0] * f.weights[1]).sum();
    let lengths = chance[0] * chance[1];
    Comparison {
        features: all,
        sums,
        chance,
        cosine: if lengths > 0.0 { dot / lengths } else { 0.0 },
    }
}

fn sums(features: &[Feature]) -> [f64; BITS] {
    let mut sums = [0.0; BITS];
    for feature in features {
        for (bit, sum) in sums.iter_mut().enumerate() {
            let is_set = feature.hash >> bit & 1 == 1;
            *sum += if is_set {
                feature.weight
            } else {
                -feature.weight
            };
        }
    }
    sums
}

impl Shared {
    fn heaviest(&self) -> f64 {
        self.weights[0].max(self.weights[1])
    }

    fn difference(&self) -> f64 {
        (self.weights[0] - self.weights[1]).abs()
    }

    /// Which of the texts have it: 0, 1, or both.
    pub fn is_in(&self, text: usize) -> bool {
        self.weights[text] > 0.0
    }

    pub fn is_in_both(&self) -> bool {
        self.is_in(0) && self.is_in(1)
    }
}

impl Comparison {
    /// The features that pull a bit to 1, or to 0, the heaviest first.
    pub fn pulling(&self, bit: usize, to: u64) -> impl Iterator<Item = &Shared> {
        let features = self.features.iter();
        features.filter(move |feature| feature.hash >> bit & 1 == to)
    }

    /// The features that are in both texts.
    pub fn in_both(&self) -> impl Iterator<Item = &Shared> {
        self.features.iter().filter(|feature| feature.is_in_both())
    }

    /// The features that are in one text only, 0 or 1.
    pub fn only_in(&self, text: usize) -> impl Iterator<Item = &Shared> {
        let features = self.features.iter();
        features.filter(move |feature| feature.is_in(text) && !feature.is_in_both())
    }

    /// What share of the weight of a text is in features that both have; nothing without features.
    pub fn share_in_both(&self, text: usize) -> Option<f64> {
        let all: f64 = self.features.iter().map(|f| f.weights[text]).sum();
        let both: f64 = self.in_both().map(|f| f.weights[text]).sum();
        (all > 0.0).then(|| both / all)
    }

    /// How many bits are to be expected to differ: 64 times the angle, divided by π.
    pub fn expected_distance(&self) -> f64 {
        BITS as f64 * self.cosine.clamp(-1.0, 1.0).acos() / std::f64::consts::PI
    }
}
