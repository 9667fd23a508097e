//! Bulk loads from iterables and Arrow tables.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader, UInt64Array};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple};
use pyo3_arrow::input::AnyRecordBatch;
use rayon::prelude::*;
use simdb::bulk::BulkLoad;
use simdb::{DocId, Document, Fingerprint};

use crate::arguments::{id_of, memory_bytes_of};
use crate::error::{Failure, invalid_argument};
use crate::fingerprinter::part_length;
use crate::interruptible::{check, pool, run};
use crate::numbers::type_name;
use crate::recipe::RecipeArgument;
use crate::settings::Asked;
use crate::texts::{
    Content, ContentRef, fingerprint_of, in_record, is_arrow, numbers_of, optional_strings,
    strings_of,
};

/// The result of a bulk load.
#[pyclass(frozen, get_all, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkReport {
    /// New documents, expired ones excepted.
    pub inserted: u64,
    /// Documents whose id and fingerprint were stored or loaded before.
    pub present: u64,
    /// Documents left out, because a document with another fingerprint has their id.
    pub conflicts: u64,
    /// The ids of the conflicts, at most 1,000 of them.
    pub conflict_ids: Vec<u64>,
    /// Documents left out, because they arrived before the retention window.
    pub expired: u64,
}

#[pymethods]
impl BulkReport {
    fn __repr__(&self) -> String {
        let Self {
            inserted,
            present,
            conflicts,
            conflict_ids,
            expired,
        } = self;
        format!(
            "BulkReport(inserted={inserted}, present={present}, conflicts={conflicts}, \
             conflict_ids={conflict_ids:?}, expired={expired})"
        )
    }
}

/// The records of a load: an iterable of Python, or record batches.
pub struct Records {
    source: RecordSource,
    columns: Columns,
    /// The number of records, if known.
    total: Option<u64>,
}

/// Takes the ids and contents of some records.
pub type PushPart<'p> = dyn FnMut(&[(u64, ContentRef<'_>)]) -> Result<(), Failure> + 'p;

enum RecordSource {
    Python(Py<PyIterator>),
    Arrow(Box<dyn RecordBatchReader + Send>),
}

struct Columns {
    /// `None` to number the records from 0.
    id: Option<String>,
    content: String,
    /// `true` if the contents are fingerprints, which may be numbers.
    are_fingerprints: bool,
}

impl Records {
    /// The records of an object. `fingerprints` names the field of fingerprints, in place of the
    /// field of texts.
    pub fn new(
        records: &Bound<'_, PyAny>,
        id: Option<String>,
        text: String,
        fingerprints: Option<String>,
    ) -> PyResult<Self> {
        Ok(Self {
            total: records.len().ok().map(|length| length as u64),
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
                RecordSource::Python(records.try_iter()?.unbind())
            },
            columns: Columns {
                id,
                are_fingerprints: fingerprints.is_some(),
                content: fingerprints.unwrap_or(text),
            },
        })
    }

    /// Calls `push` with the ids and contents of all records, some thousand at a time.
    pub fn for_each_part(self, push: &mut PushPart<'_>) -> Result<(), Failure> {
        let (mut done, total) = (0, self.total);
        let columns = &self.columns;
        let mut push = |part: &[(u64, ContentRef<'_>)]| {
            push(part)?;
            done += part.len() as u64;
            check("reading", done, total)
        };
        let mut next = 0;
        match self.source {
            RecordSource::Python(records) => loop {
                let part = Python::attach(|py| columns.take(records.bind(py), next))?;
                if part.is_empty() {
                    return Ok(());
                }
                next += part.len() as u64;
                let borrowed: Vec<_> = part.iter().map(|(id, text)| (*id, text.borrow())).collect();
                push(&borrowed)?;
                // The strings of Python are released with the interpreter lock.
                Python::attach(|_| drop(part));
            },
            RecordSource::Arrow(batches) => {
                for batch in batches {
                    let batch = batch.map_err(|error| {
                        Python::attach(|py| invalid_argument(py, &error.to_string()))
                    })?;
                    for start in (0..batch.num_rows()).step_by(ROWS_PER_SLICE) {
                        let length = ROWS_PER_SLICE.min(batch.num_rows() - start);
                        let slice = batch.slice(start, length);
                        let rows = Python::attach(|py| columns.rows(py, &slice, next))?;
                        next += length as u64;
                        let contents = Python::attach(|py| rows.borrow(py))?;
                        let mut rest = &contents[..];
                        while !rest.is_empty() {
                            let lengths = rest.iter().map(|(_, content)| length_of(*content));
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

fn length_of(content: ContentRef<'_>) -> usize {
    match content {
        ContentRef::Text(text) => text.len(),
        ContentRef::Fingerprint(_) => 0,
    }
}

/// Rows of a record batch that are taken at once: a table of one batch may have millions.
const ROWS_PER_SLICE: usize = 8192;
/// Records that are taken from an iterator of Python at once.
const RECORDS_PER_PART: usize = 4096;
/// Bytes of texts after which no more records are taken at once.
const BYTES_PER_PART: usize = 1 << 20;

impl Columns {
    /// Takes the next records of an iterator; `next` is the number of records before.
    fn take(&self, records: &Bound<'_, PyIterator>, next: u64) -> PyResult<Vec<(u64, Content)>> {
        let mut part = Vec::new();
        let mut bytes = 0;
        while part.len() < RECORDS_PER_PART && bytes < BYTES_PER_PART {
            let Some(record) = records.clone().next() else {
                break;
            };
            let number = next + part.len() as u64;
            let (id, content) = self.record(&record?, number)?;
            bytes += length_of(content.borrow());
            part.push((id, content));
        }
        Ok(part)
    }

    fn record(&self, record: &Bound<'_, PyAny>, number: u64) -> PyResult<(u64, Content)> {
        let py = record.py();
        if let Ok(pair) = record.cast::<PyTuple>() {
            let Ok((id, content)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
                let message = format!("record {number} is a tuple, but not of an id and a text");
                return Err(invalid_argument(py, &message));
            };
            let of_record = |error| in_record(py, &format!("record {number}"), error);
            let id = id_of(&id).map_err(of_record)?;
            return Ok((id, self.content(&content).map_err(of_record)?));
        }
        let of_column = |name: &str| {
            record.get_item(name).map_err(|_| {
                let fields = match record.cast::<PyDict>() {
                    Ok(fields) => format!("its fields are {}", fields.keys()),
                    Err(_) => format!("it is of type {}", type_name(record)),
                };
                invalid_argument(
                    py,
                    &format!("record {number} has no field '{name}': {fields}"),
                )
            })
        };
        let of_field =
            |name: &str, error| in_record(py, &format!("field '{name}' of record {number}"), error);
        let id = match &self.id {
            Some(name) => id_of(&of_column(name)?).map_err(|error| of_field(name, error))?,
            None => number,
        };
        let content = self.content(&of_column(&self.content)?);
        Ok((id, content.map_err(|error| of_field(&self.content, error))?))
    }

    fn content(&self, object: &Bound<'_, PyAny>) -> PyResult<Content> {
        match self.are_fingerprints {
            true => fingerprint_of(object).map(Content::Fingerprint),
            false => object.extract(),
        }
    }

    fn rows(&self, py: Python<'_>, batch: &RecordBatch, next: u64) -> PyResult<Rows> {
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
        let content = column(&self.content)?;
        if content.data_type().is_integer() && !self.are_fingerprints {
            let message = format!(
                "column '{0}' has numbers, and texts are expected; cast it to strings, or name a column of \
                 fingerprints: fingerprints=\"{0}\"",
                self.content
            );
            return Err(invalid_argument(py, &message));
        }
        Ok(Rows {
            ids: match &self.id {
                Some(name) => numbers_of(py, column(name)?, next)?,
                None => UInt64Array::from_iter_values(next..next + batch.num_rows() as u64),
            },
            contents: match self.are_fingerprints {
                true => Contents::Fingerprints(numbers_of(py, content, next)?),
                false => Contents::Texts(strings_of(py, content)?),
            },
        })
    }
}

/// The columns of a record batch.
struct Rows {
    ids: UInt64Array,
    contents: Contents,
}

enum Contents {
    Texts(ArrayRef),
    Fingerprints(UInt64Array),
}

impl Rows {
    fn borrow(&self, py: Python<'_>) -> PyResult<Vec<(u64, ContentRef<'_>)>> {
        let ids = self.ids.values().iter().copied();
        match &self.contents {
            Contents::Fingerprints(bits) => {
                let bits = bits.values().iter().copied();
                Ok(ids.zip(bits.map(ContentRef::Fingerprint)).collect())
            }
            Contents::Texts(texts) => ids
                .zip(optional_strings(texts))
                .map(|(id, text)| match text {
                    Some(text) => Ok((id, ContentRef::Text(text))),
                    None => {
                        let message = format!("the text of document {id} is null; remove the row");
                        Err(invalid_argument(py, &message))
                    }
                })
                .collect(),
        }
    }
}

/// The ids of conflicts that a report has, 8 KiB.
const MAX_CONFLICT_IDS: usize = 1000;

/// Pushes all records, and finishes the load.
pub fn load_all(
    mut load: BulkLoad<'_>,
    records: Records,
    fingerprinter: &simdb::Fingerprinter,
    keeps_texts: bool,
) -> Result<BulkReport, Failure> {
    let pool = pool();
    records.for_each_part(&mut |part| {
        let make = |(id, content): &(u64, ContentRef<'_>)| -> simdb::Result<Document> {
            Ok(match content {
                ContentRef::Fingerprint(bits) => {
                    Document::new(DocId(*id), Fingerprint::from_bits(*bits))
                }
                ContentRef::Text(text) => {
                    let document = Document::new(DocId(*id), fingerprinter.fingerprint(text)?);
                    if keeps_texts {
                        document.with_text(*text)
                    } else {
                        document
                    }
                }
            })
        };
        let documents: Result<Vec<_>, _> =
            pool.install(|| part.par_iter().with_min_len(16).map(make).collect());
        for document in documents? {
            load.push(document)?;
        }
        Ok(())
    })?;
    let mut conflict_ids = Vec::new();
    let report = load.finish(|conflict| {
        if conflict_ids.len() < MAX_CONFLICT_IDS {
            conflict_ids.push(conflict.id.0);
        }
        ControlFlow::Continue(())
    })?;
    Ok(BulkReport {
        inserted: report.inserted,
        present: report.present,
        conflicts: report.conflicts,
        conflict_ids,
        expired: report.expired,
    })
}

/// Loads records into a new database, which appears when it is complete and durable. After an
/// exception nothing is left.
///
/// records is an iterable of tuples (id, text) or of dicts, or a table with the Arrow C stream
/// interface. A Fingerprint may stand in place of a text. id and text name the fields; id=None
/// numbers the records from 0. fingerprints names a field of fingerprints, or a column of uint64,
/// in place of the texts. Any number of documents can be loaded in memory_bytes.
///
/// A record with the id of a document that has another fingerprint is left out, and counted as a
/// conflict.
///
/// progress is a progress bar of tqdm, or a function of (stage, done, total).
#[pyfunction]
#[pyo3(signature = (
    path, records, *, id=Some("id".to_owned()), text="text".to_owned(), fingerprints=None, recipe=None,
    keep_texts=false, similar=false, retention=None, frozen=false, memory_bytes=256 << 20, progress=None,
), text_signature = "(path, records, *, id='id', text='text', fingerprints=None, recipe=None, \
    keep_texts=False, similar=False, retention=None, frozen=False, memory_bytes=268435456, progress=None)")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn bulk_load(
    py: Python<'_>,
    path: PathBuf,
    records: &Bound<'_, PyAny>,
    id: Option<String>,
    text: String,
    fingerprints: Option<String>,
    recipe: Option<RecipeArgument<'_>>,
    keep_texts: bool,
    similar: bool,
    retention: Option<Duration>,
    frozen: bool,
    #[pyo3(from_py_with = memory_bytes_of)] memory_bytes: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<BulkReport> {
    let asked = Asked::new(recipe, keep_texts, similar, retention, frozen)
        .map_err(|failure| failure.into_exception(py))?;
    let records = Records::new(records, id, text, fingerprints)?;
    run(py, progress, || {
        let fingerprinter = simdb::Fingerprinter::new(asked.recipe());
        let load = asked.into_builder().bulk_create(&path, memory_bytes)?;
        load_all(load, records, &fingerprinter, keep_texts || similar)
    })
}
