//! Which documents are near each other: those that take part in a pair, and nothing else.
//!
//! Documents that have the same fingerprint are one *node*, so that n copies are n entries and not
//! n² / 2 edges. Nodes are numbered in the order in which the documents, by their ids, first have
//! them: what is made of a graph does not depend on the order in which it was gathered.

use std::collections::HashMap;
use std::ops::Range;

use crate::document::DocId;
use crate::fingerprint::Fingerprint;

/// A node or document that is not there. No graph has so many.
pub(super) const NONE: u32 = u32::MAX;

/// Documents and pairs on their way into a graph: 16 bytes for a document, 8 for a pair of
/// fingerprints, some 20 for a fingerprint, and up to twice that while they grow.
#[derive(Default)]
pub(super) struct Gathered {
    nodes: HashMap<u64, u32>,
    documents: Vec<(DocId, u32)>,
    pairs: Vec<(u32, u32)>,
}

/// Documents in order of their ids, known by their places in that order, and the nodes near each
/// node: 16 bytes for a document, 8 for a pair of fingerprints, 24 for a fingerprint.
pub(super) struct Graph {
    /// In order.
    ids: Vec<DocId>,
    /// The node of each document.
    nodes: Vec<u32>,
    /// The fingerprint of each node.
    fingerprints: Vec<Fingerprint>,
    /// The documents of each node, in order.
    holders: Lists,
    /// The nodes within the radius of each node, in order.
    near: Lists,
}

/// A list of numbers for each of several owners, one list after the other.
pub(super) struct Lists {
    /// Where the list of each begins; behind the last, where that ends.
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Gathered {
    /// Takes documents that have the same fingerprint. False if there are more documents than can
    /// be numbered.
    #[must_use]
    pub(super) fn copies(&mut self, fingerprint: Fingerprint, documents: &[DocId]) -> bool {
        for id in documents {
            let node = match self.nodes.get(&fingerprint.bits()) {
                Some(node) => *node,
                None => self.open(fingerprint),
            };
            self.documents.push((*id, node));
        }
        self.can_be_numbered()
    }

    /// Takes a pair of two fingerprints, and of each the document that stands for it. Those that
    /// several documents have are known by then. False if there are too many.
    #[must_use]
    pub(super) fn pair(&mut self, ends: [(DocId, Fingerprint); 2]) -> bool {
        let [a, b] = ends.map(
            |(id, fingerprint)| match self.nodes.get(&fingerprint.bits()) {
                Some(node) => *node,
                None => {
                    let node = self.open(fingerprint);
                    self.documents.push((id, node));
                    node
                }
            },
        );
        self.pairs.push((a, b));
        self.can_be_numbered()
    }

    fn open(&mut self, fingerprint: Fingerprint) -> u32 {
        let node = self.nodes.len() as u32;
        self.nodes.insert(fingerprint.bits(), node);
        node
    }

    fn can_be_numbered(&self) -> bool {
        self.documents.len() < NONE as usize
    }

    /// The graph of what was gathered.
    pub(super) fn graph(mut self) -> Graph {
        self.documents.sort_unstable_by_key(|(id, _)| *id);
        let count = self.nodes.len();
        let mut numbers = vec![NONE; count];
        let mut next = 0;
        let mut nodes = Vec::with_capacity(self.documents.len());
        for (_, gathered) in &self.documents {
            let number = &mut numbers[*gathered as usize];
            if *number == NONE {
                *number = next;
                next += 1;
            }
            nodes.push(*number);
        }
        let mut fingerprints = vec![Fingerprint::from_bits(0); count];
        for (bits, gathered) in self.nodes {
            fingerprints[numbers[gathered as usize] as usize] = Fingerprint::from_bits(bits);
        }
        let ids = self.documents.into_iter().map(|(id, _)| id).collect();
        for (a, b) in &mut self.pairs {
            (*a, *b) = (numbers[*a as usize], numbers[*b as usize]);
        }
        let both_ways = || {
            let ways = self.pairs.iter().map(|(a, b)| [(*a, *b), (*b, *a)]);
            ways.flatten()
        };
        let mut near = Lists::of(count, both_ways);
        near.sort_each();
        let holders = Lists::of(count, || nodes.iter().copied().zip(0..));
        Graph {
            ids,
            nodes,
            fingerprints,
            holders,
            near,
        }
    }
}

impl Graph {
    /// How many documents there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn id(&self, document: u32) -> DocId {
        self.ids[document as usize]
    }

    pub(super) fn node(&self, document: u32) -> u32 {
        self.nodes[document as usize]
    }

    pub(super) fn fingerprint(&self, document: u32) -> Fingerprint {
        self.fingerprints[self.node(document) as usize]
    }

    /// The nodes within the radius of a node.
    pub(super) fn near(&self, node: u32) -> &[u32] {
        self.near.of_one(node)
    }

    /// The documents of each node.
    pub(super) fn holders(&self) -> &Lists {
        &self.holders
    }
}

impl Lists {
    /// The lists of `owners` owners, of pairs of owner and item. They keep the order of the pairs.
    pub(super) fn of<Pairs: Iterator<Item = (u32, u32)>>(
        owners: usize,
        pairs: impl Fn() -> Pairs,
    ) -> Self {
        let mut starts = vec![0; owners + 1];
        for (owner, _) in pairs() {
            starts[owner as usize] += 1;
        }
        let mut end = 0;
        for start in &mut starts {
            end += std::mem::replace(start, end);
        }
        let mut items = vec![NONE; end];
        for (owner, item) in pairs() {
            let db_path = &mut starts[owner as usize];
            items[*db_path] = item;
            *db_path += 1;
        }
        // Each start has become the end of its list, which is the start of the next.
        starts.rotate_right(1);
        starts[0] = 0;
        Self { starts, items }
    }

    /// How many owners there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where in all items the list of one stands.
    pub(super) fn range(&self, owner: u32) -> Range<usize> {
        self.starts[owner as usize]..self.starts[owner as usize + 1]
    }

    pub(super) fn of_one(&self, owner: u32) -> &[u32] {
        &self.items[self.range(owner)]
    }

    /// All items, list after list.
    pub(super) fn items(&self) -> &[u32] {
        &self.items
    }

    fn sort_each(&mut self) {
        for bounds in self.starts.windows(2) {
            self.items[bounds[0]..bounds[1]].sort_unstable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_what_was_said_of_its_owner_in_order() {
        let said = [(2, 7), (0, 5), (2, 3), (2, 9)];
        let lists = Lists::of(4, || said.into_iter());
        let all: Vec<&[u32]> = (0..4).map(|owner| lists.of_one(owner)).collect();
        assert_eq!(all, [&[5][..], &[], &[7, 3, 9], &[]]);
        assert_eq!(Lists::of(0, std::iter::empty).len(), 0);
    }

    #[test]
    fn a_graph_does_not_depend_on_the_order_in_which_it_was_gathered() {
        let of = |bits| Fingerprint::from_bits(bits);
        let pairs = [
            [(DocId(4), of(1)), (DocId(2), of(3))],
            [(DocId(2), of(3)), (DocId(9), of(7))],
            [(DocId(1), of(6)), (DocId(9), of(7))],
        ];
        let graph_of = |order: [usize; 3]| {
            let mut gathered = Gathered::default();
            assert!(gathered.copies(of(3), &[DocId(2), DocId(8)]));
            for db_path in order {
                assert!(gathered.pair(pairs[db_path]));
            }
            gathered.graph()
        };
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let graph = graph_of(order);
            assert_eq!(graph.ids, [1, 2, 4, 8, 9].map(DocId));
            assert_eq!(graph.nodes, [0, 1, 2, 1, 3]);
            assert_eq!(graph.fingerprints, [6, 3, 1, 7].map(of));
            assert_eq!(graph.holders().of_one(1), [1, 3]);
            let near: Vec<&[u32]> = (0..4).map(|node| graph.near(node)).collect();
            assert_eq!(near, [&[3][..], &[2, 3], &[1], &[0, 1]]);
        }
    }
}
