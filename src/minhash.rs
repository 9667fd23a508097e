//! Features to bands: texts that share many features share a key, however short they are.
//!
//! The smallest of the hashes of a text's features is the same for two texts with a probability
//! that is the Jaccard index of their features. Several such minima, each by another hash function,
//! make a *band*; two texts that are alike share at least one of many bands, two that are not share
//! none.
//!
//! # Source
//! A. Broder, *On the resemblance and containment of documents*, SEQUENCES 1997; the bands: P. Indyk,
//! R. Motwani, *Approximate nearest neighbors*, STOC 1998; J. Leskovec, A. Rajaraman, J. Ullman,
//! *Mining of Massive Datasets*, section 3.4.

use xxhash_rust::xxh3::xxh3_64;

use crate::text::{Normaliser, shingles};

/// How many bands a text has.
pub(crate) const BANDS: usize = 40;

/// How many minima make a band.
const ROWS: usize = 3;

/// Makes the band keys of texts.
pub(crate) struct Banding {
    normaliser: Normaliser,
    seeds: [u32; BANDS * ROWS],
}

impl Banding {
    pub(crate) fn new() -> Self {
        Self {
            normaliser: Normaliser::new(),
            seeds: std::array::from_fn(|row| xxh3_64(&(row as u64).to_le_bytes()) as u32 | 1),
        }
    }

    /// One line that names every choice that decides a key.
    pub(crate) fn description(&self) -> String {
        format!("minhash v1: {BANDS} bands of {ROWS} rows")
    }

    /// The keys under which a text is found: one of its whole wording, then one of each band.
    pub(crate) fn keys(&self, text: &str) -> Vec<u64> {
        let normalised = self.normaliser.letters(text);
        let bytes = normalised.as_bytes();
        let mut minima = [u32::MAX; BANDS * ROWS];
        shingles(&normalised, |range| {
            let hash = (xxh3_64(&bytes[range]) >> 32) as u32;
            for (minimum, seed) in minima.iter_mut().zip(self.seeds) {
                *minimum = (*minimum).min(hash.wrapping_mul(seed));
            }
        });
        let mut keys = vec![xxh3_64(bytes)];
        for (band, rows) in minima.chunks_exact(ROWS).enumerate() {
            let words = rows.iter().flat_map(|row| row.to_le_bytes());
            let band: Vec<u8> = (band as u32)
                .to_le_bytes()
                .into_iter()
                .chain(words)
                .collect();
            keys.push(xxh3_64(&band));
        }
        keys
    }
}
