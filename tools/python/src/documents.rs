//! The class `Document`, and the iterators and the table of all documents.

#![expect(
    clippy::too_many_arguments,
    reason = "the constructor of `Document` that PyO3 makes"
)]

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{
    ArrayRef, BooleanArray, LargeStringArray, RecordBatch, RecordBatchReader,
    TimestampMillisecondArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use simdb::{DocId, DocRef};

use crate::error::Failure;
use crate::fingerprint::Fingerprint;
use crate::interpreter_exit::{attached, call_function};
use crate::interruptible::call;
use crate::source::Source;
use crate::table::{Table, schema};

/// A stored document.
#[pyclass(frozen, get_all, eq, module = "simdb", new = "from_fields")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The id.
    pub id: u64,
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// False if the text has too little content to be found by its fingerprint.
    pub reliable: bool,
    /// The arrival time in milliseconds since 1970; None if no arrival times are kept.
    pub arrival: Option<u64>,
    /// The text; None if no texts are kept.
    pub text: Option<String>,
    /// The key; None in a database without keys.
    pub key: Option<String>,
    /// The fields as JSON; None without fields.
    pub fields_json: Option<String>,
    /// The scope; None for the empty scope.
    pub scope: Option<String>,
}

/// Characters of a text in the `repr` of a document.
const SHOWN_CHARACTERS: usize = 40;

#[pymethods]
impl Document {
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (
            self.id,
            self.fingerprint,
            self.reliable,
            self.arrival,
            &self.text,
            &self.key,
            &self.fields_json,
            &self.scope,
        )
            .into_pyobject(py)
    }

    /// The fields, a dict; None without fields.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(fields) = &self.fields_json else {
            return Ok(None);
        };
        let loads = py.import("json")?.getattr("loads")?;
        call_function(&loads, &PyTuple::new(py, [fields])?, None).map(Some)
    }

    fn __repr__(&self) -> String {
        let mut shown = format!(
            "Document(id={}, fingerprint=0x{:016x}",
            self.id, self.fingerprint.0
        );
        // To write into a string cannot fail.
        if !self.reliable {
            shown.push_str(", reliable=False");
        }
        if let Some(key) = &self.key {
            write!(shown, ", key={key:?}").unwrap_or_default();
        }
        if let Some(scope) = &self.scope {
            write!(shown, ", scope={scope:?}").unwrap_or_default();
        }
        if let Some(arrival) = self.arrival {
            write!(shown, ", arrival={arrival}").unwrap_or_default();
        }
        if let Some(text) = &self.text {
            let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
            let rest = if start.len() < text.len() { "..." } else { "" };
            write!(shown, ", text={start:?}{rest}").unwrap_or_default();
        }
        shown + ")"
    }
}

impl From<simdb::Document> for Document {
    fn from(document: simdb::Document) -> Self {
        Self {
            id: document.id.0,
            fingerprint: document.fingerprint.into(),
            reliable: document.reliable,
            arrival: document.arrival.map(|arrival| arrival.0),
            text: document.text,
            key: document.key,
            fields_json: document.fields,
            scope: document.scope,
        }
    }
}

/// Documents that an iterator reads at once.
const DOCUMENTS_PER_PAGE: usize = 1024;
/// Documents of a record batch.
const DOCUMENTS_PER_BATCH: usize = 16 << 10;

/// Reads all documents of a snapshot in pages. Between two pages nothing is locked.
pub struct Pages {
    source: Source,
    /// The smallest id that was not read; `None` after the largest id.
    next: Option<u64>,
    page_length: usize,
}

impl Pages {
    /// The documents from an id on, as of now.
    fn new(source: &Source, first: u64, page_length: usize) -> Result<Self, Failure> {
        let mut source = source.clone();
        if source.snapshot.is_none() {
            source.snapshot = Some(source.shared.snapshot()?);
        }
        Ok(Self {
            source,
            next: Some(first),
            page_length,
        })
    }

    /// The next page; empty at the end.
    fn read(&mut self) -> Result<Vec<simdb::Document>, Failure> {
        let Some(first) = self.next else {
            return Ok(Vec::new());
        };
        let snapshot = self.source.get()?;
        let page: Vec<_> = (snapshot.documents_from(DocId(first)))
            .take(self.page_length)
            .collect::<Result<_, _>>()?;
        self.next = page.last().and_then(|last| last.id.0.checked_add(1));
        Ok(page)
    }
}

struct PagedDocuments {
    pages: Pages,
    page: VecDeque<simdb::Document>,
}

impl PagedDocuments {
    fn next(&mut self) -> Result<Option<simdb::Document>, Failure> {
        // Refuses the rest of a page after a close, and after a fork.
        self.pages.source.get()?;
        if self.page.is_empty() {
            self.page = self.pages.read()?.into();
        }
        Ok(self.page.pop_front())
    }
}

/// An iterator over documents, in order of their ids.
#[pyclass(frozen, module = "simdb")]
pub struct DocumentIterator(Mutex<PagedDocuments>);

/// An iterator over ids, in order.
#[pyclass(frozen, module = "simdb")]
pub struct IdIterator(Mutex<PagedDocuments>);

fn next_document(
    py: Python<'_>,
    documents: &Mutex<PagedDocuments>,
) -> PyResult<Option<simdb::Document>> {
    call(py, || {
        documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next()
    })
}

#[pymethods]
impl DocumentIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Document>> {
        Ok(next_document(py, &self.0)?.map(Document::from))
    }
}

#[pymethods]
impl IdIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(next_document(py, &self.0)?.map(|document| document.id.0))
    }
}

impl Source {
    fn paged(&self, py: Python<'_>, first: u64) -> PyResult<Mutex<PagedDocuments>> {
        let pages = call(py, || Pages::new(self, first, DOCUMENTS_PER_PAGE))?;
        Ok(Mutex::new(PagedDocuments {
            pages,
            page: VecDeque::new(),
        }))
    }

    pub fn document(&self, py: Python<'_>, id: DocRef) -> PyResult<Option<Document>> {
        let found = call(py, || Ok(self.get()?.get(id)?))?;
        Ok(found.map(Document::from))
    }

    pub fn documents(&self, py: Python<'_>, first: u64) -> PyResult<DocumentIterator> {
        Ok(DocumentIterator(self.paged(py, first)?))
    }

    pub fn ids(&self, py: Python<'_>) -> PyResult<IdIterator> {
        Ok(IdIterator(self.paged(py, 0)?))
    }

    /// All documents as a table, which is read from the database in batches.
    pub fn to_arrow(&self, py: Python<'_>) -> PyResult<Table> {
        self.refuse_closed(py)?;
        let settings = self.shared.settings().settings();
        let mut columns = vec![
            ("id", DataType::UInt64, false),
            ("fingerprint", DataType::UInt64, false),
            ("reliable", DataType::Boolean, false),
        ];
        if settings.retention.is_some() {
            let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
            columns.push(("arrival", time, true));
        }
        if settings.keep_texts {
            columns.push(("text", DataType::LargeUtf8, true));
        }
        for (is_kept, name) in [
            (settings.keys, "key"),
            (settings.fields, "fields"),
            (settings.scopes, "scope"),
        ] {
            columns.extend(is_kept.then_some((name, DataType::LargeUtf8, true)));
        }
        let schema = schema(&columns);
        let (source, of_batches) = (self.clone(), Arc::clone(&schema));
        Ok(Table::streamed(schema, move || {
            Box::new(DocumentBatches {
                pages: Pages::new(&source, 0, DOCUMENTS_PER_BATCH).map_err(arrow_error),
                schema: Arc::clone(&of_batches),
            })
        }))
    }
}

/// The documents of a database as record batches.
struct DocumentBatches {
    pages: Result<Pages, ArrowError>,
    schema: SchemaRef,
}

impl Iterator for DocumentBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let pages = match &mut self.pages {
            Ok(pages) => pages,
            Err(error) => {
                return Some(Err(ArrowError::ExternalError(error.to_string().into())));
            }
        };
        match pages.read() {
            Ok(page) if page.is_empty() => None,
            Ok(page) => Some(to_batch(&self.schema, &page)),
            Err(failure) => {
                pages.next = None;
                Some(Err(arrow_error(failure)))
            }
        }
    }
}

impl RecordBatchReader for DocumentBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn arrow_error(failure: Failure) -> ArrowError {
    let exception = attached(|py| Ok(failure.into_exception(py).to_string()));
    ArrowError::ExternalError(exception.unwrap_or_default().into())
}

fn to_batch(schema: &SchemaRef, page: &[simdb::Document]) -> Result<RecordBatch, ArrowError> {
    let columns = schema.fields().iter().map(|field| -> ArrayRef {
        match field.name().as_str() {
            "id" => Arc::new(UInt64Array::from_iter_values(
                page.iter().map(|each| each.id.0),
            )),
            "fingerprint" => {
                let bits = page.iter().map(|each| each.fingerprint.bits());
                Arc::new(UInt64Array::from_iter_values(bits))
            }
            "reliable" => {
                let flags: Vec<bool> = page.iter().map(|each| each.reliable).collect();
                Arc::new(BooleanArray::from(flags))
            }
            "arrival" => {
                let arrivals = page.iter().map(|each| {
                    let arrival = each.arrival?;
                    i64::try_from(arrival.0).ok()
                });
                let arrivals: TimestampMillisecondArray = arrivals.collect();
                Arc::new(arrivals.with_timezone("UTC"))
            }
            name => Arc::new(LargeStringArray::from_iter(page.iter().map(|each| {
                let column = match name {
                    "key" => &each.key,
                    "fields" => &each.fields,
                    "scope" => &each.scope,
                    _ => &each.text,
                };
                column.as_deref()
            }))),
        }
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect())
}
