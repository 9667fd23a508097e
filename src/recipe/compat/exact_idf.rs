//! [`ExactIdf`]: inverse document frequencies as doubles, and the stop words of cppjieba.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::feature::{decompress_table, for_each_weight};
use crate::text::table_lines;

/// The frequencies before they were rounded for [`Idf`](crate::feature::Idf), compressed with zstd.
pub(super) const EXACT_WEIGHTS: &[u8] = include_bytes!("idf_exact.txt.zst");

/// The stop words of cppjieba, one per line, byte for byte.
///
/// `dict/stop_words.utf8` of <https://github.com/yanyiwu/cppjieba>, MIT License, copyright (c) 2013
/// the contributors of cppjieba; git blob 32ac9e67dc44222534de99cc298dccd4b8de9907.
pub(super) const STOP_WORDS: &str = include_str!("cppjieba_stop_words.txt");

/// The mean of the table. A constant, since cppjieba sums in the order of its file, which the
/// built-in table does not have, and another order gives another last bit.
const MEAN: f64 = 11.739204307083542;

/// The inverse document frequencies of the original table, and stop words.
///
/// Sums of these doubles are not exact, so a recipe that uses them has to define the order of its
/// features.
pub(super) struct ExactIdf {
    /// The sorted hashes of words with their frequencies; `None` for a stop word.
    words: Vec<(u64, Option<f64>)>,
    /// The frequency of words that are not in the table.
    mean: f64,
}

impl ExactIdf {
    /// Loads the given tables, or the built-in ones in place of `None`, which takes some fifty
    /// milliseconds and 6 MiB. For a word that is given twice the last frequency counts.
    pub(super) fn new(given: Option<&[(String, f64)]>, stop_words: Option<&[String]>) -> Self {
        let mut words: Vec<_> = match stop_words {
            None => STOP_WORDS.lines().map(|word| entry(word, None)).collect(),
            Some(given) => given.iter().map(|word| entry(word, None)).collect(),
        };
        let mean = match given {
            None => {
                push_built_in(&mut words);
                MEAN
            }
            Some(given) => {
                // Backwards, so that the last frequency of a word comes first and is not removed
                // below.
                let given = given.iter();
                words.extend(
                    given
                        .clone()
                        .rev()
                        .map(|(word, idf)| entry(word, Some(*idf))),
                );
                given.clone().map(|&(_, idf)| idf).sum::<f64>() / given.len().max(1) as f64
            }
        };
        // A stable sort, and the first entry of equal hashes stays: stop words are before
        // frequencies.
        words.sort_by_key(|&(hash, _)| hash);
        words.dedup_by_key(|&mut (hash, _)| hash);
        Self { words, mean }
    }

    /// The frequency of a word; `None` for a stop word.
    pub(super) fn get(&self, word: &str) -> Option<f64> {
        let (hash, _) = entry(word, None);
        match self.words.binary_search_by_key(&hash, |&(hash, _)| hash) {
            Ok(index) => self.words[index].1,
            Err(_) => Some(self.mean),
        }
    }
}

fn entry(word: &str, idf: Option<f64>) -> (u64, Option<f64>) {
    (xxh3_64(word.as_bytes()), idf)
}

/// Adds the words of the built-in table with their exact frequencies.
fn push_built_in(words: &mut Vec<(u64, Option<f64>)>) {
    // A line has a rounded frequency, an exact frequency, and the words with this exact frequency.
    // A line without words is for all other words with the rounded frequency, so most words are not
    // repeated here.
    let mut exact_by_rounded = BTreeMap::new();
    for line in table_lines(&decompress_table(EXACT_WEIGHTS)) {
        let mut fields = line.split(' ');
        let rounded: Option<u16> = fields.next().and_then(|field| field.parse().ok());
        let exact: Option<f64> = fields.next().and_then(|field| field.parse().ok());
        let before = words.len();
        words.extend(fields.map(|word| entry(word, exact)));
        if words.len() == before {
            exact_by_rounded.insert(rounded, exact);
        }
    }
    for_each_weight(|word, rounded| {
        words.push(entry(
            word,
            exact_by_rounded.get(&Some(rounded)).copied().flatten(),
        ));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_equal_original_to_last_bit() {
        let idf = ExactIdf::new(None, None);
        for (word, expected) in [
            ("升职", 10.8561552143),
            ("手扶拖拉机", 10.0088573539),
            ("专业", 6.19316545738),
            ("劳动防护", 13.900677652),
            ("没有的词语", MEAN),
        ] {
            assert_eq!(idf.get(word), Some(expected), "{word}");
        }
        for word in ["我们", "the", "一"] {
            assert_eq!(idf.get(word), None, "{word}");
        }
    }

    #[test]
    fn exact_frequencies_round_to_those_of_fixed_point_table() {
        let idf = ExactIdf::new(None, Some(&[]));
        let mut sum = 0.0;
        let mut count = 0;
        for_each_weight(|word, rounded| {
            let exact = idf.get(word).expect("there are no stop words");
            assert_eq!((exact * 1024.0).round() as u16, rounded, "{word}");
            sum += exact;
            count += 1;
        });
        // Not equal: this sum has another order than cppjieba's file.
        assert!((sum / f64::from(count) - MEAN).abs() < 1e-9);
    }

    #[test]
    fn given_tables_replace_built_in_ones() {
        let given = [("飞碟", 2.5), ("飞碟", 3.5), ("雇员", 6.0)];
        let given = given.map(|(word, idf)| (word.to_owned(), idf));
        let idf = ExactIdf::new(Some(&given), Some(&["雇员".to_owned()]));
        assert_eq!(idf.get("飞碟"), Some(3.5));
        assert_eq!(idf.get("雇员"), None);
        assert_eq!(idf.get("我们"), Some(4.0));
    }
}
