//! Bulk loads: [`Records`] into a new database, or into one without documents.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use rayon::prelude::*;
use simdb::bulk::BulkLoad;
use simdb::{DocRef, Document, Fingerprint};

use crate::arguments::{field_names_of, memory_bytes_of, retention_of};
use crate::error::{Failure, invalid_argument};
use crate::interruptible::{pool, run};
use crate::recipe::{RecipeArgument, recipe_of};
use crate::records::{FieldNames, Record, Records, TextNames};
use crate::settings::builder_of;
use crate::texts::ContentRef;

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
    #[pyo3(from_py_with = field_names_of)] keep: Vec<String>,
    recipe: Option<RecipeArgument<'_>>,
    keep_texts: bool,
    similar: bool,
    #[pyo3(from_py_with = retention_of)] retention: Option<Duration>,
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
    if names.fingerprints.is_some() && (keep_texts || similar) {
        let message = "fingerprints stand in place of texts, which keep_texts and similar store; leave \
                       them out, or give the texts";
        return Err(invalid_argument(py, message));
    }
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
