//! [`TextNodes`]: the documents of each distinct text of a database, the longest text first. The
//! texts stay in the file, and the nodes are not the nodes of a forest.

use std::cmp::Reverse;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Groups;
use crate::error::{Error, Result};
use crate::ids::DocId;
use crate::ids::scope::IdRanges;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::View;

/// The distinct texts of some documents, each with its documents. Documents with equal texts of
/// one group are one node, so n copies take one comparison instead of n² / 2.
///
/// Nodes are in order of the number of their letters and digits, the longest first, then of their
/// smallest id. So a text that contains another text nearly always comes before it, in any order of
/// the ids.
pub(super) struct TextNodes {
    /// All documents with a text that is not empty, node by node, in order of their ids within a
    /// node.
    documents: Vec<DocId>,
    /// The start of each node in `documents`.
    starts: Vec<(u32, u32)>,
    /// The bytes of the text of each node.
    lens_bytes: Vec<u32>,
    /// The group of each node; empty without groups.
    groups: Vec<u64>,
    /// The hash of all ids, texts and groups.
    content: u64,
}

/// A document with a text that is not empty.
struct Keyed {
    /// A hash of the text with random keys. So no writer can make two texts with one hash.
    text: [u64; 2],
    group: u64,
    id: DocId,
    letters: u32,
    len_bytes: u32,
}

impl TextNodes {
    /// Reads all texts of documents among some ids.
    pub(super) fn read(
        view: &View,
        groups: &Groups<'_>,
        among: &IdRanges,
        progress: &ProgressHandler,
    ) -> Result<Self> {
        let mut reporter = ProgressReporter::new_shares(progress, Stage::Pairs, view.path());
        let all = view.stored_len().max(1) as f64;
        let keys = [RandomState::new(), RandomState::new()];
        let mut keyed: Vec<Keyed> = Vec::new();
        // A sum of hashes: the order of the documents makes no difference.
        let mut content = 0_u64;
        let mut from = Some(DocId(0));
        while let Some(first) = from {
            let portion = view.documents_portion(first)?;
            from = portion.next;
            let ids = portion.items.iter().map(|document| document.id);
            let ids: Vec<DocId> = ids.filter(|id| among.contains(*id)).collect();
            reporter.advance_to_share((keyed.len() as f64 / all).min(1.0))?;
            let read = |id: DocId| -> Result<Option<(Keyed, u64)>> {
                // Two empty texts have nothing in common.
                let text = view.text(id)?.filter(|text| !text.trim().is_empty());
                Ok(text.map(|text| {
                    let document = Keyed {
                        text: keys.each_ref().map(|keys| keys.hash_one(&text)),
                        group: 0,
                        id,
                        len_bytes: text.len() as u32,
                        letters: text.chars().filter(|c| c.is_alphanumeric()).count() as u32,
                    };
                    (document, xxh3_64_with_seed(text.as_bytes(), id.0))
                }))
            };
            let read: Result<Vec<Option<(Keyed, u64)>>> = view
                .tables
                .in_parallel(|| ids.into_par_iter().map(read).collect());
            for (document, hash) in read?.into_iter().flatten() {
                keyed.push(document);
                content = content.wrapping_add(hash);
            }
            if keyed.len() >= super::NONE as usize {
                return Err(Error::TooManyTexts {
                    path: view.path().to_path_buf(),
                });
            }
        }
        reporter.finish()?;
        if let Some(group) = groups.group() {
            for document in &mut keyed {
                document.group = group(document.id);
                let hash = xxh3_64_with_seed(&document.group.to_le_bytes(), document.id.0);
                content = content.wrapping_add(hash);
            }
        }
        Ok(view
            .tables
            .in_parallel(|| Self::new(keyed, groups, content)))
    }

    fn new(mut keyed: Vec<Keyed>, groups: &Groups<'_>, content: u64) -> Self {
        keyed.par_sort_unstable_by_key(|document| (document.text, document.group, document.id));
        let mut starts = Vec::new();
        let mut order = Vec::new();
        let mut at = 0;
        for documents in keyed.chunk_by(|a, b| (a.text, a.group) == (b.text, b.group)) {
            let first = &documents[0];
            // Groups are compared one after the other if texts are compared within groups only.
            let group = if groups.is_within() { first.group } else { 0 };
            starts.push((at, at + documents.len() as u32));
            order.push((group, Reverse(first.letters), first.id, starts.len() - 1));
            at += documents.len() as u32;
        }
        order.par_sort_unstable();
        let first = |node: usize| &keyed[starts[node].0 as usize];
        let group = |node: usize| first(node).group;
        let len_bytes = |node: usize| first(node).len_bytes;
        let groups = match groups {
            Groups::All => Vec::new(),
            _ => order.iter().map(|(.., node)| group(*node)).collect(),
        };
        Self {
            lens_bytes: order.iter().map(|(.., node)| len_bytes(*node)).collect(),
            starts: order.iter().map(|(.., node)| starts[*node]).collect(),
            groups,
            content,
            documents: keyed.iter().map(|document| document.id).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The hash of all ids, texts and groups.
    pub(super) fn content(&self) -> u64 {
        self.content
    }

    /// The documents of a node, in order of their ids.
    pub(super) fn documents(&self, node: u32) -> &[DocId] {
        let (start, end) = self.starts[node as usize];
        &self.documents[start as usize..end as usize]
    }

    /// The first of these nodes, at least one, with texts of at most `max_bytes` together.
    pub(super) fn first_within<'n>(&self, nodes: &'n [u32], max_bytes: usize) -> &'n [u32] {
        let mut len_bytes = 0;
        let fits = |node: &&u32| {
            len_bytes += self.lens_bytes[**node as usize] as usize;
            len_bytes <= max_bytes
        };
        let count = nodes.iter().take_while(fits).count();
        &nodes[..count.max(1).min(nodes.len())]
    }

    /// The bytes of the texts of these nodes together.
    pub(super) fn len_bytes(&self, nodes: &[u32]) -> usize {
        let lens = nodes
            .iter()
            .map(|node| self.lens_bytes[*node as usize] as usize);
        lens.sum()
    }

    pub(super) fn group(&self, node: u32) -> Option<u64> {
        self.groups.get(node as usize).copied()
    }

    /// The ranges of nodes that are compared with each other: each group by itself if texts are
    /// compared within groups, otherwise all.
    pub(super) fn ranges(&self, groups: &Groups<'_>) -> Vec<Range<u32>> {
        if !groups.is_within() {
            return std::iter::once(0..self.len() as u32).collect();
        }
        let mut at = 0;
        let ranges = self.groups.chunk_by(|a, b| a == b).map(|group| {
            let start = at;
            at += group.len() as u32;
            start..at
        });
        ranges.collect()
    }
}
