//! [`Deduplicator`]: decides in memory, in order, which documents are kept.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use super::Outcome;
use crate::analysis::Analysed;
use crate::analysis::frames::{BodyText, Frames};
use crate::dedup::text_index::{SimilarIndex, SimilarText};
use crate::document::Document;
use crate::error::{Error, Result};
use crate::ids::scope::{IdRanges, ScopeNumber};
use crate::ids::{DocId, Fingerprint};
use crate::measure::containment::Forgiven;
use crate::measure::decision::{Resolution, SimilarRule};
use crate::query::{self, Similar, TextQuery};
use crate::store::View;

/// Decides in memory, in order, which documents are kept: a document is refused if the text of a
/// kept document covers its text.
///
/// The rule is the rule of
/// [`Database::insert_unless_similar`](crate::Database::insert_unless_similar) for one document
/// after the other. The kept texts are in a [`SimilarIndex`], which misses few matches, and of very
/// short texts fewer than a database, so some outcomes differ. Arrival times do not count. With
/// [frames](Self::set_frames), texts are compared by their bodies, and then as whole texts.
///
/// ```
/// use simdb::in_memory::Deduplicator;
/// use simdb::{Document, Fingerprint, Outcome, SimilarRule};
///
/// let texts = [
///     "The ferry to the islands was cancelled because of fog.",
///     "MongoDB integration component for Plone",
///     "Memcached integration component for Plone",
///     "The ferry to the islands was canceled because of fog!",
/// ];
/// // Only outcomes name the fingerprints.
/// let document = |(id, text)| Document::new(id, Fingerprint::from_bits(0)).with_text(text);
/// let documents: Vec<Document> = (0_u64..).zip(texts).map(document).collect();
/// let outcomes = Deduplicator::new(SimilarRule::default())?.decide(&documents)?;
/// let kept: Vec<bool> = outcomes.iter().map(Outcome::is_inserted).collect();
/// assert_eq!(kept, [true, true, true, false]);
/// # Ok::<(), simdb::Error>(())
/// ```
pub struct Deduplicator {
    rule: SimilarRule,
    stops_at_first: bool,
    /// The documents that were stored before; `None` if only kept documents count.
    stored: Option<Arc<View>>,
    /// The ids of the stored documents that count.
    among: IdRanges,
    /// The frames that texts are compared without.
    frames: Arc<Frames>,
    /// The scope of the documents.
    scope: ScopeNumber,
    index: KeptTexts,
    /// The frames of the texts of the index that have frames, by position.
    kept_frames: HashMap<usize, Vec<String>>,
    /// The documents of the index by position; `None` for a document that a later document
    /// replaced.
    kept: Vec<Option<(DocId, Fingerprint)>>,
    /// The fingerprints of the kept documents.
    fingerprints: HashMap<DocId, Fingerprint>,
    /// The stored documents that were replaced.
    replaced: HashSet<DocId>,
}

impl fmt::Debug for Deduplicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Deduplicator");
        shown.field("rule", &self.rule).finish_non_exhaustive()
    }
}

/// The texts of kept documents, by position.
struct KeptTexts {
    /// All texts, without the frames that were set when the document came.
    bodies: SimilarIndex,
    /// The texts with frames, whole.
    whole: SimilarIndex,
    /// The position of each text in `whole`.
    positions: Vec<usize>,
}

/// A text without its frames, and the whole text if it has frames.
struct ComparedText {
    body: BodyText,
    whole: Option<Analysed>,
}

/// A document with a similar text, and its position in the index; `None` for a stored document.
type FoundDocument = (Similar, Option<u32>);

impl Deduplicator {
    /// Creates a deduplicator without documents.
    ///
    /// # Errors
    /// [`Error::InvalidLikeness`] for a threshold that is not from 0 to 1.
    pub fn new(rule: SimilarRule) -> Result<Self> {
        Self::beside(rule, None, ScopeNumber::default(), IdRanges::ALL)
    }

    /// Creates a deduplicator for documents of a scope, which are also compared with the stored
    /// documents among some ids.
    pub(crate) fn beside(
        rule: SimilarRule,
        stored: Option<Arc<View>>,
        scope: ScopeNumber,
        among: IdRanges,
    ) -> Result<Self> {
        Ok(Self {
            rule,
            stops_at_first: false,
            stored,
            among,
            frames: Arc::default(),
            scope,
            kept_frames: HashMap::new(),
            index: KeptTexts::new(&rule)?,
            kept: Vec::new(),
            fingerprints: HashMap::new(),
            replaced: HashSet::new(),
        })
    }

    /// Refuses a document for the first kept document that is found to cover it, and not for the
    /// first in the order of [`Similar`]. A search among many near-duplicates then ends early.
    pub fn stopping_at_first(self) -> Self {
        Self {
            stops_at_first: true,
            ..self
        }
    }

    /// Sets the frames of group 0 that later documents are compared without. They are learned from
    /// texts by a [`FrameLearner`](crate::frames::FrameLearner).
    pub fn set_frames(&mut self, frames: Frames) {
        self.use_frames(Arc::new(frames));
    }

    /// [`set_frames`](Self::set_frames) with the frames of the scope.
    pub(crate) fn use_frames(&mut self, frames: Arc<Frames>) {
        self.frames = frames;
    }

    /// The number of kept documents, including documents that were replaced.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// The bytes of memory that the kept documents take.
    pub fn len_bytes(&self) -> usize {
        let by_position = self.kept.capacity() * size_of::<Option<(DocId, Fingerprint)>>();
        let by_id = self.fingerprints.capacity() * size_of::<(DocId, Fingerprint)>();
        let frames = self.kept_frames.values().flatten();
        let frames = frames.map(|frame| frame.len() + size_of::<String>());
        self.index.len_bytes() + by_position + by_id + frames.sum::<usize>()
    }

    /// Decides documents in order, each as of the documents before it. Texts are compared with the
    /// documents before this call on all cores.
    ///
    /// # Errors
    /// [`Error::TextMissing`] for a document without a text; [`Error::Corrupt`], [`Error::Io`] or
    /// [`Error::Storage`] if a stored document cannot be read. No document of the call is kept.
    pub fn decide(&mut self, documents: &[Document]) -> Result<Vec<Outcome>> {
        let searched = self.search(documents)?;
        // Texts that are kept in this call, at the positions after the positions of the index.
        let mut recent = KeptTexts::new(&self.rule)?;
        let mut texts = Vec::new();
        let mut outcomes = Vec::with_capacity(documents.len());
        for (document, (text, first)) in documents.iter().zip(searched) {
            let outcome = self.decide_one(document, &text, first, &recent)?;
            if outcome.is_inserted() {
                let Document {
                    id, fingerprint, ..
                } = *document;
                self.kept.push(Some((id, fingerprint)));
                self.fingerprints.insert(id, fingerprint);
                if text.whole.is_some() {
                    let frames = text.body.frames.clone();
                    self.kept_frames.insert(self.kept.len() - 1, frames);
                }
                recent.push(&text);
                texts.push(text);
            }
            outcomes.push(outcome);
        }
        for text in &texts {
            self.index.push(text);
        }
        Ok(outcomes)
    }

    /// The document because of which each document is refused, as of the documents decided before.
    /// Keeps no document.
    ///
    /// # Errors
    /// The errors of [`decide`](Self::decide).
    pub fn covered(&self, documents: &[Document]) -> Result<Vec<Option<Similar>>> {
        let searched = self.search(documents)?.into_iter();
        let covering = |first: Option<FoundDocument>| {
            let similar = first.map(|(similar, _)| similar);
            similar.filter(|similar| self.refuses(similar))
        };
        Ok(searched.map(|(_, first)| covering(first)).collect())
    }

    /// Prepares each text, and searches the first similar document before this call.
    fn search(&self, documents: &[Document]) -> Result<Vec<(ComparedText, Option<FoundDocument>)>> {
        let search = |document: &Document| {
            let text = document.text.as_deref();
            let text = text.ok_or_else(|| Error::TextMissing {
                id: document.doc_ref(),
            })?;
            let body = BodyText::new(text, self.scope.0, &self.frames);
            let whole = (!body.frames.is_empty()).then(|| Analysed::lazy(text));
            let text = ComparedText { body, whole };
            let first = first_of(self.found_before(document, &text)?);
            Ok((text, first))
        };
        documents.par_iter().map(search).collect()
    }

    fn decide_one(
        &mut self,
        document: &Document,
        text: &ComparedText,
        first: Option<FoundDocument>,
        recent: &KeptTexts,
    ) -> Result<Outcome> {
        if let Some(stored) = self.fingerprint_of(document.id)? {
            return Ok(Outcome::Exists { stored });
        }
        let mut found = match first {
            Some(first) if self.is_kept(&first) => vec![first],
            // A document that was decided meanwhile has replaced the first one.
            Some(_) => self.found_before(document, text)?,
            None => Vec::new(),
        };
        let is_decided = self.stops_at_first && found.iter().any(|(first, _)| self.refuses(first));
        if !is_decided {
            found.extend(self.found_in(recent, self.index.bodies.len(), document, text));
        }
        let Some((first, _)) = first_of(found) else {
            let reliable = document.reliable;
            return Ok(Outcome::Inserted { reliable });
        };
        Ok(match self.rule.resolve(first.verdict()) {
            Resolution::Refuse => Outcome::Similar(first),
            Resolution::KeepBoth => Outcome::Extends(first),
            Resolution::Replace => {
                let mut extended = self.found_before(document, text)?;
                extended.extend(self.found_in(recent, self.index.bodies.len(), document, text));
                extended.sort_by(|(one, _), (other, _)| one.order(other));
                Outcome::Supersedes(self.replace(extended))
            }
        })
    }

    /// The fingerprint of the kept or stored document with an id.
    fn fingerprint_of(&self, id: DocId) -> Result<Option<Fingerprint>> {
        match (self.fingerprints.get(&id), &self.stored) {
            (None, Some(view)) if !self.replaced.contains(&id) => {
                let state = view.stored(id)?;
                let current = state.filter(|state| !view.expiry().is_expired(state.arrival));
                Ok(current.map(|state| state.fingerprint))
            }
            (kept, _) => Ok(kept.copied()),
        }
    }

    fn refuses(&self, similar: &Similar) -> bool {
        self.rule.resolve(similar.verdict()) == Resolution::Refuse
    }

    fn replace(&mut self, extended: Vec<FoundDocument>) -> Vec<Similar> {
        for (similar, position) in &extended {
            match position {
                Some(position) => {
                    self.kept[*position as usize] = None;
                    self.fingerprints.remove(&similar.id);
                }
                None => drop(self.replaced.insert(similar.id)),
            }
        }
        extended.into_iter().map(|(similar, _)| similar).collect()
    }

    fn is_kept(&self, (similar, position): &FoundDocument) -> bool {
        match position {
            Some(position) => self.kept[*position as usize].is_some(),
            None => !self.replaced.contains(&similar.id),
        }
    }

    /// The similar documents among the stored documents and the documents of the index.
    fn found_before(&self, document: &Document, text: &ComparedText) -> Result<Vec<FoundDocument>> {
        let mut found = self.found_in(&self.index, 0, document, text);
        if let Some(view) = &self.stored {
            let whole = document.text.as_deref().unwrap_or_default();
            let query = TextQuery::new(whole, Some(document.text_fingerprint()))
                .likeness(self.rule.likeness)
                .decision(self.rule.decision)
                .with_frames(Arc::clone(&self.frames), Some(self.scope));
            let similar = query::similar(view, &query, &self.among)?.into_iter();
            let similar = similar.map(|similar| (similar, None));
            found.extend(similar.filter(|found| self.is_kept(found)));
        }
        Ok(found)
    }

    /// The similar documents among texts of which the first is at the position `offset`.
    fn found_in(
        &self,
        texts: &KeptTexts,
        offset: usize,
        document: &Document,
        text: &ComparedText,
    ) -> Vec<FoundDocument> {
        let mut all = Vec::new();
        let of_bodies = |found: &SimilarText| offset + found.position as usize;
        let mut add = |found: SimilarText, position: usize, are_bodies: bool| {
            if let Some((id, fingerprint)) = self.kept[position] {
                let mut containment = found.containment;
                if let (Some(containment), true) = (&mut containment, are_bodies) {
                    let kept = self.kept_frames.get(&position).into_iter().flatten();
                    let kept = kept.map(|frame| Forgiven::frame("", frame));
                    let own = text
                        .body
                        .frames
                        .iter()
                        .map(|frame| Forgiven::frame(frame, ""));
                    containment.forgiven.extend(own.chain(kept));
                }
                let similar = Similar {
                    id,
                    key: None,
                    fingerprint,
                    distance: Some(document.fingerprint.distance(fingerprint)),
                    resemblance: found.resemblance,
                    containment,
                };
                let is_last = self.stops_at_first && self.refuses(&similar);
                all.push((similar, Some(position as u32)));
                if is_last {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        };
        let everything = 0..u32::MAX;
        let mut visit_all = || {
            let body = &text.body.body;
            texts.bodies.visit(body, everything.clone(), |found| {
                let position = of_bodies(&found);
                add(found, position, true)
            })?;
            // A text without frames is its body.
            if let Some(whole) = &text.whole {
                texts.bodies.visit(whole, everything.clone(), |found| {
                    let position = of_bodies(&found);
                    match self.kept_frames.contains_key(&position) {
                        true => ControlFlow::Continue(()),
                        false => add(found, position, false),
                    }
                })?;
            }
            // Without frames, no text is searched twice.
            if texts.positions.is_empty() {
                return ControlFlow::Continue(());
            }
            let whole = text.whole.as_ref().unwrap_or(body);
            texts.whole.visit(whole, everything.clone(), |found| {
                let position = offset + texts.positions[found.position as usize];
                add(found, position, false)
            })
        };
        let _ended = visit_all();
        // The bodies decide first.
        all.sort_by_key(|(_, position)| *position);
        all.dedup_by_key(|(_, position)| *position);
        all
    }
}

impl KeptTexts {
    fn new(rule: &SimilarRule) -> Result<Self> {
        Ok(Self {
            bodies: SimilarIndex::new(rule.likeness, rule.decision)?,
            whole: SimilarIndex::new(rule.likeness, rule.decision)?,
            positions: Vec::new(),
        })
    }

    fn push(&mut self, text: &ComparedText) {
        let position = self.bodies.push(text.body.body.clone());
        if let Some(whole) = &text.whole {
            self.whole.push(whole.clone());
            self.positions.push(position as usize);
        }
    }

    fn len_bytes(&self) -> usize {
        self.bodies.len_bytes() + self.whole.len_bytes() + size_of_val(&self.positions[..])
    }
}

/// The first document in the order of [`Similar`].
fn first_of(found: Vec<FoundDocument>) -> Option<FoundDocument> {
    (found.into_iter()).min_by(|(one, _), (other, _)| one.order(other))
}
