//! [`Changes`]: the changes that a transaction brings to the caches.

use crate::ids::DocId;
use crate::store::cache::Caches;
use crate::store::cache::buckets::BlockChanges;
use crate::store::cache::nodes::node_of;
use crate::store::tables::packed::Op;

/// At most 1 Mi changes for each cache are collected, 8 to 16 MiB. A transaction with more empties
/// the cache.
const MAX_CHANGES: usize = 1 << 20;

/// The changes that a transaction brings to each cache; `None` if any cached value may have
/// changed, as by default.
#[derive(Default)]
pub(crate) struct Changes {
    /// Blocks, each with rotated fingerprints in order.
    pub(super) buckets: Option<Vec<BlockChanges>>,
    /// The nodes of changed text keys.
    pub(super) nodes: Option<Vec<u32>>,
    /// The stored documents that the transaction edits.
    pub(super) documents: Option<Vec<DocId>>,
    bucket_changes: usize,
    max_bucket_changes: usize,
}

impl Changes {
    /// No changes yet.
    pub(crate) fn none(caches: &Caches) -> Self {
        // No more bytes than the cache of buckets holds.
        let capacity = caches.buckets.capacity_bytes() / size_of::<(u64, Op)>() as u64;
        Self {
            buckets: Some(Vec::new()),
            nodes: Some(Vec::new()),
            documents: Some(Vec::new()),
            bucket_changes: 0,
            max_bucket_changes: MAX_CHANGES.min(usize::try_from(capacity).unwrap_or(MAX_CHANGES)),
        }
    }

    /// Adds changed fingerprints of a block, rotated and in order.
    pub(crate) fn add_fingerprints(&mut self, block: usize, changes: &[(u64, Op)]) {
        self.bucket_changes += changes.len();
        let is_known = self.bucket_changes <= self.max_bucket_changes;
        self.buckets = self.buckets.take().filter(|_| is_known);
        if let Some(buckets) = &mut self.buckets {
            buckets.push((block, changes.to_vec()));
        }
    }

    /// Adds the node of a text key. Ascending keys of one node are added once.
    pub(crate) fn add_text_key(&mut self, key: u64) {
        if let Some(nodes) = &mut self.nodes
            && let Some(node) = node_of(key)
            && nodes.last() != Some(&node)
        {
            nodes.push(node);
            self.nodes.take_if(|nodes| nodes.len() > MAX_CHANGES);
        }
    }

    /// Adds stored documents that are edited.
    pub(crate) fn add_documents(&mut self, ids: impl Iterator<Item = DocId>) {
        if let Some(documents) = &mut self.documents {
            documents.extend(ids);
            self.documents
                .take_if(|documents| documents.len() > MAX_CHANGES);
        }
    }

    /// Adds changes of any documents, whose keys are added by [`add_text_key`](Self::add_text_key).
    pub(crate) fn add_any_documents(&mut self) {
        self.documents = None;
    }

    /// Adds changes of any values.
    pub(crate) fn add_any(&mut self) {
        *self = Self::default();
    }
}
