//! [`TextQuery`]: the text of a similar search, with its options.

use std::borrow::Cow;
use std::sync::Arc;

use crate::analysis::Analysed;
use crate::analysis::frames::{BodyText, Frames};
use crate::error::Result;
use crate::forest::{ForestSearch, Reach};
use crate::hamming::check_radius;
use crate::ids::scope::ScopeNumber;
use crate::ids::{Fingerprint, TextFingerprint};
use crate::measure::containment::{Containment, Forgiven};
use crate::measure::decision::Decision;
use crate::measure::{Likeness, Resemblance, Verifier, compare};
use crate::record::Record;

/// The radius of candidates in a database without a forest. At least half of the near-duplicates
/// that differ in more than case and punctuation lie within this radius, and few other documents.
const RADIUS_WITHOUT_FOREST: u32 = 12;

/// The radius of candidates in a database with a forest. The forest finds near-duplicates farther
/// away.
const RADIUS_WITH_FOREST: u32 = 3;

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
    frames: Option<FramedText>,
}

/// The frames of a collection, and the text of a query without its frames.
#[derive(Clone, Debug)]
struct FramedText {
    frames: Arc<Frames>,
    /// The scope of the text; `None` for the scope of each text that it is compared with.
    scope: Option<ScopeNumber>,
    text: BodyText,
}

impl TextQuery {
    pub(crate) fn new(text: &str, fingerprint: Option<TextFingerprint>) -> Self {
        let text = Analysed::new(text);
        // Made by the thread that makes the query, not under the write lock.
        text.forest_minima();
        Self::of(text, fingerprint)
    }

    /// The query for documents with the same wording, by the key of the wording.
    pub(crate) fn of_wording(text: &str, fingerprint: TextFingerprint) -> Self {
        // An unreliable fingerprint finds no candidates.
        let reliable = false;
        let fingerprint = TextFingerprint {
            reliable,
            ..fingerprint
        };
        let likeness = Likeness {
            edit_similarity: f64::INFINITY,
            jaccard: f64::INFINITY,
        };
        let mut query = Self::of(Analysed::lazy(text), Some(fingerprint));
        query.only_wording = true;
        query.decision(Decision::Alike).likeness(likeness)
    }

    fn of(text: Analysed, fingerprint: Option<TextFingerprint>) -> Self {
        Self {
            text,
            fingerprint,
            likeness: Likeness::default(),
            decision: Decision::default(),
            radius: None,
            uses_forest: true,
            is_narrow: false,
            frames: None,
            only_wording: false,
        }
    }

    /// The least likeness of texts that are alike; [`Likeness::default`] unless set.
    pub fn likeness(mut self, likeness: Likeness) -> Self {
        self.likeness = likeness;
        self
    }

    /// The measure that decides about texts which are alike; [`Decision::Contained`] unless set:
    /// the answer has the documents of which one text contains the other.
    pub fn decision(mut self, decision: Decision) -> Self {
        self.decision = decision;
        self
    }

    /// The radius within which documents are candidates, in addition to the neighbours in the
    /// forest. Unless set, 3 in a database with a forest and 12 in a database without.
    pub fn radius(mut self, radius: u32) -> Self {
        self.radius = Some(radius);
        self
    }

    /// Leaves out the candidates by the forest: only documents within the [`radius`](Self::radius),
    /// 12 unless set, are compared. The answer is then the matches within the radius, verified by
    /// text.
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
    /// let query = db.text_query("Ferries, to island, was canceled due to heavy fogs")?;
    /// let snapshot = db.snapshot()?;
    /// assert_eq!(snapshot.similar(&query)?.len(), 1);
    /// assert!(snapshot.similar(&query.without_forest().radius(3))?.is_empty());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn without_forest(mut self) -> Self {
        self.uses_forest = false;
        self
    }

    /// Searches fewer trees and smaller nodes of the forest, and compares only texts with nearer
    /// sketches (unless a threshold is below the default), as
    /// [`insert_unless_similar`](crate::Database::insert_unless_similar) does. Without effect with
    /// [`Decision::Alike`], whose texts have less in common, and without a forest.
    ///
    /// Among a million package summaries, a narrow search takes 0.2 ms instead of 0.75 ms on
    /// average. It finds .99 of the documents of an answer on average. Answers with thousands of
    /// documents lose most: all answers together have .78 of the documents.
    ///
    /// ```
    /// use simdb::Database;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// let text = "The ferry to the islands was cancelled due to heavy fog.";
    /// assert!(db.insert(db.document(1, text)?)?.is_inserted());
    ///
    /// let query = db.text_query("The ferry to the island was canceled due to a heavy fog.")?.narrow();
    /// assert_eq!(db.snapshot()?.similar(&query)?.len(), 1);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn narrow(mut self) -> Self {
        self.is_narrow = true;
        self
    }

    /// Leaves frames out of the texts that are compared: the frames of the scope of each text. If
    /// the scope of the text of the query is `None`, it has the frames of the other text.
    pub(crate) fn with_frames(mut self, frames: Arc<Frames>, scope: Option<ScopeNumber>) -> Self {
        self.frames = (!frames.is_empty()).then(|| FramedText {
            text: BodyText::new(self.text.text(), scope.unwrap_or_default().0, &frames),
            scope,
            frames,
        });
        self
    }

    /// A record of the text of the query, to store in a forest, in a scope.
    pub(crate) fn keyed(&self, record: Record, scope: ScopeNumber) -> Arc<Analysed> {
        self.text.text_keys();
        self.text.sketch();
        self.text.packed();
        Arc::new(self.text.stored(record).in_scope(scope))
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

    /// Bytes of the prepared text and its minima, and of its body.
    pub(crate) fn len_bytes(&self) -> usize {
        let body_bytes = self
            .frames
            .as_ref()
            .map_or(0, |framed| framed.text.body.len_bytes());
        self.text.len_bytes() + body_bytes
    }

    /// The search for texts with the same wording; `None` without a forest in the query or in the
    /// database.
    pub(super) fn wording_search(&self, keeps_forest: bool) -> Option<ForestSearch<'_>> {
        (keeps_forest && self.uses_forest).then(|| ForestSearch::of_wording(&self.text))
    }

    /// The search for candidates in the forest; `None` without a forest in the query or in the
    /// database.
    pub(super) fn search(&self, keeps_forest: bool) -> Option<ForestSearch<'_>> {
        let of_wording = self.wording_search(keeps_forest)?;
        if self.only_wording {
            return Some(of_wording);
        }
        let default = Likeness::default();
        let is_measured = self.likeness.edit_similarity >= default.edit_similarity
            && self.likeness.jaccard >= default.jaccard;
        let reach = match self.decision {
            decision if self.is_narrow && decision.compares_words() => &Reach::CONTAINED,
            _ => Reach::alike_stored(self.text.characters()),
        };
        let reach = match is_measured {
            true => *reach,
            false => reach.of_any_sketch(),
        };
        Some(ForestSearch::new(&self.text, reach, self.likeness.least()))
    }

    /// The fingerprint and the radius of candidates; `None` if the text has no reliable
    /// fingerprint.
    pub(super) fn fingerprint_and_radius(&self, keeps_forest: bool) -> Option<(Fingerprint, u32)> {
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

    /// The comparison of the text with candidates.
    pub(super) fn verifier(&self) -> Verifier<'_> {
        // A body with a frame is less alike to the body without one.
        let join = self.decision.join_likeness();
        let likeness = match self.frames {
            Some(_) if self.decides_by_words() => Likeness {
                edit_similarity: self.likeness.edit_similarity.min(join.edit_similarity),
                jaccard: self.likeness.jaccard.min(join.jaccard),
            },
            _ => self.likeness,
        };
        Verifier::new(&self.text, &likeness)
    }

    /// Returns `true` if the words decide about texts that are alike.
    pub(super) fn decides_by_words(&self) -> bool {
        self.decision.compares_words()
    }

    /// The resemblance and the containment of the text, A, and another text of a scope, B, alike by
    /// the [`verifier`](Self::verifier): of their bodies, or else of the whole texts. `None` if
    /// neither covers the other.
    pub(super) fn decide(
        &self,
        other: &Analysed,
        scope: ScopeNumber,
        resemblance: Resemblance,
    ) -> Option<(Resemblance, Containment)> {
        let of_bodies = self
            .frames
            .as_ref()
            .and_then(|framed| self.decide_bodies(framed, other, scope));
        of_bodies.or_else(|| {
            let is_alike = self.frames.is_none() || resemblance.is_enough(&self.likeness);
            let found = is_alike.then(|| self.text.removable(other, self.decision));
            Some((resemblance, found.flatten()?))
        })
    }

    fn decide_bodies(
        &self,
        framed: &FramedText,
        other: &Analysed,
        scope: ScopeNumber,
    ) -> Option<(Resemblance, Containment)> {
        let frames = &framed.frames;
        let own = match framed.scope {
            None if scope != ScopeNumber::default() => {
                Cow::Owned(BodyText::new(self.text.text(), scope.0, frames))
            }
            _ => Cow::Borrowed(&framed.text),
        };
        // Most texts have no frame. To find that out takes longer than most comparisons.
        if own.frames.is_empty() && other.text().len() <= self.text.text().len() {
            return None;
        }
        let other = BodyText::new(other.text(), scope.0, frames);
        if own.frames.is_empty() && other.frames.is_empty() {
            return None;
        }
        let resemblance = compare(&own.body, &other.body, &self.likeness)?;
        let mut found = match own.body.text() == other.body.text() {
            true => Containment::identical(),
            false => own.body.removable(&other.body, self.decision)?,
        };
        let own = own.frames.iter().map(|frame| Forgiven::frame(frame, ""));
        let others = other.frames.iter().map(|frame| Forgiven::frame("", frame));
        found.forgiven.extend(own.chain(others));
        Some((resemblance, found))
    }
}
