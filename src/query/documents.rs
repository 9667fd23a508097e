//! The documents of several fingerprints, in order of their ids.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::{DocumentsOf, FingerprintSource};

/// Calls `visitor` with every document of these fingerprints, which ascend, in order of ids, until it
/// returns `false`. Returns `false` if it did.
pub(super) fn for_each_document(
    index: &impl FingerprintSource,
    fingerprints: &[u64],
    visitor: impl FnMut(DocId, Fingerprint) -> bool,
) -> Result<bool> {
    for_each_in_order(index, index.documents_of(fingerprints)?, visitor)
}

/// Calls `visitor` like [`for_each_document`], with documents that were looked up before. The
/// documents of the other fingerprints are read as they are needed, and merged in.
pub(super) fn for_each_in_order(
    index: &impl FingerprintSource,
    DocumentsOf {
        mut documents,
        others,
    }: DocumentsOf,
    mut visitor: impl FnMut(DocId, Fingerprint) -> bool,
) -> Result<bool> {
    documents.sort_unstable_by_key(|(fingerprint, id)| (*id, *fingerprint));
    let mut documents = documents.into_iter().peekable();

    let mut postings = Vec::with_capacity(others.len());
    let mut heads = BinaryHeap::with_capacity(others.len());
    for fingerprint in others {
        let mut documents = index.documents_with(fingerprint);
        if let Some(id) = documents.next().transpose()? {
            heads.push(Reverse((id, postings.len())));
            postings.push((fingerprint, documents));
        }
    }
    loop {
        let head = heads.peek().map(|Reverse((id, _))| *id);
        let is_at_hand = |(_, id): &(u64, DocId)| head.is_none_or(|head| *id < head);
        if let Some((fingerprint, id)) = documents.next_if(is_at_hand) {
            if !visitor(id, Fingerprint::from_bits(fingerprint)) {
                return Ok(false);
            }
            continue;
        }
        let Some(mut head) = heads.peek_mut() else {
            return Ok(true);
        };
        let Reverse((id, source)) = *head;
        let (fingerprint, documents) = &mut postings[source];
        if !visitor(id, Fingerprint::from_bits(*fingerprint)) {
            return Ok(false);
        }
        match documents.next().transpose()? {
            Some(next) => *head = Reverse((next, source)),
            None => drop(PeekMut::pop(head)),
        }
    }
}
