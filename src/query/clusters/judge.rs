//! The second look at what is near: whether the texts are alike.

use rayon::prelude::*;

use crate::document::DocId;
use crate::error::Result;
use crate::similarity::{Likeness, Wording};
use crate::store::{FingerprintSource, View};
use crate::text::Normaliser;

/// From so many candidates on they are compared on all cores.
const COMPARED_IN_PARALLEL: usize = 8;

/// Compares the texts that a database keeps.
pub(super) struct Texts<'v> {
    view: &'v View,
    normaliser: Normaliser,
    likeness: Likeness,
    /// The document asked for last, and what it says, if it has a text.
    asked: Option<(DocId, Option<Wording>)>,
}

impl<'v> Texts<'v> {
    pub(super) fn new(view: &'v View, likeness: Likeness) -> Self {
        Self {
            view,
            normaliser: Normaliser::new(),
            likeness,
            asked: None,
        }
    }

    /// Which of the candidates have texts like that of a document. One without a text is like none.
    pub(super) fn alike(&mut self, document: DocId, candidates: &[DocId]) -> Result<Vec<bool>> {
        let (view, normaliser, likeness) = (self.view, &self.normaliser, &self.likeness);
        if self.asked.as_ref().is_none_or(|(id, _)| *id != document) {
            let text = view.text(document)?;
            let wording = text.map(|text| Wording::new(normaliser, &text));
            self.asked = Some((document, wording));
        }
        let Some((_, Some(wording))) = &self.asked else {
            return Ok(vec![false; candidates.len()]);
        };
        let is_alike = |id: &DocId| {
            let text = view.text(*id)?;
            let resemblance = text.and_then(|text| wording.compare(normaliser, &text, likeness));
            Ok(resemblance.is_some())
        };
        if candidates.len() < COMPARED_IN_PARALLEL {
            candidates.iter().map(is_alike).collect()
        } else {
            view.tables
                .in_parallel(|| candidates.par_iter().map(is_alike).collect())
        }
    }
}
