//! [`ExactIdf`]: inverse document frequencies to the last bit, and the stop words of cppjieba.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::feature::{for_each_weight, unpacked};

/// What the table of [`Idf`](crate::feature::Idf) rounds, compressed with zstd.
pub(crate) const EXACT_WEIGHTS: &[u8] = include_bytes!("idf_exact.txt.zst");

/// The stop words of cppjieba, one a line, byte for byte.
///
/// `dict/stop_words.utf8` of <https://github.com/yanyiwu/cppjieba>, MIT License, copyright (c) 2013
/// the contributors of cppjieba; git blob 32ac9e67dc44222534de99cc298dccd4b8de9907.
pub(crate) const STOP_WORDS: &str = include_str!("cppjieba_stop_words.txt");

/// The mean of the table, as cppjieba sums it up: in the order of its file.
const MEAN: f64 = 11.739204307083542;

/// Inverse document frequencies as the original table has them, and stop words.
///
/// Sums of these are not exact, so the order of the features matters; it is part of a recipe that
/// uses them.
pub(crate) struct ExactIdf {
    /// Hashes of words, sorted, and their frequencies; none for a stop word.
    words: Vec<(u64, Option<f64>)>,
    /// The frequency of other words.
    mean: f64,
}

impl ExactIdf {
    /// Unpacks our own tables: 6 MiB, some fifty milliseconds. Those that are given take their
    /// place; of a word that is given twice the last one counts.
    pub(crate) fn new(given: Option<&[(String, f64)]>, stop_words: Option<&[String]>) -> Self {
        let mut words: Vec<(u64, Option<f64>)> = Vec::new();
        match stop_words {
            None => words.extend(STOP_WORDS.lines().map(stop_word)),
            Some(given) => words.extend(given.iter().map(|word| stop_word(word))),
        }
        let mut mean = MEAN;
        match given {
            None => words.append(&mut built_in()),
            Some(given) => {
                let sum: f64 = given.iter().map(|&(_, idf)| idf).sum();
                mean = sum / given.len().max(1) as f64;
                words.extend(
                    given
                        .iter()
                        .rev()
                        .map(|(word, idf)| (xxh3_64(word.as_bytes()), Some(*idf))),
                );
            }
        }
        // Stable: of equal hashes the one that was put in first stays.
        words.sort_by_key(|&(hash, _)| hash);
        words.dedup_by_key(|&mut (hash, _)| hash);
        Self { words, mean }
    }

    /// The frequency of a word; none for a stop word.
    pub(crate) fn of(&self, word: &str) -> Option<f64> {
        let hash = xxh3_64(word.as_bytes());
        match self.words.binary_search_by_key(&hash, |&(hash, _)| hash) {
            Ok(index) => self.words[index].1,
            Err(_) => Some(self.mean),
        }
    }
}

fn stop_word(word: &str) -> (u64, Option<f64>) {
    (xxh3_64(word.as_bytes()), None)
}

/// Our table, with what it was rounded from.
fn built_in() -> Vec<(u64, Option<f64>)> {
    let mut usual = BTreeMap::new();
    let mut words = Vec::new();
    for line in unpacked(EXACT_WEIGHTS)
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let mut fields = line.split(' ');
        let rounded: Option<u16> = fields.next().and_then(|field| field.parse().ok());
        let exact: Option<f64> = fields.next().and_then(|field| field.parse().ok());
        let (rounded, exact) = rounded.zip(exact).expect("a line starts with two numbers");
        let start = words.len();
        words.extend(fields.map(|word| (xxh3_64(word.as_bytes()), Some(exact))));
        if words.len() == start {
            usual.insert(rounded, exact);
        }
    }
    for_each_weight(|word, rounded| {
        words.push((xxh3_64(word.as_bytes()), usual.get(&rounded).copied()));
    });
    words
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
            assert_eq!(idf.of(word), Some(expected), "{word}");
        }
        for word in ["我们", "the", "一"] {
            assert_eq!(idf.of(word), None, "{word}");
        }
    }

    #[test]
    fn every_word_has_a_frequency_that_rounds_to_the_one_of_the_other_table() {
        let idf = ExactIdf::new(None, Some(&[]));
        let mut sum = 0.0;
        let mut count = 0;
        for_each_weight(|word, rounded| {
            let exact = idf.of(word).expect("there are no stop words");
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
        assert_eq!(idf.of("飞碟"), Some(3.5));
        assert_eq!(idf.of("雇员"), None);
        assert_eq!(idf.of("我们"), Some(4.0));
    }
}
