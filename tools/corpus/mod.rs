//! A corpus: documents read from files, in order, and the outcome of each record.
//!
//! - [`inputs`]: the files to read
//! - [`pipeline`]: from inputs to documents, in order
//! - [`bulk`]: from documents to a database
//! - [`memory`]: the shares of `--memory`
//! - [`statistics`], [`report`]: the outcomes of the records
//! - [`positions`]: the location of each record in its input
//! - [`input_fingerprint`]: the detection of inputs that change between two readings

pub mod bulk;
pub mod input_fingerprint;
pub mod inputs;
pub mod memory;
pub mod pipeline;
mod positions;
pub mod report;
pub mod statistics;
