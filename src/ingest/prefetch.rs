//! [`PrefetchCache`]: answers that a batch will need, looked up on all cores.
//!
//! One thread decides a batch while other writers wait, so the queries run before, in parallel.
//!
//! A prefetched answer lists the first matching documents in order, as of all edits before. Later
//! edits and later expiry only remove documents from the list, because a document that the batch
//! stores is in the overlay of the view. So the first listed document that is neither edited nor
//! expired precedes all other documents outside the overlay, and the change is decided by that
//! document or by the first document of the overlay. If no listed document is left and the list is
//! incomplete, the query runs again.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use super::{Change, PreparedChange};
use crate::document::Match;
use crate::error::Result;
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::progress::ProgressHandler;
use crate::query::{self, Similar, TextQuery};
use crate::store::{DocumentEdit, TextEdit, View};

/// Up to 3 queries run one after the other: waking other threads would take longer.
const MAX_SEQUENTIAL_QUERIES: usize = 3;
/// From 4,096 queries on, one walk through the tables answers all of them.
const MIN_BATCH_QUERIES: usize = 4096;
/// At most 8 documents of the answer to a text query are kept. Thousands of documents may be like
/// one text, and tens of thousands of texts wait together: complete answers took gigabytes.
const MAX_SIMILAR_KEPT: usize = 8;

/// The prefetched answers of a batch.
#[derive(Default)]
pub(super) struct PrefetchCache {
    /// By query, radius and ids. An answer is kept for later changes: otherwise each of these
    /// changes would skip the same removed or expired documents again, and 30,000 removed copies
    /// and 2,000 inserts took minutes.
    pub(super) nearest: HashMap<(Fingerprint, u32, IdRanges), PrefetchedAnswer<Match>>,
    /// By the id of the new document.
    pub(super) similar: HashMap<DocId, PrefetchedAnswer<Similar>>,
}

/// The answer of a view to one query.
pub(super) struct PrefetchedAnswer<A> {
    /// The first documents, in order.
    pub(super) documents: Vec<A>,
    /// `true` if the answer has no other documents.
    pub(super) is_complete: bool,
    /// The cutoff of the view: documents that arrived earlier are not in the answer. The answer is
    /// valid at this cutoff or a later cutoff.
    pub(super) cutoff: Option<Timestamp>,
}

pub(super) trait PrefetchedDocument: Clone {
    fn id(&self) -> DocId;

    /// Returns `true` if the document still belongs to the answer after this edit.
    fn is_unchanged_by(&self, edit: &DocumentEdit) -> bool;
}

impl PrefetchedDocument for Match {
    fn id(&self) -> DocId {
        self.id
    }

    fn is_unchanged_by(&self, edit: &DocumentEdit) -> bool {
        edit.after
            .is_some_and(|after| after.reliable && after.fingerprint == self.fingerprint)
    }
}

impl PrefetchedDocument for Similar {
    fn id(&self) -> DocId {
        self.id
    }

    fn is_unchanged_by(&self, edit: &DocumentEdit) -> bool {
        edit.text == TextEdit::Keep
    }
}

impl PrefetchedAnswer<Match> {
    pub(super) fn from_nearest(nearest: Option<Match>, cutoff: Option<Timestamp>) -> Self {
        Self {
            documents: nearest.into_iter().collect(),
            // Only one match is kept. If an edit or the expiry removes it, the next match is
            // unknown.
            is_complete: nearest.is_none(),
            cutoff,
        }
    }
}

impl PrefetchedAnswer<Similar> {
    fn from_similar(mut documents: Vec<Similar>, is_all: bool, cutoff: Option<Timestamp>) -> Self {
        let is_complete = is_all && documents.len() <= MAX_SIMILAR_KEPT;
        documents.truncate(MAX_SIMILAR_KEPT);
        // Truncation keeps the capacity of thousands of documents.
        documents.shrink_to_fit();
        Self {
            documents,
            is_complete,
            cutoff,
        }
    }
}

impl PrefetchCache {
    /// Looks up the answers that these changes need, on all cores. The overlay of the view has all
    /// edits of the batch. A query that fails is left out, and fails again when its change is
    /// decided.
    pub(super) fn fill<'c>(
        &mut self,
        view: &View,
        changes: impl IntoIterator<Item = &'c PreparedChange>,
    ) {
        let mut queries: BTreeMap<(u32, &IdRanges), Vec<Fingerprint>> = BTreeMap::new();
        let mut text_queries: BTreeMap<DocId, Option<(&TextQuery, &IdRanges)>> = BTreeMap::new();
        let mut may_remove = false;
        for prepared in changes {
            let among = &prepared.among;
            match (&prepared.change, &prepared.query) {
                (Change::InsertUnique { document, radius }, _)
                    if document.reliable
                        && !self.nearest.contains_key(&(
                            document.fingerprint,
                            *radius,
                            among.clone(),
                        )) =>
                {
                    let queries = queries.entry((*radius, among)).or_default();
                    queries.push(document.fingerprint);
                }
                // Answers are kept by document id, so two texts with one id would be confused:
                // neither is looked up.
                (
                    Change::InsertUnlessSimilar { document, .. }
                    | Change::InsertUnique { document, .. },
                    Some(query),
                ) => {
                    let text_query = text_queries.entry(document.id);
                    text_query
                        .and_modify(|text_query| *text_query = None)
                        .or_insert(Some((query, among)));
                }
                (
                    Change::Remove(_)
                    | Change::RemoveKey(_)
                    | Change::RemoveOlder { .. }
                    | Change::Upsert(_),
                    _,
                ) => {
                    may_remove = true;
                }
                _ => {}
            }
        }
        let cutoff = view.expiry().cutoff();
        for ((radius, among), mut queries) in queries {
            // Copies of one text in a batch cost one query.
            queries.sort_unstable();
            queries.dedup();
            if let Ok(nearest) = nearest_of_each(view, &queries, radius, among) {
                for (query, nearest) in queries.into_iter().zip(nearest) {
                    let answer = PrefetchedAnswer::from_nearest(nearest, cutoff);
                    self.nearest.insert((query, radius, among.clone()), answer);
                }
            }
        }
        let similar = |(id, query): (DocId, Option<(&TextQuery, &IdRanges)>)| {
            let (query, among) = query?;
            // If the changes before remove the copies of a text, its query would run again on one
            // thread.
            let found = match may_remove {
                true => query::similar(view, query, among).map(|found| (found, true)),
                false => query::first_similar(view, query, among),
            };
            let (found, is_all) = found.ok()?;
            let answer = PrefetchedAnswer::from_similar(found, is_all, cutoff);
            Some((id, answer))
        };
        // Drops the answers for earlier changes: each of them serves only its own change.
        self.similar = if text_queries.is_empty() {
            HashMap::new()
        } else {
            let in_parallel = || text_queries.into_par_iter().filter_map(similar).collect();
            view.tables.in_parallel(in_parallel)
        };
    }
}

/// The first match among some ids of each query.
fn nearest_of_each(
    view: &View,
    queries: &[Fingerprint],
    radius: u32,
    among: &IdRanges,
) -> Result<Vec<Option<Match>>> {
    let nearest = |query: &Fingerprint| Ok(query::within(view, *query, radius, among, 1)?.pop());
    if queries.len() <= MAX_SEQUENTIAL_QUERIES {
        return queries.iter().map(nearest).collect();
    }
    if queries.len() < MIN_BATCH_QUERIES {
        let in_parallel = || queries.par_iter().map(nearest).collect();
        return view.tables.in_parallel(in_parallel);
    }
    // A batch of queries reads each bucket once, for the price of sorting the queries.
    let mut nearest = Vec::with_capacity(queries.len());
    let unreported = ProgressHandler::default();
    query::within_batch(
        view,
        queries,
        radius,
        among,
        1,
        &unreported,
        &mut |_, mut matches| {
            nearest.push(matches.pop());
            true
        },
    )?;
    Ok(nearest)
}
