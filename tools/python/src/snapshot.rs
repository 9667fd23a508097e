//! The class `Snapshot`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::source::Source;

/// The database as of one commit. Later changes do not affect the answers.
///
/// While a snapshot lives, the file does not reuse the pages that it reads. To close the database
/// closes its snapshots.
#[pyclass(frozen, module = "simdb")]
pub struct Snapshot(pub Source);

#[pymethods]
impl Snapshot {
    fn __repr__(&self) -> String {
        let path = self.0.shared.settings().path();
        format!("<simdb.Snapshot of {:?}>", path.display().to_string())
    }

    /// Releases the pages of the snapshot. Later calls raise ClosedError.
    fn close(&self) {
        if let Some(snapshot) = &self.0.snapshot {
            snapshot.close();
        }
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }
}
