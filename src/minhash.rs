//! Features to bands: texts that have much in common share a key, however short they are.
//!
//! The smallest of the hashes of a text's shingles is the same for two texts with a probability
//! that is the Jaccard index of their sets of shingles. Some such minima, each by another hash
//! function, make a *band*, and the key of a band is a hash of its minima. With 3 minima in each of
//! 40 bands, texts that share half of their shingles have a key in common with a probability of
//! 0.995, those that share a third with 0.78, a tenth with 0.04, a hundredth with 0.00004.
//!
//! Short texts are cut to threes of letters, which a misspelling does not destroy all of, and long
//! ones to fives, of which unrelated texts share fewer. A text has the keys of its own length; one
//! that is looked up near the border asks for both.
//!
//! # Source
//! A. Broder, *On the resemblance and containment of documents*, SEQUENCES 1997 (the minima);
//! J. Leskovec, A. Rajaraman, J. Ullman, *Mining of Massive Datasets*, section 3.4 (the bands).

use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::feature::{LEAST_SHINGLES, TokenCounter, TokenCounts};
use crate::text::{CJK_SHINGLE, Normaliser, Script, floor_char_boundary, is_informative, shingles};

/// How many bands a text has.
const BANDS: usize = 40;

/// How many minima make a band.
const ROWS: usize = 3;

/// How many letters or digits of a short text make a shingle.
const SHORT_SHINGLE: usize = 3;

/// How many letters or digits of a long text make a shingle.
const LONG_SHINGLE: usize = 5;

/// Normalised, a text of fewer characters is short.
const LONG_CHARACTERS: usize = 100;

/// The longer of two texts that are alike is at most so many times as long as the other, as a rule: a
/// third of it may be cut off, and two thirds of the longer one's phrases must be in both.
const MOST_TIMES: usize = 2;

/// What the hash functions of the minima multiply with in the end.
const LAST_FACTOR: u32 = 0x2c1b_3c6d;

/// The seed of the hash of a whole text, and of one without a letter or digit: that of the bands is
/// 0, and nothing is ever equal by chance.
const WORDING_SEED: u64 = 1;
const RAW_SEED: u64 = 2;

/// Makes the keys under which texts are found by what they have in common.
pub(crate) struct Banding {
    normaliser: Normaliser,
    /// What each hash function multiplies with.
    factors: [u32; BANDS * ROWS],
}

impl Banding {
    pub(crate) fn new() -> Self {
        let factor = |row: usize| xxh3_64(&(row as u64).to_le_bytes()) as u32 | 1;
        Self {
            normaliser: Normaliser::new(),
            factors: std::array::from_fn(factor),
        }
    }

    /// What it normalises texts with.
    pub(crate) fn normaliser(&self) -> &Normaliser {
        &self.normaliser
    }

    /// One line that names every choice that decides a key.
    pub(crate) fn description() -> String {
        format!(
            "minhash v1: {}; {BANDS} bands of {ROWS}; shingles of {CJK_SHINGLE} in runs of CJK, \
             {SHORT_SHINGLE} in other runs of texts below {LONG_CHARACTERS} characters, \
             {LONG_SHINGLE} in those of others, in parts of {PART_BYTES} bytes, by the upper half of xxh3_64 seed 0; minima of \
             h ^ h >> 15 times {LAST_FACTOR}, where h is that times the lower half of xxh3_64 of the \
             row, made odd; key xxh3_64 of the minima and the band; key of the wording xxh3_64 \
             seed {WORDING_SEED}, seed {RAW_SEED} without letters; no bands without two different \
             words and a letter, or below {LEAST_SHINGLES} distinct",
            Script::Folded.normalisation()
        )
    }

    /// The keys under which a text is kept: that of its whole wording, then one for each band.
    ///
    /// A text that says too little has only the first.
    pub(crate) fn keys(&self, text: &str) -> Vec<u64> {
        let normalised = self.normaliser.letters(text);
        self.keys_of(text, &normalised, |characters| {
            let is_long = characters >= LONG_CHARACTERS;
            (!is_long, is_long)
        })
    }

    /// The keys under which to look for texts that are like this one, the first of them that of its
    /// whole wording. `normalised` is the text as the [`normaliser`](Self::normaliser) has its letters.
    pub(crate) fn keys_to_ask(&self, text: &str, normalised: &str) -> Vec<u64> {
        self.keys_of(text, normalised, |characters| {
            let (shortest, longest) = (characters / MOST_TIMES, characters * MOST_TIMES);
            (shortest < LONG_CHARACTERS, longest >= LONG_CHARACTERS)
        })
    }

    /// `kinds` says of a number of characters whether the bands of short texts are wanted, and
    /// those of long ones.
    fn keys_of(
        &self,
        text: &str,
        normalised: &str,
        kinds: impl Fn(usize) -> (bool, bool),
    ) -> Vec<u64> {
        let mut keys = vec![wording_key(text, normalised)];
        if !is_informative(&self.normaliser, text, normalised) {
            return keys;
        }
        let (short, long) = kinds(normalised.chars().count());
        let mut bands = Vec::new();
        if short {
            self.push_bands(normalised, 0, &mut bands);
        }
        if long {
            self.push_bands(normalised, LONG_CHARACTERS, &mut bands);
        }
        // Texts of CJK alone have the same bands either way.
        bands.sort_unstable();
        bands.dedup();
        keys.extend(bands);
        keys
    }

    /// The bands of a text that is cut as one of so many characters.
    fn push_bands(&self, normalised: &str, characters: usize, bands: &mut Vec<u64>) {
        let mut minima = [u32::MAX; BANDS * ROWS];
        let mut most_distinct = 0;
        // A long text is cut in parts, so that memory stays the same however long it is. What is at
        // their borders is in both.
        for part in parts(normalised) {
            let hashes = count_shingles(part, characters).hashes;
            lower(&mut minima, &self.factors, &hashes);
            most_distinct = most_distinct.max(hashes.len());
        }
        if most_distinct < LEAST_SHINGLES {
            return;
        }
        for (band, rows) in minima.chunks_exact(ROWS).enumerate() {
            let mut words = [band as u32; ROWS + 1];
            words[..ROWS].copy_from_slice(rows);
            let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
            bands.push(xxh3_64(&bytes));
        }
    }
}

/// The key of a whole wording. Texts without a letter or digit are told apart by all they have.
fn wording_key(text: &str, normalised: &str) -> u64 {
    match normalised {
        "" => xxh3_64_with_seed(text.as_bytes(), RAW_SEED),
        normalised => xxh3_64_with_seed(normalised.as_bytes(), WORDING_SEED),
    }
}

/// How many bytes of a text are cut to shingles at a time.
const PART_BYTES: usize = 1 << 20;

/// Pieces of a text that overlap by the characters of a shingle but one, so that each shingle is in
/// one of them; of all but very long texts one piece.
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

/// The shingles of a normalised text, as a text of so many characters is cut.
pub(crate) fn count_shingles(normalised: &str, characters: usize) -> TokenCounts<()> {
    let bytes = normalised.as_bytes();
    let mut counter = TokenCounter::new(bytes.len());
    let add = |range: Range<usize>| counter.add((xxh3_64(&bytes[range]), ()));
    if characters < LONG_CHARACTERS {
        shingles::<CJK_SHINGLE, SHORT_SHINGLE>(normalised, add);
    } else {
        shingles::<CJK_SHINGLE, LONG_SHINGLE>(normalised, add);
    }
    counter.finish()
}

/// Lowers each minimum to the smallest value that its hash function has for any of the hashes.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn lower(minima: &mut [u32; BANDS * ROWS], factors: &[u32; BANDS * ROWS], hashes: &[u64]) {
    for hash in hashes {
        let hash = (hash >> 32) as u32;
        for (minimum, factor) in minima.iter_mut().zip(factors) {
            *minimum = (*minimum).min(mixed(hash, *factor));
        }
    }
}

/// One hash function for each factor: without the second multiplication, the smallest value would
/// go with the smallest hashes for any factor that is small.
#[inline(always)]
fn mixed(hash: u32, factor: u32) -> u32 {
    let mixed = hash.wrapping_mul(factor);
    (mixed ^ mixed >> 15).wrapping_mul(LAST_FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked_for(banding: &Banding, text: &str) -> Vec<u64> {
        banding.keys_to_ask(text, &banding.normaliser.letters(text))
    }

    fn shared(a: &[u64], b: &[u64]) -> usize {
        a.iter().filter(|key| b.contains(key)).count()
    }

    #[test]
    fn edited_texts_share_keys_and_unrelated_ones_do_not() {
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
            let kept = banding.keys(text);
            assert_eq!(kept.len(), 1 + BANDS);
            let asked = asked_for(&banding, edited);
            assert!(shared(&kept, &asked) >= 3, "{}", shared(&kept, &asked));
            assert_ne!(kept[0], asked[0]);
            let unrelated = "美国51区雇员称内部有9架飞碟 a completely different text";
            let unrelated = asked_for(&banding, unrelated);
            assert_eq!(shared(&kept, &unrelated), 0);
        }
    }

    #[test]
    fn the_same_wording_has_the_same_first_key_and_no_other_has() {
        let banding = Banding::new();
        let first = |text| banding.keys(text)[0];
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
    fn a_text_that_says_too_little_has_only_the_key_of_its_wording() {
        let banding = Banding::new();
        for text in [
            "",
            "👍",
            "好的",
            "hello",
            "hello hello",
            "13800138000, 13900139000",
        ] {
            assert_eq!(banding.keys(text).len(), 1, "{text}");
            assert_eq!(banding.keys(text), asked_for(&banding, text), "{text}");
        }
    }

    #[test]
    fn texts_near_the_border_are_found_from_either_side() {
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
            let kept = banding.keys(&text(length));
            for other in [length * 8 / 10, length * 12 / 10] {
                let asked = asked_for(&banding, &text(other));
                assert!(shared(&kept, &asked) > 0, "{length} {other}");
            }
        }
    }

    #[test]
    fn keys_never_change_without_a_new_description() {
        assert_eq!(
            Banding::description(),
            "minhash v1: NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, simplified \
             characters 3ede2e415f2f44e4, categories unicode-properties 0.1.5, to a fixed point; 40 \
             bands of 3; shingles of 2 in runs of CJK, 3 in other runs of texts below 100 \
             characters, 5 in those of others, in parts of 1048576 bytes, by the upper half of \
             xxh3_64 seed 0; minima of h ^ h >> 15 times 739982445, where h is that times the lower \
             half of xxh3_64 of the row, made odd; key xxh3_64 of the minima and the band; key of \
             the wording xxh3_64 seed 1, seed 2 without letters; no bands without two different \
             words and a letter, or below 5 distinct"
        );
        let banding = Banding::new();
        let texts = [
            "你妈妈喊你回家吃饭哦，回家罗回家罗".to_owned(),
            "The quick brown fox jumps over the lazy dog".to_owned(),
            "The quick brown fox jumps over the lazy dog. ".repeat(3),
            "👍".to_owned(),
        ];
        let found = texts.map(|text| {
            let keys = banding.keys(&text);
            let sum = keys.iter().fold(0_u64, |sum, key| sum.wrapping_add(*key));
            (keys[0], sum)
        });
        let expected = [
            (16_656_647_959_332_373_333, 9_277_386_298_259_143_291),
            (8_723_361_126_435_224_083, 1_360_393_556_095_557_756),
            (15_309_083_669_355_396_803, 7_080_710_094_567_007_448),
            (17_703_952_689_172_958_489, 17_703_952_689_172_958_489),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_long_text_cut_in_parts_has_the_keys_of_the_whole() {
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
            let mut whole = [u32::MAX; BANDS * ROWS];
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
