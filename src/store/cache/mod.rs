//! The caches of an open file: parts of the tables in memory, in a form that a query reads faster.
//!
//! - [`buckets`]: the distinct fingerprints of each block key.
//! - [`nodes`]: the entries of each node on the first level of the forest.
//! - [`wordings`]: the sketch and the packed wording of each text.
//!
//! All snapshots share the caches. A cached value has the number of the commit from which it was read, and the
//! caches know the last commit that changed each value, so no snapshot gets a value of another commit.
//! This folder uses the tables for the types of their entries, and reads no table.

pub(crate) mod buckets;
mod clock;
mod dense_places;
mod last_changes;
pub(crate) mod nodes;
mod packed_bucket;
pub(crate) mod wordings;
