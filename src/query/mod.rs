//! Queries: from a fingerprint and a radius to matches in order.
//!
//! Every query by fingerprint answers exactly as a comparison with every stored fingerprint would.
//! `candidates` finds fingerprints by probing or scanning, `documents` their documents; `single`
//! answers one query, `batch` many at once, `similar` the query for a text; `pairs` and `clusters`
//! compare all documents with each other.

mod batch;
mod candidates;
mod clusters;
mod documents;
#[cfg(test)]
mod fixtures;
mod limits;
mod pairs;
mod similar;
mod single;

pub(crate) use batch::within_batch;
pub use clusters::{Cluster, Clustering, ClustersEvent, Keep, Member, Shape};
pub(crate) use clusters::{Priority, clusters};
pub(crate) use limits::QueryLimits;
pub(crate) use pairs::pairs;
pub use pairs::{Pair, PairsEvent};
pub use similar::{Similar, TextQuery};
pub(crate) use similar::{similar, similar_in_overlay, similar_in_turn};
pub(crate) use single::{nearest, within};
