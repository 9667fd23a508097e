//! What a query asks of a database, and how its tables answer.

use redb::ReadableTable;

use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::tables::Tables;
use crate::store::tables::edit::StoredDocument;
use crate::store::tables::packed::Step;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::texts;
use crate::store::view::bucket_cache::Bucket;

/// What a query asks of the tables, in a snapshot and within a write transaction alike.
pub(crate) trait FingerprintSource: Sized {
    /// Does work that may go on on all cores, where the tables can be shared.
    fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }

    /// Calls `look` with each of `keys`, which ascend, its run in `block`, and what was found so
    /// far, and returns all that was found. Many keys are looked at on all cores where the tables
    /// can be shared; the order of what is found is then that of the keys all the same.
    fn look_up<T: Send>(
        &self,
        block: usize,
        keys: &[u16],
        look: impl Fn(&Self, u16, Bucket<'_>, &mut Vec<T>) -> Result<()> + Sync,
    ) -> Result<Vec<T>>;

    /// Calls `look` with pieces that together hold every distinct reliable fingerprint once, as
    /// rotated by block [`SCANNED`], and returns all that was found, in their order.
    fn scan<T: Send>(&self, look: impl Fn(&[u64], &mut Vec<T>) + Sync) -> Result<Vec<T>>;

    /// Visits, in pieces and in order, the distinct reliable fingerprints whose rotation by
    /// `block` lies in `from..=to`, still rotated. To seek is to go past what is below.
    fn walk(
        &self,
        block: usize,
        from: u64,
        to: u64,
        visitor: &mut dyn FnMut(&[u64]) -> Result<Step<u64>>,
    ) -> Result<()>;

    /// How many chunks the table of a block has.
    fn chunks(&self, block: usize) -> Result<u64>;

    /// The reliable documents of each of these fingerprints, which ascend and are all stored, but
    /// for those of documents that a merge has come half way with.
    fn documents_of(&self, fingerprints: &[u64]) -> Result<DocumentsOf>;

    /// The reliable documents with exactly this fingerprint, in order, from `from` on: at least
    /// one if there is one, and as many as are at hand. Says, too, whether there may be more.
    fn documents_with(&self, fingerprint: u64, from: DocId) -> Result<(Vec<DocId>, bool)>;

    /// The documents whose text has this band key, in order, from `from` on: at most so many, and
    /// whether there are more. None where no bands are kept.
    fn documents_in_band(&self, key: u64, from: DocId, most: usize) -> Result<(Vec<DocId>, bool)>;

    /// Whether bands are kept.
    fn keeps_bands(&self) -> bool;

    /// What is stored of a document beside its text.
    fn document(&self, id: DocId) -> Result<Option<StoredDocument>>;

    /// The text of a document, where one is kept.
    fn text(&self, id: DocId) -> Result<Option<String>>;

    /// When a document that is stored arrived; nothing where no times are kept.
    fn arrival(&self, id: DocId) -> Result<Option<Timestamp>>;

    /// When the document that arrived first did; nothing where there is none, or no times are kept.
    fn oldest_arrival(&self) -> Result<Option<Timestamp>>;

    /// The documents that arrived before `cutoff`, in order of their times, then of their ids:
    /// those from `from` on, at most so many. None where no times are kept.
    fn arrivals_before(
        &self,
        cutoff: Timestamp,
        from: (u64, DocId),
        most: usize,
    ) -> Result<Vec<(Timestamp, DocId)>>;
}

/// Documents of some fingerprints.
#[derive(Debug, Default)]
pub(crate) struct DocumentsOf {
    /// Fingerprint and document, in that order, of the fingerprints whose documents were at hand.
    pub(crate) documents: Vec<(u64, DocId)>,
    /// The other fingerprints, in order: there may be any number of documents.
    pub(crate) others: Vec<u64>,
}

impl DocumentsOf {
    /// Takes what others say of one of their fingerprints.
    pub(crate) fn take(&mut self, others: &Self, fingerprint: u64) {
        let start = others
            .documents
            .partition_point(|(other, _)| *other < fingerprint);
        let own = others.documents[start..]
            .iter()
            .take_while(|(other, _)| *other == fingerprint);
        let before = self.documents.len();
        self.documents.extend(own);
        if self.documents.len() == before {
            self.others.push(fingerprint);
        }
    }
}

/// The block whose table a scan reads: it holds each distinct fingerprint once, in half the bytes
/// that the documents take.
pub(crate) const SCANNED: usize = 1;

impl<P, S> FingerprintSource for Tables<P, S>
where
    P: ReadableTable<u128, &'static [u8]>,
    S: ReadableTable<u64, &'static [u8]>,
{
    fn look_up<T: Send>(
        &self,
        block: usize,
        keys: &[u16],
        look: impl Fn(&Self, u16, Bucket<'_>, &mut Vec<T>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        for stretch in keys.chunk_by(|a, b| a + 1 == *b) {
            let (first, last) = (stretch[0], stretch[stretch.len() - 1]);
            self.walk_runs(block, first, last, |key, run| {
                look(self, key, run, &mut found)
            })?;
        }
        Ok(found)
    }

    fn scan<T: Send>(&self, look: impl Fn(&[u64], &mut Vec<T>) + Sync) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.walk(SCANNED, 0, u64::MAX, &mut |piece| {
            look(piece, &mut found);
            Ok(Step::Next)
        })?;
        Ok(found)
    }

    fn walk(
        &self,
        block: usize,
        from: u64,
        to: u64,
        visitor: &mut dyn FnMut(&[u64]) -> Result<Step<u64>>,
    ) -> Result<()> {
        self.walk_block(block, from, to, visitor)
    }

    fn chunks(&self, block: usize) -> Result<u64> {
        match block.checked_sub(1) {
            Some(position) => self.rotated[position].chunks(),
            None => self.block0.chunks(),
        }
    }

    fn documents_of(&self, fingerprints: &[u64]) -> Result<DocumentsOf> {
        self.find_documents(fingerprints)
    }

    fn documents_with(&self, fingerprint: u64, from: DocId) -> Result<(Vec<DocId>, bool)> {
        self.documents_from(fingerprint, from)
    }

    fn documents_in_band(&self, key: u64, from: DocId, most: usize) -> Result<(Vec<DocId>, bool)> {
        self.find_in_band(key, from, most)
    }

    fn keeps_bands(&self) -> bool {
        self.bands.is_some()
    }

    fn text(&self, id: DocId) -> Result<Option<String>> {
        match &self.texts {
            Some(table) => texts::get(table, id, &self.db_path),
            None => Ok(None),
        }
    }

    fn document(&self, id: DocId) -> Result<Option<StoredDocument>> {
        let entry = self
            .fingerprints
            .first_in(pair(id.0, 0), pair(id.0, u64::MAX))?;
        let Some(entry) = entry else {
            return Ok(None);
        };
        let reliable = self.unreliable.first_in(id.0, id.0)?.is_none();
        Ok(Some(StoredDocument {
            fingerprint: Fingerprint::from_bits(entry.second()),
            reliable,
            arrival: self.arrival_of(id)?,
        }))
    }

    fn arrival(&self, id: DocId) -> Result<Option<Timestamp>> {
        self.arrival_of(id)
    }

    fn oldest_arrival(&self) -> Result<Option<Timestamp>> {
        self.first_arrival()
    }

    fn arrivals_before(
        &self,
        cutoff: Timestamp,
        from: (u64, DocId),
        most: usize,
    ) -> Result<Vec<(Timestamp, DocId)>> {
        self.find_arrivals(cutoff, from, most)
    }
}
