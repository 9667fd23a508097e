//! [`Document`], [`OnExists`], [`Within`] and [`Match`].

use std::cmp::Ordering;

use crate::copies::Copies;
use crate::ids::{DocId, DocRef, Fingerprint, TextFingerprint, Timestamp};
use crate::record::Record;

/// A document, as inserted or as stored.
///
/// ```
/// use simdb::{Document, Fingerprint, Timestamp};
///
/// let document = Document::new(7, Fingerprint::from_bits(0b1011))
///     .with_arrival(Timestamp(1_709_210_096_007))
///     .with_text("a text");
/// assert!(document.reliable);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Document {
    /// The id. In a database with [keys](crate::Builder::keys), simdb gives the id, and ignores the
    /// id of an inserted document.
    pub id: DocId,
    /// The fingerprint of the text.
    pub fingerprint: Fingerprint,
    /// `false` for the fingerprint of a text with too few features. An unreliable document is
    /// stored and found by its id. It never matches a query by fingerprint. It is refused as a
    /// duplicate only in a database with a forest, for an equal text.
    #[cfg_attr(feature = "serde", serde(default = "is_reliable"))]
    pub reliable: bool,
    /// The arrival time. Stored only in a database that keeps arrival times; an inserted document
    /// with `None` gets the time of the call there.
    #[cfg_attr(feature = "serde", serde(default))]
    pub arrival: Option<Timestamp>,
    /// The text. Stored only in a database that keeps texts.
    #[cfg_attr(feature = "serde", serde(default))]
    pub text: Option<String>,
    /// The key, of 1 to 1,024 bytes. Every document of a database with [keys](crate::Builder::keys)
    /// has one, and no document of another database.
    #[cfg_attr(feature = "serde", serde(default))]
    pub key: Option<String>,
    /// Named values, as a JSON object of at most 64 KiB. Stored as they are and not parsed; an
    /// empty string is no fields. Only in a database that keeps [fields](crate::Builder::fields).
    #[cfg_attr(feature = "serde", serde(default))]
    pub fields: Option<String>,
    /// The documents that were refused as copies of the document. Stored only in a database that
    /// keeps [copies](crate::Builder::copies); `None` without a copy. A document that is inserted
    /// or loaded with copies, as from an export, keeps the copies; an upsert without copies keeps
    /// the stored copies. A document that is refused as a copy brings its copies to the document
    /// that it repeats.
    #[cfg_attr(feature = "serde", serde(default))]
    pub copies: Option<Copies>,
    /// The scope, a name of 1 to 64 bytes without control characters, such as a language or a
    /// tenant. `None` is the empty scope. Only in a database with
    /// [scopes](crate::Builder::scopes).
    #[cfg_attr(feature = "serde", serde(default))]
    pub scope: Option<String>,
    /// The documents with which [`insert_unique`](crate::Database::insert_unique) and
    /// [`insert_unless_similar`](crate::Database::insert_unless_similar) compare this document, in
    /// a database with [scopes](crate::Builder::scopes). Not stored.
    #[cfg_attr(feature = "serde", serde(default))]
    pub within: Within,
    /// The treatment of a stored document with the same id or key, if this document is inserted.
    /// Not stored.
    #[cfg_attr(feature = "serde", serde(default))]
    pub on_exists: OnExists,
}

/// The documents with which an insert compares a new document, in a database with
/// [scopes](crate::Builder::scopes). [`Snapshot::in_scopes`](crate::Snapshot::in_scopes) limits
/// queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Within {
    /// The documents of the scope of the new document.
    #[default]
    Scope,
    /// The documents of these scopes. The empty string is the empty scope.
    Scopes(Vec<String>),
    /// All documents.
    All,
}

/// The treatment of a stored document whose id or key is inserted again, such as an item of a feed
/// whose text was corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum OnExists {
    /// The stored document stays: [`Outcome::Exists`](crate::Outcome::Exists).
    #[default]
    Keep,
    /// A document with another fingerprint, text or fields replaces the stored document
    /// ([`Outcome::Replaced`](crate::Outcome::Replaced)), and is not compared with other documents.
    Replace,
    /// As [`Replace`](Self::Replace), only if the new text covers the stored text and has more, as
    /// [`containment`](crate::containment) decides.
    ReplaceIfExtends,
}

/// A deserialised document without the field `reliable` is reliable, as one from [`Document::new`].
#[cfg(feature = "serde")]
fn is_reliable() -> bool {
    true
}

impl Document {
    /// A document without arrival time, text and fields. A [`TextFingerprint`] brings its
    /// reliability; a [`Fingerprint`] counts as reliable.
    pub fn new(id: impl Into<DocRef>, fingerprint: impl Into<TextFingerprint>) -> Self {
        let TextFingerprint {
            fingerprint,
            reliable,
        } = fingerprint.into();
        let (id, key) = match id.into() {
            DocRef::Id(id) => (id, None),
            DocRef::Key(key) => (DocId::default(), Some(key)),
        };
        Self {
            id,
            fingerprint,
            reliable,
            arrival: None,
            text: None,
            key,
            fields: None,
            copies: None,
            scope: None,
            within: Within::default(),
            on_exists: OnExists::default(),
        }
    }

    /// Sets the arrival time.
    #[must_use]
    pub fn with_arrival(mut self, arrival: impl Into<Timestamp>) -> Self {
        self.arrival = Some(arrival.into());
        self
    }

    /// Sets the text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets the fields, a JSON object.
    #[must_use]
    pub fn with_fields(mut self, fields: impl Into<String>) -> Self {
        self.fields = Some(fields.into());
        self
    }

    /// Sets the scope.
    #[must_use]
    pub fn with_scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Sets the documents with which an insert compares this document.
    #[must_use]
    pub fn compared_within(mut self, within: Within) -> Self {
        self.within = within;
        self
    }

    /// Sets the treatment of a stored document with the same id or key.
    #[must_use]
    pub fn replacing(mut self, on_exists: OnExists) -> Self {
        self.on_exists = on_exists;
        self
    }

    /// Sets text, key, fields and copies to the parts of a record.
    pub(crate) fn with_record(mut self, record: Option<Record>) -> Self {
        if let Some(record) = record {
            self.key = record.key().map(str::to_owned);
            self.fields = record.fields().map(str::to_owned);
            self.copies = record.copies();
            self.text = record.into_text();
        }
        self
    }

    /// The key, or else the id.
    pub fn doc_ref(&self) -> DocRef {
        match &self.key {
            Some(key) => DocRef::Key(key.clone()),
            None => DocRef::Id(self.id),
        }
    }

    /// The fingerprint with its reliability.
    pub fn text_fingerprint(&self) -> TextFingerprint {
        TextFingerprint {
            fingerprint: self.fingerprint,
            reliable: self.reliable,
        }
    }
}

/// A document whose fingerprint lies within the radius of a query. A match is a claim about bits,
/// not about meaning.
///
/// Matches are ordered by distance, then by id: the first is the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Match {
    /// The id of the document.
    pub id: DocId,
    /// The fingerprint of the document.
    pub fingerprint: Fingerprint,
    /// The Hamming distance from the query.
    pub distance: u32,
}

impl Ord for Match {
    fn cmp(&self, other: &Self) -> Ordering {
        // The fingerprint last, so that matches are equal only if all fields are.
        let key = |of: &Self| (of.distance, of.id, of.fingerprint);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Match {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_ordered_by_distance_then_id() {
        let found = |distance, id, bits| Match {
            id: DocId(id),
            fingerprint: Fingerprint::from_bits(bits),
            distance,
        };
        let ordered = [
            found(0, 9, 9),
            found(1, 2, 3),
            found(1, 2, 4),
            found(1, 5, 0),
        ];
        let mut sorted = [ordered[3], ordered[1], ordered[2], ordered[0]];
        sorted.sort();
        assert_eq!(sorted, ordered);
    }

    #[test]
    fn document_keeps_the_reliability_of_its_fingerprint() {
        let fingerprint = Fingerprint::from_bits(7);
        assert!(Document::new(1, fingerprint).reliable);
        let unreliable = TextFingerprint {
            fingerprint,
            reliable: false,
        };
        assert!(!Document::new(DocId(1), unreliable).reliable);
    }
}
