//! [`SnapshotTables`]: the tables of a snapshot, read through the bucket cache and on all cores.

use std::sync::Arc;

use rayon::prelude::*;

use crate::block;
use crate::document::Document;
use crate::error::Result;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::store::cache::buckets::{self, Bucket, Fingerprints, KEYS_PER_BLOCK, SCAN_BLOCK};
use crate::store::cache::nodes::NodeCache;
use crate::store::cache::wordings::WordingCache;
use crate::store::disk::path::RedbResult;
use crate::store::tables::ReadTables;
use crate::store::tables::packed::VisitFlow;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::{self, Counters};
use crate::store::view::pages::Page;
use crate::store::view::source::{DocumentLookup, FingerprintSource};
use crate::store::view::table_store::TableStore;

/// The tables as of one redb commit.
pub(crate) type SnapshotTables = ReadTables<SnapshotContext>;

/// The state besides the tables that reads of a snapshot use.
pub(crate) struct SnapshotContext {
    /// The owner of the bucket cache and the threads. Keeps the file open.
    store: Arc<TableStore>,
    /// The counters of the same commit. Its number selects the valid cached buckets.
    counters: Counters,
}

/// From 256 keys of a block on, a look-up uses all cores, in tasks of 64 keys.
const MIN_KEYS_IN_PARALLEL: usize = 256;
const KEYS_PER_TASK: usize = 64;
/// A look-up takes up to 8 buckets from the cache before it compares the first of them.
const CACHED_PER_GROUP: usize = 8;

/// From 1,024 fingerprints on, their documents are looked up on all cores, in tasks of 512 fingerprints.
const MIN_FINGERPRINTS_IN_PARALLEL: usize = 1024;
const FINGERPRINTS_PER_TASK: usize = 512;

/// A scan has at most 64 tasks, of at least 128 chunks each on average.
const MAX_SCAN_TASKS: u64 = 64;
const MIN_CHUNKS_PER_TASK: u64 = 128;

impl SnapshotTables {
    /// Opens the tables as of the last redb commit. `is_flushed` is `true` if no flush can be unfinished.
    pub(crate) fn open(store: &Arc<TableStore>, is_flushed: bool) -> Result<Self> {
        let transaction = store.backend.begin_read()?;
        let db_path = store.db_path.read_only();
        db_path.catch_failed_reads(|| {
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

    /// The counters of the tables, without the changes in memtables.
    pub(crate) fn counters(&self) -> Counters {
        self.context.counters
    }

    /// The documents from id `from` on in the first chunk that has one, by id and without their texts.
    pub(super) fn stored_documents_page(&self, from: DocId) -> Result<Page<Document>> {
        let (from, to) = (pair(from.0, 0), u128::MAX);
        let mut documents: Vec<Document> = Vec::new();
        self.fingerprints.visit(from, to, |_, chunk| {
            documents.extend(chunk.entries_from(from).map(|entry| {
                let fingerprint = Fingerprint::from_bits(entry.second());
                Document::new(DocId(entry.first()), fingerprint)
            }));
            Ok(if documents.is_empty() {
                VisitFlow::Next
            } else {
                VisitFlow::Stop
            })
        })?;
        let (Some(first), Some(last)) = (documents.first(), documents.last()) else {
            return Ok(Page::new(documents, None, false));
        };
        let (first, last) = (first.id, last.id);
        // Both the documents and the unreliable ids ascend, so one pass over both is enough.
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

    /// Sets the arrival times of documents. The documents ascend by id within `first..=last`.
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

    pub(crate) fn has_text(&self, id: DocId) -> Result<bool> {
        let Some(table) = &self.texts else {
            return Ok(false);
        };
        let get = || table.get(id.0).reading(&self.db_path);
        Ok(self.db_path.catch_failed_reads(get)?.is_some())
    }

    /// Looks up keys on this thread. Caches the buckets that it reads; with `are_many`, only while the cache
    /// has room: many keys would replace the buckets that single queries use.
    fn look_up_sequentially<T>(
        &self,
        keys: &[(usize, u16)],
        are_many: bool,
        visitor: &impl Fn(&Self, (usize, u16), Bucket<'_>, &mut Vec<T>) -> Result<()>,
    ) -> Result<Vec<T>> {
        let SnapshotContext { store, counters } = &self.context;
        let (buckets, commit) = (&store.caches.buckets, counters.commits);
        let mut found = Vec::new();
        let mut rest = keys;
        let mut group = Vec::with_capacity(keys.len());
        while !rest.is_empty() {
            group.clear();
            let mut hits = 0;
            if are_many {
                let mut result = Ok(());
                let next = &rest[..rest.len().min(CACHED_PER_GROUP)];
                let visited = buckets.visit_cached(next, commit, |key, fingerprints| {
                    if result.is_ok() {
                        result = visitor(self, key, Bucket::Whole(fingerprints), &mut found);
                    }
                });
                result?;
                rest = &rest[visited..];
                if visited == next.len() {
                    continue;
                }
            }
            while hits < CACHED_PER_GROUP
                && let Some((&(block, key), others)) = rest.split_first()
            {
                let cached = buckets.get(block, key, commit);
                hits += usize::from(cached.is_some());
                group.push((block, key, cached));
                rest = others;
            }
            // A query waits for main memory most of its time. Compared one after the other, each bucket
            // would begin with a wait of its own: a query at radius 3 then takes a third longer.
            if !are_many {
                buckets::touch(group.iter().filter_map(|(_, _, cached)| cached.as_ref()));
            }
            // Neighbouring keys that are not cached are read in one pass over the table: one descent from
            // the root instead of one for each key.
            let runs = group.chunk_by(
                |(block, key, cached), (next_block, next_key, next_cached)| {
                    let are_neighbours = block == next_block && key + 1 == *next_key;
                    are_neighbours && cached.is_none() && next_cached.is_none()
                },
            );
            for run in runs {
                let ((block, first, cached), (_, last, _)) = (&run[0], &run[run.len() - 1]);
                if let Some(cached) = cached {
                    visitor(self, (*block, *first), cached.bucket(), &mut found)?;
                    continue;
                }
                let caches = !are_many || buckets.has_room();
                let max_len = store.limits.max_bucket_len;
                self.visit_buckets(*block, *first, *last, max_len, |key, bucket| {
                    if caches {
                        buckets.insert(*block, key, commit, bucket);
                    }
                    visitor(self, (*block, key), bucket, &mut found)
                })?;
            }
        }
        Ok(found)
    }

    /// Scans a part of the table of block [`SCAN_BLOCK`].
    fn scan_range<T>(
        &self,
        from: u64,
        to: u64,
        visitor: &impl Fn(Fingerprints<'_>, &mut Vec<T>),
        found: &mut Vec<T>,
    ) -> Result<()> {
        self.visit_range(SCAN_BLOCK, from, to, &mut |fingerprints| {
            visitor(Fingerprints::Unpacked(fingerprints), found);
            Ok(VisitFlow::Next)
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

    fn nodes(&self) -> Option<(&NodeCache, u64)> {
        let SnapshotContext { store, counters } = &self.context;
        let cache = store.caches.nodes.as_ref();
        cache.map(|cache| (cache, counters.commits))
    }

    fn wordings(&self) -> Option<(&WordingCache, u64)> {
        let SnapshotContext { store, counters } = &self.context;
        store
            .caches
            .wordings
            .as_ref()
            .map(|cache| (cache, counters.commits))
    }

    fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.context.store.pool.run(work)
    }

    fn look_up<T: Send>(
        &self,
        keys: &[(usize, u16)],
        visitor: impl Fn(&Self, (usize, u16), Bucket<'_>, &mut Vec<T>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        if keys.len() < MIN_KEYS_IN_PARALLEL {
            return self.look_up_sequentially(keys, false, &visitor);
        }
        let mut found = Vec::new();
        for keys in keys.chunk_by(|a, b| a.0 == b.0) {
            if keys.len() < MIN_KEYS_IN_PARALLEL {
                found.append(&mut self.look_up_sequentially(keys, false, &visitor)?);
                continue;
            }
            let parts = self.in_parallel(|| {
                keys.par_chunks(KEYS_PER_TASK)
                    .map(|keys| self.look_up_sequentially(keys, true, &visitor))
                    .collect::<Result<Vec<Vec<T>>>>()
            });
            found.append(&mut concatenated(parts?));
        }
        Ok(found)
    }

    fn scan<T: Send>(
        &self,
        visitor: impl Fn(Fingerprints<'_>, &mut Vec<T>) + Sync,
    ) -> Result<Vec<T>> {
        // In a large table a bucket spans several chunks. Cached buckets are then scanned from memory.
        let chunks = self.chunks(SCAN_BLOCK)?;
        if chunks >= self.context.store.limits.min_chunks_for_bucket_scan {
            let keys: Vec<(usize, u16)> = (0..=u16::MAX).map(|key| (SCAN_BLOCK, key)).collect();
            return self.look_up(&keys, |tables, (_, key), bucket, found| match bucket {
                Bucket::Whole(fingerprints) => {
                    visitor(fingerprints, found);
                    Ok(())
                }
                Bucket::TooLarge => {
                    let (from, to) = block::front_range(key);
                    tables.scan_range(from, to, &visitor, found)
                }
            });
        }
        // Fingerprints are spread evenly, so equal ranges of keys are about equal amounts of work.
        let tasks = (chunks / MIN_CHUNKS_PER_TASK).clamp(1, MAX_SCAN_TASKS) as usize;
        let starts: Vec<u64> = (0..tasks)
            .map(|task| block::front_range((KEYS_PER_BLOCK / tasks * task) as u16).0)
            .collect();
        let scan_task = |task: usize| {
            let to = starts.get(task + 1).map_or(u64::MAX, |next| next - 1);
            let mut found = Vec::new();
            self.scan_range(starts[task], to, &visitor, &mut found)?;
            Ok(found)
        };
        // A small scan does not pay for the hand-over to the pool.
        if tasks == 1 {
            return scan_task(0);
        }
        let found = self.in_parallel(|| {
            let tasks = (0..tasks).into_par_iter().map(scan_task);
            tasks.collect::<Result<Vec<Vec<T>>>>()
        });
        Ok(concatenated(found?))
    }

    fn documents_of(&self, fingerprints: &[u64]) -> Result<DocumentLookup> {
        if fingerprints.len() < MIN_FINGERPRINTS_IN_PARALLEL {
            return self.find_documents(fingerprints);
        }
        let parts = self.in_parallel(|| {
            fingerprints
                .par_chunks(FINGERPRINTS_PER_TASK)
                .map(|fingerprints| self.find_documents(fingerprints))
                .collect::<Result<Vec<DocumentLookup>>>()
        });
        let mut found = DocumentLookup::default();
        for part in parts? {
            found.append(part);
        }
        Ok(found)
    }
}

fn concatenated<T>(parts: Vec<Vec<T>>) -> Vec<T> {
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|mut part| all.append(&mut part));
    all
}
