//! Similar search: candidates from forest and fingerprints, verified by text.
//!
//! 1. Candidates are neighbours in the forest whose sketch is near, and documents with a near
//!    fingerprint.
//! 2. The packed wordings of candidates that are in memory are compared; other texts are read
//!    first.
//! 3. The words of texts that are alike decide, if the query asks for it.

use std::cmp::Ordering;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use rayon::prelude::*;

use super::single::within;
use super::text_query::TextQuery;
use crate::analysis::{Analysed, PackedWording, PackedWordings};
use crate::document::Match;
use crate::error::Result;
use crate::forest::ForestSearch;
use crate::ids::scope::{IdRanges, ScopeNumber};
use crate::ids::{DocId, Fingerprint};
use crate::measure::containment::{Containment, Verdict};
use crate::measure::decision::answer_order;
use crate::measure::{Resemblance, SELECTED_TOGETHER, Verifier};
use crate::record::Record;
use crate::store::{SnapshotAccess, View, ViewAccess};

/// From 16 texts to read on, texts are compared on all cores.
const MIN_PARALLEL_TEXTS: usize = 16;

/// Documents that are decided one after the other. Neighbouring copies of a text are decided once:
/// a decision takes ten times as long as reading the text.
const DECIDED_TOGETHER: usize = 32;

/// A document whose text is like the text of a query.
///
/// Answers are ordered: texts that cover the text of the query before texts that it covers; then
/// texts with the same wording; then by the verdict, texts that the query covers too before texts
/// with more; then by the highest [score](Resemblance::score); then by the smallest id.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Similar {
    /// The id of the document.
    pub id: DocId,
    /// The key of a document that was removed
    /// ([`Outcome::Supersedes`](crate::Outcome::Supersedes)), in a database with keys. `None`
    /// otherwise: [`Snapshot::key`](crate::Snapshot::key) has the key of a stored document.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub key: Option<Box<str>>,
    /// The fingerprint of the document.
    pub fingerprint: Fingerprint,
    /// The Hamming distance from the fingerprint of the query; `None` if the recipe makes no
    /// fingerprints of texts.
    pub distance: Option<u32>,
    /// The resemblance of the two texts.
    pub resemblance: Resemblance,
    /// The verdict and the missing words: A is the text of the query or of the new document, B the
    /// text of this document. `None` with [`Decision::Alike`](crate::Decision::Alike).
    pub containment: Option<Box<Containment>>,
}

impl Similar {
    /// The verdict: A is the text of the query or of the new document, B the text of this document.
    /// `None` with [`Decision::Alike`](crate::Decision::Alike).
    pub fn verdict(&self) -> Option<Verdict> {
        self.containment.as_ref().map(|found| found.verdict)
    }

    /// Returns `true` if the text of the query covers the text of this document and has more.
    pub(crate) fn is_extended(&self) -> bool {
        self.verdict() == Some(Verdict::BInA)
    }

    /// The order of two documents of an answer, for answers that are put together from several.
    pub fn order(&self, other: &Self) -> Ordering {
        let own = (&self.resemblance, self.verdict());
        answer_order(own, (&other.resemblance, other.verdict()))
            .then_with(|| self.id.cmp(&other.id))
    }
}

/// The documents among some ids whose texts are like the text of the query, the most similar first.
pub(crate) fn similar(view: &View, query: &TextQuery, among: &IdRanges) -> Result<Vec<Similar>> {
    let search = SimilarSearch::new(view, query, among);
    search.verify_in_parallel(&search.candidates()?)
}

/// The first documents of the answer of [`similar`], and `true` if these are all. Documents of the
/// same wording that cover the text of the query precede all others, and the key of the wording
/// finds them without a search of the trees, which takes ten times as long.
pub(crate) fn first_similar(
    view: &View,
    query: &TextQuery,
    among: &IdRanges,
) -> Result<(Vec<Similar>, bool)> {
    let Some(of_wording) = query.wording_search(view.keeps_forest()) else {
        return Ok((similar(view, query, among)?, true));
    };
    let search = SimilarSearch::new(view, query, among);
    let same = view.candidates_in_forest(&of_wording, among)?;
    let mut found = search.verify_in_parallel(&same)?;
    let is_first = |found: &Similar| found.resemblance.same_wording && !found.is_extended();
    if found.iter().any(is_first) {
        found.retain(is_first);
        return Ok((found, false));
    }
    let mut others = search.candidates()?;
    others.retain(|id| same.binary_search(id).is_err());
    found.extend(search.verify_in_parallel(&others)?);
    found.sort_unstable_by(Similar::order);
    Ok((found, true))
}

/// The answer of [`similar`] on one thread, because the tables of a write transaction can be read
/// by one thread only.
pub(crate) fn similar_sequential(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
    among: &IdRanges,
) -> Result<Vec<Similar>> {
    let search = SimilarSearch::new(view, query, among);
    search.verify(&search.candidates()?)
}

/// The answer of [`similar_sequential`], limited to documents with a text in the overlay of the
/// view.
pub(crate) fn similar_in_overlay(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
    among: &IdRanges,
) -> Result<Vec<Similar>> {
    let search = SimilarSearch::new(view, query, among);
    search.verify(&search.candidates_in_overlay()?)
}

/// The decision about a text; `None` if neither text covers the other.
type CoveringText = Option<(Resemblance, Containment)>;

/// A query in one state of the database.
struct SimilarSearch<'s, A: ViewAccess> {
    view: &'s View<A>,
    query: &'s TextQuery,
    among: &'s IdRanges,
    verifier: Verifier<'s>,
}

/// A document whose text is alike.
struct AlikeDocument {
    id: DocId,
    resemblance: Resemblance,
    /// The hash of the packed wording.
    wording: u64,
}

/// Candidates that are left after the comparison of all wordings in memory.
struct ComparedCandidates {
    /// Copies of a text are neighbours.
    alike: Vec<AlikeDocument>,
    /// The candidates whose texts must be read.
    unread: Vec<DocId>,
}

impl<'s, A: ViewAccess> SimilarSearch<'s, A> {
    fn new(view: &'s View<A>, query: &'s TextQuery, among: &'s IdRanges) -> Self {
        Self {
            view,
            query,
            among,
            verifier: query.verifier(),
        }
    }

    /// The neighbours in the forest, and the documents with near fingerprints, each once, by id.
    fn candidates(&self) -> Result<Vec<DocId>> {
        let near =
            |fingerprint, radius| within(self.view, fingerprint, radius, self.among, usize::MAX);
        self.candidates_of(
            |search| self.view.candidates_in_forest(search, self.among),
            near,
        )
    }

    /// The [`candidates`](Self::candidates) with a text in the overlay of the view.
    fn candidates_in_overlay(&self) -> Result<Vec<DocId>> {
        let near = |fingerprint, radius| {
            Ok(self
                .view
                .in_overlay(fingerprint, radius, self.among, usize::MAX))
        };
        self.candidates_of(
            |search| self.view.candidates_in_overlay(search, self.among),
            near,
        )
    }

    fn candidates_of(
        &self,
        in_forest: impl Fn(&ForestSearch<'_>) -> Result<Vec<DocId>>,
        near: impl Fn(Fingerprint, u32) -> Result<Vec<Match>>,
    ) -> Result<Vec<DocId>> {
        let keeps_forest = self.view.keeps_forest();
        let search = self.query.search(keeps_forest);
        let mut candidates = search.map_or(Ok(Vec::new()), |search| in_forest(&search))?;
        if let Some((fingerprint, radius)) = self.query.fingerprint_and_radius(keeps_forest) {
            candidates.extend(near(fingerprint, radius)?.into_iter().map(|near| near.id));
        }
        candidates.sort_unstable();
        candidates.dedup();
        Ok(candidates)
    }

    /// The answer among candidates.
    fn verify(&self, candidates: &[DocId]) -> Result<Vec<Similar>> {
        let ComparedCandidates { alike, unread } = self.compare_in_memory(candidates);
        let mut found = self.decide(&alike)?;
        for id in unread {
            found.extend(self.read_and_decide(id)?);
        }
        found.sort_unstable_by(Similar::order);
        Ok(found)
    }

    /// Compares the candidates whose packed wordings are in memory.
    fn compare_in_memory(&self, candidates: &[DocId]) -> ComparedCandidates {
        let verifier = &self.verifier;
        let accepts = |size| verifier.may_be_alike_by_size(size);
        let mut selection = Selection {
            verifier,
            pending: PackedWordings::default(),
            pending_ids: Vec::new(),
            alike: Vec::new(),
            hasher: FixedState::default(),
        };
        let visitor = |id, packed: PackedWording<'_>| selection.add(id, packed);
        let unread = self.view.visit_wordings(candidates, accepts, visitor);
        let mut alike = selection.into_alike();
        alike.sort_unstable_by_key(|alike| (alike.wording, alike.id));
        ComparedCandidates { alike, unread }
    }

    /// Decides about some documents that are alike. Their texts are read only if the words decide.
    fn decide(&self, alike: &[AlikeDocument]) -> Result<Vec<Similar>> {
        let (query, mut found) = (self.query, Vec::new());
        let mut last: Option<((String, ScopeNumber), CoveringText)> = None;
        for alike in alike {
            let (mut resemblance, mut containment) = (alike.resemblance, None);
            if query.decides_by_words() {
                let Some(text) = self.view.text(alike.id)? else {
                    continue;
                };
                let text = (text, self.view.scope_of(alike.id));
                let decided = match last {
                    Some((other, decided)) if other == text => decided,
                    _ => query.decide(&Analysed::lazy(&*text.0), text.1, resemblance),
                };
                if let Some((of_bodies, found)) = decided.clone() {
                    (resemblance, containment) = (of_bodies, Some(Box::new(found)));
                }
                last = Some((text, decided));
            }
            found.extend(self.document(alike.id, resemblance, containment)?);
        }
        Ok(found)
    }

    /// Reads the text of a candidate, keeps its packed wording in memory, and decides.
    fn read_and_decide(&self, id: DocId) -> Result<Option<Similar>> {
        let (text, sketch_to_keep) = match self.view.text_to_keep(id)? {
            Some((text, sketch)) => (Some(text), Some(sketch)),
            None => (self.view.text(id)?.map(Record::from), None),
        };
        let Some(text) = text.map(Analysed::lazy) else {
            return Ok(None);
        };
        // A wording that is not kept is not packed: the phrases of most such texts are not needed.
        let resemblance = match (sketch_to_keep, sketch_to_keep.and_then(|_| text.packed())) {
            (Some(sketch), Some(packed)) => {
                self.view.keep_wording(id, sketch, text.packed_bytes());
                self.verifier.compare(packed)
            }
            _ => self.verifier.compare_text(&text),
        };
        let Some(resemblance) = resemblance else {
            return Ok(None);
        };
        if !self.query.decides_by_words() {
            return self.document(id, resemblance, None);
        }
        match self
            .query
            .decide(&text, self.view.scope_of(id), resemblance)
        {
            Some((resemblance, found)) => self.document(id, resemblance, Some(Box::new(found))),
            None => Ok(None),
        }
    }

    /// A document that is alike; `None` if the words decide against it, or if it is not stored.
    fn document(
        &self,
        id: DocId,
        resemblance: Resemblance,
        containment: Option<Box<Containment>>,
    ) -> Result<Option<Similar>> {
        if self.query.decides_by_words() && containment.is_none() {
            return Ok(None);
        }
        let own = self.query.fingerprint().map(|made| made.fingerprint);
        // Most candidates are not similar, so only the fingerprints of the answer are read.
        let fingerprint = self.view.fingerprint(id)?;
        Ok(fingerprint.map(|fingerprint| Similar {
            id,
            key: None,
            fingerprint,
            distance: own.map(|own| own.distance(fingerprint)),
            resemblance,
            containment,
        }))
    }
}

impl SimilarSearch<'_, SnapshotAccess> {
    /// The answer among candidates, on all cores if they are many.
    fn verify_in_parallel(&self, candidates: &[DocId]) -> Result<Vec<Similar>> {
        let ComparedCandidates { alike, unread } = self.compare_in_memory(candidates);
        let mut found = if alike.len() <= DECIDED_TOGETHER {
            self.decide(&alike)?
        } else {
            let groups = || {
                alike
                    .par_chunks(DECIDED_TOGETHER)
                    .map(|group| self.decide(group))
            };
            let decided = || groups().collect::<Result<Vec<_>>>();
            self.view
                .tables
                .in_parallel(decided)?
                .into_iter()
                .flatten()
                .collect()
        };
        if unread.len() < MIN_PARALLEL_TEXTS {
            for id in unread {
                found.extend(self.read_and_decide(id)?);
            }
        } else {
            let each = || unread.par_iter().map(|id| self.read_and_decide(*id));
            let decided = || each().collect::<Result<Vec<_>>>();
            found.extend(self.view.tables.in_parallel(decided)?.into_iter().flatten());
        }
        found.sort_unstable_by(Similar::order);
        Ok(found)
    }
}

/// The comparison of wordings that the caller holds under a lock.
struct Selection<'v, 'q> {
    verifier: &'v Verifier<'q>,
    /// Copies of short wordings, whose edit distances are computed eight at a time.
    pending: PackedWordings,
    pending_ids: Vec<DocId>,
    alike: Vec<AlikeDocument>,
    hasher: FixedState,
}

impl Selection<'_, '_> {
    fn add(&mut self, id: DocId, packed: PackedWording<'_>) {
        if !self.verifier.may_be_alike(packed.header()) {
            return;
        }
        if !self.verifier.has_lane_for(packed) {
            self.compare(id, packed);
            return;
        }
        self.pending.push(Some(packed));
        self.pending_ids.push(id);
        if self.pending.len() == SELECTED_TOGETHER {
            self.compare_pending();
        }
    }

    fn compare_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let mut numbers: Vec<u32> = (0..pending.len() as u32).collect();
        let len = self
            .verifier
            .select_near(&mut numbers, |number| pending.get(number));
        for number in &numbers[..len] {
            if let Some(packed) = pending.get(*number) {
                self.compare(self.pending_ids[*number as usize], packed);
            }
        }
        // The memory is used again.
        self.pending = pending;
        self.pending.clear();
        self.pending_ids.clear();
    }

    fn compare(&mut self, id: DocId, packed: PackedWording<'_>) {
        let resemblance = self.verifier.compare(packed);
        self.alike
            .extend(resemblance.map(|resemblance| AlikeDocument {
                id,
                resemblance,
                wording: self.hasher.hash_one(packed),
            }));
    }

    /// All documents that are alike.
    fn into_alike(mut self) -> Vec<AlikeDocument> {
        self.compare_pending();
        self.alike
    }
}
