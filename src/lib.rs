//! simdb: SimHash fingerprints of texts, and how near they are to each other.

mod document;
mod error;
mod fingerprint;

mod block;
mod hamming;

mod feature;
mod recipe;
pub mod simhash;
mod text;

pub use document::{DocId, Document, Match};
pub use error::{Error, Result};
pub use feature::Feature;
pub use fingerprint::{Fingerprint, Fingerprint128};
pub use recipe::{Fingerprinter, Recipe, TextFingerprint};
