//! [`Certificate`]: the proof that a kept text covers a removed text.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use simdb::containment::{Containment, Verdict, Weights};
use simdb::{Decision, Normaliser};
use xxhash_rust::xxh3::xxh3_64;

use crate::console::missing_words::{forgiven_rows, rows};

/// The verdict about a removed text, A, and its keeper, B, with all that repeats it: the fields of
/// a line of `dedup --report`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The name of the verdict.
    pub verdict: String,
    /// The words of the removed text that the keeper lacks, each with its weight in nats.
    pub missing: Value,
    /// The forgiven differences: each pair of unequal tokens, of the removed text and of the
    /// keeper, with the class that makes them equal. A token is empty where a light word is absent.
    pub forgiven: Value,
    /// The `xxh3_64` of the UTF-8 bytes of the removed text, in hexadecimal digits.
    pub text_hash: String,
    /// The hash of the text of the keeper.
    pub keeper_hash: String,
    /// The weights of words that decided: their name and the checksum of the table.
    pub weights: String,
}

/// Makes certificates with the weights of a decision.
pub struct Certifier {
    normaliser: Normaliser,
    weights: &'static Weights,
    /// The name of the weights, and the checksum of the table.
    name: String,
}

impl Certifier {
    /// Decisions by thresholds have certificates with the built-in weights.
    pub fn new(decision: Decision) -> Self {
        let name = match decision {
            Decision::News => "news",
            _ => "builtin",
        };
        let weights = decision.weights();
        Self {
            normaliser: Normaliser::new(),
            weights,
            name: format!("{name} {:016x}", weights.checksum()),
        }
    }

    /// The name of the weights, and the checksum of the table.
    pub fn weights(&self) -> &str {
        &self.name
    }

    pub fn certificate(&self, text: &str, keeper: &str) -> Certificate {
        // Equal texts cover each other, even with too little content to be compared.
        let found = (text != keeper)
            .then(|| Containment::new(&self.normaliser, self.weights, text, keeper));
        let verdict = found.as_ref().map_or(Verdict::Same, |found| found.verdict);
        let missing = found.as_ref().map_or(&[][..], |found| &found.missing_in_b);
        let forgiven = found.as_ref().map_or(&[][..], |found| &found.forgiven);
        Certificate {
            verdict: verdict.name().to_owned(),
            missing: rows(missing),
            forgiven: forgiven_rows(forgiven),
            text_hash: hash_of(text),
            keeper_hash: hash_of(keeper),
            weights: self.name.clone(),
        }
    }
}

/// The hash of a text in certificates.
pub fn hash_of(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}
