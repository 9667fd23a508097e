//! The searches that decide changes, as of the edits of a batch.

use super::Batch;
use crate::document::Match;
use crate::error::Result;
use crate::ids::Fingerprint;
use crate::ids::scope::IdRanges;
use crate::ingest::Change;
use crate::ingest::prefetch::{PrefetchedAnswer, PrefetchedDocument};
use crate::query::{self, Similar, TextQuery};
use crate::store::ViewAccess;

impl<A: ViewAccess> Batch<A> {
    /// The nearest document among some ids within the radius, ties by smallest id.
    pub(super) fn nearest(
        &mut self,
        query: Fingerprint,
        radius: u32,
        among: &IdRanges,
    ) -> Result<Option<Match>> {
        self.apply_pending_edits();
        let key = (query, radius, among.clone());
        if let Some(answer) = self.prefetch_cache.nearest.get(&key)
            && let Some(first) = self.first_valid(answer)?
        {
            // A prefetched answer lacks documents that the batch has stored: the overlay has them.
            let edited = self.view.in_overlay(query, radius, among, 1).pop();
            return Ok(first.into_iter().chain(edited).min());
        }
        let nearest = query::within(&self.view, query, radius, among, 1)?.pop();
        let answer = PrefetchedAnswer::from_nearest(nearest, self.view.expiry().cutoff());
        self.prefetch_cache.nearest.insert(key, answer);
        Ok(nearest)
    }

    /// The document among some ids whose text is most like the text of the new document.
    pub(super) fn most_similar(
        &mut self,
        change: &Change,
        query: &TextQuery,
        among: &IdRanges,
    ) -> Result<Option<Similar>> {
        self.apply_pending_edits();
        let document = change.document();
        let answer = document.and_then(|new| self.prefetch_cache.similar.remove(&new.id));
        if let Some(answer) = answer
            && let Some(first) = self.first_valid(&answer)?
        {
            let edited = query::similar_in_overlay(&self.view, query, among)?;
            let edited = edited.into_iter().next();
            return Ok(first.into_iter().chain(edited).min_by(Similar::order));
        }
        let found = query::similar_sequential(&self.view, query, among)?;
        Ok(found.into_iter().next())
    }

    /// The first document of a prefetched answer that is still valid. `Some(None)` if no document
    /// of a complete answer is valid, `None` if the query must run again.
    fn first_valid<D: PrefetchedDocument>(
        &self,
        answer: &PrefetchedAnswer<D>,
    ) -> Result<Option<Option<D>>> {
        let cutoff = self.view.expiry().cutoff();
        // The cutoff went back after a change that was not stored: the answer may lack documents
        // that were expired at its cutoff and are current now.
        if answer.cutoff > cutoff {
            return Ok(None);
        }
        for document in &answer.documents {
            let state = match self.edits.get(&document.id()) {
                Some(edit) => edit.after.filter(|_| document.is_unchanged_by(edit)),
                // Neither edited nor expired since: saves a read of the tables.
                None if answer.cutoff == cutoff => return Ok(Some(Some(document.clone()))),
                None => self.view.stored(document.id())?,
            };
            if state.is_some_and(|state| !self.has_expired(&state)) {
                return Ok(Some(Some(document.clone())));
            }
        }
        Ok(answer.is_complete.then_some(None))
    }
}
