//! [`MemoryWalk`]: the way of queries down the trees of a forest.

use std::ops::Range;

use super::run::Run;
use crate::analysis::LEVEL_BITS;
use crate::forest::{PROBED_LEVELS, Prefix, Reach};

/// The ranks of 2,048 large nodes are known: 32 KiB, which stay in the cache of the processor.
const KNOWN_RANKS: usize = 1 << 11;

/// A search in fewer entries is fast enough.
const MIN_KNOWN_ENTRIES: usize = 64;

/// The walk down all trees at once, level by level. A node has the entries of all runs.
///
/// The ranks of all nodes of a level are looked up together, so that the processor waits for the
/// memory of many nodes at the same time.
pub(crate) struct MemoryWalk<'r> {
    runs: &'r [Run],
    reach: &'r Reach,
    /// The nodes that are not taken.
    nodes: WalkNodes,
    /// Memory for the children of the nodes.
    children: WalkNodes,
    known: KnownRanks,
}

/// The last ranks of large nodes, or none. Texts of one template have the same prefixes.
#[derive(Default)]
struct KnownRanks(Vec<(u64, Range<u32>)>);

impl KnownRanks {
    /// The ranks of a node in a run, given the ranks of its parent.
    #[inline]
    fn ranks(
        &mut self,
        runs: &[Run],
        run: usize,
        node: &WalkNode,
        parent: Range<u32>,
    ) -> Range<u32> {
        let find = |parent| runs[run].ranks(node.tree, node.prefix, parent);
        // The directory has the nodes of the first level.
        let is_first = node.prefix.bits() == LEVEL_BITS[0];
        if is_first || parent.len() < MIN_KNOWN_ENTRIES || self.0.is_empty() {
            return find(parent);
        }
        // A prefix has at most 38 bits, the upper ones.
        let key = node.prefix.first()
            | (node.tree as u64) << 16
            | (run as u64) << 6
            | u64::from(node.prefix.bits());
        let cell = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - KNOWN_RANKS.ilog2());
        let known = &mut self.0[cell as usize];
        if known.0 != key {
            *known = (key, find(parent));
        }
        known.1.clone()
    }
}

/// Nodes of one level.
#[derive(Default)]
struct WalkNodes {
    nodes: Vec<WalkNode>,
    /// The ranks in each run, for each of the nodes.
    ranks: Vec<Range<u32>>,
}

/// A node of a tree.
#[derive(Clone, Copy)]
struct WalkNode {
    tree: usize,
    prefix: Prefix,
    /// `true` if the prefix has a second minimum.
    is_probe: bool,
}

impl<'r> MemoryWalk<'r> {
    /// A walk without nodes.
    pub(crate) fn new(runs: &'r [Run], reach: &'r Reach) -> Self {
        Self {
            runs,
            reach,
            nodes: WalkNodes::default(),
            children: WalkNodes::default(),
            known: KnownRanks::default(),
        }
    }

    /// A walk for queries in order of their first parts.
    pub(crate) fn of_many_queries(runs: &'r [Run], reach: &'r Reach) -> Self {
        Self {
            known: KnownRanks(vec![(u64::MAX, 0..0); KNOWN_RANKS]),
            ..Self::new(runs, reach)
        }
    }

    /// Moves the walk to the roots of these trees.
    pub(crate) fn restart(&mut self, trees: Range<usize>) {
        let root = |tree| WalkNode {
            tree,
            prefix: Prefix::default(),
            is_probe: false,
        };
        let all = |tree| self.runs.iter().map(move |run| run.all(tree));
        self.nodes.clear();
        self.nodes.nodes.extend(trees.clone().map(root));
        self.nodes.ranks.extend(trees.flat_map(all));
    }

    /// Replaces the nodes by their children at a level. Calls `take` with the entries of each child
    /// that has few entries, and drops the child. `part` gives the part of the query for this level
    /// of a tree, by its second minimum if the flag is `true`.
    // A call for each level and an iterator for each child took 2 % of the instructions of a load.
    #[inline(always)]
    pub(crate) fn descend(
        &mut self,
        level: usize,
        part: impl Fn(usize, bool) -> u64,
        mut take: impl FnMut(&Run, &[u64]),
    ) {
        if self.runs.is_empty() {
            return;
        }
        self.children.clear();
        let WalkNodes { nodes, ranks } = &mut self.children;
        for (node, own) in self.nodes.iter(self.runs.len()) {
            let mut push = |part, is_probe| {
                let child = WalkNode {
                    prefix: node.prefix.child(level, part),
                    is_probe,
                    ..*node
                };
                nodes.push(child);
                for (run, own) in own.iter().enumerate() {
                    ranks.push(self.known.ranks(self.runs, run, &child, own.clone()));
                }
            };
            push(part(node.tree, false), node.is_probe);
            if level < PROBED_LEVELS && !node.is_probe {
                push(part(node.tree, true), true);
            }
        }
        let most = self.reach.max_entries(level);
        self.nodes.clear();
        for (node, ranks) in self.children.iter(self.runs.len()) {
            let entries: usize = ranks.iter().map(Range::len).sum();
            if entries <= most {
                for (run, ranks) in self.runs.iter().zip(ranks) {
                    take(run, run.entries(node.tree, ranks.clone()));
                }
            } else {
                self.nodes.nodes.push(*node);
                self.nodes.ranks.extend_from_slice(ranks);
            }
        }
    }
}

impl WalkNodes {
    fn clear(&mut self) {
        self.nodes.clear();
        self.ranks.clear();
    }

    /// Each node with its ranks.
    fn iter(&self, runs: usize) -> impl Iterator<Item = (&WalkNode, &[Range<u32>])> {
        self.nodes.iter().zip(self.ranks.chunks_exact(runs))
    }
}
