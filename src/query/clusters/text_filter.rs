//! [`TextFilter`]: the comparison of texts for [`Clustering::likeness`](super::Clustering::likeness).

use rayon::prelude::*;

use crate::error::Result;
use crate::ids::DocId;
use crate::measure::decision::{DecidingText, Decision};
use crate::measure::quotation::QuotableText;
use crate::measure::{Likeness, Wording};
use crate::store::View;
use crate::text::Normaliser;

/// From 8 candidates on, texts are compared on all cores.
const MIN_PARALLEL_TEXTS: usize = 8;

/// The texts of a database, and the rule by which near documents are compared.
pub(in crate::query) struct TextFilter<'v> {
    view: &'v View,
    normaliser: Normaliser,
    likeness: Likeness,
    decision: Decision,
    contained_up_to: f64,
}

/// A text that is compared with many texts.
pub(in crate::query) struct FilterText {
    wording: Wording,
    text: DecidingText,
}

impl<'v> TextFilter<'v> {
    pub(in crate::query) fn new(view: &'v View, likeness: Likeness, decision: Decision) -> Self {
        Self {
            view,
            normaliser: Normaliser::new(),
            likeness,
            decision,
            contained_up_to: 1.0,
        }
    }

    /// Sets the largest ratio of the words of a text to the words of a text that it quotes; 1, the
    /// default, for no quotations.
    pub(in crate::query) fn with_quotations(self, contained_up_to: f64) -> Self {
        Self {
            contained_up_to,
            ..self
        }
    }

    /// Returns the prepared text of a document; `None` if the document has no text.
    pub(in crate::query) fn text(&self, document: DocId) -> Result<Option<FilterText>> {
        let text = self.view.text(document)?;
        Ok(text.map(|text| FilterText {
            wording: Wording::new(&self.normaliser, &text),
            text: DecidingText::new(&text),
        }))
    }

    /// Returns `true` for each candidate that `text` makes redundant. A candidate without a text is
    /// never redundant.
    pub(in crate::query) fn are_redundant(
        &self,
        text: Option<&FilterText>,
        candidates: &[DocId],
    ) -> Result<Vec<bool>> {
        let Some(FilterText { wording, text }) = text else {
            return Ok(vec![false; candidates.len()]);
        };
        let is_redundant = |id: &DocId| {
            let Some(other) = self.view.text(*id)? else {
                return Ok(false);
            };
            let resemblance = wording.compare(&self.normaliser, &other, &self.likeness);
            let is_said = || {
                let found = text.removable(&self.normaliser, &other);
                found.is_some_and(|found| found.verdict.is_b_in_a())
            };
            Ok(match resemblance {
                // Words are compared only of texts that are alike, since they take longer.
                Some(_) => self.decision == Decision::Alike || is_said(),
                // A text that a much longer text quotes is never alike: its words are a small part.
                None => self.is_quoted(&other, text.text()),
            })
        };
        if candidates.len() < MIN_PARALLEL_TEXTS {
            candidates.iter().map(is_redundant).collect()
        } else {
            let tables = &self.view.tables;
            tables.in_parallel(|| candidates.par_iter().map(is_redundant).collect())
        }
    }

    fn is_quoted(&self, text: &str, longer: &str) -> bool {
        self.contained_up_to > 1.0
            && QuotableText::new(&DecidingText::new(text))
                .quoted_in(longer, self.contained_up_to)
                .is_some()
    }
}
