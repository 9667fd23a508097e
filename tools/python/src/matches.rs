//! The frozen classes of the documents that a query finds: `Match`, `Similar` and `Resemblance`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use simdb::containment::Missing;

use crate::fingerprint::Fingerprint;
use crate::repr::{number_or_none, python_bool};

/// A document within a radius of a query.
#[pyclass(frozen, get_all, eq, hash, module = "simdb")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Match {
    /// The id of the document.
    pub id: u64,
    /// The number of bits in which the fingerprints differ.
    pub distance: u32,
    /// The fingerprint of the document.
    pub fingerprint: Fingerprint,
    /// The key of the document; None in a database without keys.
    pub key: Option<String>,
}

#[pymethods]
impl Match {
    #[new]
    #[pyo3(signature = (id, distance, fingerprint, key=None))]
    fn new(id: u64, distance: u32, fingerprint: Fingerprint, key: Option<String>) -> Self {
        Self {
            id,
            distance,
            fingerprint,
            key,
        }
    }

    /// For pickle, by which processes exchange matches.
    fn __getnewargs__(&self) -> (u64, u32, Fingerprint, Option<String>) {
        (self.id, self.distance, self.fingerprint, self.key.clone())
    }

    pub fn __repr__(&self) -> String {
        let Self {
            id,
            distance,
            fingerprint,
            key,
        } = self;
        format!(
            "Match(id={id}, distance={distance}, fingerprint=0x{:016x}{})",
            fingerprint.0,
            shown_key(key)
        )
    }
}

impl Match {
    pub fn of(found: simdb::Match, key: Option<String>) -> Self {
        Self {
            id: found.id.0,
            distance: found.distance,
            fingerprint: found.fingerprint.into(),
            key,
        }
    }
}

/// The key of a document in the `repr` of a match.
fn shown_key(key: &Option<String>) -> String {
    key.as_ref()
        .map_or_else(String::new, |key| format!(", key={key:?}"))
}

/// The similarity of two texts after normalisation.
#[pyclass(
    frozen,
    from_py_object,
    get_all,
    eq,
    module = "simdb",
    new = "from_fields"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Resemblance {
    /// True if the normalised letters and digits are equal.
    pub same_wording: bool,
    /// The share of the longer text that stays as it is, from 0 to 1; None for long texts.
    pub edit_similarity: Option<f64>,
    /// The Jaccard index of the shingles of three tokens, from 0 to 1.
    pub jaccard: f64,
}

#[pymethods]
impl Resemblance {
    fn __getnewargs__(&self) -> (bool, Option<f64>, f64) {
        (self.same_wording, self.edit_similarity, self.jaccard)
    }

    fn __repr__(&self) -> String {
        let edit = number_or_none(self.edit_similarity);
        format!(
            "Resemblance(same_wording={}, edit_similarity={edit}, jaccard={:.3})",
            python_bool(self.same_wording),
            self.jaccard
        )
    }
}

impl From<simdb::similarity::Resemblance> for Resemblance {
    fn from(found: simdb::similarity::Resemblance) -> Self {
        Self {
            same_wording: found.same_wording,
            edit_similarity: found.edit_similarity,
            jaccard: found.jaccard,
        }
    }
}

/// A document whose text is like the text of a query.
#[pyclass(frozen, get_all, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq)]
pub struct Similar {
    /// The id of the document.
    pub id: u64,
    /// The fingerprint of the document.
    pub fingerprint: Fingerprint,
    /// The number of bits in which the fingerprints differ; None if the recipe takes no texts.
    pub distance: Option<u32>,
    /// The similarity of the texts.
    pub resemblance: Resemblance,
    /// "same", "a_in_b", "b_in_a" or "same_body": a is the text of the query, b the text of this
    /// document. None if the thresholds alone decided.
    pub verdict: Option<String>,
    /// The words of the query that this document lacks, with their weights in nats.
    pub missing_in_b: Vec<(String, f64)>,
    /// The words of this document that the query lacks, with their weights in nats.
    pub missing_in_a: Vec<(String, f64)>,
    /// The key of this document; None in a database without keys.
    pub key: Option<String>,
}

#[pymethods]
impl Similar {
    #[new]
    #[pyo3(signature = (
        id, fingerprint, distance, resemblance, verdict, missing_in_b, missing_in_a, key=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "the fields of the class")]
    fn new(
        id: u64,
        fingerprint: Fingerprint,
        distance: Option<u32>,
        resemblance: Resemblance,
        verdict: Option<String>,
        missing_in_b: Vec<(String, f64)>,
        missing_in_a: Vec<(String, f64)>,
        key: Option<String>,
    ) -> Self {
        Self {
            id,
            fingerprint,
            distance,
            resemblance,
            verdict,
            missing_in_b,
            missing_in_a,
            key,
        }
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (
            self.id,
            self.fingerprint,
            self.distance,
            self.resemblance.clone(),
            &self.verdict,
            &self.missing_in_b,
            &self.missing_in_a,
            &self.key,
        )
            .into_pyobject(py)
    }

    pub fn __repr__(&self) -> String {
        let verdict = (self.verdict.as_ref()).map_or("None".to_owned(), |name| format!("'{name}'"));
        let distance = self
            .distance
            .map_or("None".to_owned(), |bits| bits.to_string());
        format!(
            "Similar(id={}, verdict={verdict}, distance={distance}, edit_similarity={}, \
             jaccard={:.3}{})",
            self.id,
            number_or_none(self.resemblance.edit_similarity),
            self.resemblance.jaccard,
            shown_key(&self.key)
        )
    }
}

impl Similar {
    pub fn of(found: simdb::Similar, key: Option<String>) -> Self {
        let verdict = found.verdict().map(|verdict| verdict.name().to_owned());
        let (missing_in_b, missing_in_a) =
            found.containment.map_or_else(Default::default, |found| {
                (words(found.missing_in_b), words(found.missing_in_a))
            });
        Self {
            id: found.id.0,
            fingerprint: found.fingerprint.into(),
            distance: found.distance,
            resemblance: found.resemblance.into(),
            verdict,
            missing_in_b,
            missing_in_a,
            key,
        }
    }
}

/// The words and their weights.
pub fn words(missing: Vec<Missing>) -> Vec<(String, f64)> {
    missing
        .into_iter()
        .map(|missing| (missing.word, missing.weight))
        .collect()
}
