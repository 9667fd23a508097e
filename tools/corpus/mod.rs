//! A corpus: documents out of files, in their order, and what becomes of each record.
//!
//! - [`inputs()`]: what is read
//! - [`pipeline`]: inputs to documents, in order
//! - [`bulk`]: documents to a database, all at once
//! - [`ledger`], [`places`], [`report`]: what became of every record, and where it was
//! - [`clashes`]: refuses reports that would replace what is read or made
//! - [`unchanged`]: refuses inputs that change between two readings

pub mod bulk;
pub mod clashes;
pub mod inputs;
pub mod ledger;
pub mod pipeline;
pub mod places;
pub mod report;
pub mod unchanged;

pub use self::inputs::inputs;
use self::pipeline::PIPELINE_BYTES;

/// Of the memory that is left beside the pipeline, half goes to the cache of the storage engine,
/// half to what waits to be written.
pub fn half_of(memory_bytes: u64) -> u64 {
    memory_bytes
        .saturating_sub(PIPELINE_BYTES)
        .max(memory_bytes / 4)
        / 2
}
