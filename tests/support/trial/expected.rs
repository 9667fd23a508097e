//! The expected contents and answers of a database: a plain map, and comparison with every
//! document.

use simdb::{Change, DocId, DocRef, Document, Fingerprint, Outcome, Snapshot, Timestamp};

use super::pool::Pool;
use super::settings::{Settings, WINDOW_MS};
use crate::{Model, SplitMix};

/// The expected contents of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub model: Model,
    settings: Settings,
    /// The latest arrival so far.
    now: u64,
}

/// The expected outcome of a change.
#[derive(Clone, Debug, PartialEq)]
pub enum Prediction {
    Exactly(Outcome),
    /// Refused as similar to one of these documents.
    Like(Vec<DocId>),
}

impl Prediction {
    pub fn is(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Self::Exactly(prediction), outcome) => prediction == outcome,
            (Self::Like(documents), Outcome::Similar(found)) => documents.contains(&found.id),
            _ => false,
        }
    }
}

impl Expected {
    pub fn new(settings: Settings) -> Self {
        let model = Model {
            keeps_texts: settings.keeps_texts(),
            keeps_arrivals: settings.retention.is_some(),
            ..Model::default()
        };
        Self {
            model,
            settings,
            now: 0,
        }
    }

    /// The current time of the database.
    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn len(&self) -> usize {
        self.model.documents.len()
    }

    /// An id that is stored, or perhaps not.
    pub fn some_id(&self, sequence: &mut SplitMix) -> Option<DocId> {
        let place = sequence.below(self.len().max(1) as u64) as usize;
        self.model.documents.keys().nth(place).copied()
    }

    /// Applies a change. With a retention, a change later than any before must leave a trace.
    pub fn apply(&mut self, change: &Change) -> Prediction {
        let arrival = arrival_of(change);
        // A document is compared with those alive at its arrival.
        self.now = self.now.max(arrival.map_or(0, |arrival| arrival.0));
        self.forget_expired();
        if let Some(expired) = self.expired(change) {
            return Prediction::Exactly(expired);
        }
        let prediction = match change {
            Change::InsertUnlessSimilar { document, .. } => {
                let like = self.like(document.text.as_deref().unwrap_or_default());
                match self.model.documents.contains_key(&document.id) || like.is_empty() {
                    true => self.insert(document),
                    false => Prediction::Like(like),
                }
            }
            Change::RemoveOlder { id, than } => {
                let stored = self.model.documents.get(id);
                let is_older = stored.is_some_and(|stored| stored.arrival < Some(*than));
                Prediction::Exactly(match is_older {
                    true => self.model.apply(Change::Remove(*id)),
                    false => Outcome::Missing,
                })
            }
            change => Prediction::Exactly(self.model.apply(change.clone())),
        };
        if let Prediction::Exactly(Outcome::Duplicate(of)) = &prediction
            && self
                .settings
                .retention
                .is_some_and(|retention| retention.sliding)
            && let Some(document) = self.model.documents.get_mut(&of.id)
        {
            document.arrival = document.arrival.max(arrival);
        }
        prediction
    }

    pub fn apply_all(&mut self, changes: &[Change]) -> Vec<Prediction> {
        changes.iter().map(|change| self.apply(change)).collect()
    }

    fn insert(&mut self, document: &Document) -> Prediction {
        Prediction::Exactly(self.model.apply(Change::Insert(document.clone())))
    }

    /// Removes the documents that arrived before a time; returns their number.
    pub fn prune(&mut self, older_than: Timestamp) -> u64 {
        let before = self.len();
        let documents = &mut self.model.documents;
        documents.retain(|_, document| document.arrival >= Some(older_than));
        (before - self.len()) as u64
    }

    /// The time before which documents are expired.
    fn cutoff(&self) -> Option<Timestamp> {
        self.settings.retention?.window?;
        self.now.checked_sub(WINDOW_MS).map(Timestamp)
    }

    fn forget_expired(&mut self) {
        if let Some(cutoff) = self.cutoff() {
            self.prune(cutoff);
        }
    }

    /// The outcome of a change whose document arrives before the window, unless its id is taken.
    fn expired(&self, change: &Change) -> Option<Outcome> {
        let cutoff = self.cutoff()?;
        let is_upsert = matches!(change, Change::Upsert(_));
        let has = |id: &DocId| self.model.documents.contains_key(id);
        let exists = matches!(change.doc_ref(), DocRef::Id(id) if has(&id)) && !is_upsert;
        let is_expired = arrival_of(change)? < cutoff && !exists;
        is_expired.then_some(Outcome::Expired { cutoff })
    }

    /// The documents with a text similar to this one, by id.
    pub fn like(&self, text: &str) -> Vec<DocId> {
        let pool = Pool::shared();
        let is_like = |stored: &&Document| {
            let stored = stored.text.as_deref();
            stored.is_some_and(|stored| pool.are_alike(stored, text))
        };
        let documents = self.model.documents.values().filter(is_like);
        documents.map(|document| document.id).collect()
    }

    /// Compares a snapshot: a description of the first difference, or `None`.
    pub fn compare(&self, snapshot: &Snapshot) -> simdb::Result<Option<String>> {
        let mut stored = snapshot.documents();
        let mut expected = self.model.documents.values();
        loop {
            match (stored.next().transpose()?, expected.next()) {
                (None, None) => return Ok(None),
                (stored, expected) if stored.as_ref() == expected => {}
                (stored, expected) => {
                    return Ok(Some(format!("{stored:?} is where {expected:?} should be")));
                }
            }
        }
    }

    /// Queries some documents by id, fingerprint and text. Asserts that the answers are right; a
    /// failed read is an error.
    pub fn ask(&self, snapshot: &Snapshot, sequence: &mut SplitMix) -> simdb::Result<()> {
        let near = |id: Option<DocId>, flips: u64| {
            let document = id.and_then(|id| self.model.documents.get(&id));
            let bits = document.map_or(flips, |document| document.fingerprint.bits());
            Fingerprint::from_bits(bits ^ flips)
        };
        for radius in [0, 3, 3, 10] {
            let flips = sequence.next() & sequence.next() & sequence.next() & sequence.next();
            let query = near(self.some_id(sequence), flips);
            let found = snapshot.within(query, radius)?;
            assert_eq!(found, self.model.within(query, radius), "{query} {radius}");
        }
        if let Some(id) = self.some_id(sequence) {
            let stored = snapshot.get(id)?;
            assert_eq!(stored.as_ref(), self.model.documents.get(&id));
        }
        let strange = DocId(sequence.next());
        assert_eq!(snapshot.get(strange)?, None);
        Ok(())
    }
}

fn arrival_of(change: &Change) -> Option<Timestamp> {
    match change {
        Change::Insert(document)
        | Change::Upsert(document)
        | Change::InsertUnique { document, .. }
        | Change::InsertUnlessSimilar { document, .. } => document.arrival,
        _ => None,
    }
}
