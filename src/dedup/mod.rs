//! Indexes in memory of the texts of a load or of a join.
//!
//! | folder | responsibility |
//! |---|---|
//! | `text_index/` | the texts that are like a text |
//! | `quotations/` | the texts that may quote a shorter text |
//!
//! This folder touches no file, and its answers depend on the texts and on their order alone.

pub(crate) mod quotations;
pub(crate) mod text_index;
