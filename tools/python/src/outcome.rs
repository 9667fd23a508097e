//! The frozen class `Outcome`: the result of a change.

use pyo3::prelude::*;

use crate::fingerprint::Fingerprint;
use crate::matches::{Match, Similar};

/// The result of a change. True if the database was changed.
#[pyclass(frozen, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome(simdb::Outcome);

impl From<simdb::Outcome> for Outcome {
    fn from(outcome: simdb::Outcome) -> Self {
        Self(outcome)
    }
}

#[pymethods]
impl Outcome {
    /// "inserted", "exists", "duplicate", "similar", "extends", "supersedes", "seen", "expired",
    /// "replaced", "removed" or "missing".
    #[getter]
    fn kind(&self) -> &'static str {
        use simdb::Outcome::*;
        match self.0 {
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
        self.0.is_inserted()
    }

    /// The document that decided: a Match for "duplicate", a Similar for "similar" and "extends";
    /// otherwise None.
    #[getter]
    fn of(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        use simdb::Outcome as O;
        Ok(match &self.0 {
            O::Duplicate(found) => Some(Py::new(py, Match::from(*found))?.into_any()),
            O::Similar(found) | O::Extends(found) => {
                Some(Py::new(py, Similar::from(found.clone()))?.into_any())
            }
            _ => None,
        })
    }

    /// The documents that were removed because the new document covers them ("supersedes").
    #[getter]
    fn superseded(&self) -> Vec<Similar> {
        match &self.0 {
            simdb::Outcome::Supersedes(removed) => {
                removed.iter().cloned().map(Similar::from).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The fingerprint that is or was stored under the id ("exists", "replaced", "removed").
    #[getter]
    fn stored(&self) -> Option<Fingerprint> {
        use simdb::Outcome::*;
        match &self.0 {
            Exists { stored } | Replaced { stored } | Removed { stored } => Some((*stored).into()),
            _ => None,
        }
    }

    fn __bool__(&self) -> bool {
        use simdb::Outcome::*;
        self.0.is_inserted() || matches!(self.0, Replaced { .. } | Removed { .. })
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let of = match &self.0 {
            simdb::Outcome::Duplicate(found) => Some(Match::from(*found).__repr__()),
            simdb::Outcome::Similar(found) | simdb::Outcome::Extends(found) => {
                Some(Similar::from(found.clone()).__repr__())
            }
            _ => None,
        };
        match of {
            Some(of) => format!("Outcome('{}', of={of})", self.kind()),
            None => format!("Outcome('{}')", self.kind()),
        }
    }
}
