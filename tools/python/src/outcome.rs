//! The frozen class `Outcome`: the result of a change.

use pyo3::prelude::*;
use simdb::Database;

use crate::fingerprint::Fingerprint;
use crate::matches::{Match, Similar};

/// The result of a change. True if the database was changed.
#[pyclass(frozen, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    outcome: simdb::Outcome,
    /// The key of the document that decided, in a database with keys.
    key: Option<String>,
}

impl Outcome {
    /// An outcome, with the key of the stored document that decided. A document that a new document
    /// supersedes is gone, and has no key.
    pub fn named(database: &Database, outcome: simdb::Outcome) -> Self {
        let of = outcome.decided_by().filter(|_| database.settings().keys);
        // The change is durable, and an error about the key would look like its error.
        let key = of.and_then(|id| database.snapshot().ok()?.key(id).ok()?);
        Self { outcome, key }
    }

    fn of_match(&self, found: &simdb::Match) -> Match {
        Match::of(*found, self.key.clone())
    }

    fn of_similar(&self, found: &simdb::Similar) -> Similar {
        Similar::of(found.clone(), self.key.clone())
    }
}

#[pymethods]
impl Outcome {
    /// "inserted", "exists", "duplicate", "similar", "extends", "supersedes", "seen", "expired",
    /// "replaced", "removed" or "missing".
    #[getter]
    fn kind(&self) -> &'static str {
        use simdb::Outcome::*;
        match self.outcome {
            Inserted { .. } => "inserted",
            Exists { .. } => "exists",
            Duplicate(_) => "duplicate",
            Similar(_) => "similar",
            Extends(_) => "extends",
            Supersedes(_) => "supersedes",
            Seen => "seen",
            Expired { .. } => "expired",
            Replaced { .. } => "replaced",
            Removed { .. } => "removed",
            Missing => "missing",
            _ => "unknown",
        }
    }

    /// True if the document is new and stored.
    #[getter]
    fn inserted(&self) -> bool {
        self.outcome.is_inserted()
    }

    /// The document that decided: a Match for "duplicate", a Similar for "similar" and "extends";
    /// otherwise None.
    #[getter]
    fn of(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        use simdb::Outcome as O;
        Ok(match &self.outcome {
            O::Duplicate(found) => Some(Py::new(py, self.of_match(found))?.into_any()),
            O::Similar(found) | O::Extends(found) => {
                Some(Py::new(py, self.of_similar(found))?.into_any())
            }
            _ => None,
        })
    }

    /// The documents that were removed because the new document covers them ("supersedes").
    #[getter]
    fn superseded(&self) -> Vec<Similar> {
        match &self.outcome {
            simdb::Outcome::Supersedes(removed) => {
                let removed = removed.iter().cloned();
                removed
                    .map(|removed| {
                        let key = removed.key.clone().map(String::from);
                        Similar::of(removed, key)
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// The fingerprint that is or was stored under the id ("exists", "replaced", "removed").
    #[getter]
    fn stored(&self) -> Option<Fingerprint> {
        use simdb::Outcome::*;
        match &self.outcome {
            Exists { stored } | Replaced { stored } | Removed { stored } => Some((*stored).into()),
            _ => None,
        }
    }

    fn __bool__(&self) -> bool {
        use simdb::Outcome::*;
        self.outcome.is_inserted() || matches!(self.outcome, Replaced { .. } | Removed { .. })
    }

    fn __str__(&self) -> String {
        self.outcome.to_string()
    }

    fn __repr__(&self) -> String {
        let of = match &self.outcome {
            simdb::Outcome::Duplicate(found) => Some(self.of_match(found).__repr__()),
            simdb::Outcome::Similar(found) | simdb::Outcome::Extends(found) => {
                Some(self.of_similar(found).__repr__())
            }
            _ => None,
        };
        match of {
            Some(of) => format!("Outcome('{}', of={of})", self.kind()),
            None => format!("Outcome('{}')", self.kind()),
        }
    }
}
