//! The Python methods that `Database` and `WriteBatch` have in common.

use pyo3::prelude::*;
use simdb::DocRef;
use simdb::similarity::Likeness;

use crate::arguments::{Fields, doc_ref_of, radius_of, scope_of};
use crate::arrivals::Arrival;
use crate::database::Database;
use crate::outcome::Outcome;
use crate::source::SimilarOptions;
use crate::texts::Content;
use crate::write_batch::{Parts, Rule, WriteBatch};

/// Gives a class with a method `store` the methods that store documents. `store` returns `answer`.
macro_rules! changes {
    ($class:ident, $answer:ty) => {
        #[pymethods]
        impl $class {
            /// Stores a document under a new id or key. content is a text or a Fingerprint; arrival
            /// a datetime, a text such as "2024-05-31T20:00:00Z" or milliseconds since 1970, in a
            /// database with a retention or copies; fields a dict, in a database that keeps fields;
            /// scope a str, in a database with scopes.
            #[pyo3(signature = (id, content, *, arrival=None, fields=None, scope=None))]
            fn insert(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = doc_ref_of)] id: DocRef,
                content: Content,
                arrival: Option<Arrival>,
                fields: Option<Fields>,
                #[pyo3(from_py_with = scope_of)] scope: Option<String>,
            ) -> PyResult<$answer> {
                self.store(py, Rule::Insert, id, Parts { content, arrival, fields, scope })
            }

            /// Stores a document, in place of the document with its id if there is one.
            #[pyo3(signature = (id, content, *, arrival=None, fields=None, scope=None))]
            fn upsert(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = doc_ref_of)] id: DocRef,
                content: Content,
                arrival: Option<Arrival>,
                fields: Option<Fields>,
                #[pyo3(from_py_with = scope_of)] scope: Option<String>,
            ) -> PyResult<$answer> {
                self.store(py, Rule::Upsert, id, Parts { content, arrival, fields, scope })
            }

            /// Stores a document under a new id, unless a document of its scope lies within the
            /// radius. Query and insert are one transaction: of two near-duplicates that arrive
            /// together, one is stored.
            #[pyo3(signature = (id, content, radius=3, *, arrival=None, fields=None, scope=None))]
            #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
            fn insert_unique(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = doc_ref_of)] id: DocRef,
                content: Content,
                #[pyo3(from_py_with = radius_of)] radius: u32,
                arrival: Option<Arrival>,
                fields: Option<Fields>,
                #[pyo3(from_py_with = scope_of)] scope: Option<String>,
            ) -> PyResult<$answer> {
                self.store(py, Rule::InsertUnique { radius }, id, Parts { content, arrival, fields, scope })
            }

            /// Stores a document under a new id, unless a stored text of its scope covers its text.
            /// The database must keep texts.
            ///
            /// decision "alike" refuses every text that is alike by the thresholds. replace=True
            /// removes the stored documents that the new document covers.
            #[pyo3(signature = (
                id, text, *, edit_similarity=None, jaccard=None, decision="contained", replace=false,
                arrival=None, fields=None, scope=None,
            ))]
            #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
            fn insert_unless_similar(
                &self,
                py: Python<'_>,
                #[pyo3(from_py_with = doc_ref_of)] id: DocRef,
                text: Content,
                edit_similarity: Option<f64>,
                jaccard: Option<f64>,
                decision: &str,
                replace: bool,
                arrival: Option<Arrival>,
                fields: Option<Fields>,
                #[pyo3(from_py_with = scope_of)] scope: Option<String>,
            ) -> PyResult<$answer> {
                let least = |_| Likeness::default();
                let options = SimilarOptions::new(py, edit_similarity, jaccard, decision, least)?;
                let rule = Rule::unless_similar(&options, replace);
                self.store(py, rule, id, Parts { content: text, arrival, fields, scope })
            }
        }
    };
}

changes!(Database, Outcome);
changes!(WriteBatch, ());
