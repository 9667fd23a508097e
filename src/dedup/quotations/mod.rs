//! [`QuotationIndex`]: the texts that may quote a shorter text.
//!
//! A short version of an article, and a post quoted in full by another, hardly resemble the longer
//! text: most of its words are missing. But most of the *phrases* of the shorter text, three words
//! or CJK characters in a row, are in the longer text.
//!
//! The answers depend on the texts and on their order alone.

#[cfg(test)]
mod tests;

use rayon::prelude::*;

use crate::analysis::Analysed;
use crate::measure::quotation::{winnow, winnowed, words};

/// The least share of the winnowed phrases of a text that a candidate has. The least share of all
/// phrases is larger, because a phrase beside an edited word may be winnowed in one text and not in
/// the other.
const MIN_WINNOWED_SHARE: f64 = 0.45;

/// A key of the directory leads to 16 entries on average.
const ENTRIES_PER_START: usize = 16;

/// An inverted index of the winnowed phrases of texts. The texts are known by their positions: 0
/// for the first, 1 for the next.
///
/// # Cost
/// Some 4 bytes for each word of a text: two of five words begin a winnowed phrase of 8 bytes, and
/// the list of phrases has room to grow. A binary search for each winnowed phrase of a query.
/// Phrases whose hashes have the same upper half count as one phrase, which costs at most a
/// comparison.
///
/// # Source
/// A. Broder, *On the resemblance and containment of documents*, SEQUENCES 1997 (the share of the
/// phrases); S. Schleimer, D. Wilkerson, A. Aiken, *Winnowing: Local Algorithms for Document
/// Fingerprinting*, SIGMOD 2003 (the phrases that are indexed); C. Li, J. Lu, Y. Lu, *Efficient
/// Merging and Filtering Algorithms for Approximate String Searches*, ICDE 2008 (DivideSkip: short
/// lists are merged, long lists are probed).
#[derive(Default)]
pub(crate) struct QuotationIndex {
    /// A winnowed phrase in the upper half, the position of a text in the lower. Ascending.
    entries: Vec<u64>,
    /// The first entry of each value of the upper bits of a phrase, and the number of entries.
    starts: Vec<usize>,
    /// The words of each text.
    words: Vec<u32>,
}

impl QuotationIndex {
    /// Adds texts at the next positions.
    pub(crate) fn extend(&mut self, texts: &[Analysed]) {
        let winnowed = |text: &Analysed| (words(text.phrases()), winnow(text.phrases()));
        let texts: Vec<(usize, Vec<u32>)> = texts.par_iter().map(winnowed).collect();
        let sorted = self.entries.len();
        for (words, phrases) in texts {
            let position = self.words.len() as u64;
            let entries = phrases.iter().map(|phrase| entry(*phrase, position));
            self.entries.extend(entries);
            self.words.push(u32::try_from(words).unwrap_or(u32::MAX));
        }
        self.entries[sorted..].par_sort_unstable();
        // A stable sort merges two sorted runs in linear time.
        self.entries.sort();
        self.index_starts();
    }

    fn index_starts(&mut self) {
        let bits = (self.entries.len() / ENTRIES_PER_START).max(1).ilog2();
        let starts = (0..=1_u64 << bits).into_par_iter().map(|start| {
            let is_before = |entry: &u64| u128::from(*entry) < u128::from(start) << (64 - bits);
            self.entries.partition_point(is_before)
        });
        self.starts = starts.collect();
    }

    /// The bytes of memory that the index holds.
    pub(crate) fn len_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u64>()
            + self.starts.capacity() * size_of::<usize>()
            + self.words.capacity() * size_of::<u32>()
    }

    /// The positions before `end` of texts that may quote a text and have at most `max_ratio` times
    /// its words, those with the most common phrases first.
    ///
    /// A text with at least *t* of *n* phrases has one of the rarest *n* − *t* + 1 phrases. The
    /// other *t* − 1 phrases, which may be in very many texts, are looked up for these texts only.
    /// So all phrases count, and a template costs little.
    pub(crate) fn candidates(&self, text: &Analysed, end: u32, max_ratio: f64) -> Vec<u32> {
        let mut lists: Vec<&[u64]> = (winnowed(text).iter())
            .map(|phrase| self.entries_of(*phrase, end))
            .collect();
        let required = (lists.len() as f64 * MIN_WINNOWED_SHARE).ceil() as usize;
        let found = lists.iter().filter(|list| !list.is_empty());
        if required == 0 || found.count() < required {
            return Vec::new();
        }
        lists.sort_unstable_by_key(|list| list.len());
        let (rarest, others) = lists.split_at(lists.len() - required + 1);
        let most_words = words(text.phrases()) as f64 * max_ratio;
        let mut positions: Vec<u32> = rarest
            .iter()
            .flat_map(|list| list.iter().map(|entry| *entry as u32))
            .filter(|position| f64::from(self.words[*position as usize]) <= most_words)
            .collect();
        positions.sort_unstable();
        let mut counted = Vec::new();
        for equal in positions.chunk_by(|a, b| a == b) {
            let (position, mut count) = (equal[0], equal.len());
            for (at, list) in others.iter().enumerate() {
                if count + others.len() - at < required {
                    break;
                }
                let is_in = list.binary_search_by_key(&position, |entry| *entry as u32);
                count += usize::from(is_in.is_ok());
            }
            if count >= required {
                counted.push((count, position));
            }
        }
        counted.sort_unstable_by_key(|(count, position)| (std::cmp::Reverse(*count), *position));
        counted.into_iter().map(|(_, position)| position).collect()
    }

    /// The entries of a phrase in texts before `end`, by position.
    fn entries_of(&self, phrase: u32, end: u32) -> &[u64] {
        let (start, end) = (entry(phrase, 0), entry(phrase, end.into()));
        let bits = (self.starts.len().max(2) - 1).ilog2();
        let key = (u128::from(start) >> (64 - bits)) as usize;
        let (Some(first), Some(last)) = (self.starts.get(key), self.starts.get(key + 1)) else {
            return &[];
        };
        let entries = &self.entries[*first..*last];
        let from = entries.partition_point(|entry| *entry < start);
        let to = from + entries[from..].partition_point(|entry| *entry < end);
        &entries[from..to]
    }
}

fn entry(phrase: u32, position: u64) -> u64 {
    u64::from(phrase) << 32 | position
}
