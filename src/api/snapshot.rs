//! [`Snapshot`]: the database as of one commit.

use std::fmt;
use std::ops::ControlFlow;

use crate::document::{DocId, Document, Match, Timestamp};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::progress::{Progress, ProgressHandler};
use crate::query::{self, Similar, TextQuery};
use crate::store::View;
use crate::store::maintenance::diagnosis::{self, Diagnosis};
use crate::store::maintenance::stats::{self, Stats};

/// Arrivals read at a time to be counted.
const COUNTED_PER_PAGE: usize = 64 << 10;

/// The database as of one commit: consistent, reusable, `Send` and `Sync`.
///
/// A snapshot opens the tables once for all its queries. Long work runs on all cores, on the threads
/// of the database. Pages freed by later commits are kept while a snapshot lives, so the file grows
/// beside an old snapshot: do not hold one longer than needed.
pub struct Snapshot {
    view: View,
    pub(crate) progress: ProgressHandler,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("path", &self.view.path())
            .field("documents", &self.len())
            .finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn new(view: View, progress: ProgressHandler) -> Self {
        Self { view, progress }
    }

    /// Sets the handler that [`pairs`](Self::pairs), [`clusters`](Self::clusters) and their
    /// variants report their progress to: see [`Progress`].
    pub fn on_progress(
        mut self,
        handler: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress = ProgressHandler::new(handler);
        self
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// The document with this id, with its text if one is stored; `None` if there is no such document.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Storage`](crate::Error::Storage).
    ///
    /// # Cost
    /// A descent to one chunk, a few microseconds when cached.
    pub fn get(&self, id: DocId) -> Result<Option<Document>> {
        self.view.document(id)
    }

    /// Every reliable document whose fingerprint differs in at most `radius` bits, nearest first, then
    /// smallest id. Exactly the answer of a comparison with every document.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a page that was needed is damaged: the checksum of
    /// each page is verified as it is read. [`Error::Storage`](crate::Error::Storage).
    ///
    /// # Cost
    /// For n documents and radius 3: one probe in each of the four block tables, n / 65,536
    /// candidates in each, and a look-up for each distinct fingerprint found. A larger radius probes
    /// the keys that differ in up to radius / 4 bits, 68 in all at radius 7, 548 at 11, until a scan of
    /// 8 bytes for each distinct fingerprint is cheaper; both use all cores if that pays. Of a key with
    /// more than 16,384 fingerprints, only the parts are read in which the next block is near enough
    /// too: 17 of 65,536 at radius 3.
    ///
    /// The first probe of a key reads some pages and verifies them; then its candidates are cached
    /// ([`Builder::cache_bytes`](crate::Builder::cache_bytes)).
    ///
    /// # Source
    /// Manku, Jain, Das Sarma, *Detecting near-duplicates for web crawling*, WWW 2007, section 3;
    /// Norouzi, Punjani, Fleet, *Fast search in Hamming space with multi-index hashing*, CVPR
    /// 2012, section 3; Qin, Xiao, *Pigeonring: a principle for faster thresholded similarity
    /// search*, VLDB 2018, section 4.
    ///
    /// ```
    /// use simdb::{Database, DocId, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// db.insert(DocId(7), Fingerprint::from_bits(0b0111))?;
    /// db.insert(DocId(8), Fingerprint::from_bits(0b1111))?;
    ///
    /// let snapshot = db.snapshot()?;
    /// let matches = snapshot.within(Fingerprint::from_bits(0), 3)?;
    /// assert_eq!(matches.len(), 1);
    /// assert_eq!((matches[0].id, matches[0].distance), (DocId(7), 3));
    /// assert_eq!(snapshot.within(Fingerprint::from_bits(0), 4)?.len(), 2);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn within(&self, fingerprint: Fingerprint, radius: u32) -> Result<Vec<Match>> {
        self.within_limit(fingerprint, radius, usize::MAX)
    }

    /// The first `limit` documents of the answer of [`within`](Self::within). The documents of a
    /// fingerprint that many share are not read beyond the limit.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    pub fn within_limit(
        &self,
        fingerprint: Fingerprint,
        radius: u32,
        limit: usize,
    ) -> Result<Vec<Match>> {
        query::within(&self.view, fingerprint, radius, limit)
    }

    /// The answer of [`within`](Self::within) to each of many queries, in their order.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    ///
    /// # Cost
    /// Each key that a query probes is read once for all queries, on all cores, and compared with the
    /// queries near it; each match costs a look-up. A million queries cost one walk through the block
    /// tables, a fraction of their cost one by one.
    ///
    /// ```
    /// use simdb::{Database, DocId, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// db.insert(DocId(7), Fingerprint::from_bits(0b0111))?;
    ///
    /// let queries = [0b0110, u64::MAX].map(Fingerprint::from_bits);
    /// let answers = db.snapshot()?.within_batch(&queries, 3)?;
    /// assert_eq!(answers[0][0].id, DocId(7));
    /// assert!(answers[1].is_empty());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn within_batch(&self, queries: &[Fingerprint], radius: u32) -> Result<Vec<Vec<Match>>> {
        let mut answers = Vec::with_capacity(queries.len());
        self.within_batch_with(queries, radius, usize::MAX, |_, matches| {
            answers.push(matches);
            ControlFlow::Continue(())
        })?;
        Ok(answers)
    }

    /// Calls `visitor` with the index of each query, in order, and its first `limit` matches, until the
    /// visitor breaks.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    ///
    /// # Cost
    /// That of [`within_batch`](Self::within_batch), in bounded memory: about half a GiB at most for a
    /// million queries at a time, whatever they match together, and the matches of one query.
    pub fn within_batch_with(
        &self,
        queries: &[Fingerprint],
        radius: u32,
        limit: usize,
        mut visitor: impl FnMut(usize, Vec<Match>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut visitor = |number, matches| visitor(number, matches).is_continue();
        query::within_batch(&self.view, queries, radius, limit, &mut visitor).map(drop)
    }

    /// The `count` nearest reliable documents, ties by id; fewer only if there are fewer.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    ///
    /// # Cost
    /// That of [`within`](Self::within) at radius 3, 7, 11 and so on, until `count` are found.
    pub fn nearest(&self, fingerprint: Fingerprint, count: usize) -> Result<Vec<Match>> {
        query::nearest(&self.view, fingerprint, count)
    }

    /// The number of stored documents. In a database with a [`window`](crate::Retention::window) it
    /// includes expired documents that are not removed yet; [`documents`](Self::documents) leaves them
    /// out.
    pub fn len(&self) -> u64 {
        self.view.len()
    }

    /// Returns `true` if [`len`](Self::len) is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All documents in order of their ids, with their texts if texts are stored, without expired
    /// documents. After an error the iterator ends.
    pub fn documents(&self) -> impl Iterator<Item = Result<Document>> + '_ {
        let mut failed = false;
        let with_texts = self.view.documents().map(|document| {
            let mut document = document?;
            document.text = self.view.text(document.id)?;
            Ok(document)
        });
        with_texts.take_while(move |document| !std::mem::replace(&mut failed, document.is_err()))
    }

    /// Every document whose text is like that of the query, the most alike first: candidates from
    /// bands and near fingerprints, each decided by its text.
    ///
    /// | database | candidates | finds |
    /// |---|---|---|
    /// | with bands ([`Builder::similar`](crate::Builder::similar)) | all with the same wording; all that share one of 40 bands; all within 3 bits | of texts that share half of their shingles of characters 99.5 %, a third 78 % |
    /// | with texts only | all within 12 bits, if the fingerprint is reliable | texts with light edits; of short ones about half of those that are like it |
    ///
    /// Every document in the answer is like the query by [`Likeness`](crate::Likeness); a document
    /// that is no candidate is not found. Candidates are the 1,024 documents of a band with the
    /// smallest ids (a band of more documents is boilerplate) and the 1,024 nearest fingerprints, and
    /// 8,192 documents in all.
    ///
    /// # Errors
    /// [`Error::KeepsNoTexts`]; those of [`within`](Self::within).
    ///
    /// # Cost
    /// 41 look-ups for the bands, 81 for texts of about a hundred characters; a text read and compared
    /// for each candidate, some ten microseconds each for short texts, on all cores if there are many.
    /// Documents of a band that are removed but not merged yet, or expired but not removed, are skipped
    /// one by one.
    ///
    /// ```
    /// use simdb::{Database, DocId};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// db.insert_text(DocId(1), "你妈妈喊你回家吃饭哦，回家罗回家罗")?;
    ///
    /// let query = db.text_query("你妈妈叫你回家吃饭啦，回家罗回家罗")?;
    /// let found = db.snapshot()?.similar(&query)?;
    /// assert_eq!(found[0].id, DocId(1));
    /// assert_eq!(found[0].resemblance.edit_similarity, Some(1.0 - 2.0 / 16.0));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn similar(&self, query: &TextQuery) -> Result<Vec<Similar>> {
        if !self.view.keeps_texts() {
            let path = self.view.path().to_path_buf();
            return Err(Error::KeepsNoTexts { path });
        }
        query::similar(&self.view, query, |id| self.view.text(id))
    }

    /// The answer of [`similar`](Self::similar) by texts that the caller stores: `text_of` returns the
    /// text of a document, or `None` if there is none.
    ///
    /// `text_of` is called on the threads of the database, which other calls wait for: it must not
    /// write to this database, nor wait for a thread that does.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    pub fn similar_by(
        &self,
        query: &TextQuery,
        text_of: impl Fn(DocId) -> Option<String> + Sync,
    ) -> Result<Vec<Similar>> {
        query::similar(&self.view, query, |id| Ok(text_of(id)))
    }

    /// The largest id of all documents; `None` if none is stored.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    ///
    /// # Cost
    /// A descent for each bit of an id, some hundred microseconds.
    ///
    /// ```
    /// use simdb::{Database, DocId, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// assert_eq!(db.snapshot()?.last_id()?, None);
    /// db.insert(DocId(8), Fingerprint::from_bits(1))?;
    /// db.insert(DocId(5), Fingerprint::from_bits(2))?;
    /// assert_eq!(db.snapshot()?.last_id()?, Some(DocId(8)));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn last_id(&self) -> Result<Option<DocId>> {
        let mut last = None;
        // A binary search. No document is beyond `to`; `from` is beyond the last document found.
        let (mut from, mut to) = (0, u64::MAX);
        loop {
            let middle = from + (to - from) / 2;
            match self.view.documents_page(DocId(middle))?.items.last() {
                Some(document) => {
                    last = Some(document.id);
                    match document.id.0.checked_add(1) {
                        Some(next) if next <= to => from = next,
                        _ => return Ok(last),
                    }
                }
                None if middle == from => return Ok(last),
                None => to = middle - 1,
            }
        }
    }

    /// The number of documents that arrived before `older_than`.
    ///
    /// # Errors
    /// [`Error::NoArrivals`] if the database keeps no arrival times; those of
    /// [`within`](Self::within).
    ///
    /// # Cost
    /// Reads their arrival times, in order.
    pub fn count_older(&self, older_than: Timestamp) -> Result<u64> {
        self.refuse_without_arrivals()?;
        let count = |before| {
            let mut count = 0;
            self.for_each_arrived_before(before, COUNTED_PER_PAGE, &mut |ids| {
                count += ids.len() as u64;
                Ok(())
            })?;
            Ok::<_, Error>(count)
        };
        // Expired documents do not count, although they may not be removed yet.
        let expired = match self.expired_before() {
            Some(cutoff) => count(cutoff.min(older_than))?,
            None => 0,
        };
        Ok(count(older_than)? - expired)
    }

    /// The time by which documents expire: the latest arrival ever, or with
    /// [`by_clock`](crate::Retention::by_clock) the time at which this snapshot was taken, if that is
    /// later. `None` before the first arrival, or if the database stores no arrival times.
    pub fn now(&self) -> Option<Timestamp> {
        self.view.expiry().now()
    }

    /// Documents that arrived before this time are expired; `None` if no document is.
    pub(crate) fn expired_before(&self) -> Option<Timestamp> {
        self.view.expiry().cutoff()
    }

    /// Calls `visitor` with all documents that arrived before `cutoff`, up to `per_page` at a time.
    pub(crate) fn for_each_arrived_before(
        &self,
        cutoff: Timestamp,
        per_page: usize,
        visitor: &mut dyn FnMut(&[DocId]) -> Result<()>,
    ) -> Result<()> {
        for ids in self
            .view
            .arrived_before_in_memtables(cutoff)
            .chunks(per_page)
        {
            visitor(ids)?;
        }
        let (mut from, mut goes_on) = ((0, DocId(0)), true);
        while goes_on {
            let ids;
            (ids, from, goes_on) = self.view.arrived_before(cutoff, from, per_page)?;
            visitor(&ids)?;
        }
        Ok(())
    }

    pub(crate) fn refuse_without_arrivals(&self) -> Result<()> {
        if self.view.keeps_arrivals() {
            return Ok(());
        }
        let path = self.view.path().to_path_buf();
        Err(Error::NoArrivals { path })
    }

    /// The counts and sizes of the database.
    ///
    /// # Errors
    /// Those of [`within`](Self::within); [`Error::Io`](crate::Error::Io) if the length of the
    /// file cannot be read.
    ///
    /// # Cost
    /// Reads every page of the packed tables.
    pub fn stats(&self) -> Result<Stats> {
        stats::stats(&self.view)
    }

    /// The distribution of the fingerprints, which decides the cost of queries: over the keys of each
    /// block, of each bit over 0 and 1, and of documents that share a fingerprint. `simdb-cli doctor`
    /// explains the numbers and warns of bad ones.
    ///
    /// The numbers are those of the tables: changes still in the journal are only counted, and expired
    /// documents that are not removed yet are included.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    ///
    /// # Cost
    /// Reads the table `block0`: 16 bytes for each document, and the free room in its chunks. Takes
    /// 4 MiB of memory for any number of documents.
    ///
    /// ```
    /// use simdb::{Database, DocId, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("docs.simdb");
    /// let db = Database::create(&path)?;
    /// for id in 0..100 {
    ///     // Bit 0 is always 1, and many have the same fingerprint.
    ///     db.insert(DocId(id), Fingerprint::from_bits(id / 10 * 0x1234_5678_9abc_def0 | 1))?;
    /// }
    /// // Closing a database brings what is in its journal into the tables.
    /// drop(db);
    /// let diagnosis = Database::open(&path)?.snapshot()?.diagnose()?;
    ///
    /// assert_eq!(diagnosis.distinct_fingerprints, 10);
    /// assert_eq!(diagnosis.ones()[0], 10);
    /// assert_eq!(diagnosis.duplicates.groups, 10);
    /// assert_eq!(diagnosis.duplicates.largest[0].samples[0], DocId(0));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn diagnose(&self) -> Result<Diagnosis> {
        diagnosis::diagnose(&self.view)
    }
}
