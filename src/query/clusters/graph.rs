//! [`Graph`]: the documents that have a near document, and the edges between their fingerprints.
//!
//! Documents with the same fingerprint are one *node*, so that n copies take n entries instead of
//! n² / 2 edges. Nodes are numbered in the order of their smallest document id. So a graph does not
//! depend on the order in which its pairs were added.

use std::collections::HashMap;
use std::ops::Range;

use crate::ids::{DocId, Fingerprint};
use crate::query::pairs::Pair;

/// The number that stands for no node and no document. A graph has fewer nodes and documents.
pub(super) const NONE: u32 = u32::MAX;

/// The documents and pairs of a future graph. Takes 16 bytes for each document, 8 for each pair of
/// fingerprints and about 20 for each fingerprint, and up to twice as much while the vectors grow.
#[derive(Default)]
pub(super) struct GraphBuilder {
    /// The node of each fingerprint, numbered in the order of addition.
    nodes: HashMap<u64, u32>,
    /// The nodes of exact copies, which no pair names, and their fingerprints.
    exact: Vec<(u64, u32)>,
    /// Each document and its node.
    documents: Vec<(DocId, u32)>,
    /// The nodes of each pair.
    pairs: Vec<(u32, u32)>,
}

/// The documents, numbered in order of their ids, and the near nodes of each node. Takes 16 bytes
/// for each document, 8 for each pair of fingerprints and 24 for each fingerprint.
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

/// Lists of numbers, one for each row, in a single vector (compressed sparse rows).
pub(super) struct CompressedRows {
    /// The start of each row in `items`, then the end of the last row.
    starts: Vec<usize>,
    /// The items of all rows, row after row.
    pub(super) items: Vec<u32>,
}

impl GraphBuilder {
    /// Adds all documents of a fingerprint. Each fingerprint is added at most once, before all
    /// pairs.
    pub(super) fn add_copies(&mut self, fingerprint: Fingerprint, documents: &[DocId]) {
        let node = self.next_node();
        self.nodes.insert(fingerprint.bits(), node);
        self.documents
            .extend(documents.iter().map(|id| (*id, node)));
    }

    /// Adds documents with one text, whose fingerprint no pair names. Other texts may have this
    /// fingerprint.
    pub(super) fn add_exact_copies(&mut self, fingerprint: Fingerprint, documents: &[DocId]) {
        let node = self.next_node();
        self.exact.push((fingerprint.bits(), node));
        self.documents
            .extend(documents.iter().map(|id| (*id, node)));
    }

    fn next_node(&self) -> u32 {
        (self.nodes.len() + self.exact.len()) as u32
    }

    /// Adds a pair, after all copies.
    pub(super) fn add_pair(&mut self, pair: &Pair) {
        let [a, b] = pair.fingerprints;
        let nodes = (self.node(a, pair.a), self.node(b, pair.b));
        self.pairs.push(nodes);
    }

    /// Returns the node of a fingerprint; creates the node of a new fingerprint with the document
    /// `id`.
    fn node(&mut self, fingerprint: Fingerprint, id: DocId) -> u32 {
        let next = self.next_node();
        let node = *self.nodes.entry(fingerprint.bits()).or_insert(next);
        // Fingerprints with several documents were added as copies, so a new one has one document.
        if node == next {
            self.documents.push((id, node));
        }
        node
    }

    /// Returns `true` if there are too many documents for 32-bit numbers.
    pub(super) fn is_too_large(&self) -> bool {
        self.documents.len() >= NONE as usize
    }

    pub(super) fn build(mut self) -> Graph {
        // Numbers the nodes again, in the order of their smallest document id: the order in which
        // pairs were added depends on the number of cores.
        self.documents.sort_unstable_by_key(|(id, _)| *id);
        let count = self.next_node() as usize;
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
        for (bits, node) in self.nodes.into_iter().chain(self.exact) {
            fingerprints[numbers[node as usize] as usize] = Fingerprint::from_bits(bits);
        }
        let ids = self.documents.into_iter().map(|(id, _)| id).collect();
        for (a, b) in &mut self.pairs {
            (*a, *b) = (numbers[*a as usize], numbers[*b as usize]);
        }
        // Each pair is an edge in both directions.
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
    /// Creates `count` rows from entries of a row and an item. Keeps the order of the items of a
    /// row.
    pub(super) fn new<Entries: Iterator<Item = (u32, u32)>>(
        count: usize,
        entries: impl Fn() -> Entries,
    ) -> Self {
        // Two passes over the entries, which are counted and then placed: no list grows, and no
        // second copy of the entries is in memory.
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
        // Each start has become the end of its row, which is the start of the next row.
        starts.rotate_right(1);
        starts[0] = 0;
        Self { starts, items }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The indices of a row in `items`.
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
        let fingerprint = |bits| Fingerprint::from_bits(bits);
        let pairs = [
            Pair::new((DocId(4), fingerprint(1)), (DocId(2), fingerprint(3))),
            Pair::new((DocId(2), fingerprint(3)), (DocId(9), fingerprint(7))),
            Pair::new((DocId(1), fingerprint(6)), (DocId(9), fingerprint(7))),
        ];
        let build_graph = |order: [usize; 3]| {
            let mut builder = GraphBuilder::default();
            builder.add_copies(fingerprint(3), &[DocId(2), DocId(8)]);
            for index in order {
                builder.add_pair(&pairs[index]);
            }
            builder.build()
        };
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let graph = build_graph(order);
            assert_eq!(graph.ids, [1, 2, 4, 8, 9].map(DocId));
            assert_eq!(graph.nodes, [0, 1, 2, 1, 3]);
            assert_eq!(graph.fingerprints, [6, 3, 1, 7].map(fingerprint));
            assert_eq!(graph.documents.row(1), [1, 3]);
            let near: Vec<&[u32]> = (0..4).map(|node| graph.near.row(node)).collect();
            assert_eq!(near, [&[3][..], &[2, 3], &[1], &[0, 1]]);
        }
    }
}
