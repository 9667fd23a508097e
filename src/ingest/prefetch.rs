//! [`Prefetched`]: answers that a batch will need, looked up on all cores.
//!
//! A batch is decided by one thread while other writers wait, so the queries of its changes are
//! asked before, in parallel. A prefetched answer stays right by one rule. It lists the first
//! documents in their order; later edits of the batch and the advance of its expiry only take
//! documents away, since what an edit adds is in the overlay of the view. So the first document of
//! the list that is neither edited nor expired comes first of all that the batch has not edited, and
//! the change is decided by that document and the first one in the overlay. If none of the list is
//! left, and the list was not complete, the view is asked again.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use super::{Change, Prepared};
use crate::document::{DocId, Match, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::{self, Similar, TextQuery};
use crate::store::{DocumentEdit, FingerprintSource, TextEdit, View};

/// Up to this many queries are answered in turn: other threads would take longer to wake.
const FEW: usize = 3;
/// From this many queries on, one walk through the tables answers all.
const MANY: usize = 4096;
/// Documents kept of an answer by text. The first decides unless it is gone by then; thousands may
/// be like one text, and tens of thousands of texts wait together.
const MAX_SIMILAR: usize = 8;

/// Prefetched answers.
#[derive(Default)]
pub(super) struct Prefetched {
    nearest: HashMap<(Fingerprint, u32), Answer<Match>>,
    /// By the id of the document that brings the text.
    similar: HashMap<DocId, Answer<Similar>>,
}

/// An answer of a view.
pub(super) struct Answer<A> {
    /// The first documents, in their order.
    pub(super) documents: Vec<A>,
    /// `true` if there were no others.
    pub(super) is_complete: bool,
    /// Documents that arrived before this time were expired. An answer is right only as of this
    /// cutoff or a later one: after a change that counts for nothing the cutoff goes back.
    pub(super) cutoff: Option<Timestamp>,
}

/// A document in an answer.
pub(super) trait Found: Copy {
    fn id(&self) -> DocId;

    /// Returns `true` if an edited document is found all the same.
    fn is_unchanged_by(&self, edit: &DocumentEdit) -> bool;
}

impl Found for Match {
    fn id(&self) -> DocId {
        self.id
    }

    fn is_unchanged_by(&self, edit: &DocumentEdit) -> bool {
        edit.after
            .is_some_and(|after| after.reliable && after.fingerprint == self.fingerprint)
    }
}

impl Found for Similar {
    fn id(&self) -> DocId {
        self.id
    }

    fn is_unchanged_by(&self, edit: &DocumentEdit) -> bool {
        edit.text == TextEdit::Keep
    }
}

impl Answer<Match> {
    /// The answer to a query for the nearest document.
    pub(super) fn nearest(nearest: Option<Match>, cutoff: Option<Timestamp>) -> Self {
        Self {
            documents: nearest.into_iter().collect(),
            is_complete: nearest.is_none(),
            cutoff,
        }
    }
}

impl Answer<Similar> {
    fn similar(mut documents: Vec<Similar>, cutoff: Option<Timestamp>) -> Self {
        let is_complete = documents.len() <= MAX_SIMILAR;
        documents.truncate(MAX_SIMILAR);
        documents.shrink_to_fit();
        Self {
            documents,
            is_complete,
            cutoff,
        }
    }
}

impl Prefetched {
    /// Looks up the answers that these changes need, on all cores. A query that fails is left out: it
    /// is asked again, and fails again, when its change is decided.
    pub(super) fn look_up<'c>(
        &mut self,
        view: &View,
        changes: impl IntoIterator<Item = &'c Prepared>,
    ) {
        let mut queries: BTreeMap<u32, Vec<Fingerprint>> = BTreeMap::new();
        let mut texts: BTreeMap<DocId, Option<&TextQuery>> = BTreeMap::new();
        for prepared in changes {
            match (&prepared.change, &prepared.query) {
                (Change::InsertUnique { document, radius }, _)
                    if document.reliable
                        && self.nearest(document.fingerprint, *radius).is_none() =>
                {
                    let queries = queries.entry(*radius).or_default();
                    queries.push(document.fingerprint);
                }
                // Two texts of one id cannot be told apart later: neither is looked up.
                (Change::InsertUnlessSimilar { document, .. }, Some(query)) => {
                    let text = texts.entry(document.id);
                    text.and_modify(|text| *text = None).or_insert(Some(query));
                }
                _ => {}
            }
        }
        let cutoff = view.expiry().cutoff();
        for (radius, mut queries) in queries {
            queries.sort_unstable();
            queries.dedup();
            if let Ok(nearest) = nearest_of_each(view, &queries, radius) {
                for (query, nearest) in queries.into_iter().zip(nearest) {
                    self.keep_nearest(query, radius, Answer::nearest(nearest, cutoff));
                }
            }
        }
        let similar = |(id, query): (DocId, Option<&TextQuery>)| {
            let found = query::similar(view, query?, |id| view.text(id)).ok()?;
            Some((id, Answer::similar(found, cutoff)))
        };
        // Replaces all: the answers to texts before were of use only for their own changes.
        self.similar = if texts.is_empty() {
            HashMap::new()
        } else {
            let in_parallel = || texts.into_par_iter().filter_map(similar).collect();
            view.tables.in_parallel(in_parallel)
        };
    }

    /// The answer for the nearest document within the radius.
    pub(super) fn nearest(&self, query: Fingerprint, radius: u32) -> Option<&Answer<Match>> {
        self.nearest.get(&(query, radius))
    }

    /// Keeps an answer for later changes. Without it each of them would pass over the same removed
    /// or expired documents again: 30,000 removed copies and 2,000 inserts took minutes.
    pub(super) fn keep_nearest(&mut self, query: Fingerprint, radius: u32, answer: Answer<Match>) {
        self.nearest.insert((query, radius), answer);
    }

    /// The documents whose texts are like that of a new document, once.
    pub(super) fn take_similar(&mut self, id: DocId) -> Option<Answer<Similar>> {
        self.similar.remove(&id)
    }
}

/// The first match of each query.
fn nearest_of_each(
    view: &View,
    queries: &[Fingerprint],
    radius: u32,
) -> Result<Vec<Option<Match>>> {
    let nearest = |query: &Fingerprint| Ok(query::within(view, *query, radius, 1)?.pop());
    if queries.len() <= FEW {
        return queries.iter().map(nearest).collect();
    }
    if queries.len() < MANY {
        let in_parallel = || queries.par_iter().map(nearest).collect();
        return view.tables.in_parallel(in_parallel);
    }
    let mut nearest = Vec::with_capacity(queries.len());
    query::within_batch(view, queries, radius, 1, &mut |_, mut matches| {
        nearest.push(matches.pop());
        true
    })?;
    Ok(nearest)
}
