//! A read transaction with its tables open.

use std::sync::Arc;

use rayon::prelude::*;

use crate::block;
use crate::document::{DocId, Document, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::Backend;
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::ReadTables;
use crate::store::tables::edit::StoredDocument;
use crate::store::tables::packed::Step;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::schema::{self, Counters, Keeps};
use crate::store::view::bucket_cache::{Bucket, BucketCache, KEYS};
use crate::store::view::pool::Pool;
use crate::store::view::source::{DocumentsOf, FingerprintSource, SCANNED};

/// The database as of one commit.
pub(crate) struct ReadView {
    pub(crate) tables: ReadTables,
    pub(crate) counters: Counters,
    pub(crate) db_path: DbPath,
    runs: Arc<BucketCache>,
    pool: Arc<Pool>,
    /// Keeps the file open for as long as it is looked at.
    _handle: Arc<Backend>,
}

impl ReadView {
    pub(crate) fn of(
        transaction: redb::ReadTransaction,
        handle: Arc<Backend>,
        runs: Arc<BucketCache>,
        pool: Arc<Pool>,
        db_path: &DbPath,
        keeps: Keeps,
    ) -> Result<Self> {
        db_path.reading_only(|| {
            let meta = transaction.open_table(schema::META).reading(db_path)?;
            let texts = keeps
                .texts
                .then(|| transaction.open_table(schema::TEXTS).reading(db_path))
                .transpose()?;
            let mut tables = ReadTables::open(&transaction, db_path, keeps)?;
            tables.texts = texts;
            Ok(Self {
                tables,
                counters: schema::read_counters(&meta, db_path)?,
                db_path: db_path.clone(),
                runs,
                pool,
                _handle: handle,
            })
        })
    }

    /// The documents with an id of at least `from`, in order and without their texts: one chunk
    /// of them, none at the end.
    pub(crate) fn documents_from(&self, from: DocId) -> Result<Vec<Document>> {
        let (from, to) = (pair(from.0, 0), u128::MAX);
        let mut documents: Vec<Document> = Vec::new();
        self.tables.fingerprints.visit(from, to, |_, chunk| {
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
        if let (Some(first), Some(last)) = (documents.first(), documents.last()) {
            let (first, last) = (first.id.0, last.id.0);
            let mut rest = documents.iter_mut();
            self.tables.unreliable.visit_entries(first, last, |id| {
                if let Some(document) = rest.find(|document| document.id.0 == id) {
                    document.reliable = false;
                }
                true
            })?;
            self.fill_in_arrivals(&mut documents, first, last)?;
        }
        Ok(documents)
    }

    /// Gives documents in order, with ids of `first..=last`, their arrival times.
    fn fill_in_arrivals(&self, documents: &mut [Document], first: u64, last: u64) -> Result<()> {
        let Some(kept) = &self.tables.times else {
            return Ok(());
        };
        let (from, to) = (pair(first, 0), pair(last, u64::MAX));
        kept.times.visit_entries(from, to, |entry| {
            let db_path = documents.binary_search_by_key(&entry.first(), |document| document.id.0);
            if let Ok(db_path) = db_path {
                documents[db_path].arrival = Some(Timestamp(entry.second()));
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

    /// Whether a text of the document is kept.
    pub(crate) fn has_text(&self, id: DocId) -> Result<bool> {
        let Some(table) = &self.tables.texts else {
            return Ok(false);
        };
        let get = || table.get(id.0).reading(&self.db_path);
        Ok(self.db_path.reading_only(get)?.is_some())
    }
}

/// So many keys are looked up on all cores, in parts of so many.
const KEYS_IN_PARALLEL: usize = 256;
const KEYS_A_TASK: usize = 64;

/// The documents of so many fingerprints are looked up on all cores, in parts of so many.
const FINGERPRINTS_IN_PARALLEL: usize = 1024;
const FINGERPRINTS_A_TASK: usize = 512;

/// A table of so many chunks is scanned by runs, which may be kept; of fewer, runs are so short
/// that walking through the chunks is faster.
/// (In unit tests few chunks are enough.)
const CHUNKS_SCANNED_BY_RUNS: u64 = if cfg!(test) { 64 } else { KEYS as u64 / 4 };
/// Into so many parts a table is cut that is scanned by chunks, each of so many chunks or more.
const PARTS_SCANNED: usize = 64;
const CHUNKS_A_PART: u64 = 128;

impl ReadView {
    /// Looks keys up one after the other: each run from the cache, or, with those of the keys
    /// next to it that are not there either, from the file. Those are kept as well, `always` or
    /// only where no other must give way.
    fn look_up_in_turn<T>(
        &self,
        block: usize,
        keys: &[u16],
        always: bool,
        look: &impl Fn(&Self, u16, Bucket<'_>, &mut Vec<T>) -> Result<()>,
    ) -> Result<Vec<T>> {
        let commit = self.counters.commits;
        let mut found = Vec::new();
        let mut keys = keys;
        while let Some((&first, rest)) = keys.split_first() {
            keys = rest;
            if let Some(kept) = self.runs.get(block, first, commit) {
                look(self, first, kept.run(), &mut found)?;
                continue;
            }
            let mut last = first;
            while let Some((&next, rest)) = keys.split_first()
                && next == last + 1
                && self.runs.get(block, next, commit).is_none()
            {
                last = next;
                keys = rest;
            }
            let keep = always || self.runs.has_room();
            self.tables.walk_runs(block, first, last, |key, run| {
                if keep {
                    self.runs.keep(block, key, commit, run);
                }
                look(self, key, run, &mut found)
            })?;
        }
        Ok(found)
    }
}

impl FingerprintSource for ReadView {
    fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.run(work)
    }

    fn look_up<T: Send>(
        &self,
        block: usize,
        keys: &[u16],
        look: impl Fn(&Self, u16, Bucket<'_>, &mut Vec<T>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        // What comes along with many others does not drive out what few were asked for.
        let are_few = keys.len() < KEYS_IN_PARALLEL;
        if are_few {
            return self.look_up_in_turn(block, keys, are_few, &look);
        }
        let parts = self.in_parallel(|| {
            keys.par_chunks(KEYS_A_TASK)
                .map(|keys| self.look_up_in_turn(block, keys, are_few, &look))
                .collect::<Result<Vec<Vec<T>>>>()
        });
        Ok(joined(parts?))
    }

    fn scan<T: Send>(&self, look: impl Fn(&[u64], &mut Vec<T>) + Sync) -> Result<Vec<T>> {
        let walk = |view: &Self, from: u64, to: u64, found: &mut Vec<T>| {
            view.walk(SCANNED, from, to, &mut |piece| {
                look(piece, found);
                Ok(Step::Next)
            })
        };
        let chunks = self.chunks(SCANNED)?;
        if chunks >= CHUNKS_SCANNED_BY_RUNS {
            let keys: Vec<u16> = (0..=u16::MAX).collect();
            return self.look_up(SCANNED, &keys, |view, key, run, found| match run {
                Bucket::Whole(fingerprints) => {
                    look(fingerprints, found);
                    Ok(())
                }
                Bucket::Long => {
                    let (from, to) = block::front_range(key);
                    walk(view, from, to, found)
                }
            });
        }
        let parts = (chunks / CHUNKS_A_PART).clamp(1, PARTS_SCANNED as u64) as usize;
        let starts: Vec<u64> = (0..parts)
            .map(|part| block::front_range((KEYS / parts * part) as u16).0)
            .collect();
        let scan_part = |part: usize| {
            let to = starts.get(part + 1).map_or(u64::MAX, |next| next - 1);
            let mut found = Vec::new();
            walk(self, starts[part], to, &mut found)?;
            Ok(found)
        };
        if parts == 1 {
            return scan_part(0);
        }
        let found = self.in_parallel(|| {
            let parts = (0..parts).into_par_iter().map(scan_part);
            parts.collect::<Result<Vec<Vec<T>>>>()
        });
        Ok(joined(found?))
    }

    fn walk(
        &self,
        block: usize,
        from: u64,
        to: u64,
        visitor: &mut dyn FnMut(&[u64]) -> Result<Step<u64>>,
    ) -> Result<()> {
        self.tables.walk(block, from, to, visitor)
    }

    fn chunks(&self, block: usize) -> Result<u64> {
        self.tables.chunks(block)
    }

    fn documents_of(&self, fingerprints: &[u64]) -> Result<DocumentsOf> {
        if fingerprints.len() < FINGERPRINTS_IN_PARALLEL {
            return self.tables.documents_of(fingerprints);
        }
        let parts = self.in_parallel(|| {
            fingerprints
                .par_chunks(FINGERPRINTS_A_TASK)
                .map(|fingerprints| self.tables.documents_of(fingerprints))
                .collect::<Result<Vec<DocumentsOf>>>()
        });
        let mut found = DocumentsOf::default();
        for part in parts? {
            found.documents.extend(part.documents);
            found.others.extend(part.others);
        }
        Ok(found)
    }

    fn documents_with(&self, fingerprint: u64, from: DocId) -> Result<(Vec<DocId>, bool)> {
        self.tables.documents_with(fingerprint, from)
    }

    fn documents_in_band(&self, key: u64, from: DocId, most: usize) -> Result<(Vec<DocId>, bool)> {
        self.tables.documents_in_band(key, from, most)
    }

    fn keeps_bands(&self) -> bool {
        self.tables.keeps_bands()
    }

    fn document(&self, id: DocId) -> Result<Option<StoredDocument>> {
        self.tables.document(id)
    }

    fn text(&self, id: DocId) -> Result<Option<String>> {
        FingerprintSource::text(&self.tables, id)
    }

    fn arrival(&self, id: DocId) -> Result<Option<Timestamp>> {
        self.tables.arrival(id)
    }

    fn oldest_arrival(&self) -> Result<Option<Timestamp>> {
        self.tables.oldest_arrival()
    }

    fn arrivals_before(
        &self,
        cutoff: Timestamp,
        from: (u64, DocId),
        most: usize,
    ) -> Result<Vec<(Timestamp, DocId)>> {
        self.tables.arrivals_before(cutoff, from, most)
    }
}

/// All that was found, in one piece.
fn joined<T>(parts: Vec<Vec<T>>) -> Vec<T> {
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|mut part| all.append(&mut part));
    all
}
