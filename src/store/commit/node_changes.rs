//! [`NodeChanges`]: the nodes of the forest that a transaction changes.

use crate::forest::{FIRST_LEVELS, first_level};
use crate::store::cache::nodes::NodeCache;

/// At most 1 Mi changed nodes, 4 MiB, are collected. A transaction with more invalidates the whole cache.
const MAX_CHANGES: usize = 1 << 20;

/// The nodes that a transaction changes, by the first levels of their keys.
#[derive(Default)]
pub(super) struct NodeChanges {
    first_levels: Vec<u32>,
    /// Any node may have changed.
    is_unknown: bool,
}

impl NodeChanges {
    /// Adds the node of a key. Ascending keys of one node are added once.
    pub(super) fn add(&mut self, key: u64) {
        let first_level = first_level(key);
        // The keys of wordings are in no tree.
        if self.is_unknown || first_level >= FIRST_LEVELS as u64 {
            return;
        }
        if self.first_levels.last() != Some(&(first_level as u32)) {
            self.first_levels.push(first_level as u32);
        }
        if self.first_levels.len() > MAX_CHANGES {
            self.add_unknown();
        }
    }

    /// Adds the changes of another list.
    pub(super) fn add_all(&mut self, other: Self) {
        self.first_levels.extend(other.first_levels);
        if self.is_unknown || other.is_unknown || self.first_levels.len() > MAX_CHANGES {
            self.add_unknown();
        }
    }

    /// Adds changes of any nodes.
    pub(super) fn add_unknown(&mut self) {
        *self = Self {
            first_levels: Vec::new(),
            is_unknown: true,
        };
    }

    /// Updates the cache for a commit that is about to be made.
    pub(super) fn apply(&self, nodes: &NodeCache, commit: u64) {
        if self.is_unknown {
            nodes.invalidate_all(commit);
        }
        nodes.apply_changes(&self.first_levels, commit);
    }
}
