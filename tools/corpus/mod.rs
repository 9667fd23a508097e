//! A corpus: documents read from files, in order, and the outcome of each record.
//!
//! - [`inputs`]: the files to read
//! - [`stream_copies`]: copies of standard input and pipes, for inputs that are read more than once
//! - [`pipeline`]: from inputs to documents, in order
//! - [`filled_fields`]: the optional fields that have a value in some record
//! - [`bulk`]: from documents to a database
//! - [`memory`]: the shares of `--memory`
//! - [`records`]: the records of inputs, on one thread
//! - [`blocks`]: the lines or paragraphs of a text
//! - [`repeated_blocks`], [`block_counter`]: the blocks that several documents have
//! - [`uncompared`]: the repeated paragraphs and the frames that are left out of texts
//! - [`frames`]: how frames are learned
//! - [`statistics`], [`report`]: the outcomes of the records
//! - [`positions`]: the location of each record in its input
//! - [`input_fingerprint`]: the detection of inputs that change between two readings

pub mod block_counter;
pub mod blocks;
pub mod bulk;
pub mod filled_fields;
pub mod frames;
pub mod input_fingerprint;
pub mod inputs;
pub mod memory;
pub mod pipeline;
mod positions;
pub mod records;
pub mod repeated_blocks;
pub mod report;
pub mod statistics;
pub mod stream_copies;
pub mod uncompared;
