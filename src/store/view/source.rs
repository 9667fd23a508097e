//! [`FingerprintSource`]: the interface through which queries read the tables.

use redb::ReadableTable;

use crate::analysis::Sketch;
use crate::error::Result;
use crate::ids::{DocId, Fingerprint};
use crate::store::cache::buckets::{Bucket, Fingerprints, SCAN_BLOCK};
use crate::store::cache::nodes::NodeCache;
use crate::store::cache::wordings::WordingCache;
use crate::store::limits::MAX_BUCKET_LEN;
use crate::store::tables::edit::StoredDocument;
use crate::store::tables::packed::VisitFlow;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::{Tables, WriteTables, texts};
use crate::store::view::pages::paged;

/// The tables as queries read them: of a snapshot, with a bucket cache and on all cores, or of a write
/// transaction, which one thread reads. The provided methods are for a write transaction.
///
/// The tables may be out of date for documents that a memtable has edited, see
/// [`View`](crate::store::View).
pub(crate) trait FingerprintSource: Sized {
    type Pairs: ReadableTable<u128, &'static [u8]>;
    type Singles: ReadableTable<u64, &'static [u8]>;
    type Context;

    fn as_tables(&self) -> &Tables<Self::Pairs, Self::Singles, Self::Context>;

    /// Runs work that may use all cores, in a snapshot on the threads of the database.
    fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }

    /// Calls `visitor` with each of the `keys`, its bucket, and a vector to which it appends results. A key
    /// is a block and the value of that block; keys ascend. Returns all results in order of the keys. A
    /// snapshot looks up many keys on all cores.
    fn look_up<T: Send>(
        &self,
        keys: &[(usize, u16)],
        visitor: impl Fn(&Self, (usize, u16), Bucket<'_>, &mut Vec<T>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        // Consecutive keys of a block are read in one pass over the table.
        for keys in keys.chunk_by(|a, b| a.0 == b.0 && a.1 + 1 == b.1) {
            let ((block, first), (_, last)) = (keys[0], keys[keys.len() - 1]);
            let visitor = |key, bucket: Bucket<'_>| visitor(self, (block, key), bucket, &mut found);
            self.as_tables()
                .visit_buckets(block, first, last, MAX_BUCKET_LEN, visitor)?;
        }
        Ok(found)
    }

    /// Calls `visitor` with fingerprints and a vector to which it appends results. All calls together pass
    /// every distinct reliable fingerprint once, rotated by [`SCAN_BLOCK`]. Returns all
    /// results in order of the fingerprints.
    fn scan<T: Send>(
        &self,
        visitor: impl Fn(Fingerprints<'_>, &mut Vec<T>) + Sync,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.visit_range(SCAN_BLOCK, 0, u64::MAX, &mut |fingerprints| {
            visitor(Fingerprints::Unpacked(fingerprints), &mut found);
            Ok(VisitFlow::Next)
        })?;
        Ok(found)
    }

    /// Visits the distinct reliable fingerprints whose rotation by `block` is in `from..=to`, rotated and in
    /// order, a slice at a time. [`VisitFlow::SeekTo`] skips the fingerprints below.
    fn visit_range(
        &self,
        block: usize,
        from: u64,
        to: u64,
        visitor: &mut dyn FnMut(&[u64]) -> Result<VisitFlow<u64>>,
    ) -> Result<()> {
        self.as_tables().visit_block_range(block, from, to, visitor)
    }

    fn chunks(&self, block: usize) -> Result<u64> {
        match block.checked_sub(1) {
            Some(position) => self.as_tables().rotated[position].chunks(),
            None => self.as_tables().block0.chunks(),
        }
    }

    /// The reliable documents of stored fingerprints. The fingerprints ascend. A fingerprint may have no
    /// document during a flush: its documents are then in a memtable.
    fn documents_of(&self, fingerprints: &[u64]) -> Result<DocumentLookup> {
        self.as_tables().find_documents(fingerprints)
    }

    /// The reliable documents with exactly this fingerprint, by id. Reads a chunk at a time.
    fn documents_with(&self, fingerprint: u64) -> impl Iterator<Item = Result<DocId>> {
        paged(DocId(0), move |from| {
            self.as_tables().documents_page(fingerprint, from)
        })
    }

    /// The nodes of the forest in memory, and the commit that the tables show; `None` if there are none.
    fn nodes(&self) -> Option<(&NodeCache, u64)> {
        None
    }

    /// The packed wordings in memory, and the commit that the tables show; `None` if there are none.
    fn wordings(&self) -> Option<(&WordingCache, u64)> {
        None
    }

    /// The fingerprint of a document.
    fn fingerprint(&self, id: DocId) -> Result<Option<Fingerprint>> {
        let fingerprints = &self.as_tables().fingerprints;
        let entry = fingerprints.first_in(pair(id.0, 0), pair(id.0, u64::MAX))?;
        Ok(entry.map(|entry| Fingerprint::from_bits(entry.second())))
    }

    /// A document without its text.
    fn document(&self, id: DocId) -> Result<Option<StoredDocument>> {
        let tables = self.as_tables();
        let Some(fingerprint) = self.fingerprint(id)? else {
            return Ok(None);
        };
        Ok(Some(StoredDocument {
            fingerprint,
            reliable: tables.unreliable.first_in(id.0, id.0)?.is_none(),
            arrival: tables.arrival_of(id)?,
        }))
    }

    /// `None` if no text is stored.
    fn text(&self, id: DocId) -> Result<Option<String>> {
        let tables = self.as_tables();
        match &tables.texts {
            Some(table) => texts::get(table, id, &tables.db_path),
            None => Ok(None),
        }
    }

    /// The text of a document and its sketch; `None` if no text is stored.
    fn text_with_sketch(&self, id: DocId) -> Result<Option<(String, Option<Sketch>)>> {
        let tables = self.as_tables();
        match &tables.texts {
            Some(table) => texts::get_with_sketch(table, id, &tables.db_path),
            None => Ok(None),
        }
    }

    /// The sketches of a document and of documents with larger ids whose texts are near in the file, ascending,
    /// while `wants` returns `true`.
    fn sketches_from(
        &self,
        id: DocId,
        wants: impl Fn(DocId) -> bool,
    ) -> Vec<(DocId, Option<Sketch>)> {
        let tables = self.as_tables();
        match &tables.texts {
            Some(table) => texts::get_sketches_from(table, id, &tables.db_path, wants),
            None => Vec::new(),
        }
    }

    /// The sketch of the text of a document; `None` if no text is stored, or a text without a sketch.
    fn sketch(&self, id: DocId) -> Result<Option<Sketch>> {
        let tables = self.as_tables();
        match &tables.texts {
            Some(table) => texts::get_sketch(table, id, &tables.db_path),
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

/// The result of a look-up of fingerprints: their documents, as far as they were read.
#[derive(Debug, Default)]
pub(crate) struct DocumentLookup {
    /// The fingerprints whose documents are all in one chunk, each with each of its documents; in order of
    /// fingerprints, then ids.
    pub(crate) documents: Vec<(u64, DocId)>,
    /// The other fingerprints, in order. Each may have millions of documents, which
    /// [`FingerprintSource::documents_with`] reads.
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
        // A fingerprint without documents here is in `all.others`, or lost its documents in a flush that
        // is not complete.
        if self.documents.len() == before {
            self.others.push(fingerprint);
        }
    }
}
