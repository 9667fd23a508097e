//! The frozen classes `Copies` and `Sighting`: the documents that were refused as copies.

use pyo3::prelude::*;
use simdb::copies::SightingKind;
use simdb::{DocRef, Timestamp};

use crate::arrivals::Arrival;
use crate::interruptible::call;
use crate::source::Source;

/// The documents that were refused as copies of a document.
#[pyclass(frozen, get_all, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// The number of refused documents.
    pub count: u64,
    /// The earliest time of a copy, in milliseconds since 1970.
    pub first_seen: u64,
    /// The latest time of a copy, in milliseconds since 1970.
    pub last_seen: u64,
    /// The copies that were refused last, the last first.
    pub newest: Vec<Sighting>,
}

#[pymethods]
impl Copies {
    fn __len__(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!(
            "Copies(count={}, first_seen={}, last_seen={})",
            self.count, self.first_seen, self.last_seen
        )
    }
}

impl From<simdb::copies::Copies> for Copies {
    fn from(copies: simdb::copies::Copies) -> Self {
        Self {
            count: copies.count,
            first_seen: copies.first_seen.0,
            last_seen: copies.last_seen.0,
            newest: copies.newest.into_iter().map(Sighting::from).collect(),
        }
    }
}

/// A document that was refused as a copy.
#[pyclass(frozen, get_all, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The key; None in a database without keys.
    pub key: Option<String>,
    /// The id; None in a database with keys.
    pub id: Option<u64>,
    /// The arrival of the refused document, or the time of the insert, in milliseconds since 1970.
    pub seen: u64,
    /// "duplicate", "same", "a_in_b", "same_body" or "alike".
    pub kind: &'static str,
    /// The Hamming distance of a "duplicate"; otherwise None.
    pub distance: Option<u32>,
}

#[pymethods]
impl Sighting {
    fn __repr__(&self) -> String {
        let document = match (&self.key, self.id) {
            (Some(key), _) => format!("key={key:?}"),
            (None, id) => format!("id={}", id.unwrap_or_default()),
        };
        format!(
            "Sighting({document}, seen={}, kind='{}')",
            self.seen, self.kind
        )
    }
}

impl From<simdb::copies::Sighting> for Sighting {
    fn from(sighting: simdb::copies::Sighting) -> Self {
        let (key, id) = match sighting.document {
            DocRef::Key(key) => (Some(key), None),
            DocRef::Id(id) => (None, Some(id.0)),
        };
        let (kind, distance) = match sighting.kind {
            SightingKind::Duplicate { distance } => ("duplicate", Some(distance)),
            SightingKind::Same => ("same", None),
            SightingKind::AInB => ("a_in_b", None),
            SightingKind::SameBody => ("same_body", None),
            SightingKind::Alike => ("alike", None),
        };
        Self {
            key,
            id,
            seen: sighting.seen.0,
            kind,
            distance,
        }
    }
}

impl Source {
    pub fn copies(&self, py: Python<'_>, document: DocRef) -> PyResult<Option<Copies>> {
        let copies = call(py, || Ok(self.get()?.copies(document)?))?;
        Ok(copies.map(Copies::from))
    }

    pub fn most_copied(
        &self,
        py: Python<'_>,
        limit: usize,
        since: Option<Arrival>,
    ) -> PyResult<Vec<(u64, Copies)>> {
        let since: Option<Timestamp> = since.map(|Arrival(since)| since);
        let most = call(py, || Ok(self.get()?.most_copied(limit, since)?))?;
        let most = most.into_iter();
        Ok(most.map(|(id, copies)| (id.0, copies.into())).collect())
    }
}
