//! The public types with methods. Each combines the modules below it. [`unique_load`] decides the
//! documents of a load in memory, with the deduplicators of `ingest`.

pub(crate) mod builder;
pub(crate) mod bulk_load;
pub(crate) mod clusters;
pub(crate) mod copies;
pub(crate) mod database;
mod documents;
pub(crate) mod pairs;
pub(crate) mod similar_join;
pub(crate) mod snapshot;
pub(crate) mod transaction;
pub(crate) mod unique_load;
