//! The statistics and the diagnosis of a database, as dictionaries.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use simdb::diagnosis::Diagnosis;
use simdb::maintenance::Stats;

use crate::fingerprint::Fingerprint;

/// The counts and sizes of a database.
pub fn stats<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    shown.set_item("documents", stats.documents)?;
    shown.set_item("expired", stats.expired)?;
    shown.set_item("distinct_fingerprints", stats.distinct_fingerprints)?;
    shown.set_item("unreliable", stats.unreliable)?;
    shown.set_item("texts", stats.texts)?;
    shown.set_item("oldest_arrival", stats.oldest_arrival.map(|time| time.0))?;
    shown.set_item("latest_arrival", stats.latest_arrival.map(|time| time.0))?;
    shown.set_item("unmerged_changes", stats.unmerged_changes)?;
    shown.set_item("file_bytes", stats.file_bytes)?;
    shown.set_item("packed_bytes", stats.packed_bytes)?;
    let tables = PyDict::new(py);
    for table in &stats.tables {
        let of_table = PyDict::new(py);
        of_table.set_item("entries", table.entries)?;
        of_table.set_item("chunks", table.chunks)?;
        of_table.set_item("fill", table.fill)?;
        tables.set_item(table.name, of_table)?;
    }
    shown.set_item("tables", tables)?;
    Ok(shown)
}

/// The distribution of fingerprints, which decides the cost of queries.
pub fn diagnosis<'py>(py: Python<'py>, found: &Diagnosis) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    shown.set_item("documents", found.documents)?;
    shown.set_item("distinct_fingerprints", found.distinct_fingerprints)?;
    shown.set_item("unreliable", found.unreliable)?;
    shown.set_item("unmerged_changes", found.unmerged_changes)?;
    shown.set_item("ones", found.ones().to_vec())?;
    let hottest = (found.blocks.iter()).map(|block| -> PyResult<Vec<_>> {
        (block.hottest.iter())
            .map(|hot| {
                let key = PyDict::new(py);
                key.set_item("key", hot.key)?;
                key.set_item("distinct_fingerprints", hot.distinct_fingerprints)?;
                key.set_item("documents", hot.documents)?;
                let samples: Vec<u64> = hot.samples.iter().map(|id| id.0).collect();
                key.set_item("samples", samples)?;
                Ok(key)
            })
            .collect()
    });
    shown.set_item("hottest_keys", hottest.collect::<PyResult<Vec<_>>>()?)?;
    shown.set_item("duplicate_groups", found.duplicates.groups)?;
    shown.set_item("duplicate_documents", found.duplicates.documents)?;
    let largest = (found.duplicates.largest.iter()).map(|group| {
        let samples: Vec<u64> = group.samples.iter().map(|id| id.0).collect();
        let shown = PyDict::new(py);
        shown.set_item("fingerprint", Fingerprint::from(group.fingerprint))?;
        shown.set_item("documents", group.documents)?;
        shown.set_item("samples", samples)?;
        Ok(shown)
    });
    shown.set_item("largest_groups", largest.collect::<PyResult<Vec<_>>>()?)?;
    Ok(shown)
}
