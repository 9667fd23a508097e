//! A corpus: documents out of files, in their order, and the outcome of each record.
//!
//! - [`inputs()`]: the files that are read
//! - [`pipeline`]: inputs to documents, in order
//! - [`bulk`]: documents to a database, all at once
//! - [`memory`]: the division of the memory
//! - [`statistics`], [`report`]: the outcomes of the records
//! - [`positions`]: the location of each record in its input
//! - [`input_fingerprint`]: refuses inputs that change between two readings

pub mod bulk;
pub mod input_fingerprint;
pub mod inputs;
pub mod memory;
pub mod pipeline;
mod positions;
pub mod report;
pub mod statistics;

pub use self::inputs::inputs;
