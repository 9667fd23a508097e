//! Fingerprints of texts, without a database.

use numpy::PyArray1;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::error::Failure;
use crate::fingerprint::Fingerprint;
use crate::interruptible::{call, check, pool, run};
use crate::recipe::{Recipe, RecipeArgument};
use crate::texts::{Text, Texts, array_of};

/// A recipe with its tables loaded. All threads can share a fingerprinter.
#[pyclass(frozen, module = "simdb")]
pub struct Fingerprinter(simdb::Fingerprinter);

/// A feature: token, weight, and the hash that votes.
type Feature = (String, f64, u64);
/// Fingerprints, and the flags of their reliability.
type Arrays = (Py<PyArray1<u64>>, Py<PyArray1<bool>>);

#[pymethods]
impl Fingerprinter {
    #[new]
    #[pyo3(signature = (recipe=None))]
    fn new(py: Python<'_>, recipe: Option<RecipeArgument<'_>>) -> PyResult<Self> {
        let recipe = recipe.map(RecipeArgument::into_recipe).transpose();
        call(py, || {
            let recipe = recipe?.unwrap_or_default();
            Ok(Self(simdb::Fingerprinter::new(recipe)))
        })
    }

    /// The recipe of this fingerprinter.
    #[getter]
    fn recipe(&self) -> Recipe {
        Recipe(self.0.recipe().clone())
    }

    /// The fingerprint of a text.
    fn fingerprint(&self, py: Python<'_>, text: Text) -> PyResult<Fingerprint> {
        call(py, || Ok(self.0.fingerprint(&text)?.fingerprint.into()))
    }

    /// The fingerprint of a text of 128 bits.
    fn fingerprint128(&self, py: Python<'_>, text: Text) -> PyResult<u128> {
        call(py, || Ok(self.0.fingerprint128(&text)?.bits()))
    }

    /// The reason why the fingerprint of a text is not reliable, as a sentence; None if it is.
    fn unreliable_reason(&self, py: Python<'_>, text: Text) -> PyResult<Option<String>> {
        call(py, || {
            let reason = self.0.unreliable_reason(&text)?;
            Ok(reason.map(|reason| reason.to_string()))
        })
    }

    /// The fingerprints of many texts, on all cores: a NumPy array of uint64, and one of bool that
    /// is True where the fingerprint is reliable. The texts are a list, a NumPy array or an Arrow
    /// array of strings. The strings of an Arrow array are not copied.
    ///
    /// progress is a progress bar of tqdm, or a function of (stage, done, total).
    #[pyo3(signature = (texts, *, progress=None))]
    fn fingerprints(
        &self,
        py: Python<'_>,
        texts: Texts,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Arrays> {
        let borrowed = texts.borrow(py)?;
        let (bits, reliable) = run(py, progress, || self.make_all(&borrowed))?;
        Ok((array_of(py, bits), array_of(py, reliable)))
    }

    /// The features of a text, heaviest first: tokens, weights, and the hashes that vote.
    fn features(&self, py: Python<'_>, text: Text) -> PyResult<Vec<Feature>> {
        call(py, || {
            let features = self.0.features(&text)?.into_iter();
            Ok(features
                .map(|feature| (feature.token, feature.weight, feature.hash))
                .collect())
        })
    }

    /// The fingerprint of tokens with given weights.
    fn fingerprint_tokens(
        &self,
        py: Python<'_>,
        tokens: Vec<(String, f64)>,
    ) -> PyResult<Fingerprint> {
        call(py, || {
            Ok(self.0.fingerprint_tokens(&tokens)?.fingerprint.into())
        })
    }

    /// The text in the form that the recipe compares.
    fn normalise(&self, py: Python<'_>, text: Text) -> PyResult<String> {
        call(py, || Ok(self.0.normalise(&text)))
    }

    fn __repr__(&self) -> String {
        format!("Fingerprinter('{}')", self.0.recipe().name())
    }
}

impl Fingerprinter {
    fn make_all(&self, texts: &[&str]) -> Result<(Vec<u64>, Vec<bool>), Failure> {
        let total = texts.len() as u64;
        let (mut bits, mut reliable) = (Vec::new(), Vec::new());
        bits.reserve_exact(texts.len());
        reliable.reserve_exact(texts.len());
        let pool = pool();
        let mut rest = texts;
        while !rest.is_empty() {
            check("fingerprinting", bits.len() as u64, Some(total))?;
            let (part, others) = rest.split_at(part_length(rest.iter().map(|text| text.len())));
            rest = others;
            let made: Result<Vec<_>, _> = pool.install(|| {
                part.par_iter()
                    .with_min_len(16)
                    .map(|text| self.0.fingerprint(text))
                    .collect()
            });
            for made in made? {
                bits.push(made.fingerprint.bits());
                reliable.push(made.reliable);
            }
        }
        check("fingerprinting", total, Some(total))?;
        Ok((bits, reliable))
    }
}

/// Texts between two checks for signals, some milliseconds.
const TEXTS_PER_PART: usize = 8192;
/// Bytes of texts between two checks for signals.
const BYTES_PER_PART: usize = 1 << 20;

/// The number of texts of these lengths, at least one, that are worked on between two checks for
/// signals.
pub fn part_length(lengths: impl Iterator<Item = usize>) -> usize {
    let mut bytes = 0;
    let fitting = lengths.take(TEXTS_PER_PART).take_while(|length| {
        bytes += length;
        bytes <= BYTES_PER_PART
    });
    fitting.count().max(1)
}
