//! The documents whose texts are like the text of a query. Candidates share a band or have a near
//! fingerprint; the comparison of texts decides.

use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;

use rayon::prelude::*;

use super::single::within;
use crate::document::{DocId, Match};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, TextFingerprint, check_radius};
use crate::similarity::{Likeness, Resemblance, Wording};
use crate::store::{BandMaker, FingerprintSource, View};

/// At most 1,024 documents of one band are candidates, those with the smallest ids. A band of more
/// documents is boilerplate, and a near-duplicate shares other bands too.
const MAX_PER_BAND: usize = 1024;

/// At most 1,024 documents are candidates by their fingerprints, the nearest ones.
const MAX_BY_FINGERPRINT: usize = 1024;

/// At most 8,192 texts are read and compared: near fingerprints first, then most shared bands.
const MAX_COMPARED: usize = 8192;

/// The radius of candidates in a database without bands. At least half of the near-duplicates that
/// differ in more than case and punctuation lie within this radius, and few other documents.
const RADIUS_WITHOUT_BANDS: u32 = 12;

/// The radius of candidates in a database with bands. The bands find near-duplicates farther away.
const RADIUS_WITH_BANDS: u32 = 3;

/// From 16 candidates on, texts are compared on all cores.
const MIN_PARALLEL_TEXTS: usize = 16;

/// A query for the near-duplicates of a text.
///
/// Made by [`Database::text_query`](crate::Database::text_query). A query can be used any number of
/// times, with any snapshot of its database or of another database with the same recipe. The
/// comparison of texts simplifies traditional characters, even if the recipe does not.
#[derive(Clone, Debug)]
pub struct TextQuery {
    bands: BandMaker,
    wording: Wording,
    /// The band keys of the text.
    keys: Vec<u64>,
    /// `None` if the recipe makes no fingerprints of texts.
    fingerprint: Option<TextFingerprint>,
    likeness: Likeness,
    radius: Option<u32>,
    uses_bands: bool,
}

impl TextQuery {
    pub(crate) fn new(bands: &BandMaker, text: &str, fingerprint: Option<TextFingerprint>) -> Self {
        let banding = bands.banding();
        let wording = Wording::new(banding.normaliser(), text);
        Self {
            keys: banding.query_keys(text, wording.letters()),
            wording,
            bands: bands.clone(),
            fingerprint,
            likeness: Likeness::default(),
            radius: None,
            uses_bands: true,
        }
    }

    /// The least likeness of a near-duplicate; [`Likeness::default`] unless set.
    pub fn likeness(mut self, likeness: Likeness) -> Self {
        self.likeness = likeness;
        self
    }

    /// The radius within which documents are candidates, in addition to documents that share a band.
    /// Unless set, 3 in a database with bands and 12 in a database without.
    pub fn radius(mut self, radius: u32) -> Self {
        self.radius = Some(radius);
        self
    }

    /// Leaves out the candidates by bands: only documents within the [`radius`](Self::radius), 12
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
    /// assert!(snapshot.similar(&query.without_bands().radius(3))?.is_empty());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn without_bands(mut self) -> Self {
        self.uses_bands = false;
        self
    }

    /// Finds only documents with the same wording, by the band key of the whole text.
    pub(crate) fn same_wording(mut self) -> Self {
        // The key of the whole text is the first.
        self.keys.truncate(1);
        self.fingerprint = self.fingerprint.map(|made| TextFingerprint {
            reliable: false,
            ..made
        });
        self.likeness(Likeness {
            edit_similarity: f64::INFINITY,
            jaccard: f64::INFINITY,
        })
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

    /// Bytes of the prepared text and its band keys.
    pub(crate) fn len_bytes(&self) -> usize {
        self.wording.len_bytes() + size_of_val(self.keys.as_slice())
    }

    /// The band keys of candidates; empty without bands in the query or in the database.
    fn band_keys(&self, keeps_bands: bool) -> &[u64] {
        if keeps_bands && self.uses_bands {
            &self.keys
        } else {
            &[]
        }
    }

    /// The fingerprint and the radius of candidates; `None` if the text has no reliable fingerprint.
    fn fingerprint_and_radius(&self, keeps_bands: bool) -> Option<(Fingerprint, u32)> {
        let default_radius = if keeps_bands && self.uses_bands {
            RADIUS_WITH_BANDS
        } else {
            RADIUS_WITHOUT_BANDS
        };
        let fingerprint = self
            .fingerprint
            .filter(|fingerprint| fingerprint.reliable)?;
        Some((
            fingerprint.fingerprint,
            self.radius.unwrap_or(default_radius),
        ))
    }

    /// The resemblance of a text to the text of the query; `None` if the texts are not alike.
    fn compare(&self, text: &str) -> Option<Resemblance> {
        let normaliser = self.bands.banding().normaliser();
        self.wording.compare(normaliser, text, &self.likeness)
    }

    fn to_similar(&self, id: DocId, fingerprint: Fingerprint, resemblance: Resemblance) -> Similar {
        let own = self.fingerprint.map(|fingerprint| fingerprint.fingerprint);
        Similar {
            id,
            fingerprint,
            distance: own.map(|own| own.distance(fingerprint)),
            resemblance,
        }
    }
}

/// A document whose text is like the text of a query.
///
/// Answers are ordered: documents with the same wording, then by the highest
/// [score](Resemblance::score), then by the smallest id.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

impl Similar {
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let (own, others) = (&self.resemblance, &other.resemblance);
        (others.same_wording.cmp(&own.same_wording))
            .then_with(|| others.score().total_cmp(&own.score()))
            .then_with(|| self.id.cmp(&other.id))
    }
}

/// The candidates whose texts are like the text of the query, the most similar first.
pub(crate) fn similar(
    view: &View,
    query: &TextQuery,
    text_of: impl Fn(DocId) -> Result<Option<String>> + Sync,
) -> Result<Vec<Similar>> {
    let candidates = candidates(view, query)?;
    let compare = |id: &DocId| compare(view, query, *id, text_of(*id)?);
    if candidates.len() < MIN_PARALLEL_TEXTS {
        return sort_answers(candidates.iter().map(compare));
    }
    let in_parallel = || candidates.par_iter().map(compare).collect::<Vec<_>>();
    sort_answers(view.tables.in_parallel(in_parallel).into_iter())
}

/// The answer of [`similar`] by the stored texts, on one thread, because the tables of a write
/// transaction can be read by one thread only.
pub(crate) fn similar_sequential(
    view: &View<impl FingerprintSource>,
    query: &TextQuery,
) -> Result<Vec<Similar>> {
    compare_sequentially(view, query, candidates(view, query)?)
}

/// The answer of [`similar_sequential`], limited to documents with a text in the overlay of the view.
pub(crate) fn similar_in_overlay(
    view: &View<impl FingerprintSource>,
    query: &TextQuery,
) -> Result<Vec<Similar>> {
    let near = match query.fingerprint_and_radius(view.keeps_bands()) {
        Some((fingerprint, radius)) => view.in_overlay(fingerprint, radius, MAX_BY_FINGERPRINT),
        None => Vec::new(),
    };
    let keys = query.band_keys(view.keeps_bands());
    let in_bands = view.in_overlay_bands(keys, MAX_PER_BAND);
    compare_sequentially(view, query, rank_candidates(near, in_bands))
}

fn compare_sequentially(
    view: &View<impl FingerprintSource>,
    query: &TextQuery,
    candidates: Vec<DocId>,
) -> Result<Vec<Similar>> {
    sort_answers(
        candidates
            .into_iter()
            .map(|id| compare(view, query, id, view.text(id)?)),
    )
}

/// Compares a candidate, given its text. `None` if the texts are not alike.
fn compare(
    view: &View<impl FingerprintSource>,
    query: &TextQuery,
    id: DocId,
    text: Option<String>,
) -> Result<Option<Similar>> {
    let Some(resemblance) = text.and_then(|text| query.compare(&text)) else {
        return Ok(None);
    };
    // Read after the comparison: a candidate that is not similar needs no fingerprint.
    let state = view.stored(id)?;
    Ok(state.map(|state| query.to_similar(id, state.fingerprint, resemblance)))
}

fn sort_answers(found: impl Iterator<Item = Result<Option<Similar>>>) -> Result<Vec<Similar>> {
    let mut found: Vec<_> = found.filter_map(Result::transpose).collect::<Result<_>>()?;
    found.sort_unstable_by(Similar::order);
    Ok(found)
}

fn candidates(view: &View<impl FingerprintSource>, query: &TextQuery) -> Result<Vec<DocId>> {
    let near = match query.fingerprint_and_radius(view.keeps_bands()) {
        Some((fingerprint, radius)) => within(view, fingerprint, radius, MAX_BY_FINGERPRINT)?,
        None => Vec::new(),
    };
    let bands = view.documents_in_bands(query.band_keys(view.keeps_bands()), MAX_PER_BAND)?;
    let in_bands = bands.into_iter().flat_map(|band| band.documents).collect();
    Ok(rank_candidates(near, in_bands))
}

/// Candidates in the order of comparison, each once: documents with near fingerprints, then documents
/// that share bands, most bands first. `in_bands` has a document once for each shared band.
fn rank_candidates(near: Vec<Match>, mut in_bands: Vec<DocId>) -> Vec<DocId> {
    let mut ranked: Vec<DocId> = near.into_iter().map(|near| near.id).collect();
    let is_near: HashSet<DocId> = ranked.iter().copied().collect();
    // Near fingerprints first: documents of a crowded band must not displace them at the limit.
    in_bands.retain(|id| !is_near.contains(id));
    in_bands.sort_unstable();
    let mut by_bands: Vec<(Reverse<usize>, DocId)> = in_bands
        .chunk_by(|a, b| a == b)
        .map(|group| (Reverse(group.len()), group[0]))
        .collect();
    by_bands.sort_unstable();
    ranked.extend(by_bands.into_iter().map(|(_, id)| id));
    ranked.truncate(MAX_COMPARED);
    ranked
}
