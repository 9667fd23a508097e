//! Random changes.

use simdb::{Change, DocId, Document, Fingerprint, Timestamp, Within};

use super::expected::Expected;
use super::pool::{ALIKE, Pool};
use super::settings::Settings;
use crate::{SplitMix, keyed};

/// Centres of fingerprints, each within some bits of one, so that most have near neighbours.
const CENTRES: [u64; 3] = [0, u64::MAX, 0x0123_4567_89ab_cdef];

/// The scopes of documents, beside the empty one.
pub const SCOPES: [&str; 3] = ["zh", "a scope of several words", "范围"];

/// Some scopes to search in, one of them unknown.
pub fn scopes_asked(sequence: &mut SplitMix) -> Vec<String> {
    let mut scopes = vec![String::new(), "unknown".to_owned()];
    scopes.extend(SCOPES.map(str::to_owned));
    scopes.retain(|_| sequence.below(2) == 0);
    scopes
}

/// Generates changes for a database.
#[derive(Clone, Debug)]
pub struct Changes {
    settings: Settings,
    /// Number of ids: few, so that most changes meet an earlier document.
    ids: u64,
    /// The last generated arrival.
    clock: u64,
}

impl Changes {
    pub fn new(settings: Settings, sequence: &mut SplitMix) -> Self {
        Self {
            settings,
            ids: [20, 60, 200][sequence.below(3) as usize],
            clock: 10_000,
        }
    }

    /// A document with one of the reused ids.
    pub fn document(&mut self, sequence: &mut SplitMix) -> Document {
        let id = match sequence.below(64) {
            0 => u64::MAX,
            _ => sequence.below(self.ids),
        };
        self.document_of(id, sequence)
    }

    pub fn document_of(&mut self, id: u64, sequence: &mut SplitMix) -> Document {
        let mut document = self.document_with_id(id, sequence);
        if self.settings.keys {
            document = keyed(document);
        }
        if self.settings.scopes {
            let scope = SCOPES.get(sequence.below(5) as usize);
            document.scope = scope.map(|scope| (*scope).to_owned());
            document.within = match sequence.below(8) {
                0 => Within::All,
                1 => Within::Scopes(scopes_asked(sequence)),
                _ => Within::Scope,
            };
        }
        document
    }

    fn document_with_id(&mut self, id: u64, sequence: &mut SplitMix) -> Document {
        let centre = CENTRES[sequence.below(3) as usize];
        let bits = match sequence.below(3) {
            0 => sequence.next(),
            _ => (0..sequence.below(6)).fold(centre, |bits, _| bits ^ 1 << sequence.below(64)),
        };
        let mut document = Document {
            reliable: sequence.below(8) > 0,
            ..Document::new(DocId(id), Fingerprint::from_bits(bits))
        };
        if self.settings.retention.is_some() || self.settings.copies > 0 {
            // Some arrive before the window.
            let late = sequence.below(3) * sequence.below(700);
            document.arrival = Some(Timestamp(self.clock.saturating_sub(late)));
        }
        if self.settings.keeps_texts() && sequence.below(3) > 0 {
            self.give_text(&mut document, sequence);
        }
        document
    }

    fn give_text(&self, document: &mut Document, sequence: &mut SplitMix) {
        let texts = &Pool::shared().texts;
        let text = &texts[sequence.below(texts.len() as u64) as usize];
        if self.settings.similar {
            document.fingerprint = text.made.fingerprint;
            document.reliable = text.made.reliable;
        } else if sequence.below(6) == 0 {
            // A text that takes pages of its own.
            let long = 2_000 + sequence.below(20_000) as usize;
            let mut noise = SplitMix(document.fingerprint.bits() ^ document.id.0);
            let letters = std::iter::repeat_with(|| char::from(b'!' + noise.below(90) as u8));
            document.text = Some(letters.take(long).collect());
            return;
        }
        document.text = Some(text.text.clone());
    }

    /// One change of any kind.
    pub fn change(&mut self, expected: &Expected, sequence: &mut SplitMix) -> Change {
        let document = self.document(sequence);
        match sequence.below(9) {
            0 | 1 => Change::Insert(document),
            2 | 3 => Change::InsertUnique {
                document,
                radius: sequence.below(5) as u32,
            },
            4 | 5 if self.settings.similar => {
                let mut document = document;
                self.give_text(&mut document, sequence);
                Change::InsertUnlessSimilar {
                    document,
                    rule: ALIKE,
                }
            }
            4..=6 => Change::Upsert(document),
            _ => self.removal(expected, document, sequence),
        }
    }

    /// The removal of a stored document, or of this document.
    fn removal(&self, expected: &Expected, other: Document, sequence: &mut SplitMix) -> Change {
        let stored = expected.some_id(sequence);
        let stored = stored.and_then(|id| expected.model.documents.get(&id));
        match (stored, &other.key) {
            (None, None) => Change::Remove(other.id),
            (None, Some(_)) => Change::remove(other.doc_ref()),
            // Some documents with keys are removed by id.
            (Some(stored), _) if sequence.below(3) == 0 => Change::Remove(stored.id),
            (Some(stored), _) => Change::remove(stored.doc_ref()),
        }
    }

    /// At most `most` changes. With a retention, the first change leaves a trace of its arrival.
    pub fn batch(
        &mut self,
        most: u64,
        expected: &Expected,
        sequence: &mut SplitMix,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.settings.retention.is_some() {
            changes.push(Change::Upsert(self.advance_time(sequence)));
        }
        let count = 1 + sequence.below(most);
        changes.extend((0..count).map(|_| self.change(expected, sequence)));
        changes
    }

    /// A document with a later arrival than any before.
    pub fn advance_time(&mut self, sequence: &mut SplitMix) -> Document {
        self.clock += match sequence.below(8) {
            0 => 900,
            _ => 1 + sequence.below(150),
        };
        let mut document = self.document(sequence);
        document.arrival = Some(Timestamp(self.clock));
        document
    }

    pub fn clock(&self) -> u64 {
        self.clock
    }
}
