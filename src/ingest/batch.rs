//! [`Batch`]: what each of some changes does, given those before it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::recent::Recent;
use super::wordings::Wordings;
use super::{Change, Outcome, Prepared};
use crate::document::{DocId, Document, Match, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::{self, Similar, TextQuery};
use crate::retention::Expiry;
use crate::store::{DocumentEdit, FingerprintSource, StoredDocument, TextEdit, View};

/// Decides changes in order, against what is stored and what was decided before them.
#[derive(Default)]
pub(crate) struct Batch {
    touched: HashMap<DocId, Touched>,
    recent: Recent,
    /// What is expired, given the changes so far; nothing before the first.
    expiry: Option<Expiry>,
    latest: Option<Timestamp>,
    decided: usize,
    text_bytes: usize,
    /// What was nearest, within a radius, before the batch, where that was looked for: ahead, or when
    /// what had been found was gone.
    ahead: HashMap<(Fingerprint, u32), Nearest>,
    wordings: Wordings,
}

/// The first of what was stored before the batch that was there, and not expired, at some time.
#[derive(Clone, Copy)]
struct Nearest {
    found: Option<Match>,
    /// What had arrived before this was expired then; nothing if nothing was.
    cutoff: Option<Timestamp>,
}

/// A document that some change of the batch looked at.
struct Touched {
    before: Option<StoredDocument>,
    now: Option<StoredDocument>,
    text: TextEdit,
}

impl Batch {
    /// Looks, on all cores, for what these changes will ask for.
    pub(crate) fn look_ahead<'c>(
        &mut self,
        changes: impl Iterator<Item = &'c Prepared>,
        view: &View,
    ) {
        let mut by_radius: BTreeMap<u32, Vec<Fingerprint>> = BTreeMap::new();
        let mut texts = Vec::new();
        for change in changes {
            if let (Some(query), Some(document)) = (&change.query, change.change.document()) {
                texts.push((document.id, &**query));
            }
            if let Change::InsertUnique { document, radius } = &change.change
                && document.reliable
            {
                let queries = by_radius.entry(*radius).or_default();
                queries.push(document.fingerprint);
            }
        }
        self.wordings.look_ahead(&texts, view);
        for (radius, mut queries) in by_radius {
            queries.sort_unstable();
            queries.dedup();
            // What fails now will fail again when it is decided upon, and be told to whom it concerns.
            if let Ok(nearest) = query::nearest_of_each(view, &queries, radius) {
                let cutoff = view.expiry().cutoff();
                let nearest = nearest.into_iter().map(|found| Nearest { found, cutoff });
                let asked = queries.into_iter().map(|query| (query, radius));
                self.ahead.extend(asked.zip(nearest));
            }
        }
    }

    /// Decides changes in order, up to the first that fails, and says what became of each. `view` is
    /// the database as it was before the batch.
    pub(crate) fn decide_all(
        &mut self,
        changes: &[Prepared],
        view: &View<impl FingerprintSource>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<()> {
        for change in changes {
            outcomes.push(self.decide(change, view)?);
        }
        Ok(())
    }

    /// Decides one change. One that fails has changed nothing.
    fn decide(
        &mut self,
        prepared: &Prepared,
        view: &View<impl FingerprintSource>,
    ) -> Result<Outcome> {
        self.decided += 1;
        let expiry = *self.expiry.get_or_insert_with(|| view.expiry());
        let decided = self.decide_as_it_arrives(prepared, view);
        let counts = match decided {
            Ok(Outcome::Inserted | Outcome::Replaced { .. }) => true,
            Ok(Outcome::Duplicate(_) | Outcome::Similar(_)) => view.is_sliding(),
            _ => false,
        };
        if counts {
            self.latest = self.latest.max(prepared.change.arrival());
        } else {
            // An arrival that leaves no trace must not depend on what it was handed over with.
            self.expiry = Some(expiry);
        }
        decided
    }

    /// Decides one change as of its arrival.
    fn decide_as_it_arrives(
        &mut self,
        prepared: &Prepared,
        view: &View<impl FingerprintSource>,
    ) -> Result<Outcome> {
        let change = &prepared.change;
        let id = change.id();
        // What a document meets is what is there when it arrives.
        self.go_on(change.arrival());
        let stored = self.look_up(id, view)?.map(|state| state.fingerprint);
        Ok(match (change, stored) {
            (
                Change::Insert(_)
                | Change::InsertUnique { .. }
                | Change::InsertUnlessSimilar { .. },
                Some(stored),
            ) => Outcome::Exists { stored },
            (Change::Insert(document), None) => {
                self.put(document, prepared.text.clone());
                Outcome::Inserted
            }
            (Change::InsertUnique { document, radius }, None) => {
                let nearest = if document.reliable {
                    self.nearest_within(document.fingerprint, *radius, view)?
                } else {
                    None
                };
                match nearest {
                    Some(found) => {
                        self.refresh(found.id, document.arrival, view)?;
                        Outcome::Duplicate(found)
                    }
                    None => {
                        self.put(document, prepared.text.clone());
                        Outcome::Inserted
                    }
                }
            }
            (Change::InsertUnlessSimilar { document, .. }, None) => {
                let like = match &prepared.query {
                    Some(query) => self.most_similar(document.id, query, view)?,
                    None => None,
                };
                match like {
                    Some(found) => {
                        self.refresh(found.id, document.arrival, view)?;
                        Outcome::Similar(found)
                    }
                    None => {
                        self.put(document, prepared.text.clone());
                        Outcome::Inserted
                    }
                }
            }
            (Change::Upsert(document), stored) => {
                self.put(document, prepared.text.clone());
                stored.map_or(Outcome::Inserted, |stored| Outcome::Replaced { stored })
            }
            (Change::Remove(_), Some(stored)) => {
                self.remove(id);
                Outcome::Removed { stored }
            }
            (Change::RemoveOlder { than, .. }, stored) => {
                // What is expired goes too, although nobody meets it.
                let is_older = self.arrived_before(id, *than);
                if is_older {
                    self.remove(id);
                }
                let removed = stored.filter(|_| is_older);
                removed.map_or(Outcome::Missing, |stored| Outcome::Removed { stored })
            }
            (Change::Remove(_), None) => Outcome::Missing,
        })
    }

    fn go_on(&mut self, arrival: Option<Timestamp>) {
        if let Some(expiry) = &mut self.expiry {
            expiry.go_on(arrival);
        }
    }

    /// The latest arrival among the changes that left a trace.
    pub(crate) fn latest_arrival(&self) -> Option<Timestamp> {
        self.latest
    }

    /// Bytes of the texts that are to be stored.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// How many changes it has decided, or documents it has looked at, if these are more: for each of
    /// them something is in memory.
    pub(crate) fn len(&self) -> usize {
        self.touched.len().max(self.decided)
    }

    /// What the batch comes to, for the store.
    pub(crate) fn into_edits(self) -> Vec<DocumentEdit> {
        self.touched
            .into_iter()
            .map(|(id, Touched { before, now, text })| DocumentEdit {
                id,
                before,
                after: now,
                text,
            })
            .collect()
    }

    /// What is stored of a document, unless it is expired.
    fn look_up(
        &mut self,
        id: DocId,
        view: &View<impl FingerprintSource>,
    ) -> Result<Option<StoredDocument>> {
        let now = match self.touched.get(&id) {
            Some(touched) => touched.now,
            None => {
                let before = view.stored(id)?;
                self.touched.insert(
                    id,
                    Touched {
                        before,
                        now: before,
                        text: TextEdit::Keep,
                    },
                );
                before
            }
        };
        Ok(now.filter(|state| !self.has_passed(state.arrival)))
    }

    /// A document that was looked up, as of now, be it expired or not.
    fn now(&self, id: DocId) -> Option<StoredDocument> {
        self.touched.get(&id).and_then(|touched| touched.now)
    }

    /// Whether a document that was looked up arrived before, be it expired or not.
    fn arrived_before(&self, id: DocId, time: Timestamp) -> bool {
        let arrival = self.now(id).and_then(|state| state.arrival);
        arrival.is_some_and(|arrival| arrival < time)
    }

    fn has_passed(&self, arrival: Option<Timestamp>) -> bool {
        self.expiry.is_some_and(|expiry| expiry.has_passed(arrival))
    }

    /// Removes expired documents that the tables hold: looks at up to `most` of those that
    /// arrived first, from `from` on, and returns where to go on. What is damaged stays: it concerns
    /// who asks for it, and nobody did.
    pub(crate) fn sweep(
        &mut self,
        view: &View<impl FingerprintSource>,
        from: (u64, DocId),
        most: usize,
    ) -> (u64, DocId) {
        let expiry = *self.expiry.get_or_insert_with(|| view.expiry());
        let Some(cutoff) = expiry.cutoff() else {
            return from;
        };
        let Ok((expired, next, _)) = view.arrived_before(cutoff, from, most) else {
            return from;
        };
        for id in expired {
            if let Ok(None) = self.look_up(id, view) {
                self.remove(id);
            }
        }
        next
    }

    /// A duplicate of the document has arrived.
    fn refresh(
        &mut self,
        id: DocId,
        arrival: Option<Timestamp>,
        view: &View<impl FingerprintSource>,
    ) -> Result<()> {
        if !view.is_sliding() {
            return Ok(());
        }
        self.look_up(id, view)?;
        let known = self.touched.get_mut(&id);
        if let Some(state) = known.and_then(|touched| touched.now.as_mut()) {
            state.arrival = state.arrival.max(arrival);
        }
        Ok(())
    }

    fn put(&mut self, document: &Document, text: TextEdit) {
        let state = StoredDocument {
            fingerprint: document.fingerprint,
            reliable: document.reliable,
            arrival: document.arrival,
        };
        self.set(document.id, Some(state), text);
    }

    fn remove(&mut self, id: DocId) {
        self.set(id, None, TextEdit::Remove);
    }

    fn set(&mut self, id: DocId, now: Option<StoredDocument>, text: TextEdit) {
        let Some(touched) = self.touched.get_mut(&id) else {
            return;
        };
        if let Some(state) = touched.now.filter(|state| state.reliable) {
            self.recent.remove(id, state.fingerprint);
        }
        if let Some(state) = now.filter(|state| state.reliable) {
            self.recent.add(id, state.fingerprint);
        }
        self.text_bytes += text.len_bytes();
        if matches!(text, TextEdit::Put(_)) {
            self.wordings.add(id);
        }
        touched.text = match text {
            // What comes back as it was leaves a trace of when it did.
            TextEdit::Keep if touched.now != touched.before => TextEdit::Remove,
            text => text,
        };
        touched.now = now;
    }

    /// The nearest document within the radius, then the one with the smallest id, as of now.
    fn nearest_within(
        &mut self,
        query: Fingerprint,
        radius: u32,
        view: &View<impl FingerprintSource>,
    ) -> Result<Option<Match>> {
        self.recent.index();
        let cutoff = self.expiry.and_then(|expiry| expiry.cutoff());
        let moved_on = cutoff > view.expiry().cutoff();
        // What was gone or expired then is so now, or among the recent if it has come back. Only
        // what was expired as of an arrival that left no trace may not be.
        let known = self.ahead.get(&(query, radius)).copied();
        let known = known.filter(|known| known.cutoff <= cutoff);
        let mut nearest = None;
        let is_known = match known.map(|known| known.found) {
            None => false,
            Some(None) => true,
            Some(Some(found)) => {
                let is_so = self.is_still_so(&found, moved_on, view)?;
                nearest = is_so.then_some(found);
                is_so
            }
        };
        if !is_known {
            nearest = self.first_still_so(query, radius, moved_on, view)?;
            // So it is not passed over once more.
            let found = Nearest {
                found: nearest,
                cutoff,
            };
            let kept = self.ahead.entry((query, radius)).or_insert(found);
            if kept.cutoff <= cutoff {
                *kept = found;
            }
        }
        let is_there = |id: DocId| {
            let now = self.now(id);
            now.is_some_and(|state| !self.has_passed(state.arrival))
        };
        self.recent
            .for_each_within(query, radius, |fingerprint, documents| {
                let first = documents.iter().find(|id| is_there(**id));
                let found = first.map(|id| Match {
                    id: *id,
                    fingerprint,
                    distance: fingerprint.distance(query),
                });
                if let Some(found) = found
                    && nearest.is_none_or(|nearest| found.order() < nearest.order())
                {
                    nearest = Some(found);
                }
            });
        Ok(nearest)
    }

    /// The first of what lay within the radius before the batch that is there now.
    fn first_still_so(
        &self,
        query: Fingerprint,
        radius: u32,
        moved_on: bool,
        view: &View<impl FingerprintSource>,
    ) -> Result<Option<Match>> {
        // More and more, since most often the first is so still, and there may be a million.
        let mut limit = 1;
        loop {
            let found = query::within(view, query, radius, limit)?;
            for found in &found {
                if self.is_still_so(found, moved_on, view)? {
                    return Ok(Some(*found));
                }
            }
            if found.len() < limit {
                return Ok(None);
            }
            limit = limit.saturating_mul(16);
        }
    }

    /// Whether what was found before the batch is there now.
    fn is_still_so(
        &self,
        found: &Match,
        moved_on: bool,
        view: &View<impl FingerprintSource>,
    ) -> Result<bool> {
        if let Some(touched) = self.touched.get(&found.id) {
            let is_so = |state: StoredDocument| {
                state.reliable
                    && state.fingerprint == found.fingerprint
                    && !self.has_passed(state.arrival)
            };
            return Ok(touched.now.is_some_and(is_so));
        }
        if !moved_on {
            return Ok(true);
        }
        let state = view.stored(found.id)?;
        Ok(state.is_some_and(|state| !self.has_passed(state.arrival)))
    }

    /// The document whose text is most like the query, as of now.
    fn most_similar(
        &mut self,
        id: DocId,
        query: &TextQuery,
        view: &View<impl FingerprintSource>,
    ) -> Result<Option<Similar>> {
        let ahead = self.wordings.take_ahead(id);
        let mut best = None;
        if let Some(ahead) = &ahead {
            best = self.first_with_its_text(&ahead.found, view)?;
        }
        if best.is_none() && ahead.is_none_or(|ahead| !ahead.is_all) {
            best = self.first_with_its_text(&query::similar_in_turn(view, query)?, view)?;
        }

        let text_of = |id: &DocId| match &self.touched.get(id)?.text {
            TextEdit::Put(banded) => Some(Arc::clone(banded)),
            TextEdit::Keep | TextEdit::Remove => None,
        };
        let mut candidates = self.wordings.sharing(query.keys(), text_of);
        if let Some((fingerprint, radius)) = query.near(view.keeps_bands()) {
            self.recent.index();
            let mut near = BTreeSet::new();
            self.recent
                .for_each_within(fingerprint, radius, |found, documents| {
                    let distance = found.distance(fingerprint);
                    near.extend(documents.iter().map(|id| (distance, *id)));
                    while near.len() > query::MOST_NEAR {
                        near.pop_last();
                    }
                });
            candidates.extend(near.into_iter().map(|(_, id)| id));
        }
        for id in candidates {
            let now = self.now(id);
            let now = now.filter(|state| !self.has_passed(state.arrival));
            let (Some(state), Some(banded)) = (now, text_of(&id)) else {
                continue;
            };
            let resemblance = query.compare(&banded.text);
            let found = resemblance.map(|found| query.found(id, state.fingerprint, found));
            if let Some(found) = found
                && best.as_ref().is_none_or(|best| found.order(best).is_lt())
            {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// The first of what was found before the batch that is so still.
    fn first_with_its_text(
        &self,
        found: &[Similar],
        view: &View<impl FingerprintSource>,
    ) -> Result<Option<Similar>> {
        let moved_on = self.expiry.and_then(|expiry| expiry.cutoff()) > view.expiry().cutoff();
        for found in found {
            if self.has_still_the_text(found, moved_on, view)? {
                return Ok(Some(*found));
            }
        }
        Ok(None)
    }

    /// Whether a document that was found before the batch has the same text now.
    fn has_still_the_text(
        &self,
        found: &Similar,
        moved_on: bool,
        view: &View<impl FingerprintSource>,
    ) -> Result<bool> {
        let state = match self.touched.get(&found.id) {
            Some(touched) => touched.now.filter(|_| touched.text == TextEdit::Keep),
            None if !moved_on => return Ok(true),
            None => view.stored(found.id)?,
        };
        Ok(state.is_some_and(|state| !self.has_passed(state.arrival)))
    }
}
