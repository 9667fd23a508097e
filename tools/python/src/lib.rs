//! The extension module `simdb._simdb` of the Python package simdb.
//!
//! Each file is one part of the API. The Python package re-exports all names, and adds what is
//! easier in Python: the errors, the deduplication of data sets, the façade of datasketch.
//!
//! All work of the library runs through [`interruptible::run`], which releases the interpreter
//! lock, and turns errors and panics into exceptions.

mod arguments;
mod arrivals;
mod changes;
mod comparison;
mod copies;
mod corpus;
mod database;
mod deduplicator;
mod documents;
mod error;
mod fingerprint;
mod fingerprinter;
mod frames;
mod interpreter_exit;
mod interruptible;
mod json;
mod load;
mod maintenance;
mod matches;
mod numbers;
mod outcome;
mod queries;
mod recipe;
mod records;
mod repr;
mod settings;
mod shared_database;
mod snapshot;
mod source;
mod statistics;
mod table;
mod texts;
mod utf8;
mod write_batch;

use pyo3::prelude::*;

#[pymodule]
mod _simdb {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::comparison::{Comparison, Explanation, compare, explain};
    #[pymodule_export]
    use crate::copies::{Copies, Sighting};
    #[pymodule_export]
    use crate::corpus::{find_removals, load_texts};
    #[pymodule_export]
    use crate::database::{Database, open};
    #[pymodule_export]
    use crate::deduplicator::{Deduplicator, removal_table, similar_pairs};
    #[pymodule_export]
    use crate::documents::{Document, DocumentIterator, IdIterator};
    #[pymodule_export]
    use crate::fingerprint::Fingerprint;
    #[pymodule_export]
    use crate::fingerprinter::Fingerprinter;
    #[pymodule_export]
    use crate::frames::frames;
    #[pymodule_export]
    use crate::load::{BulkReport, bulk_load};
    #[pymodule_export]
    use crate::maintenance::{salvage, vacuum};
    #[pymodule_export]
    use crate::matches::{Match, Resemblance, Similar};
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::recipe::{Recipe, recipes};
    #[pymodule_export]
    use crate::settings::Settings;
    #[pymodule_export]
    use crate::snapshot::Snapshot;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::write_batch::WriteBatch;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // An import within a call might be cut by the exit of the interpreter.
        module.py().import("json")?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
