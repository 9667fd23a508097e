//! Other indexes for queries within a radius.

pub mod gaoya_index;
pub mod multi_index;
pub mod row_per_entry;
pub mod variants;
