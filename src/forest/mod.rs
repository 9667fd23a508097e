//! An LSH forest: neighbours in the trees of minima are candidates for near-duplicates.
//!
//! A *tree* orders texts by five minima, each by another hash function. Texts with equal first
//! minima are neighbours in the tree; a query reads as long a prefix as leaves few neighbours, at
//! most some thousand unless they have all minima in common. It also reads the neighbours of its
//! second smallest values, because an edit may have removed the shingle of a minimum. All trees
//! together are an LSH forest.
//!
//! | file | responsibility |
//! |---|---|
//! | `forest_key` | keys of a tree and their prefixes |
//! | `reach` | the bounds of a search |
//! | `forest_query` | the search of a stored forest, and the entries that it reads |
//! | `memory/` | a forest in memory |
//!
//! # Source
//! M. Bawa, T. Condie, P. Ganesan, *LSH Forest: Self-Tuning Indexes for Similarity Search*, WWW
//! 2005; Q. Lv, W. Josephson, Z. Wang, M. Charikar, K. Li, *Multi-Probe LSH*, VLDB 2007 (second
//! values).

mod forest_key;
mod forest_query;
pub(crate) mod memory;
mod reach;

use std::ops::RangeInclusive;

use crate::analysis::{
    Analysed, LENGTH_CLASSES, LEVEL_BITS, LEVELS, Minima, RAW_SEED, SKETCH_FACTOR, WORDING_SEED,
    length_class, minima_description,
};
use crate::feature::MIN_SHINGLES;
use crate::ids::scope::ScopeNumber;
use crate::record::Record;
use crate::text::Traditional;

pub(crate) use forest_key::{Prefix, TREE_KEY_BITS, class_of_key, scope_mask, tree_key};
pub(crate) use forest_query::{
    ForestEntries, ForestEntry, ForestSearch, ForestSpan, PROBED_LEVELS,
};
pub(crate) use reach::Reach;

/// The trees of a stored forest.
const STORED_TREES: usize = 24;

/// The keys of a text: one for its wording and one in each tree.
pub(crate) const MAX_KEYS: usize = 1 + STORED_TREES;

/// One line with every parameter that determines a key or a sketch. The file stores it; a file with
/// another description is refused.
pub(crate) fn description() -> String {
    let [a, b, c, d, e] = LEVEL_BITS;
    format!(
        "minhash forest v2: {}; {STORED_TREES} trees of {LEVELS} minima, their keys of {a}, {b}, {c}, {d} \
         and {e} upper bits; {}; keys of the wording of {TREE_KEY_BITS} upper bits, xxh3_64 seed \
         {WORDING_SEED}, seed {RAW_SEED} without letters; no minima without two different words and a \
         letter, or below {MIN_SHINGLES} distinct; {LENGTH_CLASSES} length classes, each 1.15 times as long \
         as the one before; sketches of the top bit of each of the first 128 minima times {SKETCH_FACTOR}",
        Traditional::Simplified.normalisation(),
        minima_description(),
    )
}

/// The [text keys](Analysed::text_keys) of a text.
pub(crate) fn keys(text: &str) -> Vec<u64> {
    Analysed::unkeyed(text).text_keys().to_vec()
}

impl Analysed {
    /// The keys to store the text under, ascending: one for each tree, then the key of the wording.
    /// A text with too little content has the last key only.
    pub(crate) fn text_keys(&self) -> &[u64] {
        self.keys_by(|text| {
            let minima = text.own_forest_minima();
            let class = length_class(text.characters());
            let trees = minima
                .into_iter()
                .flat_map(|minima| tree_keys(minima, class));
            trees.chain([text.wording_key()]).collect()
        })
    }

    /// The key of the wording, behind the keys of all trees.
    pub(crate) fn wording_key(&self) -> u64 {
        tree_bits(STORED_TREES) | self.wording_hash() >> (u64::BITS - TREE_KEY_BITS)
    }

    /// A text to be stored in a forest, with its keys and its sketch.
    pub(crate) fn keyed(text: impl Into<Record>) -> Self {
        let record = text.into();
        if !record.has_text() {
            return Self::with_keys(record, Vec::new());
        }
        let text = Self::lazy(record.text());
        text.text_keys();
        text.sketch();
        text.stored(record)
    }

    /// A stored text with its keys in a scope. The text has its keys in the empty scope.
    pub(crate) fn in_scope(self, scope: ScopeNumber) -> Self {
        match scope_mask(scope) {
            0 => self,
            // The tree is not masked, so the keys ascend.
            mask => self.map_keys(|key| key ^ mask),
        }
    }
}

/// The bits of a key down to the part of the first level. A search of a node reads keys with equal
/// first levels.
pub(crate) fn first_level(key: u64) -> u64 {
    key >> FIRST_LEVEL_SHIFT
}

/// The bits of a key behind the part of the first level.
pub(crate) fn behind_first_level(key: u64) -> u32 {
    (key % (1 << FIRST_LEVEL_SHIFT)) as u32
}

/// The keys with the same first level as a key.
pub(crate) fn keys_of_first_level(key: u64) -> RangeInclusive<u64> {
    let behind = (1 << FIRST_LEVEL_SHIFT) - 1;
    key & !behind..=key | behind
}

/// The number of first levels of all trees. The keys of wordings are behind them.
pub(crate) const FIRST_LEVELS: usize = STORED_TREES << LEVEL_BITS[0];

/// The number of bits of a key behind the part of the first level.
pub(crate) const FIRST_LEVEL_SHIFT: u32 = TREE_KEY_BITS - LEVEL_BITS[0];

const _: () = assert!(FIRST_LEVEL_SHIFT < u32::BITS);

/// The keys of a text in all trees.
pub(crate) fn tree_keys(minima: &Minima, length_class: u32) -> impl Iterator<Item = u64> {
    (0..STORED_TREES).map(move |tree| tree_bits(tree) | tree_key(minima, tree, length_class))
}

/// The second minima of the probed levels in all trees, at their places in the keys.
pub(crate) fn second_keys(minima: &Minima) -> Vec<u64> {
    let second = |tree| {
        let child = |prefix: Prefix, level| prefix.child(level, minima.second_part(tree, level));
        let prefix = (0..PROBED_LEVELS).fold(Prefix::default(), child);
        prefix.first() >> (u64::BITS - TREE_KEY_BITS)
    };
    (0..STORED_TREES).map(second).collect()
}

/// The upper bits of the keys of a tree.
fn tree_bits(tree: usize) -> u64 {
    (tree as u64) << TREE_KEY_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Sketch;

    /// The number of trees in which a text has a first part that a query searches.
    fn shared(text: &str, query: &str) -> usize {
        let (keys, query) = (keys(text), Analysed::lazy(query));
        let has = |tree: usize, part: u64| {
            let first_level = (tree as u64) << LEVEL_BITS[0] | part;
            keys.iter()
                .any(|key| super::first_level(*key) == first_level)
        };
        let trees = 0..STORED_TREES;
        let shares = |tree: &usize| {
            query.forest_minima().into_iter().flatten().any(|minima| {
                has(*tree, minima.part(*tree, 0)) || has(*tree, minima.second_part(*tree, 0))
            })
        };
        trees.filter(shares).count()
    }

    #[test]
    fn edited_texts_share_keys_and_unrelated_texts_do_not() {
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
            assert_eq!(keys(text).len(), MAX_KEYS);
            assert!(keys(text).is_sorted_by(|a, b| a < b));
            assert!(shared(text, edited) >= 6, "{}", shared(text, edited));
            assert_ne!(keys(text).last(), keys(edited).last());
            let unrelated = "美国51区雇员称内部有9架飞碟 a completely different text";
            assert!(shared(text, unrelated) <= 1);
        }
    }

    #[test]
    fn key_of_wording_is_equal_only_for_equal_letters() {
        let wording = |text| keys(text).pop();
        assert_eq!(wording("Hello,  WORLD!"), wording("hello world"));
        assert_eq!(wording("漢語"), wording("汉语"));
        for pair in [
            ["hello", "hallo"],
            ["👍", "👎"],
            ["", " "],
            ["1", "11"],
            ["。", ""],
        ] {
            assert_ne!(wording(pair[0]), wording(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn uninformative_text_has_only_the_key_of_its_wording() {
        for text in [
            "",
            "👍",
            "好的",
            "hello",
            "hello hello",
            "13800138000, 13900139000",
        ] {
            assert_eq!(keys(text).len(), 1, "{text}");
            assert_eq!(keys(text), [Analysed::new(text).wording_key()], "{text}");
            assert_eq!(Analysed::new(text).forest_minima(), [None; 2], "{text}");
        }
    }

    #[test]
    fn stored_text_and_prepared_text_have_the_same_keys_and_sketch() {
        let words =
            "one of the texts below, at and above the border of short texts, 漢語 included ";
        for len in [0, 5, 20, 60, 120, 300] {
            let text: String = words.chars().cycle().take(len).collect();
            for text in [text, "ab ".repeat(len), "汉语".repeat(len)] {
                let prepared = Analysed::new(&text);
                let expected = (prepared.text_keys(), prepared.sketch());
                for stored in [Analysed::keyed(&*text), Analysed::unkeyed(&*text)] {
                    assert_eq!((stored.text_keys(), stored.sketch()), expected, "{text}");
                }
            }
        }
    }

    #[test]
    fn similar_texts_on_both_sides_of_a_length_border_share_keys() {
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
        for length in 3..25_usize {
            for other in [length * 8 / 10, (length * 12).div_ceil(10)] {
                let asked = text(other);
                assert!(shared(&text(length), &asked) > 3, "{length} {other}");
            }
        }
    }

    #[test]
    fn keys_and_description_are_golden() {
        assert_eq!(
            description(),
            "minhash forest v2: NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, simplified \
             characters 3ede2e415f2f44e4, categories unicode-properties 0.1.5, to a fixed point; 24 trees of \
             5 minima, their keys of 15, 10, 7, 4 and 2 upper bits; shingles of 2 in runs of CJK, in other runs \
             of 2 in texts below 14 characters, 3 below 100, 5 in others, in parts of 1048576 bytes, by the \
             upper half of xxh3_64 seed 0; minima of h ^ h >> 15 times 739982445, where h is that times the \
             lower half of xxh3_64 of the row, made odd; keys of the wording of 42 upper bits, xxh3_64 seed \
             1, seed 2 without letters; no minima without two different words and a letter, or below 5 \
             distinct; 16 length classes, each 1.15 times as long as the one before; sketches of the top bit \
             of each of the first 128 minima times 2654435761"
        );
        let texts = [
            "你妈妈喊你回家吃饭哦，回家罗回家罗".to_owned(),
            "The quick brown fox jumps over the lazy dog".to_owned(),
            "The quick brown fox jumps over the lazy dog. ".repeat(3),
            "The lazy dog".to_owned(),
            "👍".to_owned(),
        ];
        let found = texts.map(|text| {
            let text = Analysed::keyed(text);
            let (keys, sketch) = (text.text_keys(), text.sketch());
            let sum = keys.iter().fold(0_u64, |sum, key| sum.wrapping_add(*key));
            (keys[0], sum, sketch.map(Sketch::words))
        });
        let expected = [
            (
                673_039_906_163,
                1_372_628_025_455_066,
                Some([3_837_611_712_780_394_673, 12_044_234_502_839_244_164]),
            ),
            (
                2_068_847_438_969,
                1_368_441_296_149_050,
                Some([13_849_461_111_307_904_228, 14_810_880_266_514_341_441]),
            ),
            (
                3_323_485_280_257,
                1_368_044_315_956_106,
                Some([13_509_469_843_135_055_438, 15_438_022_950_795_958_491]),
            ),
            (
                2_738_889_606_288,
                1_373_053_722_651_068,
                Some([1_889_074_436_977_706_571, 8_754_827_321_379_791_635]),
            ),
            (109_774_067_511_129, 109_774_067_511_129, None),
        ];
        assert_eq!(found, expected);
    }
}
