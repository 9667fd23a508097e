//! The expected contents and answers of a database: a plain map, and comparison with every
//! document.

use simdb::copies::SightingKind;
use simdb::{Change, DocId, Document, Fingerprint, Outcome, Similar, Snapshot, Timestamp};

use super::changes::scopes_asked;
use super::pool::Pool;
use super::settings::{Settings, WINDOW_MS};
use crate::{Model, SplitMix, key_of, model};

/// The most copied documents that are compared.
const MOST_COPIED: usize = 50;

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
    /// Refused as similar to this document.
    Like(DocId),
}

impl Prediction {
    pub fn is(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Self::Exactly(prediction), outcome) => prediction == outcome,
            (Self::Like(document), Outcome::Similar(found)) => *document == found.id,
            _ => false,
        }
    }
}

impl Expected {
    pub fn new(settings: Settings) -> Self {
        let model = Model {
            keeps_texts: settings.keeps_texts(),
            keeps_arrivals: settings.retention.is_some(),
            keeps_fields: settings.fields,
            newest_copies: usize::from(settings.copies),
            has_window: settings
                .retention
                .is_some_and(|retention| retention.window.is_some()),
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
            Change::InsertUnlessSimilar { document, .. } => self.insert_unless_similar(document),
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
        let repeated = match &prediction {
            Prediction::Exactly(Outcome::Duplicate(of)) => Some(of.id),
            Prediction::Like(id) => Some(*id),
            Prediction::Exactly(_) => None,
        };
        let sliding = |retention: simdb::Retention| retention.sliding;
        if self.settings.retention.is_some_and(sliding)
            && let Some(document) = repeated.and_then(|id| self.model.documents.get_mut(&id))
        {
            document.arrival = document.arrival.max(arrival);
        }
        prediction
    }

    fn insert_unless_similar(&mut self, document: &Document) -> Prediction {
        let mut like = None;
        let text = document.text.as_deref().unwrap_or_default();
        let scopes = model::among(document);
        let outcome = self.model.insert_unless(document.clone(), |model, _| {
            let first = first_like(model, scopes.as_deref(), text)
                .into_iter()
                .next()?;
            like = Some(first.id);
            Some((first.id, SightingKind::Alike, Outcome::Similar(first)))
        });
        like.map_or(Prediction::Exactly(outcome), Prediction::Like)
    }

    /// Loads a document that does not expire.
    pub fn load(&mut self, document: &Document) -> Outcome {
        self.now = self
            .now
            .max(document.arrival.map_or(0, |arrival| arrival.0));
        self.forget_expired();
        self.model.load(document.clone())
    }

    pub fn apply_all(&mut self, changes: &[Change]) -> Vec<Prediction> {
        changes.iter().map(|change| self.apply(change)).collect()
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
        self.model.cutoff = self.cutoff();
        if let Some(cutoff) = self.model.cutoff {
            self.prune(cutoff);
        }
    }

    /// The outcome of a change whose document arrives before the window, unless its id is taken.
    fn expired(&self, change: &Change) -> Option<Outcome> {
        let cutoff = self.cutoff()?;
        let is_upsert = matches!(change, Change::Upsert(_));
        let stored = document_of(change).and_then(|document| self.model.stored(document));
        let is_expired = arrival_of(change)? < cutoff && (stored.is_none() || is_upsert);
        is_expired.then_some(Outcome::Expired { cutoff })
    }

    /// The documents in some scopes with a text similar to this one, by id.
    pub fn like(&self, scopes: Option<&[String]>, text: &str) -> Vec<DocId> {
        let mut ids: Vec<DocId> = first_like(&self.model, scopes, text)
            .iter()
            .map(|like| like.id)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Compares a snapshot: a description of the first difference, or `None`.
    pub fn compare(&self, snapshot: &Snapshot) -> simdb::Result<Option<String>> {
        if self.settings.copies > 0 {
            let most = snapshot.most_copied(MOST_COPIED, None)?;
            let mut expected = self.model.most_copied(None);
            expected.truncate(MOST_COPIED);
            if most != expected {
                return Ok(Some(format!("{most:?} are copied instead of {expected:?}")));
            }
        }
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
        if self.settings.keys {
            self.ask_keys(snapshot, sequence)?;
        }
        if self.settings.scopes {
            let scopes = scopes_asked(sequence);
            let query = near(self.some_id(sequence), sequence.bits(2));
            let found = snapshot.in_scopes(&scopes)?.within(query, 3)?;
            let expected = self.model.within_scopes(Some(&scopes), query, 3);
            assert_eq!(found, expected, "{query} in {scopes:?}");
        }
        Ok(())
    }

    /// Translates ids to keys and keys to ids.
    fn ask_keys(&self, snapshot: &Snapshot, sequence: &mut SplitMix) -> simdb::Result<()> {
        if let Some(id) = self.some_id(sequence) {
            let stored = &self.model.documents[&id];
            assert_eq!(snapshot.key(id)?, stored.key);
            let key = stored.key.as_deref().expect("each document has a key");
            assert_eq!(snapshot.id(key)?, Some(id));
        }
        let key = key_of(DocId(sequence.below(200)));
        assert_eq!(snapshot.id(&key)?, self.model.id_of(&key), "{key}");
        Ok(())
    }
}

/// The documents in some scopes with a text similar to this one, the most similar first.
fn first_like(model: &Model, scopes: Option<&[String]>, text: &str) -> Vec<Similar> {
    let documents = model.documents.values();
    let documents = documents.filter(|document| model::is_among(document, scopes));
    let mut like: Vec<Similar> = documents
        .filter_map(|document| {
            let stored = document.text.as_deref()?;
            Some(Similar {
                id: document.id,
                key: None,
                fingerprint: document.fingerprint,
                distance: None,
                resemblance: Pool::shared().alike(text, stored)?,
                containment: None,
            })
        })
        .collect();
    like.sort_by(Similar::order);
    like
}

fn document_of(change: &Change) -> Option<&Document> {
    match change {
        Change::Insert(document)
        | Change::Upsert(document)
        | Change::InsertUnique { document, .. }
        | Change::InsertUnlessSimilar { document, .. } => Some(document),
        _ => None,
    }
}

fn arrival_of(change: &Change) -> Option<Timestamp> {
    document_of(change)?.arrival
}
