//! MinHash bands: texts with many common shingles share a band key, however short they are.
//!
//! The smallest hash of all shingles is equal in two texts with a probability equal to the Jaccard
//! index of their shingle sets. A *band* is a few such minima, each by another hash function; its
//! key is a hash of the minima. With 40 bands of 3 minima, two texts share a key with a probability
//! of 0.995 at a Jaccard index of 1/2, 0.78 at 1/3, 0.04 at 1/10, and 0.00004 at 1/100.
//!
//! Short texts have shingles of 3 letters, so that some survive a misspelling. Long texts have
//! shingles of 5 letters, of which unrelated texts share fewer. A text is stored under the keys for
//! its length; a query near the border of both lengths looks up both.
//!
//! # Source
//! A. Broder, *On the resemblance and containment of documents*, SEQUENCES 1997 (the minima);
//! J. Leskovec, A. Rajaraman, J. Ullman, *Mining of Massive Datasets*, section 3.4 (the bands).

mod sketch;

use std::ops::Range;
use std::sync::OnceLock;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::feature::{MIN_SHINGLES, TokenCounter, TokenCounts};
use crate::text::{
    CJK_SHINGLE, Normaliser, Traditional, floor_char_boundary, is_informative, shingles,
};

pub(crate) use sketch::{Sketch, Sketches};

/// Bands of a text: 40. More bands find more texts and take more space.
const BANDS: usize = 40;

/// Minima of a band: 3. More minima find fewer texts with little in common.
const ROWS: usize = 3;

/// Minima of a text.
const MINIMA: usize = BANDS * ROWS;

type Minima = [u32; MINIMA];

/// Letters or digits of a shingle of a short text.
pub(crate) const SHORT_SHINGLE: usize = 3;

/// Letters or digits of a shingle of a long text.
pub(crate) const LONG_SHINGLE: usize = 5;

/// A text of at least 100 normalised characters is long.
const LONG_CHARACTERS: usize = 100;

/// Near-duplicates differ in length by at most this factor, as a rule: the default thresholds of
/// [`Likeness`](crate::Likeness) need about two thirds of the longer text in the other.
const MAX_LENGTH_RATIO: usize = 2;

/// Bits of a key: the upper bits of a hash. Each bit takes five bytes a text in a file. With 50 million
/// texts, a query meets one document on average whose key is equal by chance; the comparison of texts
/// leaves it out.
pub(crate) const KEY_BITS: u32 = 36;

/// The second factor of all hash functions of the minima.
const LAST_FACTOR: u32 = 0x2c1b_3c6d;

/// The seed of the key of a whole text. The keys of bands have seed 0, so that keys of different
/// kinds are independent.
const WORDING_SEED: u64 = 1;
/// The seed of the key of a text without letters and digits.
const RAW_SEED: u64 = 2;

/// Makes the band keys of texts.
pub(crate) struct Banding {
    normaliser: Normaliser,
    /// The first factor of each hash function.
    factors: Minima,
}

impl Banding {
    pub(crate) fn new() -> Self {
        Self {
            normaliser: Normaliser::new(),
            factors: std::array::from_fn(factor),
        }
    }

    /// The parameters, which are the same for all texts.
    pub(crate) fn shared() -> &'static Self {
        // Making them takes some milliseconds, so they are made once in a process.
        static BANDING: OnceLock<Banding> = OnceLock::new();
        BANDING.get_or_init(Self::new)
    }

    pub(crate) fn normaliser(&self) -> &Normaliser {
        &self.normaliser
    }

    /// One line with every parameter that determines a key. The file stores it; a file with another
    /// description is refused.
    pub(crate) fn description() -> String {
        format!(
            "minhash v1: {}; {BANDS} bands of {ROWS}; shingles of {CJK_SHINGLE} in runs of CJK, \
             {SHORT_SHINGLE} in other runs of texts below {LONG_CHARACTERS} characters, \
             {LONG_SHINGLE} in those of others, in parts of {PART_BYTES} bytes, by the upper half of xxh3_64 seed 0; minima of \
             h ^ h >> 15 times {LAST_FACTOR}, where h is that times the lower half of xxh3_64 of the \
             row, made odd; keys of {KEY_BITS} upper bits: xxh3_64 of the minima and the band; of the \
             wording xxh3_64 seed {WORDING_SEED}, seed {RAW_SEED} without letters; no bands without two different \
             words and a letter, or below {MIN_SHINGLES} distinct; sketches of the top bit of each minimum times {}",
            Traditional::Simplified.normalisation(),
            sketch::FACTOR
        )
    }

    /// The keys to store a text under, the key of the whole text, then one key for each band, and its
    /// sketch. A text with too little content has the first key only.
    pub(crate) fn keys_and_sketch(&self, text: &str) -> (Vec<u64>, Option<Sketch>) {
        let normalised = self.normaliser.letters(text);
        let (keys, sketches) = self.keys_of(text, &normalised, |characters| {
            (!is_long(characters), is_long(characters))
        });
        (keys, sketches.first())
    }

    /// The keys to look up for texts similar to `text`, and its sketches: the key of the whole text, then
    /// keys of bands. `normalised` has the normalised letters of `text`.
    pub(crate) fn query_keys(&self, text: &str, normalised: &str) -> (Vec<u64>, Sketches) {
        self.keys_of(text, normalised, shingles_of_query)
    }

    /// The key of the whole text, then its band keys, and its sketches: as a short text, as a long text,
    /// or as both. `bands_for` selects them by the number of characters.
    fn keys_of(
        &self,
        text: &str,
        normalised: &str,
        bands_for: impl Fn(usize) -> (bool, bool),
    ) -> (Vec<u64>, Sketches) {
        let mut keys = vec![wording_key(text, normalised)];
        let mut sketches = Sketches::default();
        if !is_informative(&self.normaliser, text, normalised) {
            return (keys, sketches);
        }
        let (short, long) = bands_for(normalised.chars().count());
        let mut bands = Vec::new();
        for (is_wanted, is_long) in [(short, false), (long, true)] {
            if let Some(minima) = is_wanted
                .then(|| self.minima(normalised, is_long))
                .flatten()
            {
                bands.extend(band_keys(&minima));
                sketches.push(Sketch::new(&minima, is_long));
            }
        }
        // A text of CJK characters only has the same shingles, and bands, as a short and as a long
        // text.
        bands.sort_unstable();
        bands.dedup();
        keys.extend(bands);
        (keys, sketches)
    }

    /// The band keys of a text over the shingles of a short or of a long text; none below
    /// [`MIN_SHINGLES`] distinct shingles.
    pub(crate) fn bands(&self, normalised: &str, is_long: bool) -> Vec<u64> {
        let minima = self.minima(normalised, is_long);
        minima.map_or(Vec::new(), |minima| band_keys(&minima).collect())
    }

    /// The minima over the shingles of a short or of a long text; `None` below [`MIN_SHINGLES`] distinct
    /// shingles.
    fn minima(&self, normalised: &str, is_long: bool) -> Option<Minima> {
        let characters = if is_long { LONG_CHARACTERS } else { 0 };
        let mut minima = [u32::MAX; MINIMA];
        let mut most_distinct = 0;
        // Minima can be taken part by part, so memory does not grow with the text. Parts overlap,
        // so that no shingle is lost at their borders.
        for part in parts(normalised) {
            let hashes = count_shingles(part, characters).hashes;
            lower(&mut minima, &self.factors, &hashes);
            most_distinct = most_distinct.max(hashes.len());
        }
        (most_distinct >= MIN_SHINGLES).then_some(minima)
    }
}

fn band_keys(minima: &Minima) -> impl Iterator<Item = u64> {
    let bands = minima.chunks_exact(ROWS).enumerate();
    bands.map(|(band, rows)| {
        let mut words = [band as u32; ROWS + 1];
        words[..ROWS].copy_from_slice(rows);
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        key(xxh3_64(&bytes))
    })
}

/// Returns `true` if a text of this number of characters has long shingles.
pub(crate) fn is_long(characters: usize) -> bool {
    characters >= LONG_CHARACTERS
}

/// Returns `true` for short and for long shingles if a near-duplicate of a text of this number of
/// characters may have them.
pub(crate) fn shingles_of_query(characters: usize) -> (bool, bool) {
    let (shortest, longest) = (characters / MAX_LENGTH_RATIO, characters * MAX_LENGTH_RATIO);
    (!is_long(shortest), is_long(longest))
}

/// The hashes of the distinct shingles of a normalised text, as of a short or of a long text.
pub(crate) fn shingle_hashes(normalised: &str, is_long: bool) -> Vec<u64> {
    let characters = if is_long { LONG_CHARACTERS } else { 0 };
    count_shingles(normalised, characters).hashes
}

/// The hash of a whole text: of its normalised letters, or of the text itself if it has no letters.
pub(crate) fn wording_hash(text: &str, normalised: &str) -> u64 {
    match normalised {
        "" => xxh3_64_with_seed(text.as_bytes(), RAW_SEED),
        normalised => xxh3_64_with_seed(normalised.as_bytes(), WORDING_SEED),
    }
}

/// The key of a whole text.
pub(crate) fn wording_key(text: &str, normalised: &str) -> u64 {
    key(wording_hash(text, normalised))
}

fn key(hash: u64) -> u64 {
    hash >> (u64::BITS - KEY_BITS)
}

/// A text is cut into parts of at most 1 MiB, to bound the memory for its shingles.
const PART_BYTES: usize = 1 << 20;

/// The parts of a text. Two parts overlap by one character less than a shingle, so each shingle is
/// in a part.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        if text.len() <= PART_BYTES {
            return Some(text);
        }
        let end = floor_char_boundary(text, PART_BYTES);
        let overlap = text[..end].char_indices().rev().nth(LONG_SHINGLE - 2);
        let next = overlap.map_or(end, |(at, _)| at);
        rest = Some(&text[next..]);
        Some(&text[..end])
    })
}

/// Counts the shingles of a normalised text; `characters` selects their length.
pub(crate) fn count_shingles(normalised: &str, characters: usize) -> TokenCounts<()> {
    let bytes = normalised.as_bytes();
    let mut counter = TokenCounter::new(bytes.len());
    let add = |range: Range<usize>| counter.add((xxh3_64(&bytes[range]), ()));
    if !is_long(characters) {
        shingles::<CJK_SHINGLE, SHORT_SHINGLE>(normalised, add);
    } else {
        shingles::<CJK_SHINGLE, LONG_SHINGLE>(normalised, add);
    }
    counter.finish()
}

/// Lowers each minimum to the smallest value of its hash function for `hashes`.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn lower(minima: &mut Minima, factors: &Minima, hashes: &[u64]) {
    for hash in hashes {
        let hash = (hash >> 32) as u32;
        for (minimum, factor) in minima.iter_mut().zip(factors) {
            *minimum = (*minimum).min(mixed(hash, *factor));
        }
    }
}

/// The first factor of the hash function of a row.
pub(crate) fn factor(row: usize) -> u32 {
    xxh3_64(&(row as u64).to_le_bytes()) as u32 | 1
}

/// The hash function of a factor.
#[inline(always)]
pub(crate) fn mixed(hash: u32, factor: u32) -> u32 {
    // With one multiplication, all small factors would have their minimum at the smallest hash.
    let mixed = hash.wrapping_mul(factor);
    (mixed ^ mixed >> 15).wrapping_mul(LAST_FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(banding: &Banding, text: &str) -> Vec<u64> {
        banding.keys_and_sketch(text).0
    }

    fn query_keys(banding: &Banding, text: &str) -> Vec<u64> {
        banding
            .query_keys(text, &banding.normaliser.letters(text))
            .0
    }

    fn shared(a: &[u64], b: &[u64]) -> usize {
        a.iter().filter(|key| b.contains(key)).count()
    }

    #[test]
    fn edited_texts_share_keys_and_unrelated_texts_do_not() {
        let banding = Banding::new();
        for (text, edited) in [
            (
                "你妈妈喊你回家吃饭哦，回家罗回家罗",
                "你妈妈叫你回家吃饭啦，回家罗回家罗",
            ),
            (
                "The quick brown fox jumps over the lazy dog",
                "The quick brown fx jumped over the lazy dog",
            ),
        ] {
            let kept = keys(&banding, text);
            assert_eq!(kept.len(), 1 + BANDS);
            let asked = query_keys(&banding, edited);
            assert!(shared(&kept, &asked) >= 3, "{}", shared(&kept, &asked));
            assert_ne!(kept[0], asked[0]);
            let unrelated = "美国51区雇员称内部有9架飞碟 a completely different text";
            let unrelated = query_keys(&banding, unrelated);
            assert_eq!(shared(&kept, &unrelated), 0);
        }
    }

    #[test]
    fn first_key_is_equal_only_for_equal_letters() {
        let banding = Banding::new();
        let first = |text| keys(&banding, text)[0];
        assert_eq!(first("Hello,  WORLD!"), first("hello world"));
        assert_eq!(first("漢語"), first("汉语"));
        for pair in [
            ["hello", "hallo"],
            ["👍", "👎"],
            ["", " "],
            ["1", "11"],
            ["。", ""],
        ] {
            assert_ne!(first(pair[0]), first(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn uninformative_text_has_only_the_first_key() {
        let banding = Banding::new();
        for text in [
            "",
            "👍",
            "好的",
            "hello",
            "hello hello",
            "13800138000, 13900139000",
        ] {
            assert_eq!(keys(&banding, text).len(), 1, "{text}");
            assert_eq!(keys(&banding, text), query_keys(&banding, text), "{text}");
        }
    }

    #[test]
    fn similar_texts_on_both_sides_of_the_length_border_share_keys() {
        let banding = Banding::new();
        let words = [
            "seven",
            "ships",
            "sailed",
            "slowly",
            "past",
            "a",
            "lighthouse",
            "while",
        ];
        let text = |count: usize| {
            let words = (0..count).map(|i| format!("{}{i} ", words[i * 5 % words.len()]));
            words.collect::<String>()
        };
        for length in 10..25 {
            let kept = keys(&banding, &text(length));
            for other in [length * 8 / 10, length * 12 / 10] {
                let asked = query_keys(&banding, &text(other));
                assert!(shared(&kept, &asked) > 0, "{length} {other}");
            }
        }
    }

    #[test]
    fn keys_and_description_are_golden() {
        assert_eq!(
            Banding::description(),
            "minhash v1: NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, simplified \
             characters 3ede2e415f2f44e4, categories unicode-properties 0.1.5, to a fixed point; 40 \
             bands of 3; shingles of 2 in runs of CJK, 3 in other runs of texts below 100 \
             characters, 5 in those of others, in parts of 1048576 bytes, by the upper half of \
             xxh3_64 seed 0; minima of h ^ h >> 15 times 739982445, where h is that times the lower \
             half of xxh3_64 of the row, made odd; keys of 36 upper bits: xxh3_64 of the minima and \
             the band; of the wording xxh3_64 seed 1, seed 2 without letters; no bands without two \
             different words and a letter, or below 5 distinct; sketches of the top bit of each minimum \
             times 2654435769"
        );
        let banding = Banding::new();
        let texts = [
            "你妈妈喊你回家吃饭哦，回家罗回家罗".to_owned(),
            "The quick brown fox jumps over the lazy dog".to_owned(),
            "The quick brown fox jumps over the lazy dog. ".repeat(3),
            "👍".to_owned(),
        ];
        let found = texts.map(|text| {
            let (keys, sketch) = banding.keys_and_sketch(&text);
            let sum = keys.iter().fold(0_u64, |sum, key| sum.wrapping_add(*key));
            (keys[0], sum, sketch.map(Sketch::bits))
        });
        let expected = [
            (
                62_050_849_047,
                1_408_950_491_872,
                Some(734_418_955_224_631_550_508_881_847_153_126_903),
            ),
            (
                32_497_052_574,
                1_448_176_872_349,
                Some(8_695_139_004_592_258_151_034_311_712_572_440),
            ),
            (
                57_030_780_871,
                1_332_047_758_586,
                Some(1_612_889_574_191_477_426_637_981_210_126_291_470),
            ),
            (65_952_363_197, 65_952_363_197, None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn minima_of_parts_equal_minima_of_whole_text() {
        let mut state = 1_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u32
        };
        for alphabet in ['a', '一'] {
            let letter = |n: u32| char::from_u32(alphabet as u32 + n % 20).unwrap_or('x');
            let text: String = (0..PART_BYTES * 5 / 2 / alphabet.len_utf8())
                .map(|_| letter(draw()))
                .collect();
            assert!(parts(&text).count() >= 3);
            let mut whole = [u32::MAX; MINIMA];
            let mut cut = whole;
            let banding = Banding::new();
            lower(
                &mut whole,
                &banding.factors,
                &count_shingles(&text, LONG_CHARACTERS).hashes,
            );
            for part in parts(&text) {
                lower(
                    &mut cut,
                    &banding.factors,
                    &count_shingles(part, LONG_CHARACTERS).hashes,
                );
            }
            assert_eq!(whole, cut);
        }
    }
}
