//! The rows of record batches of Arrow.

use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use pyo3::prelude::*;
use simdb::Timestamp;

use super::{FieldNames, RELIABLE_FIELD, Record, joined};
use crate::arrivals::arrivals_of;
use crate::error::invalid_argument;
use crate::json::json_objects;
use crate::texts::{ContentRef, in_record, numbers_of, optional_strings, strings_of};

/// The columns of a record batch.
pub(super) struct Rows {
    ids: UInt64Array,
    keys: Option<ArrayRef>,
    scopes: Option<ArrayRef>,
    arrivals: Option<Vec<Timestamp>>,
    /// A JSON object for each row; empty if no columns are stored.
    fields: Vec<String>,
    contents: Contents,
    /// `false` for fingerprints that match no query.
    reliable: Option<BooleanArray>,
}

enum Contents {
    Texts(ArrayRef),
    Fingerprints(UInt64Array),
}

impl FieldNames {
    /// The rows of a batch; `next` is the number of rows before.
    pub(super) fn rows(&self, py: Python<'_>, batch: &RecordBatch, next: u64) -> PyResult<Rows> {
        let column = |name: &str| {
            batch.column_by_name(name).ok_or_else(|| {
                let schema = batch.schema();
                let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
                invalid_argument(
                    py,
                    &format!("there is no column '{name}'; known are {names:?}"),
                )
            })
        };
        let are_fingerprints = self.fingerprints.is_some();
        let mut contents = Vec::with_capacity(self.contents().len());
        for name in self.contents() {
            let content = column(name)?;
            if content.data_type().is_integer() && !are_fingerprints {
                let message = format!(
                    "column '{name}' has numbers, and texts are expected; cast it to strings, or name a \
                     column of fingerprints: fingerprints=\"{name}\""
                );
                return Err(invalid_argument(py, &message));
            }
            contents.push(match are_fingerprints {
                true => content.clone(),
                false => strings_of(py, content)?,
            });
        }
        let content = match &contents[..] {
            [content] => content.clone(),
            contents => joined_columns(contents),
        };
        let strings = |name: &str| strings_of(py, column(name)?);
        let arrivals = |name: &str| {
            let arrivals = arrivals_of(py, column(name)?, next);
            arrivals.map_err(|error| in_record(py, &format!("column '{name}'"), error))
        };
        Ok(Rows {
            ids: match &self.id {
                Some(name) => numbers_of(py, column(name)?, next)?,
                None => UInt64Array::from_iter_values(next..next + batch.num_rows() as u64),
            },
            keys: self.key.as_deref().map(strings).transpose()?,
            scopes: self.scope.as_deref().map(strings).transpose()?,
            arrivals: self.arrival.as_deref().map(arrivals).transpose()?,
            fields: match self.keep.is_empty() {
                true => Vec::new(),
                false => {
                    let kept = self.keep.iter().map(|name| Ok((name, column(name)?)));
                    json_objects(py, &kept.collect::<PyResult<Vec<_>>>()?, batch.num_rows())?
                }
            },
            contents: match are_fingerprints {
                true => Contents::Fingerprints(numbers_of(py, &content, next)?),
                false => Contents::Texts(content),
            },
            reliable: match batch.column_by_name(RELIABLE_FIELD) {
                Some(flags) if are_fingerprints => {
                    let kind = flags.data_type();
                    let message =
                        format!("column '{RELIABLE_FIELD}' of bool is expected, not of {kind}");
                    let flags = flags.as_boolean_opt();
                    Some(flags.ok_or_else(|| invalid_argument(py, &message))?.clone())
                }
                _ => None,
            },
        })
    }
}

impl Rows {
    pub(super) fn borrow(&self, py: Python<'_>) -> PyResult<Vec<Record<'_>>> {
        let contents: Vec<Option<ContentRef<'_>>> = match &self.contents {
            Contents::Fingerprints(bits) => {
                let bits = bits.values().iter().copied();
                bits.map(|bits| Some(ContentRef::Fingerprint(bits)))
                    .collect()
            }
            Contents::Texts(texts) => optional_strings(texts)
                .map(|text| text.map(ContentRef::Text))
                .collect(),
        };
        let mut keys = self.keys.as_ref().map(optional_strings);
        let mut scopes = self.scopes.as_ref().map(optional_strings);
        let mut records = Vec::with_capacity(contents.len());
        for (row, (id, content)) in self.ids.values().iter().copied().zip(contents).enumerate() {
            let key = match &mut keys {
                None => None,
                Some(keys) => Some(keys.next().flatten().ok_or_else(|| {
                    invalid_argument(py, &format!("the key of row {id} is null; remove the row"))
                })?),
            };
            let content = content.ok_or_else(|| {
                let name = key.map_or_else(|| id.to_string(), |key| format!("{key:?}"));
                let message = format!("the text of document {name} is null; remove the row");
                invalid_argument(py, &message)
            })?;
            records.push(Record {
                id,
                key,
                scope: scopes.as_mut().and_then(|scopes| scopes.next().flatten()),
                fields: self.fields.get(row).map(String::as_str),
                arrival: self.arrivals.as_ref().map(|arrivals| arrivals[row]),
                content,
                reliable: (self.reliable.as_ref())
                    .is_none_or(|flags| flags.is_null(row) || flags.value(row)),
            });
        }
        Ok(records)
    }
}

/// The joined text of each row; null if all texts of the row are null.
fn joined_columns(columns: &[ArrayRef]) -> ArrayRef {
    let mut columns: Vec<_> = columns.iter().map(optional_strings).collect();
    let mut texts = LargeStringBuilder::new();
    loop {
        let row: Vec<Option<&str>> = columns.iter_mut().map_while(Iterator::next).collect();
        if row.is_empty() {
            return Arc::new(texts.finish());
        }
        let has_text = row.iter().any(Option::is_some);
        texts.append_option(has_text.then(|| joined(row.into_iter().flatten())));
    }
}
