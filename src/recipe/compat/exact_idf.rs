//! [`ExactIdf`]: inverse document frequencies to the last bit, and the stop words of cppjieba.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::feature::{for_each_weight, unpacked};
use crate::text::table_lines;

/// The frequencies that the table of [`Idf`](crate::feature::Idf) rounds, compressed with zstd.
pub(super) const EXACT_WEIGHTS: &[u8] = include_bytes!("idf_exact.txt.zst");

/// The stop words of cppjieba, one a line, byte for byte.
///
/// `dict/stop_words.utf8` of <https://github.com/yanyiwu/cppjieba>, MIT License, copyright (c) 2013
/// the contributors of cppjieba; git blob 32ac9e67dc44222534de99cc298dccd4b8de9907.
pub(super) const STOP_WORDS: &str = include_str!("cppjieba_stop_words.txt");

/// The mean of the table, as cppjieba sums it up: in the order of its file.
const MEAN: f64 = 11.739204307083542;

/// Inverse document frequencies as the original table has them, and stop words.
///
/// Sums of these are not exact, so the order of the features matters; it is part of a recipe that
/// uses them.
pub(super) struct ExactIdf {
    /// Hashes of words, sorted, and their frequencies; `None` for a stop word.
    words: Vec<(u64, Option<f64>)>,
    /// The frequency of other words.
    mean: f64,
}

impl ExactIdf {
    /// Unpacks our own tables: 6 MiB, some fifty milliseconds. Tables that are given take their
    /// place; if a word is given twice, its last frequency counts.
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
        // Stable: of equal hashes the first entry stays.
        words.sort_by_key(|&(hash, _)| hash);
        words.dedup_by_key(|&mut (hash, _)| hash);
        Self { words, mean }
    }

    /// The frequency of a word, `None` for a stop word.
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

/// Adds our table, with the frequencies that it was rounded from.
fn push_built_in(words: &mut Vec<(u64, Option<f64>)>) {
    // A line holds a rounded and an exact frequency, and the words that have it; a line without words
    // holds the exact frequency of all other words with the rounded one.
    let mut usual = BTreeMap::new();
    for line in table_lines(&unpacked(EXACT_WEIGHTS)) {
        let mut fields = line.split(' ');
        let rounded: Option<u16> = fields.next().and_then(|field| field.parse().ok());
        let exact: Option<f64> = fields.next().and_then(|field| field.parse().ok());
        let before = words.len();
        words.extend(fields.map(|word| entry(word, exact)));
        if words.len() == before {
            usual.insert(rounded, exact);
        }
    }
    for_each_weight(|word, rounded| {
        words.push(entry(word, usual.get(&Some(rounded)).copied().flatten()));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_those_of_the_original_to_the_last_bit() {
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
    fn every_word_has_a_frequency_that_rounds_to_the_one_of_the_other_table() {
        let idf = ExactIdf::new(None, Some(&[]));
        let mut sum = 0.0;
        let mut count = 0;
        for_each_weight(|word, rounded| {
            let exact = idf.get(word).expect("there are no stop words");
            assert_eq!((exact * 1024.0).round() as u16, rounded, "{word}");
            sum += exact;
            count += 1;
        });
        // In another order than that of the file.
        assert!((sum / f64::from(count) - MEAN).abs() < 1e-9);
    }

    #[test]
    fn tables_that_are_given_take_the_place_of_ours() {
        let given = [("飞碟", 2.5), ("飞碟", 3.5), ("雇员", 6.0)];
        let given = given.map(|(word, idf)| (word.to_owned(), idf));
        let idf = ExactIdf::new(Some(&given), Some(&["雇员".to_owned()]));
        assert_eq!(idf.get("飞碟"), Some(3.5));
        assert_eq!(idf.get("雇员"), None);
        assert_eq!(idf.get("我们"), Some(4.0));
    }
}
