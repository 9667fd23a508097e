//! The documents whose texts are like the text of a query. Candidates are neighbours in the forest, or have a near
//! fingerprint; the comparison of texts decides.

use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use rayon::prelude::*;

use super::single::within;
use crate::analysis::Analysed;
use crate::error::Result;
use crate::forest::{ForestSearch, Reach};
use crate::hamming::check_radius;
use crate::ids::{DocId, Fingerprint, TextFingerprint};
use crate::measure::containment::{Containment, Verdict};
use crate::measure::decision::{Decision, answer_order, removable};
use crate::measure::{Likeness, PackedComparison, Resemblance, compare};
use crate::store::{View, ViewAccess};

/// The radius of candidates in a database without a forest. At least half of the near-duplicates that
/// differ in more than case and punctuation lie within this radius, and few other documents.
const RADIUS_WITHOUT_FOREST: u32 = 12;

/// The radius of candidates in a database with a forest. The forest finds near-duplicates farther away.
const RADIUS_WITH_FOREST: u32 = 3;

/// From 16 candidates on, texts are compared on all cores.
const MIN_PARALLEL_TEXTS: usize = 16;

/// Documents that are decided one after the other. Neighbouring copies of a text are decided once: a
/// decision takes ten times as long as reading the text.
const DECIDED_TOGETHER: usize = 32;

/// A query for the near-duplicates of a text.
///
/// Made by [`Database::text_query`](crate::Database::text_query). A query can be used any number of
/// times, with any snapshot of its database or of another database with the same recipe. The
/// comparison of texts simplifies traditional characters, even if the recipe does not.
#[derive(Clone, Debug)]
pub struct TextQuery {
    text: Analysed,
    is_narrow: bool,
    /// `true` to find only documents with the same wording.
    only_wording: bool,
    /// `None` if the recipe makes no fingerprints of texts.
    fingerprint: Option<TextFingerprint>,
    likeness: Likeness,
    decision: Decision,
    radius: Option<u32>,
    uses_forest: bool,
}

impl TextQuery {
    pub(crate) fn new(text: &str, fingerprint: Option<TextFingerprint>) -> Self {
        let text = Analysed::new(text);
        // Made by the thread that makes the query, not under the write lock.
        text.forest_minima();
        Self {
            text,
            fingerprint,
            likeness: Likeness::default(),
            decision: Decision::default(),
            radius: None,
            uses_forest: true,
            is_narrow: false,
            only_wording: false,
        }
    }

    /// The least likeness of texts that are alike; [`Likeness::default`] unless set.
    pub fn likeness(mut self, likeness: Likeness) -> Self {
        self.likeness = likeness;
        self
    }

    /// The measure that decides about texts which are alike; [`Decision::Contained`] unless set: the
    /// answer has the documents of which one text contains the other.
    pub fn decision(mut self, decision: Decision) -> Self {
        self.decision = decision;
        self
    }

    /// The radius within which documents are candidates, in addition to the neighbours in the forest.
    /// Unless set, 3 in a database with a forest and 12 in a database without.
    pub fn radius(mut self, radius: u32) -> Self {
        self.radius = Some(radius);
        self
    }

    /// Leaves out the candidates by the forest: only documents within the [`radius`](Self::radius), 12
    /// unless set, are compared. The answer is then the matches within the radius, verified by text.
    ///
    /// ```
    /// use simdb::Database;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// let text = "The ferry to the islands was cancelled due to heavy fog.";
    /// assert!(db.insert(db.document(1, text)?)?.is_inserted());
    ///
    /// // The same news, far more than three bits away.
    /// let query = db.text_query("Ferries to the islands were cancelled because of heavy fog.")?;
    /// let snapshot = db.snapshot()?;
    /// assert_eq!(snapshot.similar(&query)?.len(), 1);
    /// assert!(snapshot.similar(&query.without_forest().radius(3))?.is_empty());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn without_forest(mut self) -> Self {
        self.uses_forest = false;
        self
    }

    /// Searches fewer trees and smaller nodes of the forest, and compares only texts with nearer sketches (unless a
    /// threshold is below the default), as [`insert_unless_similar`](crate::Database::insert_unless_similar) does.
    /// Without effect with [`Decision::Alike`], whose texts have less in common, and without a forest.
    ///
    /// Among a million package summaries, a narrow search takes 0.2 ms instead of 0.75 ms on average. It finds .99 of
    /// the documents of an answer on average. Answers with thousands of documents lose most: all answers together
    /// have .78 of the documents.
    ///
    /// ```
    /// use simdb::Database;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// let text = "The ferry to the islands was cancelled due to heavy fog.";
    /// assert!(db.insert(db.document(1, text)?)?.is_inserted());
    ///
    /// let query = db.text_query("The ferry to the islands was cancelled due to fog.")?.narrow();
    /// assert_eq!(db.snapshot()?.similar(&query)?.len(), 1);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn narrow(mut self) -> Self {
        self.is_narrow = true;
        self
    }

    /// The query for documents with the same wording, by the key of the wording.
    pub(crate) fn of_wording(text: &str, fingerprint: TextFingerprint) -> Self {
        Self {
            text: Analysed::lazy(text),
            only_wording: true,
            // An unreliable fingerprint finds no candidates.
            fingerprint: Some(TextFingerprint {
                reliable: false,
                ..fingerprint
            }),
            likeness: Likeness {
                edit_similarity: f64::INFINITY,
                jaccard: f64::INFINITY,
            },
            decision: Decision::Alike,
            radius: None,
            uses_forest: true,
            is_narrow: false,
        }
    }

    /// The text of the query as a text to store in a forest.
    pub(crate) fn keyed(&self) -> Arc<Analysed> {
        self.text.forest_keys();
        self.text.sketch();
        self.text.packed();
        Arc::new(self.text.stored())
    }

    /// Sets a fingerprint of the text that was made elsewhere.
    pub fn with_fingerprint(mut self, fingerprint: TextFingerprint) -> Self {
        self.fingerprint = Some(fingerprint);
        self
    }

    /// The fingerprint of the text, made by the recipe of the database unless it was
    /// [set](Self::with_fingerprint); `None` if the recipe makes no fingerprints of texts.
    pub fn fingerprint(&self) -> Option<TextFingerprint> {
        self.fingerprint
    }

    /// Refuses a radius above 64, and thresholds that are not from 0 to 1.
    pub(crate) fn check(&self) -> Result<()> {
        self.radius.map_or(Ok(()), check_radius)?;
        self.likeness.check()
    }

    /// Bytes of the prepared text and its minima.
    pub(crate) fn len_bytes(&self) -> usize {
        self.text.len_bytes()
    }

    /// The search for candidates in the forest; `None` without a forest in the query or in the database.
    fn search(&self, keeps_forest: bool) -> Option<ForestSearch<'_>> {
        if !keeps_forest || !self.uses_forest {
            return None;
        }
        if self.only_wording {
            return Some(ForestSearch::of_wording(&self.text));
        }
        let default = Likeness::default();
        let is_measured = self.likeness.edit_similarity >= default.edit_similarity
            && self.likeness.jaccard >= default.jaccard;
        let reach = match self.decision {
            Decision::Contained if self.is_narrow => &Reach::CONTAINED,
            _ => Reach::alike_stored(self.text.characters()),
        };
        let reach = match is_measured {
            true => *reach,
            false => reach.of_any_sketch(),
        };
        Some(ForestSearch::new(&self.text, reach, self.likeness.least()))
    }

    /// The fingerprint and the radius of candidates; `None` if the text has no reliable fingerprint.
    fn fingerprint_and_radius(&self, keeps_forest: bool) -> Option<(Fingerprint, u32)> {
        let default_radius = if keeps_forest && self.uses_forest {
            RADIUS_WITH_FOREST
        } else {
            RADIUS_WITHOUT_FOREST
        };
        let fingerprint = self
            .fingerprint
            .filter(|fingerprint| fingerprint.reliable)?;
        Some((
            fingerprint.fingerprint,
            self.radius.unwrap_or(default_radius),
        ))
    }

    /// The containment of the text of the query and a text that is alike; `None` if the document
    /// does not belong to the answer.
    fn removable(&self, text: &Analysed) -> Option<Box<Containment>> {
        removable(&self.text, text).map(Box::new)
    }

    fn to_similar(
        &self,
        id: DocId,
        fingerprint: Fingerprint,
        resemblance: Resemblance,
        containment: Option<Box<Containment>>,
    ) -> Similar {
        let own = self.fingerprint.map(|fingerprint| fingerprint.fingerprint);
        Similar {
            id,
            fingerprint,
            distance: own.map(|own| own.distance(fingerprint)),
            resemblance,
            containment,
        }
    }
}

/// A document whose text is like the text of a query.
///
/// Answers are ordered: texts that say all of the text of the query before texts that say a part; then
/// texts with the same wording; then by the verdict, texts that say the same before texts that say
/// more; then by the highest [score](Resemblance::score); then by the smallest id.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Similar {
    /// The id of the document.
    pub id: DocId,
    /// The fingerprint of the document.
    pub fingerprint: Fingerprint,
    /// The Hamming distance from the fingerprint of the query; `None` if the recipe makes no
    /// fingerprints of texts.
    pub distance: Option<u32>,
    /// The resemblance of the two texts.
    pub resemblance: Resemblance,
    /// The verdict and the missing words: A is the text of the query or of the new document, B the
    /// text of this document. `None` with [`Decision::Alike`].
    pub containment: Option<Box<Containment>>,
}

impl Similar {
    /// The verdict: A is the text of the query or of the new document, B the text of this document.
    /// `None` with [`Decision::Alike`].
    pub fn verdict(&self) -> Option<Verdict> {
        self.containment.as_ref().map(|found| found.verdict)
    }

    /// Returns `true` if the text of the query says more than the text of this document.
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

/// The candidates whose texts are like the text of the query, the most similar first.
pub(crate) fn similar(view: &View, query: &TextQuery) -> Result<Vec<Similar>> {
    compare_all(view, query, &candidates(view, query)?)
}

/// The first documents of the answer of [`similar`], and `true` if these are all. Documents of the same wording that
/// say all of the text of the query precede all others, and the key of the wording finds them without a search of
/// the trees, which takes ten times as long.
pub(crate) fn first_similar(view: &View, query: &TextQuery) -> Result<(Vec<Similar>, bool)> {
    let Some(search) = query.search(view.keeps_forest()) else {
        return Ok((similar(view, query)?, true));
    };
    let same = view.candidates_in_forest(&search.wording_only())?;
    let mut found = compare_all(view, query, &same)?;
    let is_first = |found: &Similar| found.resemblance.same_wording && !found.is_extended();
    if found.iter().any(is_first) {
        found.retain(is_first);
        return Ok((found, false));
    }
    let mut others = candidates(view, query)?;
    others.retain(|id| same.binary_search(id).is_err());
    found.extend(compare_all(view, query, &others)?);
    found.sort_unstable_by(Similar::order);
    Ok((found, true))
}

/// Compares candidates on all cores if they are many.
fn compare_all(view: &View, query: &TextQuery, candidates: &[DocId]) -> Result<Vec<Similar>> {
    let comparison = PackedComparison::new(&query.text, &query.likeness);
    let (alike, unpacked) = compare_packed(view, &comparison, candidates);
    let mut found = decide_all(view, query, &alike)?;
    let compare = |id: &DocId| compare_stored(view, query, &comparison, *id);
    found.extend(in_parallel(view, &unpacked, compare)?);
    found.sort_unstable_by(Similar::order);
    Ok(found)
}

/// The answer of [`similar`] by the stored texts, on one thread, because the tables of a write
/// transaction can be read by one thread only.
pub(crate) fn similar_sequential(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
) -> Result<Vec<Similar>> {
    compare_sequentially(view, query, &candidates(view, query)?)
}

/// The answer of [`similar_sequential`], limited to documents with a text in the overlay of the view.
pub(crate) fn similar_in_overlay(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
) -> Result<Vec<Similar>> {
    let mut candidates = match query.search(view.keeps_forest()) {
        Some(search) => view.candidates_in_overlay(&search)?,
        None => Vec::new(),
    };
    if let Some((fingerprint, radius)) = query.fingerprint_and_radius(view.keeps_forest()) {
        let near = view.in_overlay(fingerprint, radius, usize::MAX);
        candidates.extend(near.into_iter().map(|near| near.id));
    }
    candidates.sort_unstable();
    candidates.dedup();
    compare_sequentially(view, query, &candidates)
}

fn compare_sequentially(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
    candidates: &[DocId],
) -> Result<Vec<Similar>> {
    let comparison = PackedComparison::new(&query.text, &query.likeness);
    let (alike, unpacked) = compare_packed(view, &comparison, candidates);
    let mut found = Vec::new();
    for together in alike.chunks(DECIDED_TOGETHER) {
        found.extend(decide_together(view, query, together)?);
    }
    for id in unpacked {
        found.extend(compare_stored(view, query, &comparison, id)?);
    }
    found.sort_unstable_by(Similar::order);
    Ok(found)
}

/// Compares candidates on all cores if they are many.
fn in_parallel<T: Sync>(
    view: &View,
    candidates: &[T],
    compare: impl Fn(&T) -> Result<Option<Similar>> + Sync,
) -> Result<Vec<Similar>> {
    if candidates.len() < MIN_PARALLEL_TEXTS {
        let found = candidates.iter().map(compare);
        return found.filter_map(Result::transpose).collect();
    }
    let compare = &compare;
    view.tables.in_parallel(|| {
        let found = candidates.par_iter().map(compare);
        found.filter_map(Result::transpose).collect()
    })
}

/// A document whose text is alike.
struct Alike {
    id: DocId,
    resemblance: Resemblance,
    /// The hash of the packed wording.
    wording: u64,
}

/// Compares the candidates whose packed wordings are in memory. Returns the documents that are alike, by
/// wording, and the candidates that are not in memory.
fn compare_packed(
    view: &View<impl ViewAccess>,
    comparison: &PackedComparison<'_>,
    candidates: &[DocId],
) -> (Vec<Alike>, Vec<DocId>) {
    let mut alike = Vec::new();
    let accepts = |size| comparison.may_be_alike_by_size(size);
    let hasher = FixedState::default();
    let unpacked = view.visit_wordings(candidates, accepts, |id, packed| {
        let resemblance = comparison.compare(packed);
        alike.extend(resemblance.map(|resemblance| Alike {
            id,
            resemblance,
            wording: hasher.hash_one(packed),
        }));
    });
    // Copies of a text become neighbours.
    alike.sort_unstable_by_key(|alike| (alike.wording, alike.id));
    (alike, unpacked)
}

/// Decides about documents that are alike, on all cores if they are many.
fn decide_all(view: &View, query: &TextQuery, alike: &[Alike]) -> Result<Vec<Similar>> {
    if alike.len() <= DECIDED_TOGETHER {
        return decide_together(view, query, alike);
    }
    let decide = |together| decide_together(view, query, together);
    let parts = view.tables.in_parallel(|| {
        let parts = alike.par_chunks(DECIDED_TOGETHER).map(decide);
        parts.collect::<Result<Vec<_>>>()
    });
    Ok(parts?.into_iter().flatten().collect())
}

/// Decides about some documents that are alike. Their texts are read only if the words decide.
fn decide_together(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
    alike: &[Alike],
) -> Result<Vec<Similar>> {
    let mut found = Vec::new();
    if query.decision == Decision::Alike {
        for alike in alike {
            found.extend(answer(view, query, alike.id, alike.resemblance, None)?);
        }
        return Ok(found);
    }
    let mut last: Option<(String, Option<Box<Containment>>)> = None;
    for alike in alike {
        let Some(text) = view.text(alike.id)? else {
            continue;
        };
        let containment = match last {
            Some((decided, containment)) if decided == text => containment,
            _ => query.removable(&Analysed::lazy(&*text)),
        };
        if containment.is_some() {
            let containment = containment.clone();
            found.extend(answer(
                view,
                query,
                alike.id,
                alike.resemblance,
                containment,
            )?);
        }
        last = Some((text, containment));
    }
    Ok(found)
}

/// Compares a candidate by its stored text, and keeps its packed wording in memory.
fn compare_stored(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
    comparison: &PackedComparison<'_>,
    id: DocId,
) -> Result<Option<Similar>> {
    let Some((text, sketch)) = view.text_to_keep(id)? else {
        return compare_text(view, query, id, view.text(id)?);
    };
    let text = Analysed::lazy(text);
    let resemblance = match text.packed() {
        Some(packed) => {
            view.keep_wording(id, sketch, text.packed_bytes());
            comparison.compare(packed)
        }
        None => compare(&query.text, &text, &query.likeness),
    };
    decide_by(view, query, id, resemblance, &text)
}

/// Compares a candidate, given its text. `None` if the document does not belong to the answer.
fn compare_text(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
    id: DocId,
    text: Option<String>,
) -> Result<Option<Similar>> {
    let Some(text) = text.map(Analysed::lazy) else {
        return Ok(None);
    };
    let resemblance = compare(&query.text, &text, &query.likeness);
    decide_by(view, query, id, resemblance, &text)
}

/// Decides about a document, given its text and its resemblance; `None` if the texts are not alike.
fn decide_by(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
    id: DocId,
    resemblance: Option<Resemblance>,
    text: &Analysed,
) -> Result<Option<Similar>> {
    let Some(resemblance) = resemblance else {
        return Ok(None);
    };
    let containment = match query.decision {
        Decision::Alike => None,
        Decision::Contained => match query.removable(text) {
            Some(containment) => Some(containment),
            None => return Ok(None),
        },
    };
    answer(view, query, id, resemblance, containment)
}

/// A document of the answer; `None` if it is not stored. Most candidates are not similar, so only the fingerprints
/// of the answer are read.
fn answer(
    view: &View<impl ViewAccess>,
    query: &TextQuery,
    id: DocId,
    resemblance: Resemblance,
    containment: Option<Box<Containment>>,
) -> Result<Option<Similar>> {
    let fingerprint = view.fingerprint(id)?;
    Ok(fingerprint.map(|fingerprint| query.to_similar(id, fingerprint, resemblance, containment)))
}

/// The documents with near fingerprints, and the neighbours in the forest, each once, by id.
fn candidates(view: &View<impl ViewAccess>, query: &TextQuery) -> Result<Vec<DocId>> {
    let mut candidates = match query.search(view.keeps_forest()) {
        Some(search) => view.candidates_in_forest(&search)?,
        None => Vec::new(),
    };
    if let Some((fingerprint, radius)) = query.fingerprint_and_radius(view.keeps_forest()) {
        let near = within(view, fingerprint, radius, usize::MAX)?;
        candidates.extend(near.into_iter().map(|near| near.id));
        candidates.sort();
        candidates.dedup();
    }
    Ok(candidates)
}
