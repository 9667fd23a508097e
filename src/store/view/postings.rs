//! From fingerprints to the documents that have them, by `block0`.

use redb::ReadableTable;

use crate::document::DocId;
use crate::error::Result;
use crate::store::tables::Tables;
use crate::store::tables::packed::Step;
use crate::store::tables::packed::chunk::{Chunk, Entry, pair};
use crate::store::view::source::DocumentsOf;

/// Chunks on the way to the next fingerprint that are read rather than leapt over: to leap is to
/// descend from the root again.
const CHUNKS_READ_ON: u64 = 4;

impl<P, S> Tables<P, S>
where
    P: ReadableTable<u128, &'static [u8]>,
    S: ReadableTable<u64, &'static [u8]>,
{
    /// See [`FingerprintSource::documents_of`](crate::store::FingerprintSource::documents_of).
    pub(crate) fn find_documents(&self, fingerprints: &[u64]) -> Result<DocumentsOf> {
        let mut found = DocumentsOf::default();
        let (Some(first), Some(last)) = (fingerprints.first(), fingerprints.last()) else {
            return Ok(found);
        };
        let mut sought = fingerprints;
        let (from, to) = (pair(*first, 0), pair(*last, u64::MAX));
        self.block0.visit(from, to, |_, chunk| {
            let Some(end) = chunk.last().map(Entry::first) else {
                return Ok(Step::Next);
            };
            while let Some((fingerprint, rest)) = sought.split_first()
                && *fingerprint <= end
            {
                if *fingerprint == end {
                    // The next chunk may have more of them.
                    found.others.push(*fingerprint);
                } else {
                    let before = found.documents.len();
                    found.documents.extend(documents_in(&chunk, *fingerprint));
                    if found.documents.len() == before {
                        self.refuse_without_document(*fingerprint)?;
                    }
                }
                sought = rest;
            }
            Ok(match sought.first() {
                None => Step::Stop,
                Some(next) if is_near(&chunk, *next) => Step::Next,
                Some(next) => Step::SeekTo(pair(*next, 0)),
            })
        })?;
        for missing in sought {
            self.refuse_without_document(*missing)?;
        }
        Ok(found)
    }

    /// See [`FingerprintSource::documents_with`](crate::store::FingerprintSource::documents_with).
    pub(crate) fn documents_from(
        &self,
        fingerprint: u64,
        from: DocId,
    ) -> Result<(Vec<DocId>, bool)> {
        let (from, to) = (pair(fingerprint, from.0), pair(fingerprint, u64::MAX));
        let mut documents = Vec::new();
        let mut may_be_more = true;
        self.block0.visit(from, to, |_, chunk| {
            for entry in chunk.entries_from(from) {
                if entry > to {
                    may_be_more = false;
                    break;
                }
                documents.push(DocId(entry.second()));
            }
            Ok(if documents.is_empty() {
                Step::Next
            } else {
                Step::Stop
            })
        })?;
        Ok((documents, may_be_more))
    }

    fn refuse_without_document(&self, fingerprint: u64) -> Result<()> {
        if !self.whole {
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

/// Whether a fingerprint behind a chunk is probably in one of the next few, if fingerprints are
/// spread there as they are in this one.
fn is_near(chunk: &Chunk<'_, u128>, fingerprint: u64) -> bool {
    let mut entries = chunk.entries();
    let (Some(first), Some(last)) = (entries.next(), entries.next_back()) else {
        return true;
    };
    let span = last.first() - first.first();
    fingerprint - last.first() <= span.saturating_mul(CHUNKS_READ_ON)
}
