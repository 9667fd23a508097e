//! [`TextFilter`]: the comparison of texts for
//! [`Clustering::likeness`](super::Clustering::likeness).

use rayon::prelude::*;

use crate::analysis::Analysed;
use crate::error::Result;
use crate::ids::DocId;
use crate::measure::decision::Decision;
use crate::measure::quotation::quoted_in;
use crate::measure::{Likeness, compare};
use crate::store::View;

/// From 8 candidates on, texts are compared on all cores.
const MIN_PARALLEL_TEXTS: usize = 8;

/// The texts of a database, and the rule by which near documents are compared.
pub(in crate::query) struct TextFilter<'v> {
    view: &'v View,
    likeness: Likeness,
    decision: Decision,
    contained_up_to: f64,
}

impl<'v> TextFilter<'v> {
    pub(in crate::query) fn new(view: &'v View, likeness: Likeness, decision: Decision) -> Self {
        Self {
            view,
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
    pub(in crate::query) fn text(&self, document: DocId) -> Result<Option<Analysed>> {
        Ok(self.view.text(document)?.map(Analysed::lazy))
    }

    /// Returns `true` for each candidate that `text` covers. A candidate without a text is never
    /// covered.
    pub(in crate::query) fn are_covered(
        &self,
        text: Option<&Analysed>,
        candidates: &[DocId],
    ) -> Result<Vec<bool>> {
        let Some(text) = text else {
            return Ok(vec![false; candidates.len()]);
        };
        let is_covered = |id: &DocId| {
            let Some(other) = self.view.text(*id)? else {
                return Ok(false);
            };
            let other = Analysed::lazy(other);
            let is_covered = || {
                let found = text.removable(&other, self.decision);
                found.is_some_and(|found| found.verdict.is_b_in_a())
            };
            Ok(match compare(text, &other, &self.likeness) {
                // Words are compared only of texts that are alike, since they take longer.
                Some(_) => self.decision == Decision::Alike || is_covered(),
                // A text that a much longer text quotes is never alike: its words are a small part.
                None => {
                    self.contained_up_to > 1.0
                        && quoted_in(&other, text, self.contained_up_to).is_some()
                }
            })
        };
        if candidates.len() < MIN_PARALLEL_TEXTS {
            candidates.iter().map(is_covered).collect()
        } else {
            let tables = &self.view.tables;
            tables.in_parallel(|| candidates.par_iter().map(is_covered).collect())
        }
    }
}
