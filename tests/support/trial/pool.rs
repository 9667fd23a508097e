//! Texts with known similarities: some families of near-duplicates, unrelated to each other.

use std::sync::OnceLock;

use simdb::similarity::{Likeness, Resemblance};
use simdb::{Decision, Normaliser, OnExtended, SimilarRule, TextFingerprint, TextQuery};

use super::settings::Settings;
use crate::SplitMix;
use crate::disk::SimDisk;

/// The thresholds decide: all variants of a family are near-duplicates.
pub const ALIKE: SimilarRule = SimilarRule {
    decision: Decision::Alike,
    likeness: Likeness {
        edit_similarity: 0.65,
        jaccard: 0.55,
    },
    on_extended: OnExtended::KeepBoth,
};

const FAMILIES: usize = 6;
const VARIANTS: usize = 3;
/// Words of a text. Two variants differ in one word.
const WORDS: u64 = 24;

/// A text, with the fingerprint and forest keys of the default recipe.
pub struct Text {
    pub text: String,
    pub made: TextFingerprint,
    pub query: TextQuery,
}

/// The texts, and their similarities.
pub struct Pool {
    pub texts: Vec<Text>,
    /// The resemblance of each pair of similar texts.
    alike: Vec<Vec<Option<Resemblance>>>,
}

impl Pool {
    /// The pool, shared by all tests of the process.
    pub fn shared() -> &'static Self {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(Self::new)
    }

    fn new() -> Self {
        // A text query takes milliseconds to prepare, and is equal for all databases.
        let settings = Settings {
            similar: true,
            ..Settings::default()
        };
        let database = settings.builder(&SimDisk::default());
        let database = database.create("/simulated/queries.simdb").unwrap();
        let mut sequence = SplitMix(2026);
        let mut texts = Vec::new();
        for _ in 0..FAMILIES {
            let family: Vec<String> = (0..WORDS).map(|_| word(&mut sequence)).collect();
            for variant in 0..VARIANTS {
                let mut words = family.clone();
                words[5 + variant] = word(&mut sequence);
                let text = words.join(" ");
                let query = database.text_query(&text).unwrap();
                let query = query.decision(Decision::Alike);
                let made = query.fingerprint().unwrap();
                texts.push(Text { text, made, query });
            }
        }
        let (normaliser, likeness) = (Normaliser::new(), Likeness::default());
        let resemblance = |a: &Text, b: &Text| {
            let found = Resemblance::new(&normaliser, &a.text, &b.text);
            found.is_enough(&likeness).then_some(found)
        };
        let alike = texts
            .iter()
            .map(|a| texts.iter().map(|b| resemblance(a, b)).collect());
        let alike: Vec<Vec<Option<Resemblance>>> = alike.collect();
        // No pair is close to the decision limit, so each similar search has one right answer.
        for (a, row) in alike.iter().enumerate() {
            for (b, alike) in row.iter().enumerate() {
                assert_eq!(alike.is_some(), a / VARIANTS == b / VARIANTS, "{a} {b}");
            }
        }
        Self { texts, alike }
    }

    /// The index of a text; `None` if it is not in the pool.
    fn number(&self, text: &str) -> Option<usize> {
        self.texts.iter().position(|known| known.text == text)
    }

    /// The resemblance of a new text and a stored one; `None` unless they are similar.
    pub fn alike(&self, new: &str, stored: &str) -> Option<Resemblance> {
        self.alike[self.number(new)?][self.number(stored)?]
    }
}

fn word(sequence: &mut SplitMix) -> String {
    let letters = 4 + sequence.below(5);
    let letter = |_| char::from(b'a' + sequence.below(26) as u8);
    (0..letters).map(letter).collect()
}
