//! The functions that rewrite a database file that is not open: `vacuum` and `salvage`.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{memory_bytes_of, retention_of};
use crate::interruptible::run;
use crate::recipe::{RecipeArgument, recipe_of};
use crate::settings::builder_of;

/// Rewrites a database without free space. No process may have it open. The old file stays until
/// the new one is complete, durable and verified.
///
/// Returns the lengths of both files: before_bytes and after_bytes.
#[pyfunction]
#[pyo3(signature = (path, *, progress=None))]
pub fn vacuum(
    py: Python<'_>,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'_, PyDict>> {
    let found = run(py, progress, || Ok(builder_of(None, None).vacuum(path)?))?;
    let shown = PyDict::new(py);
    shown.set_item("before_bytes", found.before_bytes)?;
    shown.set_item("after_bytes", found.after_bytes)?;
    Ok(shown)
}

/// Writes everything that can be read of a damaged database into a new one. The damaged file is not
/// changed, and target appears when it is complete and durable.
///
/// The new database has the settings of the damaged database. If they cannot be read, recipe must
/// be given: the new database then has the settings given here (see simdb.open), and those that the
/// readable parts show. Returns the number of documents saved, what was lost, and a sentence for
/// each part that could not be read (damage).
#[pyfunction]
#[pyo3(signature = (
    damaged, target, *, recipe=None, keep_texts=false, similar=false, retention=None,
    memory_bytes=256 << 20, progress=None,
), text_signature = "(damaged, target, *, recipe=None, keep_texts=False, similar=False, retention=None, \
    memory_bytes=268435456, progress=None)")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn salvage<'py>(
    py: Python<'py>,
    damaged: PathBuf,
    target: PathBuf,
    recipe: Option<RecipeArgument<'_>>,
    keep_texts: bool,
    similar: bool,
    #[pyo3(from_py_with = retention_of)] retention: Option<Duration>,
    #[pyo3(from_py_with = memory_bytes_of)] memory_bytes: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let recipe = recipe_of(py, recipe)?;
    let found = run(py, progress, || {
        let builder = builder_of(recipe, retention)
            .keep_texts(keep_texts)
            .similar(similar);
        Ok(builder.salvage(damaged, target, memory_bytes)?)
    })?;
    let lost_ids: Vec<u64> = found.lost_ids.iter().map(|id| id.0).collect();
    let shown = PyDict::new(py);
    shown.set_item("documents", found.documents)?;
    shown.set_item("from_one_table", found.from_one_table)?;
    shown.set_item("from_text", found.from_text)?;
    shown.set_item("ambiguous", found.ambiguous)?;
    shown.set_item("without_fingerprint", found.without_fingerprint)?;
    shown.set_item("lost_ids", lost_ids)?;
    shown.set_item("without_text", found.without_text)?;
    shown.set_item("without_arrival", found.without_arrival)?;
    shown.set_item("without_key", found.without_key)?;
    shown.set_item("damage", &found.damage)?;
    Ok(shown)
}
