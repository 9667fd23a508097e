//! Look-ups of many keys, fingerprints or documents: in a snapshot on all cores and through the
//! caches.

use rayon::prelude::*;

use crate::block;
use crate::error::Result;
use crate::ids::DocId;
use crate::ids::scope::IdRanges;
use crate::store::cache::buckets::{self, Bucket, Fingerprints, KEYS_PER_BLOCK, SCAN_BLOCK};
use crate::store::limits::MAX_BUCKET_LEN;
use crate::store::portions::in_portions;
use crate::store::tables::Tables;
use crate::store::tables::packed::VisitFlow;
use crate::store::tables::schema::{BLOCK0, ROTATED};
use crate::store::view::access::ViewAccess;
use crate::store::view::postings::DocumentLookup;

/// From 256 keys of a block on, a look-up uses all cores, in tasks of 64 keys.
const MIN_KEYS_IN_PARALLEL: usize = 256;
const KEYS_PER_TASK: usize = 64;
/// A look-up takes up to 8 buckets from the cache before it compares the first of them.
const CACHED_PER_GROUP: usize = 8;

/// From 1,024 fingerprints on, their documents are looked up on all cores, in tasks of 512
/// fingerprints.
const MIN_FINGERPRINTS_IN_PARALLEL: usize = 1024;
const FINGERPRINTS_PER_TASK: usize = 512;

/// A scan has at most 64 tasks, of at least 128 chunks each on average.
const MAX_SCAN_TASKS: u64 = 64;
const MIN_CHUNKS_PER_TASK: u64 = 128;

impl<A: ViewAccess> Tables<A> {
    /// Runs work that may use all cores, in a snapshot on the threads of the database.
    pub(crate) fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self.access.snapshot() {
            Some(snapshot) => snapshot.store.pool.run(work),
            None => work(),
        }
    }

    pub(crate) fn chunks(&self, block: usize) -> Result<u64> {
        match block.checked_sub(1) {
            Some(position) => self.table(ROTATED[position]).chunks(),
            None => self.table(BLOCK0).chunks(),
        }
    }

    /// Calls `visitor` with each of the `keys`, its bucket, and a vector to which it appends
    /// results. A key is a block and the value of that block; keys ascend. Returns all results in
    /// order of the keys. A snapshot looks up many keys on all cores.
    pub(crate) fn look_up<T: Send>(
        &self,
        keys: &[(usize, u16)],
        visitor: impl Fn(&Self, (usize, u16), Bucket<'_>, &mut Vec<T>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        if keys.len() < MIN_KEYS_IN_PARALLEL || self.access.snapshot().is_none() {
            return self.look_up_sequentially(keys, false, &visitor);
        }
        let mut found = Vec::new();
        // Block by block: a task reads neighbouring keys of one table.
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

    /// Looks up keys on this thread. Caches the buckets that it reads; with `are_many`, only while
    /// the cache has room: many keys would replace the buckets that single queries use.
    fn look_up_sequentially<T>(
        &self,
        keys: &[(usize, u16)],
        are_many: bool,
        visitor: &impl Fn(&Self, (usize, u16), Bucket<'_>, &mut Vec<T>) -> Result<()>,
    ) -> Result<Vec<T>> {
        let snapshot = self.access.snapshot();
        let max_len = snapshot.map_or(MAX_BUCKET_LEN, |own| own.store.limits.max_bucket_len);
        let caches = self.access.caches();
        let buckets = caches.map(|(caches, commit)| (&caches.buckets, commit));
        let mut found = Vec::new();
        let mut rest = keys;
        let mut group = Vec::with_capacity(keys.len());
        while !rest.is_empty() {
            group.clear();
            let mut hits = 0;
            if are_many && let Some((buckets, commit)) = buckets {
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
                let cached = buckets.and_then(|(buckets, commit)| buckets.get(block, key, commit));
                hits += usize::from(cached.is_some());
                group.push((block, key, cached));
                rest = others;
            }
            // A query waits for main memory most of its time. Compared one after the other, each
            // bucket would begin with a wait of its own: a query at radius 3 then takes a third
            // longer.
            if !are_many {
                buckets::touch(group.iter().filter_map(|(_, _, cached)| cached.as_ref()));
            }
            // Neighbouring keys that are not cached are read in one pass over the table: one
            // descent from the root instead of one for each key.
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
                let filled = buckets.filter(|(buckets, _)| !are_many || buckets.has_room());
                self.visit_buckets(*block, *first, *last, max_len, |key, bucket| {
                    if let Some((buckets, commit)) = filled {
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

    /// Calls `visitor` with fingerprints and a vector to which it appends results. All calls
    /// together pass every distinct reliable fingerprint once, rotated by [`SCAN_BLOCK`]. Returns
    /// all results in order of the fingerprints.
    pub(crate) fn scan<T: Send>(
        &self,
        visitor: impl Fn(Fingerprints<'_>, &mut Vec<T>) + Sync,
    ) -> Result<Vec<T>> {
        // In a large table a bucket spans several chunks. Cached buckets are then scanned from
        // memory.
        let chunks = self.chunks(SCAN_BLOCK)?;
        let snapshot = self.access.snapshot();
        let min_for_buckets = snapshot.map(|own| own.store.limits.min_chunks_for_bucket_scan);
        if min_for_buckets.is_some_and(|min| chunks >= min) {
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
        let most = snapshot.map_or(1, |_| MAX_SCAN_TASKS);
        let tasks = (chunks / MIN_CHUNKS_PER_TASK).clamp(1, most) as usize;
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

    /// The reliable documents of stored fingerprints. The fingerprints ascend. A fingerprint may
    /// have no document during a flush: its documents are then in a memtable.
    pub(crate) fn documents_of(&self, fingerprints: &[u64]) -> Result<DocumentLookup> {
        let is_small = fingerprints.len() < MIN_FINGERPRINTS_IN_PARALLEL;
        if is_small || self.access.snapshot().is_none() {
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

    /// The reliable documents among some ids with exactly this fingerprint, by id. Reads a chunk at
    /// a time, from the first id on.
    pub(crate) fn documents_with<'t>(
        &'t self,
        fingerprint: u64,
        among: &'t IdRanges,
    ) -> impl Iterator<Item = Result<DocId>> + use<'t, A> {
        among.ranges().iter().flat_map(move |(first, last)| {
            in_portions(*first, move |from| {
                self.documents_portion(fingerprint, from, *last)
            })
        })
    }
}

fn concatenated<T>(parts: Vec<Vec<T>>) -> Vec<T> {
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|mut part| all.append(&mut part));
    all
}
