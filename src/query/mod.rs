//! Fingerprint and radius to probes, candidates, and matches in order.
//!
//! Everything here answers exactly what comparing with every stored fingerprint would answer.

mod ahead;
mod batch;
mod candidates;
mod clusters;
mod documents;
#[cfg(test)]
mod fixtures;
mod limits;
mod paged;
mod pairs;
mod similar;
mod single;

pub(crate) use ahead::nearest_of_each;
pub(crate) use batch::within_batch;
pub use clusters::{Cluster, Clustering, ClustersEvent, Keep, Member, Shape};
pub(crate) use clusters::{Priority, clusters};
pub(crate) use limits::QueryLimits;
pub(crate) use pairs::pairs;
pub use pairs::{Pair, PairsEvent};
pub(crate) use similar::{MOST_NEAR, similar, similar_in_turn};
pub use similar::{Similar, TextQuery};
pub(crate) use single::{nearest, within};
