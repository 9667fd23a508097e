//! [`SlotSearch`]: the comparison of a text with the texts of one wording.

use std::cell::OnceCell;
use std::ops::{ControlFlow, Range};

use super::{SimilarIndex, SimilarText};
use crate::analysis::Analysed;
use crate::analysis::words::Words;
use crate::measure::Resemblance;
use crate::measure::containment::{Containment, HeavyWords, Verdict};

/// The texts of an index that a search visits, among the texts that are like the text of the
/// search.
pub(crate) struct Sought<'s> {
    pub(crate) positions: Range<u32>,
    /// Returns `true` for the positions that are visited. Other positions are not compared.
    pub(crate) accepts: &'s dyn Fn(u32) -> bool,
    /// `true` to visit only texts that contain the text of the search, if words decide.
    pub(crate) only_containers: bool,
}

/// A search for texts that are like a text.
pub(super) struct SlotSearch<'s, V> {
    pub(super) index: &'s SimilarIndex,
    pub(super) text: &'s Analysed,
    pub(super) sought: &'s Sought<'s>,
    pub(super) heavy_words: OnceCell<HeavyWords>,
    /// The words of the variant that was read last.
    pub(super) stored: StoredWords<'s>,
    pub(super) visitor: &'s mut V,
}

/// The words of a variant of an index, in memory that the next variant takes over.
#[derive(Default)]
pub(super) struct StoredWords<'s> {
    variant: Option<u32>,
    words: Words<'s>,
}

impl<'s> StoredWords<'s> {
    fn of(&mut self, index: &'s SimilarIndex, variant: u32) -> &Words<'s> {
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
        // The test of the words takes a fraction of the time of an edit distance of long texts, and
        // longer than a comparison of short ones.
        let words_first = self.text.is_long();
        let mut of_slot = None;
        for variant in wordings.variants(slot) {
            let copies = wordings.positions(variant, &self.sought.positions);
            let mut copies = copies.filter(|at| (self.sought.accepts)(*at)).peekable();
            if copies.peek().is_none() || words_first && self.certainly_loses_to(variant) {
                continue;
            }
            let Some(resemblance) = of_slot.or_else(&resemblance) else {
                return ControlFlow::Continue(());
            };
            of_slot = Some(resemblance);
            if !words_first && self.certainly_loses_to(variant) {
                continue;
            }
            let containment = match self.index.decision.compares_words() {
                false => None,
                true => {
                    let Some(found) = self.containment(variant) else {
                        continue;
                    };
                    Some(Box::new(found))
                }
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

    /// Returns `true` only if a variant certainly lacks a word of the text, and is to cover it.
    fn certainly_loses_to(&mut self, variant: u32) -> bool {
        let (decision, words) = (self.index.decision, self.text.words());
        let weights = decision.weights();
        // A word before or after the body may be lost.
        let may_lose = !decision.compares_words() || weights.are_ends_free;
        if !self.sought.only_containers || may_lose {
            return false;
        }
        let heavy = self.heavy_words.get_or_init(|| HeavyWords::new(words));
        let key_hashes = self.index.wordings.key_hashes(variant);
        heavy.are_lost(weights, words, key_hashes, || {
            self.stored.of(self.index, variant)
        })
    }

    /// The containment of the text and of a variant; `None` if it is not sought.
    fn containment(&mut self, variant: u32) -> Option<Containment> {
        let weights = self.index.decision.weights();
        let stored = self.stored.of(self.index, variant);
        match self.sought.only_containers {
            true => Some(Containment::between(weights, self.text.words(), stored))
                .filter(|found| Verdict::is_a_in_b(found.verdict)),
            false => Containment::of_removable(weights, self.text.words(), stored),
        }
    }
}
