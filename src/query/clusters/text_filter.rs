//! [`TextFilter`]: the comparison of texts for [`Clustering::likeness`](super::Clustering::likeness).

use rayon::prelude::*;

use crate::document::DocId;
use crate::error::Result;
use crate::similarity::{Likeness, Wording};
use crate::store::{FingerprintSource, View};
use crate::text::Normaliser;

/// From 8 candidates on, texts are compared on all cores.
const MIN_PARALLEL_TEXTS: usize = 8;

/// The texts of a database, and the likeness that near documents must have.
pub(super) struct TextFilter<'v> {
    view: &'v View,
    normaliser: Normaliser,
    likeness: Likeness,
}

impl<'v> TextFilter<'v> {
    pub(super) fn new(view: &'v View, likeness: Likeness) -> Self {
        Self {
            view,
            normaliser: Normaliser::new(),
            likeness,
        }
    }

    /// Returns the prepared text of a document; `None` if the document has no text.
    pub(super) fn wording(&self, document: DocId) -> Result<Option<Wording>> {
        let text = self.view.text(document)?;
        Ok(text.map(|text| Wording::new(&self.normaliser, &text)))
    }

    /// Returns `true` for each candidate whose text is like `wording`. A candidate without a text is
    /// like no text.
    pub(super) fn are_alike(
        &self,
        wording: Option<&Wording>,
        candidates: &[DocId],
    ) -> Result<Vec<bool>> {
        let Some(wording) = wording else {
            return Ok(vec![false; candidates.len()]);
        };
        let is_alike = |id: &DocId| {
            let text = self.view.text(*id)?;
            let resemblance =
                text.and_then(|text| wording.compare(&self.normaliser, &text, &self.likeness));
            Ok(resemblance.is_some())
        };
        if candidates.len() < MIN_PARALLEL_TEXTS {
            candidates.iter().map(is_alike).collect()
        } else {
            let tables = &self.view.tables;
            tables.in_parallel(|| candidates.par_iter().map(is_alike).collect())
        }
    }
}
