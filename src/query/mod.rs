//! Queries: from a fingerprint and a radius to matches in order.
//!
//! Every query by fingerprint answers exactly as a comparison with every stored fingerprint would.
//! `candidates` finds the fingerprints within a radius, `documents` the documents of fingerprints.
//! `single` answers one query by fingerprint, `batch` many at once (sorted in `queries_by_key`),
//! `similar` a `text_query`. `pairs` and `clusters` compare all fingerprints with each other,
//! `join` all texts.
//!
//! This folder reads a `View` of `store` and writes nothing. `limits` has the sizes that bound the
//! memory of long queries.

mod batch;
mod candidates;
mod clusters;
mod documents;
#[cfg(test)]
mod fixtures;
mod join;
mod limits;
mod pairs;
mod queries_by_key;
mod similar;
mod single;
mod text_query;

pub(crate) use batch::within_batch;
pub use clusters::{Cluster, Clustering, ClustersEvent, Keep, Member, Shape};
pub(crate) use clusters::{Priority, clusters};
pub use join::{Checkpoints, Groups, JoinCheckpoint, SimilarJoin, SimilarPair, SimilarPairsEvent};
pub(crate) use join::{similar_clusters, similar_pairs};
pub(crate) use limits::QueryLimits;
pub(crate) use pairs::pairs;
pub use pairs::{Pair, PairsEvent};
pub use similar::Similar;
pub(crate) use similar::{first_similar, similar, similar_in_overlay, similar_sequential};
pub(crate) use single::{nearest, within};
pub use text_query::TextQuery;
