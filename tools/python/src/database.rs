//! The class `Database`, and `open`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use simdb::frames::Frame;
use simdb::{DocRef, Error};

use crate::arguments::{
    cache_bytes_of, copies_of, doc_ref_of, field_names_of, learned_frames_of, memory_bytes_of,
    retention_of,
};
use crate::arrivals::Arrival;
use crate::error::{Failure, invalid_argument};
use crate::frames::frames_of;
use crate::interruptible::{call, run};
use crate::load::{BulkReport, load_all};
use crate::outcome::Outcome;
use crate::recipe::{RecipeArgument, recipe_of};
use crate::records::{FieldNames, Records, TextNames};
use crate::settings::builder_of;
use crate::shared_database::SharedDatabase;
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::statistics;
use crate::write_batch::{Parts, Rule, WriteBatch, refuse_dropped};

/// A near-duplicate database in one file. Threads can share it.
///
/// A change is durable when its method returns. Use it in a with statement, or call close.
#[pyclass(frozen, module = "simdb", weakref)]
pub struct Database(pub Source);

/// Opens a database.
///
/// mode "r" opens for reading only, "w" for reading and writing, "c" also creates the database if
/// there is none, and "x" creates a new one. While a process has a database open for writing, no
/// other process can open it.
///
/// The settings are fixed at creation, and must not differ when a database is opened: recipe, a
/// Recipe or its name; keep_texts stores the texts; similar also stores what is needed to find
/// edited and short texts; retention, a timedelta, stores arrival times and expires documents; keys
/// gives each document a key, a str such as a URL, in place of an id; fields stores a dict with it;
/// copies=16 counts the refused copies of each document, and stores the newest 16, 1 to 1,000;
/// scopes gives documents scopes, such as languages or tenants, and keys; frames=10 learns the
/// lines at the ends of 10 texts, and compares texts without them. cache_bytes is 1.25 GiB unless
/// set.
#[pyfunction]
#[pyo3(signature = (
    path, mode="r", *, recipe=None, keep_texts=false, similar=false, retention=None, keys=false,
    fields=false, copies=None, scopes=false, frames=None, cache_bytes=None,
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    mode: &str,
    recipe: Option<RecipeArgument<'_>>,
    keep_texts: bool,
    similar: bool,
    #[pyo3(from_py_with = retention_of)] retention: Option<Duration>,
    keys: bool,
    fields: bool,
    #[pyo3(from_py_with = copies_of)] copies: Option<u16>,
    scopes: bool,
    #[pyo3(from_py_with = learned_frames_of)] frames: Option<u16>,
    #[pyo3(from_py_with = cache_bytes_of)] cache_bytes: Option<usize>,
) -> PyResult<Database> {
    let recipe = recipe_of(py, recipe)?;
    if !matches!(mode, "r" | "w" | "c" | "x") {
        let message = format!(
            "there is no mode '{mode}'; known are 'r' (read), 'w' (write), 'c' (create if there is \
             none), 'x' (create)"
        );
        return Err(invalid_argument(py, &message));
    }
    let database = call(py, || {
        let mut builder = builder_of(recipe, retention)
            .keep_texts(keep_texts)
            .similar(similar)
            .keys(keys)
            .fields(fields)
            .scopes(scopes);
        if let Some(newest) = copies {
            builder = builder.copies(newest);
        }
        if let Some(texts) = frames {
            builder = builder.frames(texts);
        }
        if let Some(bytes) = cache_bytes {
            builder = builder.cache_bytes(bytes);
        }
        Ok(match mode {
            "r" => builder.open_read_only(path)?,
            "w" => builder.open(path)?,
            "c" => builder.open_or_create(path)?,
            _ => builder.create(path)?,
        })
    })?;
    Ok(Database(Source {
        shared: Arc::new(SharedDatabase::new(database)),
        snapshot: None,
    }))
}

/// The time for which close waits for the calls of other threads.
const MAX_WAIT: Duration = Duration::from_secs(1);

#[pymethods]
impl Database {
    /// Removes a document.
    fn remove(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = doc_ref_of)] id: DocRef,
    ) -> PyResult<Outcome> {
        self.outcome(py, |database| Ok(database.remove(id)?))
    }

    /// An empty batch of changes: the end of its with statement writes them in one commit.
    fn write_batch(&self, py: Python<'_>) -> PyResult<WriteBatch> {
        self.0.refuse_closed(py)?;
        Ok(WriteBatch::new(self.0.clone()))
    }

    /// Removes every document that arrived before a time, a datetime, a text or milliseconds since
    /// 1970, and returns their number. The database must have a retention.
    fn prune(&self, py: Python<'_>, older_than: Arrival) -> PyResult<u64> {
        call(py, || Ok(self.0.shared.database()?.prune(older_than.0)?))
    }

    /// Loads records into this database in one transaction: see simdb.bulk_load. Other writers
    /// wait.
    #[pyo3(signature = (
        records, *, id=Some("id".to_owned()), text=TextNames::default(), fingerprints=None, key=None,
        scope=None, arrival=None, keep=Vec::new(), memory_bytes=256 << 20, progress=None,
    ), text_signature = "($self, records, *, id='id', text='text', fingerprints=None, key=None, \
        scope=None, arrival=None, keep=(), memory_bytes=268435456, progress=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn bulk_load(
        &self,
        py: Python<'_>,
        records: &Bound<'_, PyAny>,
        id: Option<String>,
        text: TextNames,
        fingerprints: Option<String>,
        key: Option<String>,
        scope: Option<String>,
        arrival: Option<String>,
        #[pyo3(from_py_with = field_names_of)] keep: Vec<String>,
        #[pyo3(from_py_with = memory_bytes_of)] memory_bytes: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<BulkReport> {
        let names = FieldNames {
            id,
            text: text.into_names(),
            fingerprints,
            key,
            scope,
            arrival,
            keep,
        };
        let (has_fields, has_arrivals) = (!names.keep.is_empty(), names.arrival.is_some());
        let records = Records::new(records, names)?;
        run(py, progress, || {
            let database = self.0.shared.database()?;
            refuse_dropped(database, has_fields, has_arrivals)?;
            let load = database.bulk_load(memory_bytes)?;
            let keeps_texts = database.settings().keep_texts;
            load_all(load, records, database.fingerprinter(), keeps_texts)
        })
    }

    /// A database is true even if it is empty.
    fn __bool__(&self) -> bool {
        true
    }

    /// The database as of now, which later changes do not affect.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let snapshot = call(py, || self.0.shared.snapshot())?;
        Ok(Snapshot(Source {
            shared: Arc::clone(&self.0.shared),
            snapshot: Some(snapshot),
        }))
    }

    /// The counts and sizes of the database.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = call(py, || Ok(self.0.get()?.stats()?))?;
        statistics::stats(py, &found)
    }

    /// The distribution of the fingerprints, which decides the cost of queries: uneven keys and
    /// bits, and the largest groups of documents with one fingerprint.
    fn doctor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = call(py, || Ok(self.0.get()?.diagnose()?))?;
        statistics::diagnosis(py, &found)
    }

    /// Verifies every byte in use. Returns a sentence for each damage found; none if the file is
    /// sound.
    #[pyo3(signature = (*, progress=None))]
    fn check(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Vec<String>> {
        run(py, progress, || Ok(self.0.shared.database()?.check()?))
    }

    /// Writes a copy of the database to a new file, while reads and writes continue.
    #[pyo3(signature = (path, *, progress=None))]
    fn backup(&self, py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
        run(py, progress, || {
            Ok(self.0.shared.database()?.backup(path)?)
        })
    }

    /// The lines that insert_unless_similar and similar leave out of texts at the head and the
    /// tail, learned by a database that was opened with frames, each with the number of texts and
    /// the scope, or None.
    fn frames(&self, py: Python<'_>) -> PyResult<Vec<(String, u64, Option<String>)>> {
        call(py, || {
            let database = self.0.shared.database()?;
            let frames = database.frames()?;
            let line = |frame: &Frame| {
                let scope = database.scope_of_frame(frame)?;
                Ok((frame.text.clone(), frame.documents, scope))
            };
            frames.iter().map(line).collect()
        })
    }

    /// Sets the lines that insert_unless_similar and similar leave out of texts at the head and the
    /// tail: see simdb.frames. The file does not keep the lines.
    fn set_frames(&self, py: Python<'_>, lines: Vec<String>) -> PyResult<()> {
        call(py, || {
            Ok(self.0.shared.database()?.set_frames(frames_of(lines))?)
        })
    }

    /// Waits until all changes of other threads are durable.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        call(py, || Ok(self.0.shared.database()?.flush()?))
    }

    /// Closes the database and its snapshots. Every later call raises ClosedError, except another
    /// close, which does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        call(py, || {
            let deadline = Instant::now() + MAX_WAIT;
            loop {
                match self.0.shared.close() {
                    Err(Failure::Library(Error::Closed { .. })) => return Ok(()),
                    // The queries of other threads.
                    Err(Failure::Library(Error::SnapshotHeld { .. }))
                        if Instant::now() < deadline =>
                    {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    closed => return closed,
                }
            }
        })
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(slf: &Bound<'_, Self>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        match slf.get().close(slf.py()) {
            // The exception of the block is raised, as it says more than a snapshot that is held.
            Err(error) if exception.iter().any(|part| !part.is_none()) => {
                error.write_unraisable(slf.py(), Some(slf));
                Ok(())
            }
            closed => closed,
        }
    }

    /// The path under which the database was opened.
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.shared.settings().path().to_path_buf()
    }

    fn __repr__(&self) -> String {
        let path = self.0.shared.settings().path();
        format!("<simdb.Database {:?}>", path.display().to_string())
    }
}

impl Database {
    pub fn store(&self, py: Python<'_>, rule: Rule, id: DocRef, parts: Parts) -> PyResult<Outcome> {
        self.outcome(py, |database| {
            Ok(database.apply_one(rule.change(database, id, &parts)?)?)
        })
    }

    fn outcome(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&simdb::Database) -> Result<simdb::Outcome, Failure> + Send,
    ) -> PyResult<Outcome> {
        call(py, || {
            let database = self.0.shared.database()?;
            let outcome = change(database)?;
            Ok(Outcome::named(database, outcome))
        })
    }
}
