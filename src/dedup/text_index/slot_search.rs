//! [`SlotSearch`]: the comparison of a text with the texts of one wording.

use std::cell::OnceCell;
use std::ops::{ControlFlow, Range};

use super::wordings::MAX_UNFILTERED_WORDS;
use super::{SimilarIndex, SimilarText};
use crate::analysis::Analysed;
use crate::analysis::words::Words;
use crate::measure::Resemblance;
use crate::measure::containment::{
    Containment, CoveringWords, HeavyWords, KnownWords, Weights, is_lost,
};

/// The texts of an index that a search visits, among the texts that are like the text of the
/// search.
pub(crate) struct Sought<'s> {
    pub(crate) positions: Range<u32>,
    /// Returns `true` for the positions that are visited. Other positions are not compared.
    pub(crate) accepts: &'s dyn Fn(u32) -> bool,
    /// `true` to visit only texts that contain the text of the search, if words decide.
    pub(crate) only_containers: bool,
}

/// The decision about a text of an index.
#[derive(PartialEq)]
enum Decided {
    NotSought,
    ByThresholds,
    ByWords(Box<Containment>),
}

/// A search for texts that are like a text.
pub(super) struct SlotSearch<'s, V> {
    pub(super) index: &'s SimilarIndex,
    pub(super) text: &'s Analysed,
    pub(super) sought: &'s Sought<'s>,
    pub(super) heavy_words: OnceCell<HeavyWords>,
    pub(super) own_words: OnceCell<CoveringWords>,
    /// The words of the variant that was read last.
    pub(super) stored: StoredWords,
    pub(super) visitor: &'s mut V,
}

/// The words of a variant of an index, in memory that the next variant takes over.
#[derive(Default)]
pub(super) struct StoredWords {
    variant: Option<u32>,
    words: Words,
}

impl StoredWords {
    fn of(&mut self, index: &SimilarIndex, variant: u32) -> &Words {
        if self.variant.replace(variant) != Some(variant) {
            index.wordings.read_words(variant, &mut self.words);
        }
        &self.words
    }
}

impl<V> SlotSearch<'_, V> {
    /// Returns `true` if the search visits texts of a slot.
    pub(super) fn is_sought(&self, slot: u32) -> bool {
        let wordings = &self.index.wordings;
        wordings.variants(slot).any(|variant| {
            let mut copies = wordings.positions(variant, &self.sought.positions);
            copies.any(|at| (self.sought.accepts)(at))
        })
    }

    /// Keeps the slots that may have a sought text at the front, in order, and returns how many
    /// these are. The slots behind them have no meaning afterwards. The slots that are dropped lack
    /// the word that the last compared texts lacked.
    pub(super) fn select_covering(&self, slots: &mut [u32]) -> usize {
        let heavy = (self.heavy_words.get()).filter(|_| self.sought.only_containers);
        let Some(needed) = heavy.and_then(HeavyWords::needed_keys) else {
            return slots.len();
        };
        // The filters of many texts are found at the same time, and no branch depends on a filter:
        // the processor does not wait for the memory of each text.
        let wordings = &self.index.wordings;
        let known = slots.iter().map(|slot| wordings.known_words_of(*slot));
        let known: Vec<_> = known.collect();
        let mut covering = 0;
        for (at, known) in known.into_iter().enumerate() {
            slots[covering] = slots[at];
            let has_any = |known: KnownWords<'_>| needed.iter().any(|key| known.keys.has(*key));
            covering += usize::from(known.is_none_or(has_any));
        }
        covering
    }

    /// Compares the texts of a slot, whose wording has this resemblance to the text. Calls the
    /// visitor with those that are sought.
    pub(super) fn visit<B>(
        &mut self,
        slot: u32,
        resemblance: impl Fn() -> Option<Resemblance>,
    ) -> ControlFlow<B>
    where
        V: FnMut(SimilarText) -> ControlFlow<B>,
    {
        let wordings = &self.index.wordings;
        // The words of long texts take a fraction of the time of their edit distance, and the words
        // of short texts take longer, unless words selected the candidates.
        let words_first = self.text.is_long() || self.index.forest.is_none();
        let mut of_slot = None;
        for variant in wordings.variants(slot) {
            let copies = wordings.positions(variant, &self.sought.positions);
            let mut copies = copies.filter(|at| (self.sought.accepts)(*at)).peekable();
            if copies.peek().is_none() {
                continue;
            }
            let first = words_first.then(|| self.decide(variant));
            if first == Some(Decided::NotSought) {
                continue;
            }
            let Some(resemblance) = of_slot.or_else(&resemblance) else {
                return ControlFlow::Continue(());
            };
            of_slot = Some(resemblance);
            let containment = match first.unwrap_or_else(|| self.decide(variant)) {
                Decided::NotSought => continue,
                Decided::ByThresholds => None,
                Decided::ByWords(found) => Some(found),
            };
            for position in copies {
                (self.visitor)(SimilarText {
                    position,
                    resemblance,
                    containment: containment.clone(),
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Decides about a variant by its words.
    fn decide(&mut self, variant: u32) -> Decided {
        let decision = self.index.decision;
        let (weights, words) = (decision.weights(), self.text.words());
        if !decision.compares_words() {
            return Decided::ByThresholds;
        }
        if self.are_certainly_apart(weights, words, variant) {
            return Decided::NotSought;
        }
        let stored = self.stored.of(self.index, variant);
        let found = Containment::between(weights, words, stored);
        let is_sought = match self.sought.only_containers {
            true => found.verdict.is_a_in_b(),
            false => found.verdict.is_removable(),
        };
        match is_sought {
            true => Decided::ByWords(Box::new(found)),
            false => Decided::NotSought,
        }
    }

    /// Returns `true` only if a variant certainly does not cover the text, and the text certainly
    /// does not cover the variant either, where that is sought.
    fn are_certainly_apart(&mut self, weights: &Weights, words: &Words, variant: u32) -> bool {
        // A word before or after the body may be lost.
        if weights.are_ends_free {
            return false;
        }
        let heavy = self.heavy_words.get_or_init(|| HeavyWords::new(words));
        let wordings = &self.index.wordings;
        let (known, key_hashes) = (wordings.known_words(variant), wordings.key_hashes(variant));
        let is_text_lost = heavy.are_lost(weights, words, known, key_hashes, || {
            self.stored.of(self.index, variant)
        });
        if self.sought.only_containers || !is_text_lost {
            return is_text_lost;
        }
        let is_long = words.tokens.len() > MAX_UNFILTERED_WORDS;
        let own = is_long.then(|| self.own_words.get_or_init(|| CoveringWords::new(words)));
        let around = |place| wordings.words_around(variant, place);
        if own.is_some_and(|own| own.lack(weights, wordings.key_hashes(variant), around)) {
            return true;
        }
        let stored = self.stored.of(self.index, variant);
        is_lost(weights, stored, words, own.and_then(CoveringWords::known))
    }
}
