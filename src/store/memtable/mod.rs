//! The memtable: the commits that are not in the tables yet, in memory.
//!
//! Edits are numbered in commit order from 0 on; the number is the *seqno* of the edit. A reader
//! holds the number of visible edits, and sees the edits with a smaller seqno. Edits are never
//! removed or overwritten, so appends do not disturb readers. The edits of one document are its
//! *versions*, a chain linked by seqnos.
//!
//! Queries use two kinds of index. [`FingerprintIndex`] holds each distinct fingerprint once, so a
//! fingerprint that a million documents share is compared once. [`FingerprintPostings`] lists the
//! documents that ever had a fingerprint, by id, and [`MemtableForest`] the keys that their texts
//! ever had in the forest. Index entries are never removed, so a reader checks the visible version
//! of each listed document.
//!
//! A query takes 0.1 ns for each fingerprint that shares leading bits of some block with the query
//! and, in an old view, a step for each later version of a listed document.
//!
//! One thread appends, any number of threads read. This folder uses [`tables`](super::tables) only
//! for the types of an edit.

mod fingerprints;
mod forest;
mod memory_use;
mod overlay;
mod postings;
mod seqno_log;
mod shards;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;
use std::iter::zip;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::analysis::Sketch;
use crate::copies::Copies;
use crate::forest::ForestSearch;
use crate::ids::scope::sequence;
use crate::ids::{DocId, Fingerprint};
use crate::store::tables::edit::{CopiesEdit, DocumentEdit, Refused, StoredDocument, TextEdit};
use fingerprints::FingerprintIndex;
use forest::MemtableForest;
use memory_use::{EMPTY_BYTES, MemoryUse};
use postings::{FingerprintPostings, Posted};
use seqno_log::SeqnoLog;
use shards::{KeyHasher, SHARDS, Shards};

pub(crate) use view::MemtableView;

/// The edits of one generation, in commit order.
pub(crate) struct Memtable {
    versions: SeqnoLog<Version>,
    /// The seqno of the latest version of each document.
    latest: Shards<LatestSeqnos>,
    /// The documents that ever had each reliable fingerprint.
    postings: Shards<FingerprintPostings>,
    /// The keys that the text of each document ever had.
    forest: MemtableForest,
    /// The documents that were put with each key, by the hash of the key.
    keys: Shards<FingerprintPostings>,
    /// The last value of each refused key or id, by its hash. Only a writer reads them.
    refused: Mutex<HashMap<u64, u64>>,
    /// By the seqno of the first version of each document; set by the first search that finds the
    /// document.
    sketches: SeqnoLog<FirstSketch>,
    /// Every reliable fingerprint that some document ever had.
    fingerprints: FingerprintIndex,
    /// Batches of at least this many edits are appended on all cores.
    min_grouped_edits: usize,
    appender: Mutex<Appender>,
    /// The smallest and the largest id of all documents. New documents often have larger ids than
    /// those in the tables: then a candidate from the tables needs no look-up here.
    first_id: AtomicU64,
    last_id: AtomicU64,
    /// The largest [sequence] of an id.
    last_sequence: AtomicU64,
    len: AtomicU32,
    bytes: AtomicUsize,
}

/// Up to 4,096 distinct fingerprints stay in one list.
// Comparing all of them is as fast as probing buckets.
const MAX_LIST_LEN: usize = 4096;
/// From 4,096 edits on, a batch is sorted by shard.
// Sorting then costs less than locking a shard for each edit.
const MIN_GROUPED_EDITS: usize = 4096;
/// At most 32,768 edits are sorted at a time.
// These edits fit into the caches of the processor.
const MAX_GROUPED_EDITS: usize = 1 << 15;

/// The absence of a seqno. Greater than every seqno, and so never visible.
const NO_SEQNO: u32 = u32::MAX;

/// The state of a document after one edit.
struct Version {
    id: DocId,
    /// The seqno of the first version of the document, which is the number of the document in
    /// [`MemtableForest`].
    first: u32,
    after: Option<StoredDocument>,
    /// The change of the text by this and all earlier versions together.
    text: TextEdit,
    /// The copies that this and all earlier versions together set, and the documents that this
    /// edit refused.
    copies: Option<Box<CopiesEdit>>,
    /// The seqnos of the previous and the next version of the document, or [`NO_SEQNO`].
    previous: u32,
    next: AtomicU32,
}

/// The sketch of the first version of a document, which rejects most candidates in one read of
/// memory.
struct FirstSketch {
    /// `None` if the version has no text or its text no sketch.
    sketch: Option<Sketch>,
    /// The document has a later version, which may have another text.
    is_replaced: AtomicBool,
}

/// Seqno of the latest version, by document id.
type LatestSeqnos = HashMap<u64, u32, KeyHasher>;

/// State that only appends and flushes use.
#[derive(Default)]
struct Appender {
    /// For each document that was stored before this memtable edited it: the seqno of its first
    /// version, and the stored state, whose table entries a flush removes. Ascends by seqno.
    old_states: Vec<(u32, StoredDocument)>,
    memory: MemoryUse,
}

impl Memtable {
    pub(crate) fn new() -> Self {
        Self::with_limits(SHARDS, MAX_LIST_LEN, MIN_GROUPED_EDITS)
    }

    /// A memtable for one thread.
    fn scratch() -> Self {
        // One shard instead of 256, and no parallel appends: most overlays hold fewer than a
        // hundred edits and live for less than a millisecond.
        Self {
            forest: MemtableForest::for_few_texts(),
            ..Self::with_limits(1, MAX_LIST_LEN, usize::MAX)
        }
    }

    fn with_limits(shards: usize, max_list_len: usize, min_grouped_edits: usize) -> Self {
        Self {
            versions: SeqnoLog::new(),
            latest: Shards::new(shards, HashMap::with_hasher),
            postings: Shards::new(shards, FingerprintPostings::new),
            forest: MemtableForest::new(shards),
            keys: Shards::new(shards, FingerprintPostings::new),
            refused: Mutex::default(),
            sketches: SeqnoLog::new(),
            fingerprints: FingerprintIndex::new(max_list_len),
            min_grouped_edits,
            appender: Mutex::default(),
            first_id: AtomicU64::new(u64::MAX),
            last_id: AtomicU64::new(0),
            last_sequence: AtomicU64::new(0),
            len: AtomicU32::new(0),
            bytes: AtomicUsize::new(EMPTY_BYTES),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// An estimate of the memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Appends edits in commit order. Returns the number of all edits in the memtable: a reader
    /// that holds a smaller number does not see the new edits. Several edits of one document are
    /// allowed.
    ///
    /// Large batches are appended on the caller's rayon pool. No other task of that pool may append
    /// to the same memtable. A thread that waits for its part of a batch runs other tasks of the
    /// pool, and a second append in such a task would wait for the lock of the first.
    pub(crate) fn append(&self, edits: &[DocumentEdit]) -> u32 {
        let mut appender = self.appender.lock();
        let from = self.len();
        if edits.len() < self.min_grouped_edits {
            self.append_one_by_one(edits, from, &mut appender);
        } else {
            let mut group_from = from;
            for group in edits.chunks(MAX_GROUPED_EDITS) {
                self.append_grouped(group, group_from, &mut appender);
                group_from += group.len() as u32;
            }
        }
        for edit in edits {
            // Relaxed is enough: a reader that may see an edit got its number of visible edits
            // after these stores.
            self.first_id.fetch_min(edit.id.0, Ordering::Relaxed);
            self.last_id.fetch_max(edit.id.0, Ordering::Relaxed);
            self.last_sequence
                .fetch_max(sequence(edit.id), Ordering::Relaxed);
            appender.memory.text_bytes += edit.text.len_bytes() + edit.text.packed_bytes();
            appender.memory.text_keys += edit.text.keys().len();
            appender.memory.text_bytes += edit.copies_bytes();
            if !edit.refused().is_empty() {
                let refused = edit.refused().iter().map(|one| (one.hash, one.value));
                self.refused.lock().extend(refused);
            }
        }
        // Seqnos fit in 32 bits: a flush is due long before `u32::MAX` edits.
        let visible = from + edits.len() as u32;
        let sketched = match appender.memory.text_keys {
            0 => 0,
            _ => appender.memory.documents,
        };
        let bytes = EMPTY_BYTES
            + appender.memory.bytes()
            + appender.old_states.len() * size_of::<(u32, StoredDocument)>()
            + visible as usize * SeqnoLog::<Version>::ENTRY_BYTES
            + sketched * SeqnoLog::<FirstSketch>::ENTRY_BYTES
            + self.fingerprints.bucket_bytes()
            + self.forest.bytes();
        self.bytes.store(bytes, Ordering::Relaxed);
        // Last: a thread that reads the new length finds the edits in every index.
        self.len.store(visible, Ordering::Release);
        visible
    }

    fn append_one_by_one(&self, edits: &[DocumentEdit], from: u32, appender: &mut Appender) {
        for (seqno, edit) in zip(from.., edits) {
            let is_first = {
                // Locked for one version only, because readers of the shard wait meanwhile.
                let mut latest = self.latest.write(edit.id.0);
                self.add_version(&mut latest, seqno, edit)
            };
            if is_first {
                appender.memory.documents += 1;
                appender
                    .old_states
                    .extend(edit.before.map(|before| (seqno, before)));
            }
            if let Some(fingerprint) = indexed_fingerprint(edit.after) {
                let mut postings = self.postings.write(fingerprint.bits());
                match postings.add(&self.versions, fingerprint.bits(), edit.id, seqno) {
                    Posted::First => {
                        // The push may build all buckets; readers must not wait for the shard so
                        // long.
                        drop(postings);
                        appender.memory.fingerprints += 1;
                        self.fingerprints.push(fingerprint);
                    }
                    Posted::Second | Posted::Further => appender.memory.copies += 1,
                    Posted::Known => {}
                }
            }
            self.add_keys(seqno, edit, appender);
        }
    }

    /// Appends a large batch on all cores: each shard is locked once and takes its own edits.
    fn append_grouped(&self, edits: &[DocumentEdit], from: u32, appender: &mut Appender) {
        // Versions come first: the posting lists below read the ids of versions. `write_groups`
        // passes the indices of a shard in ascending order, so the edits of one document keep their
        // order.
        let ids = edits.iter().map(|edit| edit.id.0);
        let new_documents = self.latest.write_groups(ids, |latest, group| {
            let mut old_states = Vec::new();
            let len_before = latest.len();
            // One growth of the hash table for the batch, not one for each doubling.
            latest.reserve(group.len());
            for &nth in group {
                let (seqno, edit) = (from + nth, &edits[nth as usize]);
                if self.add_version(latest, seqno, edit) {
                    old_states.extend(edit.before.map(|before| (seqno, before)));
                }
            }
            (latest.len() - len_before, old_states)
        });
        let sorted_len = appender.old_states.len();
        for (documents, old_states) in new_documents {
            appender.memory.documents += documents;
            appender.old_states.extend(old_states);
        }
        // The shards returned their states in order of shards; `coalesced_edits` needs them by
        // seqno.
        appender.old_states[sorted_len..].sort_unstable_by_key(|(seqno, _)| *seqno);

        let fingerprints: Vec<(u32, Fingerprint)> = zip(from.., edits)
            .filter_map(|(seqno, edit)| Some((seqno, indexed_fingerprint(edit.after)?)))
            .collect();
        let bits = fingerprints
            .iter()
            .map(|(_, fingerprint)| fingerprint.bits());
        let posted = self.postings.write_groups(bits, |postings, group| {
            let (mut new, mut copies) = (Vec::with_capacity(group.len()), 0);
            postings.reserve(group.len());
            for &nth in group {
                let (seqno, fingerprint) = fingerprints[nth as usize];
                let id = edits[(seqno - from) as usize].id;
                match postings.add(&self.versions, fingerprint.bits(), id, seqno) {
                    Posted::First => new.push(fingerprint),
                    Posted::Second | Posted::Further => copies += 1,
                    Posted::Known => {}
                }
            }
            (new, copies)
        });
        let mut all_new = Vec::with_capacity(fingerprints.len());
        for (new, copies) in posted {
            all_new.extend(new);
            appender.memory.copies += copies;
        }
        appender.memory.fingerprints += all_new.len();
        self.fingerprints.extend(&all_new);
        for (seqno, edit) in zip(from.., edits) {
            self.add_keys(seqno, edit, appender);
        }
    }

    /// Adds the document of an edit under the forest keys of the new text, and under its key.
    fn add_keys(&self, seqno: u32, edit: &DocumentEdit, appender: &mut Appender) {
        // The number of the document is the seqno of its first version.
        let version = self.versions.get(seqno);
        let number = version.map_or(seqno, |version| version.first);
        for key in edit.text.keys() {
            self.forest.add(*key, number);
        }
        if let Some(hash) = edit.text.key_hash() {
            let mut keys = self.keys.write(hash);
            keys.add(&self.versions, hash, edit.id, seqno);
            appender.memory.keys += 1;
        }
    }

    /// Adds a version; returns `true` if it is the first of its document.
    fn add_version(&self, latest: &mut LatestSeqnos, seqno: u32, edit: &DocumentEdit) -> bool {
        let latest_seqno = latest.get_mut(&edit.id.0);
        let previous = latest_seqno.as_deref().copied();
        let replaced = previous.and_then(|previous| self.versions.get(previous));
        let text = match (&edit.text, replaced) {
            // A version that keeps the text repeats the earlier change of the text, because a flush
            // and a query read only one version of a document.
            (TextEdit::Keep, Some(replaced)) => replaced.text.clone(),
            (text, _) => text.clone(),
        };
        let state = match (edit.new_copies(), &edit.text, replaced) {
            (Some(state), ..) => Some(state),
            (None, TextEdit::Keep, Some(replaced)) => replaced.new_copies(),
            (None, ..) => None,
        };
        let copies = CopiesEdit::new(state.cloned(), edit.refused().to_vec());
        let first = replaced.map_or(seqno, |replaced| replaced.first);
        // Without keys the document is in no forest, and no search reads its sketch.
        if let Some(replaced) = replaced
            && !(replaced.text.keys().is_empty() && text.keys().is_empty())
        {
            self.sketches.set(first, FirstSketch::of(None));
            let sketch = self.sketches.get(first);
            // Relaxed is enough, as for `next` below.
            sketch
                .iter()
                .for_each(|sketch| sketch.is_replaced.store(true, Ordering::Relaxed));
        }
        // The version is set before any index leads readers to it.
        self.versions.set(
            seqno,
            Version {
                id: edit.id,
                first,
                after: edit.after,
                text,
                copies,
                previous: previous.unwrap_or(NO_SEQNO),
                next: AtomicU32::new(NO_SEQNO),
            },
        );
        if let Some(replaced) = replaced {
            // Relaxed is enough: a reader that may see `seqno` got its number of visible edits
            // after this store. To every other reader, `seqno` and `NO_SEQNO` both say that
            // `replaced` is the latest visible version.
            replaced.next.store(seqno, Ordering::Relaxed);
        }
        match latest_seqno {
            Some(latest_seqno) => *latest_seqno = seqno,
            None => {
                latest.insert(edit.id.0, seqno);
            }
        }
        previous.is_none()
    }

    /// Returns `false` if the text of the document with this number is not near by its sketch.
    /// Returns `true` if the document has several versions.
    fn may_be_near(&self, number: u32, search: &ForestSearch<'_>) -> bool {
        let first = self.sketches.get(number).or_else(|| {
            let text = &self.versions.get(number)?.text;
            self.sketches.set(number, FirstSketch::of(text.sketch()));
            self.sketches.get(number)
        });
        first.is_none_or(|first| {
            search.may_be_near(first.sketch) || first.is_replaced.load(Ordering::Relaxed)
        })
    }

    /// The latest visible version of a document.
    fn version(&self, id: DocId, visible: u32) -> Option<&Version> {
        let ids = self.first_id.load(Ordering::Relaxed)..=self.last_id.load(Ordering::Relaxed);
        if !ids.contains(&id.0) {
            return None;
        }
        let mut seqno = *self.latest.read(id.0).get(&id.0)?;
        // Walks back over the versions that were appended after the reader began. Ends with `None`
        // at `NO_SEQNO`, a number that was never set.
        loop {
            let version = self.versions.get(seqno)?;
            if seqno < visible {
                return Some(version);
            }
            seqno = version.previous;
        }
    }

    /// Each document among the visible edits, with the seqno of its first version, in order of
    /// these seqnos.
    fn documents(&self, visible: u32) -> impl Iterator<Item = (DocId, u32)> {
        (0..visible).filter_map(|seqno| {
            let version = self.versions.get(seqno)?;
            (version.previous == NO_SEQNO).then_some((version.id, seqno))
        })
    }

    /// The visible edits, coalesced into one for each document, in order of ids. A coalesced edit
    /// may have equal states before and after.
    pub(crate) fn coalesced_edits(&self, visible: u32) -> Vec<DocumentEdit> {
        let appender = self.appender.lock();
        let mut old_states = appender.old_states.iter().peekable();
        let mut edits = Vec::with_capacity(appender.memory.documents);
        let last_refused = self.last_refused(visible);
        for (id, seqno) in self.documents(visible) {
            // Both sequences ascend by seqno, so this is a merge join.
            let before = old_states.next_if(|(first, _)| *first == seqno);
            let Some(latest) = self.version(id, visible) else {
                continue;
            };
            let refused = match last_refused.is_empty() {
                true => Vec::new(),
                false => self.refused_by(latest, &last_refused),
            };
            edits.push(DocumentEdit {
                id,
                before: before.map(|(_, before)| *before),
                after: latest.after,
                text: latest.text.clone(),
                copies: CopiesEdit::new(latest.new_copies().cloned(), refused),
            });
        }
        edits.sort_unstable_by_key(|edit| edit.id);
        edits
    }
}

impl Memtable {
    /// The last value of each key or id that the visible edits refused.
    fn last_refused(&self, visible: u32) -> HashMap<u64, u64> {
        if self.refused.lock().is_empty() {
            return HashMap::new();
        }
        let versions = (0..visible).filter_map(|seqno| self.versions.get(seqno));
        let refused = versions.flat_map(Version::refused);
        refused.map(|one| (one.hash, one.value)).collect()
    }

    /// The documents that a version and the versions before refused, and no other edit refused
    /// later.
    fn refused_by(&self, latest: &Version, last: &HashMap<u64, u64>) -> Vec<Refused> {
        let previous = |version: &&Version| self.versions.get(version.previous);
        let versions = std::iter::successors(Some(latest), previous);
        let refused = versions.flat_map(Version::refused).copied();
        refused
            .filter(|one| last.get(&one.hash) == Some(&one.value))
            .collect()
    }

    /// The last value of a refused key or id.
    fn refused(&self, hash: u64) -> Option<u64> {
        self.refused.lock().get(&hash).copied()
    }
}

impl std::fmt::Debug for Memtable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut f = f.debug_struct("Memtable");
        f.field("len", &self.len()).finish_non_exhaustive()
    }
}

impl FirstSketch {
    fn of(sketch: Option<Sketch>) -> Self {
        Self {
            sketch,
            is_replaced: AtomicBool::new(false),
        }
    }
}

impl Version {
    fn new_copies(&self) -> Option<&Arc<Copies>> {
        self.copies.as_ref()?.state.as_ref()
    }

    /// The documents that this edit refused, in order.
    fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.copies.iter().flat_map(|copies| &copies.refused)
    }

    /// Returns `true` if the next version is not visible.
    fn is_latest(&self, visible: u32) -> bool {
        self.next.load(Ordering::Relaxed) >= visible
    }
}

/// The fingerprint by which queries find a document; `None` if removed or unreliable.
fn indexed_fingerprint(state: Option<StoredDocument>) -> Option<Fingerprint> {
    let state = state?;
    state.reliable.then_some(state.fingerprint)
}
