//! [`JoinKeys`]: the keys by which similar texts meet outside of an index.

use xxhash_rust::xxh3::xxh3_64;

use super::prepared_text::PreparedText;
use crate::minhash::{
    Minima, Reach, SHORT_CHARACTERS, Sketch, minima, minima_description, shingles_of_query,
    wording_hash,
};
use crate::text::Traditional;

/// Bands of a text: 40. More bands find more texts and take more space.
const BANDS: usize = 40;

/// Minima of a band: 3. More minima find fewer texts with little in common.
const ROWS: usize = 3;

/// Bits of a key without its kind: the upper bits of a hash.
const KEY_BITS: u32 = 36;

/// The keys of a text for a join of similar texts in another system, such as Spark.
///
/// Two texts are *candidates* if they have a common key, and the [sketches](Self::sketches) of the kind of
/// this key differ in at most 52 bits, or 56 bits if one of the texts has fewer than 30
/// [letters](Self::letters). A comparison of both texts decides about candidates. Candidates depend on the two
/// texts alone, unlike the candidates of a [`SimilarIndex`](super::SimilarIndex), which also depend on the
/// other texts of the index.
///
/// Candidates are approximate: two texts whose shingles have a Jaccard index of 1/2 share a key with a
/// probability of 0.995, and of 1/3 with 0.78. Texts with the same wording always share a key.
///
/// # Examples
///
/// ```
/// use simdb::{JoinKeys, PreparedText};
///
/// let keys = |text| JoinKeys::new(&PreparedText::new(text));
/// let one = keys("The ferry to the islands was cancelled because of fog.");
/// let other = keys("The ferry to the islands was canceled, because of fog!");
/// let unrelated = keys("MongoDB integration component for Plone");
/// assert!(one.are_candidates(&other) && !one.are_candidates(&unrelated));
/// ```
///
/// # Source
/// J. Leskovec, A. Rajaraman, J. Ullman, *Mining of Massive Datasets*, section 3.4.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinKeys {
    /// The number of letters and digits of the text. A join tries the text with more of them as the keeper
    /// of the other.
    pub letters: u32,
    /// The keys, ascending. The bits from bit 36 on are the kind: 0 for the key of the wording, 1 for keys
    /// over the shingles of short texts, 2 for keys over the shingles of long texts. A text has 41 keys, and
    /// 81 keys of both kinds near the border of both lengths. A text with too little content has the key of
    /// the wording only.
    pub keys: Vec<u64>,
    /// The sketches of 128 bits for kinds 1 and 2; zeros for a kind without keys. Kind 0 has no sketch, and
    /// its texts are candidates.
    pub sketches: [[u64; 2]; 2],
}

impl JoinKeys {
    /// The keys of a text.
    ///
    /// # Cost
    /// Some 10 µs for a line of text, and linear in its length.
    pub fn new(text: &PreparedText) -> Self {
        let letters = text.wording.letters();
        let mut keys = vec![upper_bits(wording_hash(text.text(), letters))];
        let mut sketches = [[0; 2]; 2];
        if text.minima.is_some() {
            let (short, long) = shingles_of_query(text.wording.characters());
            for (kind, is_long, has_kind) in [(1, false, short), (2, true, long)] {
                let minima = has_kind.then(|| minima(letters, is_long)).flatten();
                if let Some(minima) = minima {
                    keys.extend(band_keys(&minima).map(|key| kind << KEY_BITS | key));
                    sketches[kind as usize - 1] = minima.sketch().words();
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let letters = text.text().chars().filter(|c| c.is_alphanumeric()).count();
        Self {
            letters: letters as u32,
            keys,
            sketches,
        }
    }

    /// Returns `true` if two texts are candidates: the definition that a join must meet.
    pub fn are_candidates(&self, other: &Self) -> bool {
        let most = Reach::ALIKE.max_sketch_distance(self.letters.min(other.letters) as usize);
        let common = |key: &&u64| other.keys.binary_search(key).is_ok();
        self.keys.iter().filter(common).any(|key| {
            let kind = (key >> KEY_BITS) as usize;
            let Some(kind) = kind.checked_sub(1) else {
                return true;
            };
            let sketch = |keys: &Self| Sketch::from_words(keys.sketches[kind]);
            sketch(self).distance(sketch(other)) <= most
        })
    }

    /// One line with every parameter that determines keys and sketches. Keys of different descriptions
    /// cannot be compared.
    pub fn description() -> String {
        format!(
            "join keys v1: {}; {BANDS} bands of {ROWS}; {}; keys of {KEY_BITS} upper bits: xxh3_64 of the \
             minima and the band; of the wording xxh3_64 seed 1, seed 2 without letters; no bands without two \
             different words and a letter; sketches of the first 128 minima, the top bit of each times \
             2654435761, at most {} bits different, {} below {SHORT_CHARACTERS} letters",
            Traditional::Simplified.normalisation(),
            minima_description(),
            Reach::ALIKE.max_sketch_distance(SHORT_CHARACTERS),
            Reach::ALIKE.max_sketch_distance(0),
        )
    }
}

/// The keys of the bands of a text.
fn band_keys(minima: &Minima) -> impl Iterator<Item = u64> {
    let bands = minima.smallest().chunks_exact(ROWS).take(BANDS);
    bands.enumerate().map(|(band, rows)| {
        let words = rows.iter().copied().chain([band as u32]);
        let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        upper_bits(xxh3_64(&bytes))
    })
}

fn upper_bits(hash: u64) -> u64 {
    hash >> (u64::BITS - KEY_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> JoinKeys {
        JoinKeys::new(&PreparedText::new(text))
    }

    const LINE: &str = "The ferry to the islands was cancelled because of fog";

    const REST: &str = "and the harbour stays closed until noon, said its board of directors today, while crews \
        repair the northern pier; trains and buses are running as usual on both shores, and tickets remain \
        valid for the following week without any further charge.";

    #[test]
    fn kinds_of_keys_depend_on_the_length() {
        let kinds = |text: &str| {
            let mut counts = [0; 3];
            for key in keys(text).keys {
                counts[(key >> KEY_BITS) as usize] += 1;
            }
            counts
        };
        assert_eq!(kinds("hello"), [1, 0, 0]);
        assert_eq!(kinds("Ferries to the islands"), [1, 40, 0]);
        let long = format!("{LINE}, {REST}");
        assert_eq!(kinds(&long[..150]), [1, 40, 40]);
        assert_eq!(kinds(&long), [1, 0, 40]);
    }

    #[test]
    fn equal_wordings_are_candidates_however_short() {
        assert!(keys("Hello!").are_candidates(&keys("hello")));
        assert!(!keys("hello").are_candidates(&keys("hallo")));
    }

    #[test]
    fn texts_on_both_sides_of_the_length_border_are_candidates() {
        let long = format!("{LINE}, {}", &REST[..80]);
        let short = format!("{LINE}, {}", &REST[..54]);
        let characters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
        assert!(characters(&long) >= 100 && characters(&short) < 100);
        assert!(keys(&long).are_candidates(&keys(&short)));
        assert!(!keys(&long).are_candidates(&keys("MongoDB integration component for Plone")));
    }
}
