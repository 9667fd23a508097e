//! [`Caches`]: parts of the tables of an open file in memory, in a form that a query reads faster.
//!
//! - [`buckets`]: the distinct fingerprints of each block key.
//! - [`nodes`]: the entries of each node, by text keys.
//! - [`wordings`]: the sketch and the packed wording of each text.
//!
//! All snapshots share the caches. [`commit_stamps`] has the rule by which a cached value is valid
//! for a snapshot. This folder uses the tables for the types of their entries, and reads no table.

pub(crate) mod buckets;
pub(crate) mod changes;
mod clock;
mod commit_stamps;
mod dense_places;
pub(crate) mod nodes;
mod packed_bucket;
pub(crate) mod wordings;

use std::sync::atomic::{AtomicU64, Ordering};

use buckets::BucketCache;
use changes::Changes;
use nodes::NodeCache;
use wordings::WordingCache;

/// The caches of one file.
pub(crate) struct Caches {
    pub(crate) buckets: BucketCache,
    /// `None` if the database keeps no text keys.
    pub(crate) nodes: Option<NodeCache>,
    /// `None` if the database keeps no text keys.
    pub(crate) wordings: Option<WordingCache>,
}

impl Caches {
    /// Empty caches of at most `bytes`. `texts` is the number of texts in a database that keeps
    /// text keys.
    pub(crate) fn new(bytes: usize, max_bucket_len: usize, texts: Option<u64>) -> Self {
        let Some(texts) = texts else {
            return Self {
                buckets: BucketCache::new(bytes as u64, max_bucket_len),
                nodes: None,
                wordings: None,
            };
        };
        let shares = Shares::new(bytes, texts);
        Self {
            buckets: BucketCache::new(shares.buckets as u64, max_bucket_len),
            nodes: Some(NodeCache::new(shares.nodes as u64)),
            wordings: Some(WordingCache::new(shares.wordings, texts)),
        }
    }

    /// Applies the changes of a commit. Must be called before a snapshot can see the commit.
    pub(crate) fn apply(&self, changes: &Changes, commit: u64) {
        self.buckets.apply(changes.buckets.as_deref(), commit);
        if let Some(nodes) = &self.nodes {
            nodes.apply(changes.nodes.as_deref(), commit);
        }
        if let Some(wordings) = &self.wordings {
            wordings.apply(changes.documents.as_deref(), commit);
        }
    }

    pub(crate) fn misses(&self) -> CacheMisses {
        let count = |misses: &AtomicU64| misses.load(Ordering::Relaxed);
        let (nodes, wordings) = (&self.nodes, &self.wordings);
        CacheMisses {
            buckets: count(&self.buckets.misses),
            nodes: nodes.as_ref().map_or(0, |nodes| count(&nodes.misses)),
            wordings: (wordings.as_ref()).map_or(0, |wordings| count(&wordings.misses)),
        }
    }

    pub(crate) fn clear(&self) {
        self.buckets.clear();
        self.nodes.iter().for_each(NodeCache::clear);
        self.wordings.iter().for_each(WordingCache::clear);
    }
}

/// Reads of a database that its cache did not answer, since the database was opened.
///
/// Reads that the cache answers are not counted: a count of all threads would cost a query a share
/// of its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheMisses {
    /// Buckets of fingerprints with one block key.
    pub buckets: u64,
    /// Nodes of the forest, which similar search walks.
    pub nodes: u64,
    /// Texts that similar search compared.
    pub wordings: u64,
}

/// The bytes of each cache in a database with text keys.
struct Shares {
    buckets: usize,
    nodes: usize,
    wordings: usize,
}

impl Shares {
    /// The sketch of a text of one line and its wording take some 250 bytes, its entries in nodes
    /// some 200, its fingerprint in buckets 26.
    const WORDING_BYTES: usize = 250;

    /// Nodes and wordings have equal shares, unless the wordings of all texts do not fit.
    fn new(bytes: usize, texts: u64) -> Self {
        let sixteenth = bytes / 16;
        // A search reads dozens of nodes, and among ten million texts thousands of wordings. Each
        // wording that is not in memory costs some microseconds.
        let wanted = usize::try_from(texts).unwrap_or(usize::MAX);
        let wanted = wanted.saturating_mul(Self::WORDING_BYTES);
        let wordings = wanted.clamp(7 * sixteenth, 13 * sixteenth);
        Self {
            buckets: 2 * sixteenth,
            nodes: 14 * sixteenth - wordings,
            wordings,
        }
    }
}
