//! [`Snapshot`]: the database as of one commit.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::document::Match;
use crate::error::{Error, Result};
use crate::hamming::check_radius;
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::progress::{Progress, ProgressHandler, refuse_break};
use crate::query::{self, Similar, TextQuery};
use crate::recipe::LazyFingerprinter;
use crate::store::maintenance::diagnosis::{self, Diagnosis};
use crate::store::maintenance::stats::{self, Stats};
use crate::store::{CacheMisses, HeldSnapshot, View, refuse_scope};

/// At most 65,536 arrivals are read at a time to be counted.
const COUNTED_PER_PAGE: usize = 64 << 10;

/// The database as of one commit. `Send` and `Sync`.
///
/// The file keeps the pages that a snapshot may read, so it grows while an old snapshot lives. The
/// file also stays locked: [`Database::close`](crate::Database::close) returns
/// [`Error::SnapshotHeld`] while a snapshot lives.
pub struct Snapshot {
    view: Arc<View>,
    fingerprinter: Arc<LazyFingerprinter>,
    /// The ids of the documents that searches find.
    among: IdRanges,
    pub(crate) progress: ProgressHandler,
    /// `None` for the snapshot of a call, which ends with the call.
    held: Option<Arc<HeldSnapshot>>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("path", &self.view.path())
            .field("stored_documents", &self.stored_len())
            .finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn new(
        view: View,
        fingerprinter: Arc<LazyFingerprinter>,
        progress: ProgressHandler,
        held: Option<HeldSnapshot>,
    ) -> Self {
        Self {
            view: Arc::new(view),
            fingerprinter,
            among: IdRanges::ALL,
            progress,
            held: held.map(Arc::new),
        }
    }

    /// Sets the handler for the [`Progress`] of [`within_batch`](Self::within_batch),
    /// [`pairs`](Self::pairs), [`clusters`](Self::clusters) and their variants.
    pub fn on_progress(
        mut self,
        handler: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress.set_function(handler);
        self
    }

    /// This snapshot with its searches limited, by fingerprint ([`within`](Self::within),
    /// [`within_batch`](Self::within_batch), [`nearest`](Self::nearest), [`pairs`](Self::pairs),
    /// [`clusters`](Self::clusters)), by text ([`similar`](Self::similar),
    /// [`similar_pairs`](Self::similar_pairs), [`similar_clusters`](Self::similar_clusters)) and
    /// by copies ([`most_copied`](Self::most_copied)), to the documents of these scopes. The empty
    /// string is the empty scope. No document is in an unknown scope. Other methods are not
    /// limited.
    ///
    /// # Errors
    /// [`Error::KeepsNoScopes`], [`Error::InvalidScope`].
    ///
    /// # Cost
    /// A search of one scope takes as long as a search of all documents without a limit, however
    /// many copies of a text other scopes have. Many scopes cost a look-up each for a text of which
    /// many copies are stored. A search by text in a database with a forest is repeated for each
    /// scope; without a limit, for each scope of the database.
    ///
    /// ```
    /// use simdb::{Database, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().scopes(true).create(folder.path().join("docs.simdb"))?;
    /// for (key, scope) in [("a", "zh"), ("b", "en"), ("c", "zh")] {
    ///     let document = Document::new(key, Fingerprint::from_bits(7)).with_scope(scope);
    ///     assert!(db.insert(document)?.is_inserted());
    /// }
    /// let snapshot = db.snapshot()?.in_scopes(["zh"])?;
    /// let found = snapshot.within(Fingerprint::from_bits(7), 3)?;
    /// assert_eq!(found.len(), 2);
    /// assert_eq!(snapshot.key(found[1].id)?.as_deref(), Some("c"));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn in_scopes<S: AsRef<str>>(&self, scopes: impl IntoIterator<Item = S>) -> Result<Self> {
        let scopes: Vec<S> = scopes.into_iter().collect();
        for scope in &scopes {
            refuse_scope(scope.as_ref(), self.view.keeps_scopes(), self.view.path())?;
        }
        let among = self.view.ids_of_scopes(scopes.iter().map(AsRef::as_ref));
        Ok(self.with_view(Arc::clone(&self.view), among))
    }

    /// Returns `true` if a document of this scope is stored and not expired. The empty string is
    /// the empty scope.
    ///
    /// # Errors
    /// [`Error::KeepsNoScopes`], [`Error::InvalidScope`], [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// None for an unknown name; otherwise a look-up of the first document. Documents before the
    /// first document that have expired or were removed are read until they have left the tables.
    ///
    /// ```
    /// use simdb::{Database, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().scopes(true).create(folder.path().join("docs.simdb"))?;
    /// let document = Document::new("a", Fingerprint::from_bits(7)).with_scope("zh");
    /// assert!(db.insert(document)?.is_inserted());
    /// let snapshot = db.snapshot()?;
    /// assert!(snapshot.has_scope("zh")? && !snapshot.has_scope("en")?);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn has_scope(&self, scope: &str) -> Result<bool> {
        let ids = self.in_scopes([scope])?.among;
        let Some((first, last)) = ids.ranges().first() else {
            return Ok(false);
        };
        let documents = self.view.documents_portion(*first)?.items;
        Ok(documents
            .first()
            .is_some_and(|document| document.id <= *last))
    }

    /// This snapshot without the documents that arrived before a time, in a database that keeps
    /// arrival times. No method finds or counts these documents, as if they had expired.
    ///
    /// # Errors
    /// [`Error::NoArrivals`].
    ///
    /// # Cost
    /// A search looks up the arrival of each match.
    ///
    /// ```
    /// use simdb::{Database, Document, Fingerprint, Retention, Timestamp};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("docs.simdb");
    /// let db = Database::builder().retention(Retention::default()).create(path)?;
    /// let hour = 3_600_000;
    /// for (id, hours) in [(1, 0), (2, 7), (3, 9)] {
    ///     let arrival = Timestamp(1_700_000_000_000 + hours * hour);
    ///     let document = Document::new(id, Fingerprint::from_bits(7)).with_arrival(arrival);
    ///     assert!(db.insert(document)?.is_inserted());
    /// }
    /// let snapshot = db.snapshot()?;
    /// let latest = snapshot.now().unwrap();
    /// let last_six_hours = snapshot.since(Timestamp(latest.0 - 6 * hour))?;
    /// assert_eq!(last_six_hours.within(Fingerprint::from_bits(7), 3)?.len(), 2);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn since(&self, time: impl Into<Timestamp>) -> Result<Self> {
        self.refuse_without_arrivals()?;
        Ok(self.with_view(Arc::new(self.view.since(time.into())), self.among.clone()))
    }

    fn with_view(&self, view: Arc<View>, among: IdRanges) -> Self {
        Self {
            view,
            fingerprinter: Arc::clone(&self.fingerprinter),
            among,
            progress: self.progress.clone(),
            held: self.held.clone(),
        }
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// The ids of the documents that searches find.
    pub(crate) fn among(&self) -> &IdRanges {
        &self.among
    }

    /// Every [reliable](crate::Document::reliable) document whose fingerprint differs in at most
    /// `radius` bits, nearest first, then smallest id. Exact: equal to a comparison with every
    /// document.
    ///
    /// # Errors
    /// [`Error::InvalidRadius`] if the radius is above 64; [`Error::Corrupt`] if a page that the
    /// query needs is damaged; [`Error::Storage`].
    ///
    /// # Cost
    /// For n documents and radius 3: the comparison with four *buckets* of n / 65,536 fingerprints,
    /// those that share a block with the query ([matching](crate::guide::matching)), and a look-up
    /// for each distinct fingerprint that matches. Buckets are
    /// [cached](crate::Builder::cache_bytes).
    ///
    /// A larger radius reads more buckets: 68 at radius 7, 548 at 11. From about 20 on, a scan of 8
    /// bytes for each distinct fingerprint is cheaper. Large queries use all cores.
    ///
    /// # Source
    /// Manku, Jain, Das Sarma, *Detecting near-duplicates for web crawling*, WWW 2007, section 3;
    /// Norouzi, Punjani, Fleet, *Fast search in Hamming space with multi-index hashing*, CVPR 2012,
    /// section 3; Qin, Xiao, *Pigeonring: a principle for faster thresholded similarity search*,
    /// VLDB 2018, section 4.
    ///
    /// ```
    /// use simdb::{Change, Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// let inserts = [(7, 0b0111), (8, 0b1111)]
    ///     .map(|(id, bits)| Change::Insert(Document::new(id, Fingerprint::from_bits(bits))));
    /// db.apply(inserts)?;
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

    /// The answer of [`within`](Self::within) to the fingerprint of a text.
    ///
    /// Empty if that fingerprint is not [reliable](crate::TextFingerprint::reliable), even if a
    /// copy of the text is stored: the fingerprints of such texts are near each other by chance.
    /// [`similar`](Self::similar) compares the texts themselves.
    ///
    /// # Errors
    /// [`Error::NoTexts`] if the recipe is `weighted`; [`Error::InvalidRadius`],
    /// [`Error::Corrupt`], [`Error::Storage`].
    pub fn within_text(&self, text: &str, radius: u32) -> Result<Vec<Match>> {
        let made = self.fingerprinter.get().fingerprint(text)?;
        if !made.reliable {
            return Ok(Vec::new());
        }
        self.within(made.fingerprint, radius)
    }

    /// The first `limit` documents of the answer of [`within`](Self::within). Further documents are
    /// not read.
    ///
    /// # Errors
    /// [`Error::ZeroLimit`], [`Error::InvalidRadius`], [`Error::Corrupt`], [`Error::Storage`].
    pub fn within_limit(
        &self,
        fingerprint: Fingerprint,
        radius: u32,
        limit: usize,
    ) -> Result<Vec<Match>> {
        check_radius(radius)?;
        check_limit(limit)?;
        query::within(&self.view, fingerprint, radius, &self.among, limit)
    }

    /// The answer of [`within`](Self::within) to each query, in the order of the queries.
    ///
    /// # Errors
    /// [`Error::InvalidRadius`], [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// Each bucket is read once for all queries, on all cores. A million queries cost about one
    /// walk through the block tables, and a look-up for each match.
    ///
    /// ```
    /// use simdb::{Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// let inserted = db.insert(Document::new(7, Fingerprint::from_bits(0b0111)))?;
    /// assert!(inserted.is_inserted());
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

    /// Calls `visitor` with the index of each query, in order, and the first `limit` documents of
    /// its answer. `Break` ends the call with [`Error::Interrupted`]; so does a `Break` of the
    /// progress handler, after some tens of milliseconds.
    ///
    /// # Errors
    /// [`Error::ZeroLimit`], [`Error::InvalidRadius`], [`Error::Corrupt`], [`Error::Storage`],
    /// [`Error::Interrupted`].
    ///
    /// # Cost
    /// As [`within_batch`](Self::within_batch). Memory: up to half a GiB, and the matches of
    /// one query.
    pub fn within_batch_with(
        &self,
        queries: &[Fingerprint],
        radius: u32,
        limit: usize,
        mut visitor: impl FnMut(usize, Vec<Match>) -> ControlFlow<()>,
    ) -> Result<()> {
        check_radius(radius)?;
        check_limit(limit)?;
        // The search ends in the same way at a `false` of the visitor and at its own end; `flow`
        // tells them apart.
        let mut flow = ControlFlow::Continue(());
        let mut visitor = |number, matches| {
            flow = visitor(number, matches);
            flow.is_continue()
        };
        let progress = self.progress.for_operation(&[1]);
        let (view, among) = (&self.view, &self.among);
        query::within_batch(view, queries, radius, among, limit, &progress, &mut visitor)?;
        refuse_break(flow, self.view.path())
    }

    /// The `count` nearest reliable documents, then smallest id; fewer if the database has fewer.
    ///
    /// # Errors
    /// [`Error::ZeroLimit`] if `count` is 0; [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// As [`within`](Self::within) at radius 3, 7, 11 and so on, until `count` are found.
    pub fn nearest(&self, fingerprint: Fingerprint, count: usize) -> Result<Vec<Match>> {
        check_limit(count)?;
        query::nearest(&self.view, fingerprint, &self.among, count)
    }

    /// The number of documents, without expired documents: as many as
    /// [`documents`](Self::documents) returns.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// None without a [window](crate::Retention::window); otherwise a read of the arrival times of
    /// the expired documents that are not removed yet, usually a few pages.
    pub fn len(&self) -> Result<u64> {
        // The count of a damaged file may be any number.
        Ok(self.stored_len().saturating_sub(self.count_expired()?))
    }

    /// Returns `true` if [`len`](Self::len) is 0.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The number of documents that take space in the file: [`len`](Self::len), and the expired
    /// documents that are not removed yet.
    pub fn stored_len(&self) -> u64 {
        self.view.stored_len()
    }

    fn count_expired(&self) -> Result<u64> {
        self.expired_before()
            .map_or(Ok(0), |cutoff| self.count_arrived_before(cutoff))
    }

    fn count_arrived_before(&self, cutoff: Timestamp) -> Result<u64> {
        let mut count = 0;
        self.for_each_arrived_before(cutoff, COUNTED_PER_PAGE, &mut |ids| {
            count += ids.len() as u64;
            Ok(())
        })?;
        Ok(count)
    }

    /// Every candidate whose text is like the text of the query by
    /// [`Likeness`](crate::similarity::Likeness) and, unless the query
    /// [decides](TextQuery::decision) otherwise, covers the text of the query or is covered by it.
    /// Not exact: a document that is no candidate is not found.
    ///
    /// The order is the order of [`Similar`]: the texts that cover the query come first.
    /// Each answer has the verdict and the missing words of both texts.
    ///
    /// | database | candidates | finds |
    /// |---|---|---|
    /// | with a forest ([`Builder::similar`](crate::Builder::similar)) | same wording; neighbours in the forest; within 3 bits | of a million texts of one line, most of them edits of real texts, 99.9 % with a [score](crate::similarity::Resemblance::score) above 0.75, and 98 % of all |
    /// | with texts only | within 12 bits | lightly edited texts; about half of short ones |
    ///
    /// All candidates are compared, however many they are. Neighbours in the forest depend on the
    /// number of other texts nearby, those included that were stored or removed after this
    /// snapshot: a text with a low score may be a candidate in one call and not in the next.
    ///
    /// # Errors
    /// [`Error::KeepsNoTexts`], [`Error::InvalidLikeness`], [`Error::InvalidRadius`],
    /// [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// 48 look-ups in the forest, 72 for texts of about a hundred characters; then less than a
    /// microsecond for each candidate with a short text whose letters are
    /// [cached](crate::Builder::cache_bytes), and some twenty microseconds for any other, and for
    /// each that is alike. Memory: some 30 bytes for each candidate. A text of which a million
    /// copies are stored has a million candidates.
    ///
    /// ```
    /// use simdb::{Database, Decision, DocId};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// let inserted = db.insert(db.document(1, "你妈妈喊你回家吃饭哦，回家罗回家罗")?)?;
    /// assert!(inserted.is_inserted());
    ///
    /// let query = db.text_query("你妈妈叫你回家吃饭啦，回家罗回家罗")?.decision(Decision::Alike);
    /// let found = db.snapshot()?.similar(&query)?;
    /// assert_eq!(found[0].id, DocId(1));
    /// assert_eq!(found[0].resemblance.edit_similarity, Some(1.0 - 2.0 / 16.0));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn similar(&self, query: &TextQuery) -> Result<Vec<Similar>> {
        self.view.refuse_without_texts()?;
        query.check()?;
        query::similar(&self.view, query, &self.among)
    }

    /// The largest id; `None` if no document is stored.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// A look-up for each of 64 bits, some hundred microseconds.
    pub fn last_id(&self) -> Result<Option<DocId>> {
        let mut last = None;
        // A binary search. No document is beyond `to`; `from` is beyond the last document found.
        let (mut from, mut to) = (0, u64::MAX);
        loop {
            let middle = from + (to - from) / 2;
            match self.view.documents_portion(DocId(middle))?.items.last() {
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

    /// The number of documents that arrived before `older_than`, without expired ones.
    ///
    /// # Errors
    /// [`Error::NoArrivals`], [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// A read of their arrival times.
    pub fn count_older(&self, older_than: Timestamp) -> Result<u64> {
        self.refuse_without_arrivals()?;
        // Expired documents do not count, although they may not be removed yet.
        let expired = match self.expired_before() {
            Some(cutoff) => self.count_arrived_before(cutoff.min(older_than))?,
            None => 0,
        };
        Ok(self
            .count_arrived_before(older_than)?
            .saturating_sub(expired))
    }

    /// The time by which documents expire: the latest arrival, or the clock at the time of the
    /// snapshot if that is later and [`by_clock`](crate::Retention::by_clock) is set. `None` before
    /// the first arrival, or without arrival times.
    pub fn now(&self) -> Option<Timestamp> {
        self.view.expiry().now()
    }

    /// The latest arrival ever stored, also of a document that is removed since. `None` before the
    /// first arrival, or without arrival times.
    pub fn latest_arrival(&self) -> Option<Timestamp> {
        self.view.counts().latest_arrival
    }

    /// The time before which documents are expired; `None` if no document is.
    pub(crate) fn expired_before(&self) -> Option<Timestamp> {
        self.view.expiry().cutoff()
    }

    /// Calls `visitor` with all documents that arrived before `cutoff`, at most `per_page` at a
    /// time.
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
        let (mut from, mut has_more) = ((0, DocId(0)), true);
        while has_more {
            let ids;
            (ids, from, has_more) = self.view.arrived_before(cutoff, from, per_page)?;
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

    /// The number of changes in the journal that are not in the tables yet: the backlog of the
    /// background merge. Unlike [`stats`](Self::stats), it reads nothing.
    pub fn unmerged_changes(&self) -> u64 {
        self.view.unflushed_changes()
    }

    /// The reads of all snapshots that the cache did not answer, since the database was opened. A
    /// cache that is large enough for a warm database has few.
    pub fn cache_misses(&self) -> CacheMisses {
        self.view.cache_misses()
    }

    /// The counts and sizes of the database.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`], [`Error::Io`].
    ///
    /// # Cost
    /// A read of every page of the packed tables.
    pub fn stats(&self) -> Result<Stats> {
        let mut stats = stats::stats(&self.view)?;
        stats.expired = self.count_expired()?;
        stats.documents = stats.documents.saturating_sub(stats.expired);
        Ok(stats)
    }

    /// The distribution of the fingerprints, which decides the cost of queries: over the keys of
    /// each block, over 0 and 1 for each bit, and over documents that share a fingerprint.
    ///
    /// Changes in the journal are only counted. Expired documents count until they are removed.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// A read of table `block0`. Memory: 4 MiB.
    ///
    /// ```
    /// use simdb::{Change, Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("docs.simdb");
    /// let db = Database::create(&path)?;
    /// db.apply((0..100).map(|id| {
    ///     // Bit 0 is always 1, and ten documents have the same fingerprint.
    ///     let bits = id / 10 * 0x1234_5678_9abc_def0 | 1;
    ///     Change::Insert(Document::new(id, Fingerprint::from_bits(bits)))
    /// }))?;
    /// // Closing a database merges its journal into the tables.
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

/// Refuses a query for at most 0 documents: such a limit is a mistake, and an empty answer would
/// say that no document matches.
pub(crate) fn check_limit(limit: usize) -> Result<()> {
    if limit == 0 {
        return Err(Error::ZeroLimit);
    }
    Ok(())
}
