//! The records of a load: an iterable of Python, or record batches of Arrow.

mod iterable;
mod names;
mod table;

use std::collections::HashSet;

use arrow_array::RecordBatchReader;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use pyo3_arrow::input::AnyRecordBatch;
use simdb::Timestamp;

use crate::error::{Failure, invalid_argument};
use crate::fingerprinter::part_length;
use crate::interpreter_exit::{attached, call_python, length_of};
use crate::interruptible::check;
use crate::numbers::type_name;
use crate::texts::{ContentRef, is_arrow};
use iterable::OwnedRecord;

pub use names::{FieldNames, TextNames};

/// The records of a load: an iterable of Python, or record batches.
pub struct Records {
    source: RecordSource,
    names: FieldNames,
    /// The number of records, if known.
    total: Option<u64>,
}

/// A record to be loaded.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The number of the record if it has a key.
    pub id: u64,
    pub key: Option<&'a str>,
    pub scope: Option<&'a str>,
    /// A JSON object.
    pub fields: Option<&'a str>,
    pub arrival: Option<Timestamp>,
    pub content: ContentRef<'a>,
    /// `false` for a fingerprint that matches no query.
    pub reliable: bool,
}

/// Takes some records.
pub type PushPart<'p> = dyn FnMut(&[Record<'_>]) -> Result<(), Failure> + 'p;

/// The field that is `false` if the fingerprint beside it is unreliable, as in the command line.
const RELIABLE_FIELD: &str = "reliable";

enum RecordSource {
    Python(Py<PyIterator>),
    Arrow(Box<dyn RecordBatchReader + Send>),
}

/// Rows of a record batch that are taken at once: a table of one batch may have millions.
const ROWS_PER_SLICE: usize = 8192;

impl Records {
    /// The records of an object.
    pub fn new(records: &Bound<'_, PyAny>, mut names: FieldNames) -> PyResult<Self> {
        // A name that is repeated would be repeated in the JSON of a row.
        let mut seen = HashSet::new();
        names.keep.retain(|name| seen.insert(name.clone()));
        if names.text.is_empty() {
            let message = "the names of the fields of the text are expected, and there is none";
            return Err(invalid_argument(records.py(), message));
        }
        if names.key.is_some() {
            names.id = None;
        }
        Ok(Self {
            total: length_of(records).map(|length| length as u64),
            source: if is_arrow(records)? {
                let batches = records.extract::<AnyRecordBatch>().map_err(|error| {
                    let message = format!(
                        "a table with a column of ids and a column of texts is expected, not {} ({error}); \
                         of a column give enumerate(column)",
                        type_name(records)
                    );
                    invalid_argument(records.py(), &message)
                })?;
                RecordSource::Arrow(batches.into_reader()?)
            } else {
                RecordSource::Python(call_python(|| records.try_iter())?.unbind())
            },
            names,
        })
    }

    /// Calls `push` with all records, some thousand at a time.
    pub fn for_each_part(self, push: &mut PushPart<'_>) -> Result<(), Failure> {
        let (mut done, total) = (0, self.total);
        let names = &self.names;
        let mut push = |part: &[Record<'_>]| {
            push(part)?;
            done += part.len() as u64;
            check("reading", done, total)
        };
        let mut next = 0;
        match self.source {
            RecordSource::Python(records) => loop {
                let part = attached(|py| names.take(records.bind(py), next))?;
                if part.is_empty() {
                    return Ok(());
                }
                next += part.len() as u64;
                let borrowed: Vec<_> = part.iter().map(OwnedRecord::borrow).collect();
                push(&borrowed)?;
                // The strings of Python are released with the interpreter lock.
                attached(|_| {
                    drop(part);
                    Ok(())
                })?;
            },
            RecordSource::Arrow(batches) => {
                for batch in batches {
                    let batch =
                        batch.map_err(|error| Failure::InvalidArgument(error.to_string()))?;
                    for start in (0..batch.num_rows()).step_by(ROWS_PER_SLICE) {
                        let length = ROWS_PER_SLICE.min(batch.num_rows() - start);
                        let slice = batch.slice(start, length);
                        let rows = attached(|py| names.rows(py, &slice, next))?;
                        next += length as u64;
                        let records = attached(|py| rows.borrow(py))?;
                        let mut rest = &records[..];
                        while !rest.is_empty() {
                            let lengths = rest.iter().map(|record| record.content.len_bytes());
                            let (part, others) = rest.split_at(part_length(lengths));
                            push(part)?;
                            rest = others;
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

/// One text of several, in their order, with a line feed between two. Empty texts are left out.
fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let texts = texts.filter(|text| !text.trim().is_empty());
    texts.collect::<Vec<_>>().join("\n")
}
