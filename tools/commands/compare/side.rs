//! [`Side`]: one of two documents or texts that are compared.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use simdb::{DocRef, Document, Fingerprinter, TextFingerprint, UnreliableReason};

use crate::formats::named_document;

/// The names of both sides in outputs.
pub(super) const NAMES: [&str; 2] = ["A", "B"];

pub(super) struct Side {
    /// `None` for a text that is not stored.
    pub id: Option<u64>,
    /// `None` for a text, and in a database without keys.
    pub key: Option<String>,
    /// `None` if the database keeps no texts.
    pub text: Option<String>,
    pub made: TextFingerprint,
    /// The reason why the fingerprint is unreliable; `None` if it is reliable, or not made of the
    /// text.
    pub reason: Option<UnreliableReason>,
    /// `false` if the document is stored with another fingerprint than the fingerprint of its text.
    pub is_made_of_text: bool,
}

/// The documents with these keys, or these ids in a database without keys; a text replaces the
/// second document.
pub(super) fn stored_sides(
    fingerprinter: &Fingerprinter,
    path: &Path,
    has_keys: bool,
    get: impl Fn(DocRef) -> Result<Option<Document>>,
    [one, other]: [&str; 2],
    text: Option<&str>,
) -> Result<[Side; 2]> {
    let document = |given: &str| {
        let named = named_document(given, has_keys).map_err(|reason| anyhow!(reason));
        let named =
            named.context("the documents of a database without keys are named by their ids")?;
        let Some(document) = get(named.clone())? else {
            bail!("document {named} is not stored in {}", path.display());
        };
        Side::of_document(fingerprinter, document)
    };
    let one = document(one)?;
    let other = match text {
        Some(text) => Side::of_text(fingerprinter, text.to_owned())?,
        None => document(other)?,
    };
    Ok([one, other])
}

impl Side {
    pub fn of_text(fingerprinter: &Fingerprinter, text: String) -> Result<Self> {
        Ok(Self {
            id: None,
            key: None,
            made: fingerprinter.fingerprint(&text)?,
            reason: fingerprinter.unreliable_reason(&text)?,
            text: Some(text),
            is_made_of_text: true,
        })
    }

    fn of_document(fingerprinter: &Fingerprinter, document: Document) -> Result<Self> {
        let stored = document.text_fingerprint();
        let (id, key) = (Some(document.id.0), document.key);
        // A database may keep texts beside fingerprints of other software. Their bits have no
        // features.
        if let Some(text) = &document.text
            && fingerprinter.recipe().takes_texts()
        {
            let side = Self::of_text(fingerprinter, text.clone())?;
            if side.made == stored {
                return Ok(Self { id, key, ..side });
            }
        }
        Ok(Self {
            id,
            key,
            text: document.text,
            made: stored,
            reason: None,
            is_made_of_text: false,
        })
    }

    pub fn json(&self) -> Value {
        let mut side = json!({
            "id": self.id,
            "fingerprint": self.made.fingerprint.to_string(),
            "reliable": self.made.reliable,
            "doubt": self.reason.map(|reason| match reason {
                UnreliableReason::TooFewFeatures { .. } => "too-few-features",
                UnreliableReason::Repetitive { .. } => "repetitive",
                UnreliableReason::NoLetter => "no-letter",
                UnreliableReason::SingleWord => "single-word",
                UnreliableReason::OneOutweighs => "one-outweighs",
                _ => "other",
            }),
            "because": self.reason.map(|reason| reason.to_string()),
        });
        if let Some(key) = &self.key {
            side["key"] = json!(key);
        }
        side
    }

    /// The key or the id of a document; `None` for a text.
    pub fn name(&self) -> Option<String> {
        let id = self.id.map(|id| id.to_string());
        self.key.clone().or(id)
    }
}
