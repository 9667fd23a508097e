//! The tables of a snapshot, read with a bucket cache and on all cores.

use std::sync::Arc;

use rayon::prelude::*;

use crate::block;
use crate::document::{DocId, Document, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::disk::path::RedbResult;
use crate::store::tables::ReadTables;
use crate::store::tables::packed::Step;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::schema::{self, Counters};
use crate::store::view::bucket_cache::{Bucket, KEYS};
use crate::store::view::pages::Page;
use crate::store::view::source::{DocumentsOf, FingerprintSource, SCANNED};
use crate::store::view::table_store::TableStore;

/// The tables as of one commit to them.
pub(crate) type SnapshotTables = ReadTables<SnapshotContext>;

/// The bucket cache, the threads and the counters for reading the tables of a snapshot.
pub(crate) struct SnapshotContext {
    /// The owner of the bucket cache and the threads. Keeps the file open.
    store: Arc<TableStore>,
    counters: Counters,
}

/// From so many keys on a look-up uses all cores, in tasks of so many keys.
const MIN_KEYS_IN_PARALLEL: usize = 256;
const KEYS_PER_TASK: usize = 64;

/// From so many fingerprints on their documents are looked up on all cores, in tasks of so many
/// fingerprints.
const MIN_FINGERPRINTS_IN_PARALLEL: usize = 1024;
const FINGERPRINTS_PER_TASK: usize = 512;

/// A scan of chunks is cut into at most so many tasks, each of at least so many chunks.
const MAX_SCAN_TASKS: u64 = 64;
const MIN_CHUNKS_PER_TASK: u64 = 128;

impl SnapshotTables {
    /// The tables as of the last commit to them. `is_flushed` says that no flush can be partly done.
    pub(crate) fn open(store: &Arc<TableStore>, is_flushed: bool) -> Result<Self> {
        let transaction = store.backend.begin_read()?;
        let db_path = store.db_path.only_read();
        db_path.reading_only(|| {
            let meta = transaction.open_table(schema::META).reading(&db_path)?;
            let context = SnapshotContext {
                store: Arc::clone(store),
                counters: schema::read_counters(&meta, &db_path)?,
            };
            let keeps = store.header.keeps();
            let mut tables = Self::from_transaction(&transaction, &db_path, keeps, context)?;
            if keeps.texts {
                let texts = transaction.open_table(schema::TEXTS);
                tables.texts = Some(texts.reading(&db_path)?);
            }
            tables.is_flushed = is_flushed;
            Ok(tables)
        })
    }

    /// The counters of the tables, which the changes in memtables are not in.
    pub(crate) fn counters(&self) -> Counters {
        self.context.counters
    }

    /// The documents with an id of at least `from`, in order and without their texts: those of the
    /// first chunk that has one.
    pub(super) fn stored_documents_page(&self, from: DocId) -> Result<Page<Document>> {
        let (from, to) = (pair(from.0, 0), u128::MAX);
        let mut documents: Vec<Document> = Vec::new();
        self.fingerprints.visit(from, to, |_, chunk| {
            documents.extend(chunk.entries_from(from).map(|entry| {
                let fingerprint = Fingerprint::from_bits(entry.second());
                Document::new(DocId(entry.first()), fingerprint)
            }));
            Ok(if documents.is_empty() {
                Step::Next
            } else {
                Step::Stop
            })
        })?;
        let (Some(first), Some(last)) = (documents.first(), documents.last()) else {
            return Ok(Page::new(documents, None, false));
        };
        let (first, last) = (first.id, last.id);
        // Both the documents and the unreliable ids ascend.
        let mut rest = documents.iter_mut();
        self.unreliable.visit_entries(first.0, last.0, |id| {
            if let Some(document) = rest.find(|document| document.id.0 == id) {
                document.reliable = false;
            }
            true
        })?;
        self.fill_in_arrivals(&mut documents, first, last)?;
        Ok(Page::new(documents, Some(last), true))
    }

    /// Sets the arrival times of documents that ascend, with ids in `first..=last`.
    fn fill_in_arrivals(
        &self,
        documents: &mut [Document],
        first: DocId,
        last: DocId,
    ) -> Result<()> {
        let Some(kept) = &self.times else {
            return Ok(());
        };
        let (from, to) = (pair(first.0, 0), pair(last.0, u64::MAX));
        kept.times.visit_entries(from, to, |entry| {
            let index = documents.binary_search_by_key(&entry.first(), |document| document.id.0);
            if let Ok(index) = index {
                documents[index].arrival = Some(Timestamp(entry.second()));
            }
            true
        })?;
        match documents.iter().find(|document| document.arrival.is_none()) {
            None => Ok(()),
            Some(Document { id, .. }) => Err(self
                .db_path
                .corrupt(format!("table times lacks document {id}"))),
        }
    }

    /// Returns `true` if a text of the document is stored.
    pub(crate) fn has_text(&self, id: DocId) -> Result<bool> {
        let Some(table) = &self.texts else {
            return Ok(false);
        };
        let get = || table.get(id.0).reading(&self.db_path);
        Ok(self.db_path.reading_only(get)?.is_some())
    }

    /// Looks up keys one after the other. Neighbouring keys whose buckets are not cached are read
    /// in one pass over the table, and their buckets cached: `always`, or only while none has to be
    /// evicted.
    fn look_up_in_turn<T>(
        &self,
        block: usize,
        keys: &[u16],
        always: bool,
        look: &impl Fn(&Self, u16, Bucket<'_>, &mut Vec<T>) -> Result<()>,
    ) -> Result<Vec<T>> {
        let SnapshotContext { store, counters } = &self.context;
        let (buckets, commit) = (&store.buckets, counters.commits);
        let mut found = Vec::new();
        let mut keys = keys;
        while let Some((&first, rest)) = keys.split_first() {
            keys = rest;
            if let Some(cached) = buckets.get(block, first, commit) {
                look(self, first, cached.bucket(), &mut found)?;
                continue;
            }
            let mut last = first;
            while let Some((&next, rest)) = keys.split_first()
                && next == last + 1
                && buckets.get(block, next, commit).is_none()
            {
                last = next;
                keys = rest;
            }
            let is_cached = always || buckets.has_room();
            let max_len = store.limits.max_bucket_len;
            self.visit_buckets(block, first, last, max_len, |key, bucket| {
                if is_cached {
                    buckets.insert(block, key, commit, bucket);
                }
                look(self, key, bucket, &mut found)
            })?;
        }
        Ok(found)
    }

    /// Scans a part of the table of block [`SCANNED`].
    fn scan_range<T>(
        &self,
        from: u64,
        to: u64,
        look: &impl Fn(&[u64], &mut Vec<T>),
        found: &mut Vec<T>,
    ) -> Result<()> {
        self.visit_range(SCANNED, from, to, &mut |fingerprints| {
            look(fingerprints, found);
            Ok(Step::Next)
        })
    }
}

impl FingerprintSource for SnapshotTables {
    type Pairs = redb::ReadOnlyTable<u128, &'static [u8]>;
    type Singles = redb::ReadOnlyTable<u64, &'static [u8]>;
    type Context = SnapshotContext;

    fn as_tables(&self) -> &Self {
        self
    }

    fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.context.store.pool.run(work)
    }

    fn look_up<T: Send>(
        &self,
        block: usize,
        keys: &[u16],
        look: impl Fn(&Self, u16, Bucket<'_>, &mut Vec<T>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        // A look-up of many keys must not evict the buckets that single queries use.
        if keys.len() < MIN_KEYS_IN_PARALLEL {
            return self.look_up_in_turn(block, keys, true, &look);
        }
        let found = self.in_parallel(|| {
            keys.par_chunks(KEYS_PER_TASK)
                .map(|keys| self.look_up_in_turn(block, keys, false, &look))
                .collect::<Result<Vec<Vec<T>>>>()
        });
        Ok(concatenated(found?))
    }

    fn scan<T: Send>(&self, look: impl Fn(&[u64], &mut Vec<T>) + Sync) -> Result<Vec<T>> {
        let chunks = self.chunks(SCANNED)?;
        if chunks >= self.context.store.limits.min_chunks_for_bucket_scan {
            let keys: Vec<u16> = (0..=u16::MAX).collect();
            return self.look_up(SCANNED, &keys, |tables, key, bucket, found| match bucket {
                Bucket::Whole(fingerprints) => {
                    look(fingerprints, found);
                    Ok(())
                }
                Bucket::TooLarge => {
                    let (from, to) = block::front_range(key);
                    tables.scan_range(from, to, &look, found)
                }
            });
        }
        let tasks = (chunks / MIN_CHUNKS_PER_TASK).clamp(1, MAX_SCAN_TASKS) as usize;
        let starts: Vec<u64> = (0..tasks)
            .map(|task| block::front_range((KEYS / tasks * task) as u16).0)
            .collect();
        let scan_task = |task: usize| {
            let to = starts.get(task + 1).map_or(u64::MAX, |next| next - 1);
            let mut found = Vec::new();
            self.scan_range(starts[task], to, &look, &mut found)?;
            Ok(found)
        };
        if tasks == 1 {
            return scan_task(0);
        }
        let found = self.in_parallel(|| {
            let tasks = (0..tasks).into_par_iter().map(scan_task);
            tasks.collect::<Result<Vec<Vec<T>>>>()
        });
        Ok(concatenated(found?))
    }

    fn documents_of(&self, fingerprints: &[u64]) -> Result<DocumentsOf> {
        if fingerprints.len() < MIN_FINGERPRINTS_IN_PARALLEL {
            return self.find_documents(fingerprints);
        }
        let parts = self.in_parallel(|| {
            fingerprints
                .par_chunks(FINGERPRINTS_PER_TASK)
                .map(|fingerprints| self.find_documents(fingerprints))
                .collect::<Result<Vec<DocumentsOf>>>()
        });
        let mut found = DocumentsOf::default();
        for part in parts? {
            found.documents.extend(part.documents);
            found.others.extend(part.others);
        }
        Ok(found)
    }
}

/// The results of all tasks, in order.
fn concatenated<T>(parts: Vec<Vec<T>>) -> Vec<T> {
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|mut part| all.append(&mut part));
    all
}
