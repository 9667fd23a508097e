//! [`FingerprintSource`]: what a query reads of the tables.

use redb::ReadableTable;

use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::tables::edit::StoredDocument;
use crate::store::tables::packed::Step;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::{Tables, WriteTables, texts};
use crate::store::view::bucket_cache::Bucket;
use crate::store::view::limits::MAX_BUCKET_LEN;
use crate::store::view::pages::{Page, paged};

/// The block whose table a scan reads: it holds each distinct fingerprint once, in half the bytes
/// of `block0`, which holds each document.
pub(crate) const SCANNED: usize = 1;

/// The tables as a query reads them: those of a snapshot, with a bucket cache and on all cores, or
/// those of a write transaction, which only one thread can read. The provided methods are those of
/// a write transaction.
///
/// The tables alone are not the database: for an id that a memtable has, the tables do not count,
/// see [`View`](crate::store::View).
pub(crate) trait FingerprintSource: Sized {
    type Pairs: ReadableTable<u128, &'static [u8]>;
    type Singles: ReadableTable<u64, &'static [u8]>;
    type Context;

    fn as_tables(&self) -> &Tables<Self::Pairs, Self::Singles, Self::Context>;

    /// Runs work that may use all cores, in a snapshot on the threads of the database.
    fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }

    /// Calls `look` with each of the ascending `keys`, its bucket in `block` and the results so
    /// far, and returns all results. A snapshot looks up many keys on all cores; the results are in
    /// order of the keys all the same.
    fn look_up<T: Send>(
        &self,
        block: usize,
        keys: &[u16],
        look: impl Fn(&Self, u16, Bucket<'_>, &mut Vec<T>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        for keys in keys.chunk_by(|a, b| a + 1 == *b) {
            let (first, last) = (keys[0], keys[keys.len() - 1]);
            let look = |key, bucket: Bucket<'_>| look(self, key, bucket, &mut found);
            self.as_tables()
                .visit_buckets(block, first, last, MAX_BUCKET_LEN, look)?;
        }
        Ok(found)
    }

    /// Calls `look` with slices that together hold every distinct reliable fingerprint once, as
    /// rotated by block [`SCANNED`], and the results so far, and returns all results in order.
    fn scan<T: Send>(&self, look: impl Fn(&[u64], &mut Vec<T>) + Sync) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.visit_range(SCANNED, 0, u64::MAX, &mut |fingerprints| {
            look(fingerprints, &mut found);
            Ok(Step::Next)
        })?;
        Ok(found)
    }

    /// Visits, slice by slice and in order, the distinct reliable fingerprints whose rotation by
    /// `block` is in `from..=to`, still rotated. [`Step::SeekTo`] skips the fingerprints below.
    fn visit_range(
        &self,
        block: usize,
        from: u64,
        to: u64,
        visitor: &mut dyn FnMut(&[u64]) -> Result<Step<u64>>,
    ) -> Result<()> {
        self.as_tables().visit_block_range(block, from, to, visitor)
    }

    /// The number of chunks in the table of a block.
    fn chunks(&self, block: usize) -> Result<u64> {
        match block.checked_sub(1) {
            Some(position) => self.as_tables().rotated[position].chunks(),
            None => self.as_tables().block0.chunks(),
        }
    }

    /// The reliable documents of fingerprints that ascend and are all stored. A fingerprint whose
    /// documents all belong to a flush that is partly done may have none.
    fn documents_of(&self, fingerprints: &[u64]) -> Result<DocumentsOf> {
        self.as_tables().find_documents(fingerprints)
    }

    /// The reliable documents with exactly this fingerprint, in order of their ids, read a chunk at
    /// a time.
    fn documents_with(&self, fingerprint: u64) -> impl Iterator<Item = Result<DocId>> {
        paged(DocId(0), move |from| {
            self.as_tables().documents_page(fingerprint, from)
        })
    }

    /// The documents whose text has this band key, in order of their ids, read `per_page` at a
    /// time. None if the database keeps no bands.
    fn documents_in_band(&self, key: u64, per_page: usize) -> impl Iterator<Item = Result<DocId>> {
        paged(DocId(0), move |from| {
            let (ids, has_more) = self.as_tables().find_in_band(key, from, per_page)?;
            let last = ids.last().copied();
            Ok(Page::new(ids, last, has_more))
        })
    }

    /// A document without its text.
    fn document(&self, id: DocId) -> Result<Option<StoredDocument>> {
        let tables = self.as_tables();
        let entry = tables
            .fingerprints
            .first_in(pair(id.0, 0), pair(id.0, u64::MAX))?;
        let Some(entry) = entry else {
            return Ok(None);
        };
        Ok(Some(StoredDocument {
            fingerprint: Fingerprint::from_bits(entry.second()),
            reliable: tables.unreliable.first_in(id.0, id.0)?.is_none(),
            arrival: tables.arrival_of(id)?,
        }))
    }

    /// The text of a document; `None` if none is stored.
    fn text(&self, id: DocId) -> Result<Option<String>> {
        let tables = self.as_tables();
        match &tables.texts {
            Some(table) => texts::get(table, id, &tables.db_path),
            None => Ok(None),
        }
    }
}

impl<'t> FingerprintSource for WriteTables<'t> {
    type Pairs = redb::Table<'t, u128, &'static [u8]>;
    type Singles = redb::Table<'t, u64, &'static [u8]>;
    type Context = ();

    fn as_tables(&self) -> &Self {
        self
    }
}

/// The documents of some fingerprints.
#[derive(Debug, Default)]
pub(crate) struct DocumentsOf {
    /// Fingerprint and document, in that order, of the fingerprints whose documents are all in one
    /// chunk.
    pub(crate) documents: Vec<(u64, DocId)>,
    /// The other fingerprints, in order, for [`FingerprintSource::documents_with`]: each may have
    /// any number of documents.
    pub(crate) others: Vec<u64>,
}

impl DocumentsOf {
    /// Adds the documents that `all` has of one of its fingerprints.
    pub(crate) fn take(&mut self, all: &Self, fingerprint: u64) {
        let start = all
            .documents
            .partition_point(|(other, _)| *other < fingerprint);
        let own = all.documents[start..]
            .iter()
            .take_while(|(other, _)| *other == fingerprint);
        let before = self.documents.len();
        self.documents.extend(own);
        if self.documents.len() == before {
            self.others.push(fingerprint);
        }
    }
}
