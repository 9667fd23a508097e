//! The Python methods that `Database` and `Snapshot` have in common.

#![expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use simdb::DocRef;
use simdb::similarity::Likeness;

use crate::arguments::{
    Scopes, count_of, doc_ref_of, id_of, key_of, limit_of, max_pairs_of, possible_doc_ref,
    radius_of,
};
use crate::arrivals::Arrival;
use crate::copies::Copies;
use crate::database::Database;
use crate::documents::{Document, DocumentIterator, IdIterator};
use crate::matches::{Match, Similar};
use crate::settings::Settings;
use crate::snapshot::Snapshot;
use crate::source::{BatchAnswer, SimilarOptions, Subset, clustering};
use crate::table::Table;
use crate::texts::{Content, Text};

fn subset(scopes: Option<Scopes>, since: Option<Arrival>) -> Subset {
    Subset { scopes, since }
}

/// Gives a class around a [`Source`](crate::source::Source) the methods that read documents.
// A base class of both would be one more class for users.
macro_rules! queries {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// Every document within a radius of a text or a fingerprint, nearest first, then
            /// smallest id. Empty for a text with too little content, such as a single word: use
            /// similar. within_scope, a str or several, finds only documents of these scopes;
            /// since, a datetime, a text or milliseconds since 1970, only documents that arrived
            /// then or later.
            #[pyo3(signature = (query, radius=3, *, limit=None, within_scope=None, since=None))]
            fn within(
                &self,
                py: Python<'_>,
                query: Content,
                #[pyo3(from_py_with = radius_of)] radius: u32,
                #[pyo3(from_py_with = limit_of)] limit: Option<usize>,
                within_scope: Option<Scopes>,
                since: Option<Arrival>,
            ) -> PyResult<Vec<Match>> {
                self.0.within(py, &query, radius, limit, &subset(within_scope, since))
            }

            /// The answers of within to many fingerprints, on all cores: a NumPy or Arrow array of
            /// uint64, or an iterable of Fingerprint.
            ///
            /// Returns three NumPy arrays (offsets, ids, distances): the matches of fingerprint i
            /// are ids[offsets[i]:offsets[i + 1]], with their distances.
            #[pyo3(signature = (
                fingerprints, radius=3, *, limit=None, progress=None, within_scope=None, since=None,
            ))]
            fn within_batch(
                &self,
                fingerprints: &Bound<'_, PyAny>,
                #[pyo3(from_py_with = radius_of)] radius: u32,
                #[pyo3(from_py_with = limit_of)] limit: Option<usize>,
                progress: Option<Py<PyAny>>,
                within_scope: Option<Scopes>,
                since: Option<Arrival>,
            ) -> PyResult<BatchAnswer> {
                let subset = subset(within_scope, since);
                self.0.within_batch(fingerprints, radius, limit, progress, &subset)
            }

            /// The nearest documents to a text or a fingerprint, then smallest id.
            #[pyo3(signature = (query, count=1, *, within_scope=None, since=None))]
            fn nearest(
                &self,
                py: Python<'_>,
                query: Content,
                #[pyo3(from_py_with = count_of)] count: usize,
                within_scope: Option<Scopes>,
                since: Option<Arrival>,
            ) -> PyResult<Vec<Match>> {
                self.0.nearest(py, &query, count, &subset(within_scope, since))
            }

            /// The documents whose texts are like a text, and of which one text covers the other.
            /// With decision "alike", all documents whose texts are alike by the thresholds. The
            /// database must keep texts.
            #[pyo3(signature = (
                text, *, edit_similarity=None, jaccard=None, decision="contained",
                within_scope=None, since=None,
            ))]
            fn similar(
                &self,
                py: Python<'_>,
                text: Text,
                edit_similarity: Option<f64>,
                jaccard: Option<f64>,
                decision: &str,
                within_scope: Option<Scopes>,
                since: Option<Arrival>,
            ) -> PyResult<Vec<Similar>> {
                let least = |_| Likeness::default();
                let options = SimilarOptions::new(py, edit_similarity, jaccard, decision, least)?;
                self.0.similar(py, &text, &options, &subset(within_scope, since))
            }

            /// The document with an id or a key; None if there is no such document.
            fn get(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = doc_ref_of)] id: DocRef,
            ) -> PyResult<Option<Document>> {
                self.0.document(py, id)
            }

            /// The document with an id or a key.
            fn __getitem__(&self, id: &Bound<'_, PyAny>) -> PyResult<Document> {
                let found = self.0.document(id.py(), doc_ref_of(id)?)?;
                found.ok_or_else(|| PyKeyError::new_err(id.clone().unbind()))
            }

            /// The key of the document with an id; None if there is no such document, or it has no
            /// key.
            fn key(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = id_of)] id: u64,
            ) -> PyResult<Option<String>> {
                self.0.key(py, id)
            }

            /// The keys of the documents with these ids, in their order: a NumPy or Arrow array of
            /// uint64, such as a column of pairs, of clusters or of within_batch, or an iterable
            /// of int. A list of str, and None for an id without a document or a key.
            fn keys(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Option<String>>> {
                self.0.keys(ids)
            }

            /// The id of the document with a key; None if there is no such document.
            fn id(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = key_of)] key: String,
            ) -> PyResult<Option<u64>> {
                self.0.id(py, &key)
            }

            /// The documents that were refused as copies of a document, by its id or key; None if
            /// no copy was refused, or there is no such document.
            fn copies(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = doc_ref_of)] id: DocRef,
            ) -> PyResult<Option<Copies>> {
                self.0.copies(py, id)
            }

            /// The documents with the most copies, the most first: a list of ids and their Copies.
            /// With since, a datetime, a text or milliseconds since 1970, the documents with a copy
            /// since then.
            #[pyo3(signature = (limit=10, *, since=None))]
            fn most_copied(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = count_of)] limit: usize,
                since: Option<Arrival>,
            ) -> PyResult<Vec<(u64, Copies)>> {
                self.0.most_copied(py, limit, since)
            }

            fn __contains__(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
                match possible_doc_ref(id)? {
                    Some(possible) => self.0.contains(id.py(), possible),
                    None => Ok(false),
                }
            }

            fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
                self.0.len(py)
            }

            /// The ids of all documents, in order.
            fn __iter__(&self, py: Python<'_>) -> PyResult<IdIterator> {
                self.0.ids(py)
            }

            /// All documents from an id on, in order of their ids.
            #[pyo3(signature = (first=0))]
            fn documents(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = id_of)] first: u64,
            ) -> PyResult<DocumentIterator> {
                self.0.documents(py, first)
            }

            /// All documents as a table: id, fingerprint, reliable, arrival, text, key and fields
            /// (JSON) if they are kept. It is read in batches, each time as of the start of the
            /// read.
            fn to_arrow(&self, py: Python<'_>) -> PyResult<Table> {
                self.0.to_arrow(py)
            }

            /// All pairs of documents within a radius, in no order, as a table with the columns a,
            /// b and distance. Takes 17 bytes for each pair.
            #[pyo3(signature = (
                radius=3, *, max_pairs=100_000_000, progress=None, within_scope=None, since=None,
            ))]
            fn pairs(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = radius_of)] radius: u32,
                #[pyo3(from_py_with = max_pairs_of)] max_pairs: usize,
                progress: Option<Py<PyAny>>,
                within_scope: Option<Scopes>,
                since: Option<Arrival>,
            ) -> PyResult<Table> {
                let subset = subset(within_scope, since);
                self.0.pairs(py, radius, max_pairs, progress, &subset)
            }

            /// The groups of near-duplicates as a table with the columns cluster, keeper, id and
            /// distance, a row for each document that has a near-duplicate.
            ///
            /// shape "star": each member is within the radius of the keeper; "connected": of
            /// another member. keep "first", "oldest", "longest" or "cleanest" selects the
            /// keeper.
            /// compare_texts=True requires that the text of the keeper covers the text of the
            /// member.
            #[pyo3(signature = (
                radius=3, *, shape="star", keep="first", compare_texts=false, progress=None,
                within_scope=None, since=None,
            ))]
            fn clusters(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = radius_of)] radius: u32,
                shape: &str,
                keep: &str,
                compare_texts: bool,
                progress: Option<Py<PyAny>>,
                within_scope: Option<Scopes>,
                since: Option<Arrival>,
            ) -> PyResult<Table> {
                let rules = clustering(py, radius, shape, keep, compare_texts)?;
                self.0.clusters(py, &rules, progress, &subset(within_scope, since))
            }

            /// The settings fixed at creation.
            #[getter]
            fn settings(&self) -> Settings {
                self.0.shared.settings().settings().into()
            }

            fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
                slf.0.refuse_closed(slf.py())?;
                Ok(slf)
            }
        }
    };
}

queries!(Database);
queries!(Snapshot);
