//! Documents as lines of JSON, records of CSV, and raw pairs.

use anyhow::Result;
use simdb::{Document, Settings};

use crate::commands::get::DocumentLine;
use crate::formats::FIELDS_FIELD;
use crate::formats::table::csv_field;

/// The document as a line of JSON.
pub fn json_line(document: &Document) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&DocumentLine::from(document))?;
    line.push(b'\n');
    Ok(line)
}

/// The header of CSV.
pub fn csv_header(settings: &Settings) -> Vec<u8> {
    let mut columns = vec!["id", "fingerprint", "reliable"];
    if settings.retention.is_some() {
        columns.push("arrival");
    }
    if settings.keep_texts {
        columns.push("text");
    }
    columns.extend(settings.keys.then_some("key"));
    columns.extend(settings.scopes.then_some("scope"));
    columns.extend(settings.fields.then_some(FIELDS_FIELD));
    columns.extend(settings.copies.map(|_| "copies"));
    csv_line(&columns)
}

/// The document as a record of CSV.
pub fn csv_record(document: &Document, settings: &Settings) -> Result<Vec<u8>> {
    let id = document.id.to_string();
    let fingerprint = document.fingerprint.to_string();
    let reliable = document.reliable.to_string();
    let arrival = document.arrival.map(|time| time.to_string());
    let mut fields = vec![id.as_str(), &fingerprint, &reliable];
    fields.extend(arrival.as_deref());
    if settings.keep_texts {
        fields.push(document.text.as_deref().unwrap_or_default());
    }
    for (is_kept, value) in [
        (settings.keys, &document.key),
        (settings.scopes, &document.scope),
        (settings.fields, &document.fields),
    ] {
        fields.extend(is_kept.then(|| value.as_deref().unwrap_or_default()));
    }
    let copies = copies_text(document)?;
    fields.extend(settings.copies.map(|_| copies.as_str()));
    Ok(csv_line(&fields))
}

/// The copies of a document as JSON, in the form of JSON Lines; empty without a copy.
pub fn copies_text(document: &Document) -> Result<String> {
    Ok(match &document.copies {
        Some(copies) => serde_json::to_string(copies)?,
        None => String::new(),
    })
}

fn csv_line(fields: &[&str]) -> Vec<u8> {
    let fields = fields.iter().map(|field| csv_field(field));
    (fields.collect::<Vec<_>>().join(",") + "\n").into_bytes()
}

/// The id and the fingerprint, 8 bytes each.
pub fn raw_pair(document: &Document) -> [u8; 16] {
    let mut pair = [0; 16];
    pair[..8].copy_from_slice(&document.id.0.to_le_bytes());
    pair[8..].copy_from_slice(&document.fingerprint.bits().to_le_bytes());
    pair
}
