//! The documents whose texts are like that of a query: candidates by bands and fingerprints, each
//! decided by its text.

use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;

use rayon::prelude::*;

use super::single::within;
use crate::document::{DocId, Match};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::recipe::TextFingerprint;
use crate::similarity::{Likeness, Resemblance, Wording};
use crate::store::{BandMaker, FingerprintSource, View};

/// Candidates of one band, those with the smallest ids: a band that more documents share is
/// boilerplate, and a near-duplicate shares other bands too.
const MAX_IN_BAND: usize = 1024;

/// Candidates by fingerprint, the nearest.
const MAX_NEAR: usize = 1024;

/// Candidates whose texts are read and compared, those that share most bands.
const MAX_COMPARED: usize = 8192;

/// The radius of candidates in a database without bands: half or more of the near-duplicates that
/// differ in more than case and punctuation lie within it, and few other documents.
const RADIUS: u32 = 12;

/// The radius of candidates in a database with bands, which find more.
const RADIUS_WITH_BANDS: u32 = 3;

/// From this many candidates on, texts are compared on all cores.
const MIN_PARALLEL: usize = 16;

/// A query for the near-duplicates of a text.
///
/// Made by [`Database::text_query`](crate::Database::text_query). A query can be asked any number of
/// times, of any snapshot of its database or of another database with the same recipe. Texts are
/// compared with traditional characters simplified, whatever the recipe does.
#[derive(Clone, Debug)]
pub struct TextQuery {
    bands: BandMaker,
    wording: Wording,
    keys: Vec<u64>,
    /// `None` if the recipe makes no fingerprints of texts.
    fingerprint: Option<TextFingerprint>,
    likeness: Likeness,
    radius: Option<u32>,
    asks_bands: bool,
}

impl TextQuery {
    pub(crate) fn new(bands: &BandMaker, text: &str, fingerprint: Option<TextFingerprint>) -> Self {
        let banding = bands.banding();
        let wording = Wording::new(banding.normaliser(), text);
        Self {
            keys: banding.keys_to_ask(text, wording.letters()),
            wording,
            bands: bands.clone(),
            fingerprint,
            likeness: Likeness::default(),
            radius: None,
            asks_bands: true,
        }
    }

    /// The least likeness of a near-duplicate; [`Likeness::default`] unless set.
    pub fn likeness(mut self, likeness: Likeness) -> Self {
        self.likeness = likeness;
        self
    }

    /// The radius within which documents are candidates, beside those that share a band; unless set,
    /// 3 in a database with bands and 12 in another.
    pub fn radius(mut self, radius: u32) -> Self {
        self.radius = Some(radius);
        self
    }

    /// Leaves out the candidates by bands: only documents within the [`radius`](Self::radius), 12
    /// unless set, are compared. The answer is then the matches of a radius, verified by their texts.
    ///
    /// ```
    /// use simdb::{Database, DocId};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// db.insert_text(DocId(1), "The ferry to the islands was cancelled due to heavy fog.")?;
    ///
    /// // The same news, far more than three bits away.
    /// let query = db.text_query("Ferries to the islands were cancelled because of heavy fog.")?;
    /// let snapshot = db.snapshot()?;
    /// assert_eq!(snapshot.similar(&query)?.len(), 1);
    /// assert!(snapshot.similar(&query.without_bands().radius(3))?.is_empty());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn without_bands(mut self) -> Self {
        self.asks_bands = false;
        self
    }

    /// Sets the fingerprint of the text, made elsewhere.
    pub fn with_fingerprint(mut self, made: TextFingerprint) -> Self {
        self.fingerprint = Some(made);
        self
    }

    /// The fingerprint of the text, made by the recipe of the database unless it was
    /// [set](Self::with_fingerprint); `None` if the recipe makes no fingerprints of texts.
    pub fn fingerprint(&self) -> Option<TextFingerprint> {
        self.fingerprint
    }

    /// Bytes of the prepared text and its band keys.
    pub(crate) fn len_bytes(&self) -> usize {
        self.wording.len_bytes() + size_of_val(self.keys.as_slice())
    }

    /// The band keys of candidates; none if bands are not asked for or not kept.
    fn band_keys(&self, keeps_bands: bool) -> &[u64] {
        if keeps_bands && self.asks_bands {
            &self.keys
        } else {
            &[]
        }
    }

    /// The fingerprint and the radius of candidates; `None` if the text has no reliable fingerprint.
    fn near(&self, keeps_bands: bool) -> Option<(Fingerprint, u32)> {
        let usual = if keeps_bands && self.asks_bands {
            RADIUS_WITH_BANDS
        } else {
            RADIUS
        };
        let made = self.fingerprint.filter(|made| made.reliable)?;
        Some((made.fingerprint, self.radius.unwrap_or(usual)))
    }

    /// The resemblance of a text to that of the query; `None` if the texts are not alike.
    fn compare(&self, text: &str) -> Option<Resemblance> {
        let normaliser = self.bands.banding().normaliser();
        self.wording.compare(normaliser, text, &self.likeness)
    }

    fn found(&self, id: DocId, fingerprint: Fingerprint, resemblance: Resemblance) -> Similar {
        let own = self.fingerprint.map(|made| made.fingerprint);
        Similar {
            id,
            fingerprint,
            distance: own.map(|own| own.distance(fingerprint)),
            resemblance,
        }
    }
}

/// A document whose text is like that of a query.
///
/// Answers are ordered: documents with the same wording, then by the highest
/// [score](Resemblance::score), then by the smallest id.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

impl Similar {
    /// The order of answers.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let (own, others) = (&self.resemblance, &other.resemblance);
        (others.same_wording.cmp(&own.same_wording))
            .then_with(|| others.score().total_cmp(&own.score()))
            .then_with(|| self.id.cmp(&other.id))
    }
}

/// Every document whose text is like that of the query, as far as the bounds above reach, the most
/// alike first. Compares many texts on all cores.
pub(crate) fn similar(
    view: &View,
    query: &TextQuery,
    text_of: impl Fn(DocId) -> Result<Option<String>> + Sync,
) -> Result<Vec<Similar>> {
    let candidates = candidates(view, query)?;
    let compare = |id: &DocId| compare(view, query, *id, text_of(*id)?);
    if candidates.len() < MIN_PARALLEL {
        return in_order(candidates.iter().map(compare));
    }
    let in_parallel = || candidates.par_iter().map(compare).collect::<Vec<_>>();
    in_order(view.tables.in_parallel(in_parallel).into_iter())
}

/// The answer of [`similar`] by the stored texts, on one thread: for the tables of a write
/// transaction, which only one thread can read.
pub(crate) fn similar_in_turn(
    view: &View<impl FingerprintSource>,
    query: &TextQuery,
) -> Result<Vec<Similar>> {
    compare_in_turn(view, query, candidates(view, query)?)
}

/// The answer of [`similar_in_turn`], of the documents alone whose texts are in the overlay of the
/// view.
pub(crate) fn similar_in_overlay(
    view: &View<impl FingerprintSource>,
    query: &TextQuery,
) -> Result<Vec<Similar>> {
    let near = match query.near(view.keeps_bands()) {
        Some((fingerprint, radius)) => view.in_overlay(fingerprint, radius, MAX_NEAR),
        None => Vec::new(),
    };
    let keys = query.band_keys(view.keeps_bands());
    let sharing = view.in_overlay_bands(keys, MAX_IN_BAND);
    compare_in_turn(view, query, ranked(near, sharing))
}

fn compare_in_turn(
    view: &View<impl FingerprintSource>,
    query: &TextQuery,
    candidates: Vec<DocId>,
) -> Result<Vec<Similar>> {
    in_order(
        candidates
            .into_iter()
            .map(|id| compare(view, query, id, view.text(id)?)),
    )
}

/// Compares a candidate, given its text. Returns `None` if it is not like the query.
fn compare(
    view: &View<impl FingerprintSource>,
    query: &TextQuery,
    id: DocId,
    text: Option<String>,
) -> Result<Option<Similar>> {
    let Some(resemblance) = text.and_then(|text| query.compare(&text)) else {
        return Ok(None);
    };
    let state = view.stored(id)?;
    Ok(state.map(|state| query.found(id, state.fingerprint, resemblance)))
}

fn in_order(found: impl Iterator<Item = Result<Option<Similar>>>) -> Result<Vec<Similar>> {
    let mut found: Vec<_> = found.filter_map(Result::transpose).collect::<Result<_>>()?;
    found.sort_unstable_by(Similar::order);
    Ok(found)
}

/// The documents that may be like the query.
fn candidates(view: &View<impl FingerprintSource>, query: &TextQuery) -> Result<Vec<DocId>> {
    let near = match query.near(view.keeps_bands()) {
        Some((fingerprint, radius)) => within(view, fingerprint, radius, MAX_NEAR)?,
        None => Vec::new(),
    };
    let bands = view.documents_in_bands(query.band_keys(view.keeps_bands()), MAX_IN_BAND)?;
    let sharing = bands.into_iter().flat_map(|band| band.documents).collect();
    Ok(ranked(near, sharing))
}

/// Candidates in the order of comparison, each once: those with near fingerprints, then those that
/// share bands, most bands first. `sharing` has a document once for each band.
fn ranked(near: Vec<Match>, mut sharing: Vec<DocId>) -> Vec<DocId> {
    let mut ranked: Vec<DocId> = near.into_iter().map(|near| near.id).collect();
    let is_near: HashSet<DocId> = ranked.iter().copied().collect();
    sharing.retain(|id| !is_near.contains(id));
    sharing.sort_unstable();
    let mut by_bands: Vec<(Reverse<usize>, DocId)> = sharing
        .chunk_by(|a, b| a == b)
        .map(|same| (Reverse(same.len()), same[0]))
        .collect();
    by_bands.sort_unstable();
    ranked.extend(by_bands.into_iter().map(|(_, id)| id));
    ranked.truncate(MAX_COMPARED);
    ranked
}
