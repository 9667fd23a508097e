//! Bulk loads from iterables and Arrow tables.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchReader, UInt64Array};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyIterator, PyString, PyTuple};
use pyo3_arrow::input::AnyRecordBatch;
use rayon::prelude::*;
use simdb::bulk::BulkLoad;
use simdb::{DocRef, Document, Fingerprint, Timestamp};

use crate::arguments::{Fields, id_of, memory_bytes_of};
use crate::arrivals::{Arrival, arrivals_of};
use crate::error::{Failure, invalid_argument};
use crate::fingerprinter::part_length;
use crate::interpreter_exit::{attached, call_python, length_of};
use crate::interruptible::{check, pool, run};
use crate::json::json_objects;
use crate::numbers::{type_name, unexpected};
use crate::recipe::{RecipeArgument, recipe_of};
use crate::settings::builder_of;
use crate::texts::{
    Content, ContentRef, Text, fingerprint_of, in_record, is_arrow, is_missing, numbers_of,
    optional_strings, strings_of,
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

/// A record from Python.
struct OwnedRecord {
    id: u64,
    key: Option<PyBackedStr>,
    scope: Option<PyBackedStr>,
    fields: Option<String>,
    arrival: Option<Timestamp>,
    content: Content,
    reliable: bool,
}

impl OwnedRecord {
    fn borrow(&self) -> Record<'_> {
        Record {
            id: self.id,
            key: self.key.as_deref(),
            scope: self.scope.as_deref(),
            fields: self.fields.as_deref(),
            arrival: self.arrival,
            content: self.content.borrow(),
            reliable: self.reliable,
        }
    }
}

/// Takes some records.
pub type PushPart<'p> = dyn FnMut(&[Record<'_>]) -> Result<(), Failure> + 'p;

/// The field that is `false` if the fingerprint beside it is unreliable, as in the command line.
const RELIABLE_FIELD: &str = "reliable";

/// The names of the fields, or columns, of records.
pub struct FieldNames {
    /// `None` to number the records from 0.
    pub id: Option<String>,
    /// The fields of the text, in order.
    pub text: Vec<String>,
    /// The field of fingerprints, in place of the field of texts.
    pub fingerprints: Option<String>,
    /// The field of keys, in place of the field of ids.
    pub key: Option<String>,
    pub scope: Option<String>,
    /// The field of arrival times.
    pub arrival: Option<String>,
    /// The fields to store.
    pub keep: Vec<String>,
}

/// The name of the field of the text, or the names of several.
pub enum TextNames {
    One(String),
    Several(Vec<String>),
}

impl<'py> FromPyObject<'_, 'py> for TextNames {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let several = |_| object.extract().map(Self::Several);
        let names = object.extract().map(Self::One).or_else(several);
        names.map_err(|_: PyErr| {
            unexpected(
                &object,
                "text, the name of a field (str) or a list of names,",
            )
        })
    }
}

impl Default for TextNames {
    fn default() -> Self {
        Self::One("text".to_owned())
    }
}

impl TextNames {
    pub fn into_names(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Several(names) => names,
        }
    }
}

enum RecordSource {
    Python(Py<PyIterator>),
    Arrow(Box<dyn RecordBatchReader + Send>),
}

struct Columns {
    /// `None` to number the records from 0.
    id: Option<String>,
    key: Option<String>,
    scope: Option<String>,
    arrival: Option<String>,
    keep: Vec<String>,
    /// The fields of the content; several make one text.
    contents: Vec<String>,
    /// `true` if the contents are fingerprints, which may be numbers.
    are_fingerprints: bool,
}

impl Records {
    /// The records of an object.
    pub fn new(records: &Bound<'_, PyAny>, names: FieldNames) -> PyResult<Self> {
        let FieldNames {
            id,
            text,
            fingerprints,
            key,
            scope,
            arrival,
            mut keep,
        } = names;
        // A name that is repeated would be repeated in the JSON of a row.
        let mut seen = HashSet::new();
        keep.retain(|name| seen.insert(name.clone()));
        if text.is_empty() {
            let message = "the names of the fields of the text are expected, and there is none";
            return Err(invalid_argument(records.py(), message));
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
            columns: Columns {
                id: id.filter(|_| key.is_none()),
                key,
                scope,
                arrival,
                keep,
                are_fingerprints: fingerprints.is_some(),
                contents: fingerprints.map_or(text, |fingerprints| vec![fingerprints]),
            },
        })
    }

    /// Calls `push` with all records, some thousand at a time.
    pub fn for_each_part(self, push: &mut PushPart<'_>) -> Result<(), Failure> {
        let (mut done, total) = (0, self.total);
        let columns = &self.columns;
        let mut push = |part: &[Record<'_>]| {
            push(part)?;
            done += part.len() as u64;
            check("reading", done, total)
        };
        let mut next = 0;
        match self.source {
            RecordSource::Python(records) => loop {
                let part = attached(|py| columns.take(records.bind(py), next))?;
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
                        let rows = attached(|py| columns.rows(py, &slice, next))?;
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

/// Rows of a record batch that are taken at once: a table of one batch may have millions.
const ROWS_PER_SLICE: usize = 8192;
/// Records that are taken from an iterator of Python at once.
const RECORDS_PER_PART: usize = 4096;
/// Bytes of texts after which no more records are taken at once.
const BYTES_PER_PART: usize = 1 << 20;

impl Columns {
    /// Takes the next records of an iterator; `next` is the number of records before.
    fn take(&self, records: &Bound<'_, PyIterator>, next: u64) -> PyResult<Vec<OwnedRecord>> {
        let mut part = Vec::new();
        let mut bytes = 0;
        while part.len() < RECORDS_PER_PART && bytes < BYTES_PER_PART {
            let number = next + part.len() as u64;
            let record = call_python(|| {
                let record = records.clone().next()?;
                Some(record.and_then(|record| self.record(&record, number)))
            });
            let Some(record) = record.transpose()? else {
                break;
            };
            bytes += record.content.borrow().len_bytes();
            part.push(record);
        }
        Ok(part)
    }

    fn record(&self, record: &Bound<'_, PyAny>, number: u64) -> PyResult<OwnedRecord> {
        let py = record.py();
        if let Ok(pair) = record.cast::<PyTuple>() {
            return self.pair(pair, number);
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
        let string = |name: &String| {
            let text = of_column(name)?.extract::<Text>();
            text.map_err(|error| of_field(name, error))
        };
        let key = self.key.as_ref().map(string).transpose()?;
        // An error names the record by its key.
        let record_name = match &key {
            Some(key) => format!("document {:?}", &**key),
            None => format!("record {number}"),
        };
        let of_field =
            |name: &str, error| in_record(py, &format!("field '{name}' of {record_name}"), error);
        let scope = match &self.scope {
            Some(name) if !of_column(name)?.is_none() => {
                let text = of_column(name)?.extract::<Text>();
                Some(text.map_err(|error| of_field(name, error))?)
            }
            _ => None,
        };
        let arrival = self.arrival.as_ref().map(|name| {
            let arrival = of_column(name)?.extract::<Arrival>();
            arrival.map_err(|error| of_field(name, error))
        });
        let arrival = arrival.transpose()?.map(|arrival| arrival.0);
        let fields = self.kept_fields(record);
        let fields = fields.map_err(|error| in_record(py, &record_name, error))?;
        let content = match &self.contents[..] {
            [name] => self
                .content(&of_column(name)?)
                .map_err(|error| of_field(name, error))?,
            names => {
                let mut texts = Vec::new();
                for name in names {
                    match record.get_item(name).ok() {
                        Some(value) if value.is_none() => texts.push(None),
                        Some(value) => {
                            let text = value.extract::<Text>();
                            texts.push(Some(text.map_err(|error| of_field(name, error))?));
                        }
                        None => {}
                    }
                }
                if texts.iter().all(Option::is_none) {
                    // The error about the first field.
                    let missing = of_column(&names[0])?.extract::<Text>();
                    texts.push(Some(missing.map_err(|error| of_field(&names[0], error))?));
                }
                let joined = joined(texts.iter().flatten().map(|text| &**text));
                Content::Text(PyString::new(py, &joined).try_into()?)
            }
        };
        let flag = match content {
            Content::Fingerprint(_) => record.get_item(RELIABLE_FIELD).ok(),
            Content::Text(_) => None,
        };
        let reliable = match flag.filter(|flag| !flag.is_none()) {
            Some(flag) => flag
                .extract()
                .map_err(|error| of_field(RELIABLE_FIELD, error))?,
            None => true,
        };
        Ok(OwnedRecord {
            id,
            key: key.map(Text::into_utf8),
            scope: scope.map(Text::into_utf8),
            fields,
            arrival,
            content,
            reliable,
        })
    }

    /// The fields of a record to be stored, without missing values.
    fn kept_fields(&self, record: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        if self.keep.is_empty() {
            return Ok(None);
        }
        let kept = PyDict::new(record.py());
        for name in &self.keep {
            let value = record.get_item(name).ok();
            // JSON has no infinite numbers, and in a column they are left out too.
            let is_infinite =
                |value: &Bound<'_, PyAny>| value.extract().is_ok_and(f64::is_infinite);
            if let Some(value) = value.filter(|value| !is_missing(value) && !is_infinite(value)) {
                kept.set_item(name, value)?;
            }
        }
        Ok(Some(kept.extract::<Fields>()?.0))
    }

    /// A record that is a tuple of an id, or a key, and a content.
    fn pair(&self, pair: &Bound<'_, PyTuple>, number: u64) -> PyResult<OwnedRecord> {
        let py = pair.py();
        let Ok((id, content)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
            let message = format!("record {number} is a tuple, but not of an id and a text");
            return Err(invalid_argument(py, &message));
        };
        if self.scope.is_some() || self.arrival.is_some() || !self.keep.is_empty() {
            let message =
                format!("record {number} is a tuple; scope, arrival and keep name fields of dicts");
            return Err(invalid_argument(py, &message));
        }
        let of_record = |error| in_record(py, &format!("record {number}"), error);
        let (id, key) = match &self.key {
            Some(_) => (number, Some(id.extract::<Text>().map_err(of_record)?)),
            None => (id_of(&id).map_err(of_record)?, None),
        };
        Ok(OwnedRecord {
            id,
            key: key.map(Text::into_utf8),
            scope: None,
            fields: None,
            arrival: None,
            content: self.content(&content).map_err(of_record)?,
            reliable: true,
        })
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
        let mut contents = Vec::with_capacity(self.contents.len());
        for name in &self.contents {
            let content = column(name)?;
            if content.data_type().is_integer() && !self.are_fingerprints {
                let message = format!(
                    "column '{name}' has numbers, and texts are expected; cast it to strings, or name a \
                     column of fingerprints: fingerprints=\"{name}\""
                );
                return Err(invalid_argument(py, &message));
            }
            contents.push(match self.are_fingerprints {
                true => content.clone(),
                false => strings_of(py, content)?,
            });
        }
        let content = match &contents[..] {
            [content] => content.clone(),
            contents => joined_columns(contents),
        };
        Ok(Rows {
            ids: match &self.id {
                Some(name) => numbers_of(py, column(name)?, next)?,
                None => UInt64Array::from_iter_values(next..next + batch.num_rows() as u64),
            },
            keys: match &self.key {
                Some(name) => Some(strings_of(py, column(name)?)?),
                None => None,
            },
            scopes: match &self.scope {
                Some(name) => Some(strings_of(py, column(name)?)?),
                None => None,
            },
            arrivals: match &self.arrival {
                Some(name) => {
                    let arrivals = arrivals_of(py, column(name)?, next);
                    Some(
                        arrivals
                            .map_err(|error| in_record(py, &format!("column '{name}'"), error))?,
                    )
                }
                None => None,
            },
            fields: match self.keep.is_empty() {
                true => Vec::new(),
                false => {
                    let kept = self.keep.iter().map(|name| Ok((name, column(name)?)));
                    json_objects(py, &kept.collect::<PyResult<Vec<_>>>()?, batch.num_rows())?
                }
            },
            contents: match self.are_fingerprints {
                true => Contents::Fingerprints(numbers_of(py, &content, next)?),
                false => Contents::Texts(content),
            },
            reliable: match batch.column_by_name(RELIABLE_FIELD) {
                Some(flags) if self.are_fingerprints => {
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

/// One text of several, in their order, with a line feed between two. Empty texts are left out.
fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let texts = texts.filter(|text| !text.trim().is_empty());
    texts.collect::<Vec<_>>().join("\n")
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

/// The columns of a record batch.
struct Rows {
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

impl Rows {
    fn borrow(&self, py: Python<'_>) -> PyResult<Vec<Record<'_>>> {
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
        let make = |record: &Record<'_>| -> simdb::Result<Document> {
            let name = match record.key {
                Some(key) => DocRef::from(key),
                None => DocRef::from(record.id),
            };
            let document = match record.content {
                ContentRef::Fingerprint(bits) => Document {
                    reliable: record.reliable,
                    ..Document::new(name, Fingerprint::from_bits(bits))
                },
                ContentRef::Text(text) => {
                    let document = Document::new(name, fingerprinter.fingerprint(text)?);
                    if keeps_texts {
                        document.with_text(text)
                    } else {
                        document
                    }
                }
            };
            Ok(Document {
                scope: record.scope.map(str::to_owned),
                arrival: record.arrival,
                fields: record.fields.map(str::to_owned),
                ..document
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
/// in place of the texts. A fingerprint beside a field `reliable` that is False, as to_arrow writes
/// it, matches no query. Any number of documents can be loaded in memory_bytes.
///
/// A list of names makes one text of several fields, text=["title", "body"], with a line feed
/// between two. A field that is missing, None or empty is left out.
///
/// key names a field of keys, such as URLs, in place of the ids; scope a field of scopes, and keep
/// a list of fields to store. A new database then has keys, scopes and fields. arrival names a
/// field of arrival times, which a database with retention stores: datetimes (without a zone, local
/// ones), texts, milliseconds since 1970, or a column of timestamps with a time zone.
///
/// A record with the id of a document that has another fingerprint is left out, and counted as a
/// conflict.
///
/// progress is a progress bar of tqdm, or a function of (stage, done, total).
#[pyfunction]
#[pyo3(signature = (
    path, records, *, id=Some("id".to_owned()), text=TextNames::default(), fingerprints=None, key=None,
    scope=None, arrival=None, keep=Vec::new(), recipe=None, keep_texts=false, similar=false, retention=None, frozen=false, memory_bytes=256 << 20, progress=None,
), text_signature = "(path, records, *, id='id', text='text', fingerprints=None, key=None, scope=None, \
    arrival=None, keep=(), recipe=None, keep_texts=False, similar=False, retention=None, frozen=False, memory_bytes=268435456, progress=None)")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn bulk_load(
    py: Python<'_>,
    path: PathBuf,
    records: &Bound<'_, PyAny>,
    id: Option<String>,
    text: TextNames,
    fingerprints: Option<String>,
    key: Option<String>,
    scope: Option<String>,
    arrival: Option<String>,
    keep: Vec<String>,
    recipe: Option<RecipeArgument<'_>>,
    keep_texts: bool,
    similar: bool,
    retention: Option<Duration>,
    frozen: bool,
    #[pyo3(from_py_with = memory_bytes_of)] memory_bytes: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<BulkReport> {
    let recipe = recipe_of(py, recipe)?.unwrap_or_default();
    let (keys, scopes, fields) = (key.is_some(), scope.is_some(), !keep.is_empty());
    let names = FieldNames {
        id,
        text: text.into_names(),
        fingerprints,
        key,
        scope,
        arrival,
        keep,
    };
    if names.arrival.is_some() && retention.is_none() {
        let message = "arrival names a field of arrival times, which a database keeps with \
                       retention=timedelta(...)";
        return Err(invalid_argument(py, message));
    }
    let records = Records::new(records, names)?;
    run(py, progress, || {
        let builder = builder_of(Some(recipe.clone()), retention)
            .keep_texts(keep_texts)
            .similar(similar)
            .frozen(frozen)
            .keys(keys)
            .scopes(scopes)
            .fields(fields);
        let load = builder.bulk_create(&path, memory_bytes)?;
        let fingerprinter = simdb::Fingerprinter::new(recipe);
        load_all(load, records, &fingerprinter, keep_texts || similar)
    })
}
