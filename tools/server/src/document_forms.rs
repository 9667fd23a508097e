//! [`DocumentForms`]: the fields of the documents that a request may have.

use serde_json::Value;
use simdb::{DocRef, Settings};
use simdb_tools::formats::jsonl::JsonParts;
use simdb_tools::formats::time::TimeRules;
use simdb_tools::formats::{DocumentFields, DocumentPart};

/// The fields of all documents, and of documents with features, a fingerprint, or a text only.
pub struct DocumentForms {
    all: DocumentFields,
    with_features: DocumentFields,
    with_fingerprint: DocumentFields,
    with_text: DocumentFields,
    /// The id alone, by which a database with keys removes documents too.
    by_id: DocumentFields,
    /// `true` if the database keeps fields.
    keeps_fields: bool,
    /// The fields that the database does not keep, each with the option that creates a database
    /// with them.
    unkept: Vec<(&'static str, &'static str)>,
}

impl DocumentForms {
    /// The documents of a database with these settings.
    pub fn new(settings: &Settings) -> Self {
        let named = |is_kept: bool, name: &str| is_kept.then(|| name.to_owned());
        let mut unkept = vec![
            (settings.keys, ("key", "--keys")),
            (settings.scopes, ("scope", "--scopes")),
            (settings.fields, ("fields", "--fields")),
            (settings.copies.is_some(), ("copies", "--copies")),
            (settings.retention.is_some(), ("arrival", "--arrivals")),
        ];
        unkept.retain(|(is_kept, _)| !is_kept);
        let unkept: Vec<_> = unkept.into_iter().map(|(_, unkept)| unkept).collect();
        // The fields that are not kept are read, so that they can be refused.
        let keep = unkept.iter().map(|(name, _)| *name);
        let keep = keep.chain(settings.fields.then_some("fields"));
        let all = DocumentFields {
            key: named(settings.keys, "key"),
            scope: named(settings.scopes, "scope"),
            copies: named(settings.copies.is_some(), "copies"),
            keep: keep.map(str::to_owned).collect(),
            text: Some("text".to_owned()),
            fingerprint: Some("fingerprint".to_owned()),
            features: Some("features".to_owned()),
            time: named(settings.retention.is_some(), "arrival"),
            time_rules: TimeRules {
                or_now: true,
                without_options: true,
                ..TimeRules::default()
            },
            // A longer text is refused when it is read, as the text of a query is.
            max_text_bytes: usize::MAX,
            ..DocumentFields::default()
        };
        // The key is read before the content, so that a refusal of the content names the document.
        let content = DocumentFields {
            key: None,
            ..all.clone()
        };
        Self {
            with_features: DocumentFields {
                fingerprint: None,
                ..content.clone()
            },
            with_fingerprint: DocumentFields {
                features: None,
                ..content.clone()
            },
            with_text: DocumentFields {
                fingerprint: None,
                features: None,
                ..content
            },
            by_id: DocumentFields::default(),
            keeps_fields: settings.fields,
            unkept,
            all,
        }
    }

    /// The fields of a document of any form.
    pub fn all(&self) -> &DocumentFields {
        &self.all
    }

    /// The key of a document, or the id in a database without keys.
    pub fn name(&self, parts: &mut JsonParts) -> Result<DocRef, String> {
        match self.all.key(parts)? {
            Some(key) => Ok(DocRef::Key(key)),
            None => self.all.id(parts).map(DocRef::Id),
        }
    }

    /// The key or the id of a document to remove.
    pub fn removed(&self, text: &str) -> Result<DocRef, String> {
        let mut parts = JsonParts::parse(text, &self.all)?;
        match self.all.key.is_some() && parts.is_null(DocumentPart::Key) {
            true => {
                let mut parts = JsonParts::parse(text, &self.by_id)?;
                let id = self.by_id.id(&mut parts);
                id.map(DocRef::Id)
                    .map_err(|reason| format!("it has no key, and {reason}"))
            }
            false => self.name(&mut parts),
        }
    }

    /// The fields of the form that a document has.
    ///
    /// # Errors
    /// Advice about a document with a fingerprint and features, or with fields that are not kept.
    pub fn of(&self, parts: &JsonParts) -> Result<&DocumentFields, String> {
        let is_given = |name| parts.kept(name).is_some_and(|value| !value.is_null());
        for (name, option) in &self.unkept {
            if is_given(name) {
                return Err(format!(
                    "the database keeps no field {name:?}; leave the field out, or serve a database that was \
                     created with {option}"
                ));
            }
        }
        if self.keeps_fields
            && is_given("fields")
            && !parts.kept("fields").is_some_and(Value::is_object)
        {
            return Err("field \"fields\": an object is expected".to_owned());
        }
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
