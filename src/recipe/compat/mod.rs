//! Recipes that give the fingerprints of other software, bit for bit.

mod character_class;
pub(super) mod cppjieba;
mod exact_idf;
mod hmm;
pub(super) mod java_string_hash;
mod lookup3;
mod lower;
mod mixed_words;
pub(super) mod python_simhash;
mod string_hash;
mod top_k;

pub(super) use character_class::CharacterClass;
pub(super) use string_hash::string_hash;
