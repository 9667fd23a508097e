//! The documents that are near another, and which they are near.
//!
//! Documents that have the same fingerprint are one *node*, so that n copies are n entries and not
//! n² / 2 edges. Nodes are numbered in the order in which the documents, by their ids, first have
//! them: a graph does not depend on the order in which its pairs were added.

use std::collections::HashMap;
use std::ops::Range;

use crate::document::DocId;
use crate::fingerprint::Fingerprint;
use crate::query::pairs::Pair;

/// The number of no node and no document: a graph has fewer.
pub(super) const NONE: u32 = u32::MAX;

/// Documents and pairs that are to become a graph: 16 bytes for a document, 8 for a pair of
/// fingerprints, some 20 for a fingerprint, and up to twice that while they grow.
#[derive(Default)]
pub(super) struct GraphBuilder {
    nodes: HashMap<u64, u32>,
    documents: Vec<(DocId, u32)>,
    pairs: Vec<(u32, u32)>,
}

/// Documents, known by their indices in order of their ids, and the nodes near each node: 16 bytes for
/// a document, 8 for a pair of fingerprints, 24 for a fingerprint.
pub(super) struct Graph {
    /// The id of each document, in order.
    pub(super) ids: Vec<DocId>,
    /// The node of each document.
    nodes: Vec<u32>,
    /// The fingerprint of each node.
    fingerprints: Vec<Fingerprint>,
    /// The documents of each node, in order.
    pub(super) documents: CompressedRows,
    /// The nodes within the radius of each node, in order.
    pub(super) near: CompressedRows,
}

/// A list of numbers for each of several rows, one list after the other (compressed sparse rows).
pub(super) struct CompressedRows {
    /// The start of each row in `items`, and the end of the last one.
    starts: Vec<usize>,
    /// All items, row after row.
    pub(super) items: Vec<u32>,
}

impl GraphBuilder {
    /// Adds all documents of a fingerprint that several have. It must not have been added before.
    pub(super) fn add_copies(&mut self, fingerprint: Fingerprint, documents: &[DocId]) {
        let node = self.nodes.len() as u32;
        self.nodes.insert(fingerprint.bits(), node);
        self.documents
            .extend(documents.iter().map(|id| (*id, node)));
    }

    /// Adds a pair, after all copies.
    pub(super) fn add_pair(&mut self, pair: &Pair) {
        let [a, b] = pair.fingerprints;
        let nodes = (self.node(a, pair.a), self.node(b, pair.b));
        self.pairs.push(nodes);
    }

    /// Returns the node of a fingerprint. If it has none yet, `id` is the only document that has it.
    fn node(&mut self, fingerprint: Fingerprint, id: DocId) -> u32 {
        let next = self.nodes.len() as u32;
        let node = *self.nodes.entry(fingerprint.bits()).or_insert(next);
        if node == next {
            self.documents.push((id, node));
        }
        node
    }

    /// Returns `true` if there are more documents than can be numbered.
    pub(super) fn is_too_large(&self) -> bool {
        self.documents.len() >= NONE as usize
    }

    pub(super) fn build(mut self) -> Graph {
        self.documents.sort_unstable_by_key(|(id, _)| *id);
        let count = self.nodes.len();
        let mut numbers = vec![NONE; count];
        let mut next = 0;
        let mut nodes = Vec::with_capacity(self.documents.len());
        for (_, node) in &self.documents {
            let number = &mut numbers[*node as usize];
            if *number == NONE {
                *number = next;
                next += 1;
            }
            nodes.push(*number);
        }
        let mut fingerprints = vec![Fingerprint::from_bits(0); count];
        for (bits, node) in self.nodes {
            fingerprints[numbers[node as usize] as usize] = Fingerprint::from_bits(bits);
        }
        let ids = self.documents.into_iter().map(|(id, _)| id).collect();
        for (a, b) in &mut self.pairs {
            (*a, *b) = (numbers[*a as usize], numbers[*b as usize]);
        }
        let edges = || self.pairs.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        let mut near = CompressedRows::new(count, edges);
        near.sort_each();
        let documents = CompressedRows::new(count, || nodes.iter().copied().zip(0..));
        Graph {
            ids,
            nodes,
            fingerprints,
            documents,
            near,
        }
    }
}

impl Graph {
    pub(super) fn id(&self, document: u32) -> DocId {
        self.ids[document as usize]
    }

    pub(super) fn node(&self, document: u32) -> u32 {
        self.nodes[document as usize]
    }

    pub(super) fn fingerprint(&self, document: u32) -> Fingerprint {
        self.fingerprints[self.node(document) as usize]
    }
}

impl CompressedRows {
    /// The lists of `count` rows, from pairs of a row and an item, whose order they keep.
    pub(super) fn new<Entries: Iterator<Item = (u32, u32)>>(
        count: usize,
        entries: impl Fn() -> Entries,
    ) -> Self {
        let mut starts = vec![0; count + 1];
        for (row, _) in entries() {
            starts[row as usize] += 1;
        }
        let mut end = 0;
        for start in &mut starts {
            end += std::mem::replace(start, end);
        }
        let mut items = vec![NONE; end];
        for (row, item) in entries() {
            let index = &mut starts[row as usize];
            items[*index] = item;
            *index += 1;
        }
        // Each start has become the end of its row, which is the start of the next one.
        starts.rotate_right(1);
        starts[0] = 0;
        Self { starts, items }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The indices of a row's items among all items.
    pub(super) fn range(&self, row: u32) -> Range<usize> {
        self.starts[row as usize]..self.starts[row as usize + 1]
    }

    pub(super) fn row(&self, row: u32) -> &[u32] {
        &self.items[self.range(row)]
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
    fn row_holds_its_items_in_order() {
        let entries = [(2, 7), (0, 5), (2, 3), (2, 9)];
        let rows = CompressedRows::new(4, || entries.into_iter());
        let all: Vec<&[u32]> = (0..4).map(|row| rows.row(row)).collect();
        assert_eq!(all, [&[5][..], &[], &[7, 3, 9], &[]]);
        assert_eq!(CompressedRows::new(0, std::iter::empty).len(), 0);
    }

    #[test]
    fn graph_does_not_depend_on_the_order_of_its_pairs() {
        let of = |bits| Fingerprint::from_bits(bits);
        let pairs = [
            Pair::new((DocId(4), of(1)), (DocId(2), of(3))),
            Pair::new((DocId(2), of(3)), (DocId(9), of(7))),
            Pair::new((DocId(1), of(6)), (DocId(9), of(7))),
        ];
        let graph_of = |order: [usize; 3]| {
            let mut builder = GraphBuilder::default();
            builder.add_copies(of(3), &[DocId(2), DocId(8)]);
            for index in order {
                builder.add_pair(&pairs[index]);
            }
            builder.build()
        };
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let graph = graph_of(order);
            assert_eq!(graph.ids, [1, 2, 4, 8, 9].map(DocId));
            assert_eq!(graph.nodes, [0, 1, 2, 1, 3]);
            assert_eq!(graph.fingerprints, [6, 3, 1, 7].map(of));
            assert_eq!(graph.documents.row(1), [1, 3]);
            let near: Vec<&[u32]> = (0..4).map(|node| graph.near.row(node)).collect();
            assert_eq!(near, [&[3][..], &[2, 3], &[1], &[0, 1]]);
        }
    }
}
