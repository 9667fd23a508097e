//! Documents by fingerprint, out of table `block0`.

use redb::ReadableTable;

use crate::document::DocId;
use crate::error::Result;
use crate::store::tables::Tables;
use crate::store::tables::packed::Step;
use crate::store::tables::packed::chunk::{Chunk, Entry, pair};
use crate::store::view::pages::Page;
use crate::store::view::source::DocumentsOf;

/// The next fingerprint is reached by reading on if it is at most so many chunks ahead. A seek
/// descends from the root again.
const MAX_CHUNKS_READ_ON: u64 = 4;

impl<P, S, C> Tables<P, S, C>
where
    P: ReadableTable<u128, &'static [u8]>,
    S: ReadableTable<u64, &'static [u8]>,
{
    /// See [`FingerprintSource::documents_of`](crate::store::FingerprintSource::documents_of).
    pub(super) fn find_documents(&self, fingerprints: &[u64]) -> Result<DocumentsOf> {
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
                    // Documents of the last fingerprint may continue in the next chunk.
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

    /// The documents with a fingerprint and an id of at least `from`, out of the first chunk that
    /// has one.
    pub(in crate::store) fn documents_page(
        &self,
        fingerprint: u64,
        from: DocId,
    ) -> Result<Page<DocId>> {
        let (from, to) = (pair(fingerprint, from.0), pair(fingerprint, u64::MAX));
        let mut documents = Vec::new();
        let mut may_have_more = true;
        self.block0.visit(from, to, |_, chunk| {
            for entry in chunk.entries_from(from) {
                if entry > to {
                    may_have_more = false;
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
        let last = documents.last().copied();
        Ok(Page::new(documents, last, may_have_more))
    }

    /// Reports a fingerprint that a block table has and `block0` has not. While a flush is partly
    /// done that is no damage: block tables are changed in different commits.
    fn refuse_without_document(&self, fingerprint: u64) -> Result<()> {
        if !self.is_flushed {
            return Ok(());
        }
        Err(self.db_path.corrupt(format!(
            "table block0 has no document for fingerprint {fingerprint:016x}, which another table has"
        )))
    }
}

/// The documents of a chunk that have a fingerprint.
fn documents_in(chunk: &Chunk<'_, u128>, fingerprint: u64) -> impl Iterator<Item = (u64, DocId)> {
    chunk
        .entries_from(pair(fingerprint, 0))
        .take_while(move |entry| entry.first() == fingerprint)
        .map(|entry| (entry.first(), DocId(entry.second())))
}

/// Returns `true` if a fingerprint beyond a chunk is probably in one of the next few chunks, given
/// that they hold as many fingerprints per range as this one.
fn is_near(chunk: &Chunk<'_, u128>, fingerprint: u64) -> bool {
    let mut entries = chunk.entries();
    let (Some(first), Some(last)) = (entries.next(), entries.next_back()) else {
        return true;
    };
    let span = last.first() - first.first();
    fingerprint - last.first() <= span.saturating_mul(MAX_CHUNKS_READ_ON)
}
