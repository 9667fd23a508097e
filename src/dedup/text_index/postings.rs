//! [`Postings`]: the texts of an index by their words, and the texts that may cover a text.
//!
//! A text covers another text only if it has each heavy word of the other text, or a word that a
//! rule matches with that word. Few texts have the rarest words of a text, and no other text is
//! compared.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::analysis::words::{Vocabulary, Words};
use crate::measure::containment::{HeavyWords, Weights};

/// A word that at most 128 texts have is rare. The first rare word selects the candidates, so the
/// other words of the text are not looked up.
const FEW_TEXTS: usize = 128;

/// The most words that are looked up to find the rarest one.
const FIRST_WORDS: usize = 4;

/// At most 4 candidates are compared at once: a look-up of the next word takes longer.
const FEW_COMPARED: usize = 4;

/// The most words that select and reject candidates.
const MAX_WORDS: usize = 16;

/// The variants of an index by the keys of their words.
#[derive(Default)]
pub(super) struct Postings {
    /// The variants with each key, ascending, by the hash of the key.
    variants: HashMap<u32, Vec<u32>, FixedState>,
    /// The slot of each variant.
    slots: Vec<u32>,
    /// The bits of the keys of each variant. Few variants of a short text have both bits of another
    /// key.
    bits: Vec<u128>,
    /// The numbers in all lists.
    len: usize,
}

/// The variants with a key.
struct KeyList<'p> {
    /// Ascending.
    variants: &'p [u32],
    /// The [`key_bits`] of the key.
    bits: u128,
}

impl Postings {
    /// Adds the next variant.
    pub(super) fn push(&mut self, slot: u32, key_hashes: impl Iterator<Item = u32>) {
        let variant = self.slots.len() as u32;
        self.slots.push(slot);
        let mut bits = 0;
        for hash in key_hashes {
            bits |= key_bits(hash);
            let variants = self.variants.entry(hash).or_default();
            if variants.last() != Some(&variant) {
                variants.push(variant);
                self.len += 1;
            }
        }
        self.bits.push(bits);
    }

    /// The slots that have a variant before `end` which may cover a text, ascending.
    pub(super) fn covering(
        &self,
        weights: &Weights,
        text: &Words,
        vocabulary: &Vocabulary,
        end: u32,
    ) -> Vec<u32> {
        let heavy = HeavyWords::new(text);
        let hashes = heavy.key_hashes().enumerate();
        // Of the rare words, the words that are no misspelling come first.
        let words = hashes.map(|(word, hash)| {
            let len = self.variants.get(&hash).map_or(0, Vec::len);
            (len.saturating_sub(FEW_TEXTS), word)
        });
        let mut words: Vec<_> = words.collect();
        words.sort_unstable();
        let mut words = words.into_iter().take(MAX_WORDS).map(|(_, word)| {
            let mut keys = heavy.keys_needed_by(word, weights, text, vocabulary);
            keys.sort_unstable();
            keys.dedup();
            let lists = keys.iter().map(|hash| KeyList {
                variants: self.variants_before(*hash, end),
                bits: key_bits(*hash),
            });
            lists.filter(|list| !list.variants.is_empty()).collect()
        });
        // Another spelling of a rare word may be a word of many texts.
        let len =
            |lists: &[KeyList<'_>]| lists.iter().map(|list| list.variants.len()).sum::<usize>();
        let mut first: Vec<Vec<KeyList<'_>>> = Vec::new();
        while first.len() < FIRST_WORDS
            && first.last().is_none_or(|lists| len(lists) > FEW_TEXTS)
            && let Some(lists) = words.next()
        {
            first.push(lists);
        }
        first.sort_by_key(|lists| len(lists));
        let mut words = first.into_iter().chain(words);
        let mut variants: Vec<u32> = Vec::new();
        for list in words.next().unwrap_or_default() {
            variants.extend(list.variants);
        }
        while variants.len() > FEW_COMPARED
            && let Some(lists) = words.next()
        {
            self.select_with_bits(&mut variants, &lists);
            let has =
                |list: &KeyList<'_>, variant: &u32| list.variants.binary_search(variant).is_ok();
            variants.retain(|variant| lists.iter().any(|list| has(list, variant)));
        }
        let slots = variants.iter().map(|variant| self.slots[*variant as usize]);
        let mut slots: Vec<u32> = slots.collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Keeps the variants that have the bits of one of some keys, in order.
    fn select_with_bits(&self, variants: &mut Vec<u32>, keys: &[KeyList<'_>]) {
        // No branch depends on the bits: the processor does not wait for the memory of each
        // variant.
        let mut len = 0;
        for at in 0..variants.len() {
            let variant = variants[at];
            let bits = self.bits[variant as usize];
            let has = |has, key: &KeyList<'_>| has | (bits & key.bits == key.bits);
            variants[len] = variant;
            len += usize::from(keys.iter().fold(false, has));
        }
        variants.truncate(len);
    }

    /// The variants with a key before `end`.
    fn variants_before(&self, key_hash: u32, end: u32) -> &[u32] {
        let variants = self.variants.get(&key_hash).map_or(&[][..], Vec::as_slice);
        &variants[..variants.partition_point(|variant| *variant < end)]
    }

    pub(super) fn len_bytes(&self) -> usize {
        // Lists have up to twice the places that they need.
        let lists = self.variants.capacity() * 8 / 7 * (size_of::<(u32, Vec<u32>)>() + 1);
        let bits = self.bits.capacity() * size_of::<u128>();
        lists + bits + (2 * self.len + self.slots.capacity()) * size_of::<u32>()
    }
}

/// The two bits of a key.
fn key_bits(key_hash: u32) -> u128 {
    1 << (key_hash >> 25) | 1 << (key_hash >> 18 & 127)
}
