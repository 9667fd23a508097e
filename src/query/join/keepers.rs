//! [`Keepers`]: the node that covers each node.
//!
//! Nodes are decided in their order. A node is removed if a kept node before it covers it, and kept
//! otherwise. So a kept node covers each removed node directly: a chain of nodes, each of which
//! loses a little, removes nothing.

use super::NONE;
use crate::error::Result;

/// The keeper of each node. A kept node has itself, an undecided node [`NONE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keepers(Vec<u32>);

impl FromIterator<u32> for Keepers {
    fn from_iter<I: IntoIterator<Item = u32>>(keepers: I) -> Self {
        Self(keepers.into_iter().collect())
    }
}

/// A search for nodes that contain others.
pub(super) trait Containers {
    /// Finds, for each of these nodes, a node before it that contains it and that `accepts`
    /// accepts.
    fn find(
        &self,
        nodes: &[u32],
        accepts: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Vec<Option<u32>>>;
}

impl Keepers {
    pub(super) fn new(len: usize) -> Self {
        Self(vec![NONE; len])
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        &self.0
    }

    pub(super) fn of(&self, node: u32) -> u32 {
        self.0[node as usize]
    }

    pub(super) fn is_kept(&self, node: u32) -> bool {
        self.of(node) == node
    }

    pub(super) fn is_undecided(&self, node: u32) -> bool {
        self.of(node) == NONE
    }

    /// Decides undecided nodes, which ascend. A container of a node is one of these nodes or a
    /// decided node.
    ///
    /// All nodes are searched in parallel, before it is known which of them are kept.
    pub(super) fn decide(&mut self, nodes: &[u32], containers: &impl Containers) -> Result<()> {
        let may_be_kept = |node| self.is_kept(node) || self.is_undecided(node);
        let mut found = search(nodes, containers, may_be_kept)?;
        // If the container of a node is removed, another container is searched in the next round.
        // Each round decides at least its first node, because all nodes before that node are
        // decided.
        while !found.is_empty() {
            let mut again = Vec::new();
            found.retain(|(node, container)| {
                let keeper = container.map_or(*node, |container| self.of(container));
                let is_decided = container.is_none() || Some(keeper) == *container;
                if is_decided {
                    self.0[*node as usize] = keeper;
                } else if keeper != NONE {
                    again.push(*node);
                }
                keeper == NONE
            });
            let may_be_kept = |node| self.is_kept(node) || self.is_undecided(node);
            found.extend(search(&again, containers, may_be_kept)?);
            found.sort_unstable();
        }
        Ok(())
    }

    /// Removes the undecided nodes that kept nodes contain.
    pub(super) fn remove_contained(
        &mut self,
        nodes: &[u32],
        containers: &impl Containers,
    ) -> Result<()> {
        for (node, container) in search(nodes, containers, |node| self.is_kept(node))? {
            if let Some(container) = container {
                self.0[node as usize] = container;
            }
        }
        Ok(())
    }
}

/// A container of each node, among the nodes before it that `accepts` accepts.
fn search(
    nodes: &[u32],
    containers: &impl Containers,
    accepts: impl Fn(u32) -> bool + Sync,
) -> Result<Vec<(u32, Option<u32>)>> {
    let found = containers.find(nodes, &accepts)?;
    Ok(nodes.iter().copied().zip(found).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any container of a node, chosen by a number.
    struct Any {
        containers: Vec<Vec<u32>>,
        choice: usize,
    }

    impl Containers for Any {
        fn find(
            &self,
            nodes: &[u32],
            accepts: &(dyn Fn(u32) -> bool + Sync),
        ) -> Result<Vec<Option<u32>>> {
            let find = |node: &u32| {
                let all = self.containers[*node as usize].iter().copied();
                let all: Vec<u32> = all
                    .filter(|other| accepts(*other) && other < node)
                    .collect();
                (!all.is_empty()).then(|| all[self.choice % all.len()])
            };
            Ok(nodes.iter().map(find).collect())
        }
    }

    proptest! {
        #[test]
        fn kept_are_those_that_the_plain_rule_keeps(
            edges in proptest::collection::vec((0..60_u32, 0..60_u32), 0..200),
            choice in 0..7_usize,
            split in 0..60_u32,
            batch in 1..60_usize,
        ) {
            let mut containers = vec![Vec::new(); 60];
            for (a, b) in edges {
                containers[a.max(b) as usize].push(a.min(b));
            }
            let mut expected = Vec::new();
            for node in 0..60_u32 {
                if !containers[node as usize].iter().any(|other| expected.contains(other)) {
                    expected.push(node);
                }
            }
            let any = Any { containers, choice };
            let mut keepers = Keepers::new(60);
            let nodes: Vec<u32> = (0..60).collect();
            let (first, rest) = nodes.split_at(split as usize);
            for batch in first.chunks(batch) {
                keepers.decide(batch, &any).unwrap();
            }
            keepers.remove_contained(rest, &any).unwrap();
            let rest: Vec<u32> = rest.iter().copied().filter(|n| keepers.is_undecided(*n)).collect();
            keepers.decide(&rest, &any).unwrap();
            for node in 0..60 {
                prop_assert_eq!(keepers.is_kept(node), expected.contains(&node));
                let keeper = keepers.of(node);
                prop_assert!(keeper == node || any.containers[node as usize].contains(&keeper));
                prop_assert!(keepers.is_kept(keeper));
            }
        }
    }
}
