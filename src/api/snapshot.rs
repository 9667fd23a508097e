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

/// Documents whose arrival is looked at before they are counted.
const COUNTED_AT_ONCE: usize = 64 << 10;

/// The database as of one commit: consistent, reusable, `Send` and `Sync`.
///
/// Queries through a snapshot save opening the tables each time. What takes long goes on on all
/// cores, in threads of the database's own. Pages freed by later commits are kept for as long as a
/// snapshot lives, so the file grows while writers work beside an old one: do not hold one longer
/// than needed.
pub struct Snapshot {
    view: View,
    pub(crate) progress: ProgressHandler,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Snapshot");
        shown.field("path", &self.view.path());
        shown
            .field("documents", &self.len())
            .finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn over(view: View, progress: ProgressHandler) -> Self {
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

    /// The document with this id, with its text where one is kept.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Storage`](crate::Error::Storage).
    ///
    /// # Cost
    /// A descent to one chunk, a few microseconds when cached.
    pub fn get(&self, id: DocId) -> Result<Option<Document>> {
        self.view.document(id)
    }

    /// Every reliable document whose fingerprint differs in at most `radius` bits, nearest
    /// first, then smallest id. It is exactly what comparing with every document would give.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a page that was needed is damaged: each is
    /// compared with its checksum as it is read. [`Error::Storage`](crate::Error::Storage).
    ///
    /// # Cost
    /// For n documents and radius 3: one probe in each of the four block tables, n / 65,536
    /// candidates in each, and a look-up for each distinct fingerprint found. A larger radius
    /// probes the keys that differ in up to radius / 4 bits, 68 in all at radius 7, 548 at 11,
    /// until a scan of 8 bytes for each distinct fingerprint is cheaper; both use all cores where
    /// that pays. Of a key that more than 16,384 fingerprints have, only the parts are read in
    /// which its next block is near enough too: 17 of 65,536 at radius 3.
    ///
    /// The first time, a probe reads some pages and checks them; then its candidates are kept in
    /// memory ([`Builder::cache_bytes`](crate::Builder::cache_bytes)).
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

    /// The first `limit` of what [`within`](Self::within) gives. The documents of a fingerprint
    /// that many share are not read beyond the limit.
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

    /// What [`within`](Self::within) gives for each of many queries, in their order.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    ///
    /// # Cost
    /// Each key that any query probes is read once for all of them, on all cores, and compared
    /// with those that are near; a match then costs a look-up as ever. A million queries cost a
    /// walk through the block tables, a fraction of what they cost one by one.
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

    /// Calls `visitor` with the number of each query, counted from 0 and in order, and the first
    /// `limit` of its matches, until it breaks.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    ///
    /// # Cost
    /// That of [`within_batch`](Self::within_batch), in bounded memory: up to about half a gibibyte
    /// for a million queries at a time, however many there are and however much they match
    /// together, and what a single one of them matches.
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
    /// That of [`within`](Self::within) at radius 3, 7, 11 and so on, until so many are found.
    pub fn nearest(&self, fingerprint: Fingerprint, count: usize) -> Result<Vec<Match>> {
        query::nearest(&self.view, fingerprint, count)
    }

    /// How many documents are stored. In a database with a
    /// [`window`](crate::Retention::window), those that are expired and not removed yet are counted;
    /// [`documents`](Self::documents) leaves them out.
    pub fn len(&self) -> u64 {
        self.view.len()
    }

    /// Whether no document is stored, as [`len`](Self::len) counts them.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All documents in order of their ids, with their texts where they are kept, those that are
    /// expired left out. After an error the iterator ends.
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
    /// Whatever is found is like the query by [`Likeness`](crate::Likeness); what is not among the
    /// candidates is not found. Of a band that more than 1,024 documents have (boilerplate) those
    /// with the smallest ids are looked at, of near fingerprints the nearest 1,024, and 8,192 in
    /// all.
    ///
    /// # Errors
    /// [`Error::KeepsNoTexts`]; those of [`within`](Self::within).
    ///
    /// # Cost
    /// 41 look-ups for the bands, 81 for texts of about a hundred characters; a text read and
    /// compared for each candidate, some ten microseconds each for short texts, on all cores if
    /// there are many. Documents of a band that are removed and not merged yet, or expired and not
    /// removed, are passed over one by one.
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

    /// The same by texts that the caller keeps: `text_of` gives the text of a document, or nothing
    /// if there is none, from any thread.
    ///
    /// It is called by threads of the database's own, on which others wait: it must not write to
    /// this database, nor wait for somebody who does.
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
        // No document is beyond `to`; `from` is beyond the last one met.
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

    /// How many documents arrived before `older_than`.
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
            self.for_each_arrived_before(before, COUNTED_AT_ONCE, &mut |ids| {
                count += ids.len() as u64;
                Ok(())
            })?;
            Ok::<_, Error>(count)
        };
        // What is expired is no document any more, though perhaps not removed yet.
        let expired = match self.expired_before() {
            Some(cutoff) => count(cutoff.min(older_than))?,
            None => 0,
        };
        Ok(count(older_than)? - expired)
    }

    /// What counts as now where documents expire: the latest arrival there ever was, or, where
    /// [`by_clock`](crate::Retention::by_clock) says so, the time at which this snapshot was taken
    /// if that is later. Nothing before the first arrival, or if the database keeps no arrival
    /// times.
    pub fn now(&self) -> Option<Timestamp> {
        self.view.expiry().now()
    }

    /// What arrived before this is expired; nothing if nothing is.
    pub(crate) fn expired_before(&self) -> Option<Timestamp> {
        self.view.expiry().cutoff()
    }

    /// Calls `visitor` with all documents that arrived before a moment, some at a time.
    pub(crate) fn for_each_arrived_before(
        &self,
        cutoff: Timestamp,
        at_once: usize,
        visitor: &mut dyn FnMut(&[DocId]) -> Result<()>,
    ) -> Result<()> {
        for ids in self
            .view
            .arrived_before_in_memtables(cutoff)
            .chunks(at_once)
        {
            visitor(ids)?;
        }
        let (mut from, mut goes_on) = ((0, DocId(0)), true);
        while goes_on {
            let ids;
            (ids, from, goes_on) = self.view.arrived_before(cutoff, from, at_once)?;
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

    /// Counts and sizes.
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

    /// How evenly the fingerprints lie, which decides what a query costs: over the keys of each
    /// block, each bit over 0 and 1, and how many documents share one. What it means, and from
    /// where on something is wrong, `simdb-cli doctor` says.
    ///
    /// It is said of the tables: of changes that are still in the journal it says only how many
    /// they are, and documents that are expired but not removed yet are counted.
    ///
    /// # Errors
    /// Those of [`within`](Self::within).
    ///
    /// # Cost
    /// Reads one of the tables, `block0`, from beginning to end: 16 bytes for each document and
    /// what the chunks have free. 4 MiB of memory, however many documents there are.
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
