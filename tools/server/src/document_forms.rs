//! [`DocumentForms`]: the fields of the documents that a request may have.

use simdb_tools::formats::jsonl::JsonParts;
use simdb_tools::formats::time::TimeRules;
use simdb_tools::formats::{DocumentFields, DocumentPart};

/// The fields of all documents, and of documents with features, a fingerprint, or a text only.
pub struct DocumentForms {
    all: DocumentFields,
    with_features: DocumentFields,
    with_fingerprint: DocumentFields,
    with_text: DocumentFields,
}

impl DocumentForms {
    pub fn new(max_text_bytes: usize) -> Self {
        let all = DocumentFields {
            text: Some("text".to_owned()),
            fingerprint: Some("fingerprint".to_owned()),
            features: Some("features".to_owned()),
            time: Some("arrival".to_owned()),
            time_rules: TimeRules {
                or_now: true,
                ..TimeRules::default()
            },
            max_text_bytes,
            ..DocumentFields::default()
        };
        Self {
            with_features: DocumentFields {
                fingerprint: None,
                ..all.clone()
            },
            with_fingerprint: DocumentFields {
                features: None,
                ..all.clone()
            },
            with_text: DocumentFields {
                fingerprint: None,
                features: None,
                ..all.clone()
            },
            all,
        }
    }

    /// The fields of a document of any form.
    pub fn all(&self) -> &DocumentFields {
        &self.all
    }

    /// The fields of the form that a document has.
    ///
    /// # Errors
    /// Advice about a document with a fingerprint and features.
    pub fn of(&self, parts: &JsonParts) -> Result<&DocumentFields, String> {
        match (
            parts.is_null(DocumentPart::Fingerprint),
            parts.is_null(DocumentPart::Features),
        ) {
            (true, true) => Ok(&self.with_text),
            (false, true) => Ok(&self.with_fingerprint),
            (true, false) => Ok(&self.with_features),
            (false, false) => Err("it has a fingerprint and features; send one of them".to_owned()),
        }
    }
}
