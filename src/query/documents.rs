//! The documents of several fingerprints, in order of their ids.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::error::Result;
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint};
use crate::store::{DocumentLookup, Tables, ViewAccess};

/// Calls `visitor` with the documents of a look-up among some ids, in order of ids, until `visitor`
/// fails or returns `false`. Returns `false` if `visitor` did. A fingerprint in `others` may have
/// millions of documents: they are read while they are visited.
pub(super) fn for_each_in_order(
    source: &Tables<impl ViewAccess>,
    DocumentLookup {
        mut documents,
        others,
    }: DocumentLookup,
    among: &IdRanges,
    mut visitor: impl FnMut(DocId, Fingerprint) -> Result<bool>,
) -> Result<bool> {
    documents.retain(|(_, id)| among.contains(*id));
    documents.sort_unstable_by_key(|(fingerprint, id)| (*id, *fingerprint));
    let mut documents = documents.into_iter().peekable();

    // A cursor for each fingerprint in `others`, and a heap of the next document of each cursor.
    let mut postings = Vec::with_capacity(others.len());
    let mut heads = BinaryHeap::with_capacity(others.len());
    for fingerprint in others {
        let mut documents = source.documents_with(fingerprint, among);
        if let Some(id) = documents.next().transpose()? {
            heads.push(Reverse((id, postings.len())));
            postings.push((fingerprint, documents));
        }
    }
    loop {
        // Documents in memory come first if their id is below the ids of all cursors.
        let head = heads.peek().map(|Reverse((id, _))| *id);
        let comes_first = |(_, id): &(u64, DocId)| head.is_none_or(|head| *id < head);
        if let Some((fingerprint, id)) = documents.next_if(comes_first) {
            if !visitor(id, Fingerprint::from_bits(fingerprint))? {
                return Ok(false);
            }
            continue;
        }
        let Some(mut head) = heads.peek_mut() else {
            return Ok(true);
        };
        let Reverse((id, position)) = *head;
        let (fingerprint, documents) = &mut postings[position];
        if !visitor(id, Fingerprint::from_bits(*fingerprint))? {
            return Ok(false);
        }
        match documents.next().transpose()? {
            // `PeekMut` restores the order of the heap when it is dropped: one sift instead of a
            // pop and a push.
            Some(next) => *head = Reverse((next, position)),
            None => drop(PeekMut::pop(head)),
        }
    }
}
