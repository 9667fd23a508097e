//! Fingerprint and radius to probes, candidates, and matches in order.
//!
//! Everything here answers exactly what comparing with every stored fingerprint would answer.

mod batch;
mod candidates;
mod clusters;
mod documents;
mod limits;
mod pairs;
mod similar;
mod single;
#[cfg(test)]
mod spreads;

pub(crate) use batch::within_batch;
pub use clusters::{Cluster, Clustering, ClustersEvent, Keep, Member, Shape};
pub(crate) use clusters::{Priority, clusters};
pub(crate) use pairs::pairs;
pub use pairs::{Pair, PairsEvent};
pub use similar::{Similar, TextQuery};
pub(crate) use similar::{similar, similar_in_overlay, similar_in_turn};
pub(crate) use single::{nearest, within};
