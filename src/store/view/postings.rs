//! The documents of a fingerprint, from table `block0`.

use crate::error::Result;
use crate::ids::DocId;
use crate::store::portions::Portion;
use crate::store::tables::packed::VisitFlow;
use crate::store::tables::packed::chunk::Chunk;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::BLOCK0;
use crate::store::tables::{Access, Tables};

/// The result of a look-up of fingerprints: their documents, as far as they were read.
#[derive(Debug, Default)]
pub(crate) struct DocumentLookup {
    /// The fingerprints whose documents are all in one chunk, each with each of its documents; in
    /// order of fingerprints, then ids.
    pub(crate) documents: Vec<(u64, DocId)>,
    /// The other fingerprints, in order. Each may have millions of documents, which
    /// [`documents_with`](Tables::documents_with) reads.
    pub(crate) others: Vec<u64>,
}

impl DocumentLookup {
    /// Adds the documents of larger fingerprints.
    pub(crate) fn append(&mut self, larger: Self) {
        self.documents.extend(larger.documents);
        self.others.extend(larger.others);
    }

    /// Adds one of the fingerprints of `all`, with its documents.
    pub(crate) fn copy_from(&mut self, all: &Self, fingerprint: u64) {
        let start = all
            .documents
            .partition_point(|(other, _)| *other < fingerprint);
        let own = all.documents[start..]
            .iter()
            .take_while(|(other, _)| *other == fingerprint);
        let before = self.documents.len();
        self.documents.extend(own);
        // A fingerprint without documents here is in `all.others`, or lost its documents in a flush
        // that is not complete.
        if self.documents.len() == before {
            self.others.push(fingerprint);
        }
    }
}

/// If the next fingerprint is at most 4 chunks ahead, the chunks in between are read.
// A seek would descend from the root again.
const MAX_CHUNKS_AHEAD: u64 = 4;

impl<A: Access> Tables<A> {
    /// See [`documents_of`](Self::documents_of).
    pub(super) fn find_documents(&self, fingerprints: &[u64]) -> Result<DocumentLookup> {
        let mut found = DocumentLookup::default();
        let (Some(first), Some(last)) = (fingerprints.first(), fingerprints.last()) else {
            return Ok(found);
        };
        let mut remaining = fingerprints;
        let (from, to) = (pair(*first, 0), pair(*last, u64::MAX));
        self.table(BLOCK0).visit(from, to, |_, chunk| {
            // The fingerprints up to the last one of the chunk are decided by this chunk.
            let Some(end) = chunk.last().map(Entry::first) else {
                return Ok(VisitFlow::Next);
            };
            while let Some((fingerprint, rest)) = remaining.split_first()
                && *fingerprint <= end
            {
                if *fingerprint == end {
                    // The documents of the last fingerprint may continue in the next chunk, and in
                    // thousands of chunks after it.
                    found.others.push(*fingerprint);
                } else {
                    let before = found.documents.len();
                    found.documents.extend(documents_in(&chunk, *fingerprint));
                    if found.documents.len() == before {
                        self.refuse_missing_document(*fingerprint)?;
                    }
                }
                remaining = rest;
            }
            Ok(match remaining.first() {
                None => VisitFlow::Stop,
                Some(next) if is_near(&chunk, *next) => VisitFlow::Next,
                Some(next) => VisitFlow::SeekTo(pair(*next, 0)),
            })
        })?;
        for missing in remaining {
            self.refuse_missing_document(*missing)?;
        }
        Ok(found)
    }

    /// The documents of a fingerprint from id `from` to id `last` in the first chunk that has one.
    pub(in crate::store) fn documents_portion(
        &self,
        fingerprint: u64,
        from: DocId,
        last: DocId,
    ) -> Result<Portion<DocId>> {
        let (from, to) = (pair(fingerprint, from.0), pair(fingerprint, last.0));
        let mut documents = Vec::new();
        let mut may_have_more = true;
        self.table(BLOCK0).visit(from, to, |_, chunk| {
            // The first chunk may end before `from`.
            for entry in chunk.entries_from(from) {
                if entry > to {
                    may_have_more = false;
                    break;
                }
                documents.push(DocId(entry.second()));
            }
            Ok(if documents.is_empty() {
                VisitFlow::Next
            } else {
                VisitFlow::Stop
            })
        })?;
        let last = documents.last().copied();
        Ok(Portion::new(documents, last, may_have_more))
    }

    /// Reports a fingerprint that a block table has and `block0` does not have.
    fn refuse_missing_document(&self, fingerprint: u64) -> Result<()> {
        // No damage during a flush, which changes the block tables in different commits.
        if !self.is_flushed {
            return Ok(());
        }
        Err(self.db_path.corrupt(format!(
            "table block0 has no document for fingerprint {fingerprint:016x}, which another table has"
        )))
    }
}

fn documents_in(chunk: &Chunk<'_, u128>, fingerprint: u64) -> impl Iterator<Item = (u64, DocId)> {
    chunk
        .entries_from(pair(fingerprint, 0))
        .take_while(move |entry| entry.first() == fingerprint)
        .map(|entry| (entry.first(), DocId(entry.second())))
}

/// Returns `true` if a fingerprint behind a chunk is probably in one of the next
/// [`MAX_CHUNKS_AHEAD`] chunks.
fn is_near(chunk: &Chunk<'_, u128>, fingerprint: u64) -> bool {
    let (Some(first), Some(last)) = (chunk.first(), chunk.last()) else {
        return true;
    };
    // Assumes that the next chunks span as large a range as this one: fingerprints are spread
    // evenly.
    let span = last.first() - first.first();
    fingerprint - last.first() <= span.saturating_mul(MAX_CHUNKS_AHEAD)
}
