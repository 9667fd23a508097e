//! The memtable: commits that are not in the packed tables yet, in memory, for queries to overlay.
//!
//! Edits are numbered in commit order; the number of an edit is its *seqno*. A reader holds the number
//! of visible edits and sees exactly these, however many are appended meanwhile: nothing is ever
//! removed or overwritten. The edits of a document are its *versions*, a chain from seqno to seqno, and
//! each version knows whether a later one has replaced it.
//!
//! For queries the distinct fingerprints are kept in buckets by block, and beside them the posting
//! list of each: the documents that ever had it. So a fingerprint that a million documents share is
//! compared once, and a query for three of these documents reads the three smallest ids, and those
//! before them that no longer have it. Two costs grow with the content: the fingerprints that share
//! their leading bits in some block with the query, 0.1 ns each; and, for an old view, the later
//! versions of a document. Band keys of texts have posting lists of the same kind.
//!
//! One thread appends, any number of threads read. May use [`tables`](super::tables) for the types of
//! an edit.

mod fingerprints;
mod overlay;
mod postings;
mod seqno_log;
mod shards;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;
use std::iter::zip;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::document::DocId;
use crate::fingerprint::Fingerprint;
use crate::store::tables::edit::{DocumentEdit, StoredDocument, TextEdit};
use fingerprints::FingerprintIndex;
use postings::{Posted, Postings};
use seqno_log::SeqnoLog;
use shards::{KeyHasher, SHARDS, Shards};

pub(crate) use view::MemtableView;

/// Edits in commit order. One thread appends, any number of threads read.
pub(crate) struct Memtable {
    versions: SeqnoLog<Version>,
    /// The seqno of the latest version of each document.
    newest: Shards<Newest>,
    /// The documents that ever had each reliable fingerprint.
    postings: Shards<Postings>,
    /// The documents whose text ever had each band key.
    bands: Shards<Postings>,
    /// Every reliable fingerprint that some document ever had.
    fingerprints: FingerprintIndex,
    /// Batches of at least this many edits are inserted on all cores.
    grouped_from: usize,
    appender: Mutex<Appender>,
    len: AtomicU32,
    bytes: AtomicUsize,
}

/// Up to this many distinct fingerprints are kept in one list: comparing all is as fast as probing
/// buckets.
const FEW: usize = 4096;
/// From this batch size on, sorting the edits by shard costs less than locking a shard for each.
const GROUPED_FROM: usize = 4096;
/// Edits sorted at a time: these fit into the caches of the processor.
const MOST_GROUPED: usize = 1 << 15;

/// The absence of a seqno.
const NONE: u32 = u32::MAX;

/// The state of a document after one edit.
struct Version {
    id: DocId,
    after: Option<StoredDocument>,
    /// The change of the text since the memtable was created.
    text: TextEdit,
    /// The seqno of the version before this one, or [`NONE`].
    previous: u32,
    /// The seqno of the version that replaces this one, or [`NONE`].
    next: AtomicU32,
}

type Newest = HashMap<u64, u32, KeyHasher>;

/// State that only appending and flushing use.
#[derive(Default)]
struct Appender {
    /// The state of each document before its first version here, with the seqno of that version, if
    /// the document was stored.
    old_states: Vec<(u32, StoredDocument)>,
    memory: MemoryUse,
}

/// Counts of everything in the memtable, to estimate its memory.
#[derive(Default)]
struct MemoryUse {
    documents: usize,
    distinct: usize,
    copies: usize,
    text_bytes: usize,
    /// Band keys of all texts, with repetitions.
    text_keys: usize,
    /// FingerprintIndex keys, those that more than one document has, and all others of those documents.
    bands: usize,
    shared_bands: usize,
    band_copies: usize,
}

/// Measured averages: hash tables are half to seven eighths full, and vectors grow by doubling.
const ENTRY_BYTES: usize = 28;
const DISTINCT_BYTES: usize = ENTRY_BYTES + 4 * 12;
const COPY_BYTES: usize = 24;
/// A B-tree with one node of eleven entries, and its hash table entry.
const SHARED_BYTES: usize = 200;
const EMPTY_BYTES: usize = 128 << 10;

impl Memtable {
    pub(crate) fn new() -> Self {
        Self::with_limits(SHARDS, FEW, GROUPED_FROM)
    }

    fn with_limits(shards: usize, few: usize, grouped_from: usize) -> Self {
        Self {
            versions: SeqnoLog::new(),
            newest: Shards::new(shards, HashMap::with_hasher),
            postings: Shards::new(shards, Postings::new),
            bands: Shards::new(shards, Postings::new),
            fingerprints: FingerprintIndex::new(few),
            grouped_from,
            appender: Mutex::default(),
            len: AtomicU32::new(0),
            bytes: AtomicUsize::new(EMPTY_BYTES),
        }
    }

    /// The number of edits.
    pub(crate) fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// An estimate of the memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Appends committed edits in order and returns the number of edits now. A reader sees the new
    /// edits only if it is given this number. A document may be edited more than once.
    ///
    /// Holds `u32::MAX` edits; a memtable is flushed long before. Large batches are inserted on the
    /// caller's rayon pool. No other task of that pool may append to the same memtable: it would
    /// deadlock.
    pub(crate) fn append(&self, edits: &[DocumentEdit]) -> u32 {
        let mut appender = self.appender.lock();
        let from = self.len();
        if edits.len() < self.grouped_from {
            self.append_each(edits, from, &mut appender);
        } else {
            let mut from = from;
            for part in edits.chunks(MOST_GROUPED) {
                self.append_grouped(part, from, &mut appender);
                from += part.len() as u32;
            }
        }
        for edit in edits {
            appender.memory.text_bytes += edit.text.len_bytes();
            appender.memory.text_keys += edit.text.keys().len();
        }
        let visible = from + edits.len() as u32;
        let bytes = EMPTY_BYTES
            + appender.memory.bytes()
            + appender.old_states.len() * size_of::<(u32, StoredDocument)>()
            + visible as usize * SeqnoLog::<Version>::ENTRY_BYTES
            + self.fingerprints.bucket_bytes();
        self.bytes.store(bytes, Ordering::Relaxed);
        self.len.store(visible, Ordering::Release);
        visible
    }

    fn append_each(&self, edits: &[DocumentEdit], from: u32, appender: &mut Appender) {
        for (seqno, edit) in zip(from.., edits) {
            let is_first = {
                let mut newest = self.newest.write(edit.id.0);
                self.add_version(&mut newest, seqno, edit)
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
                    Posted::Distinct => {
                        drop(postings);
                        appender.memory.distinct += 1;
                        self.fingerprints.push(fingerprint);
                    }
                    Posted::Shared | Posted::Copy => appender.memory.copies += 1,
                    Posted::Known => {}
                }
            }
            for key in edit.text.keys() {
                let mut bands = self.bands.write(*key);
                let posted = bands.add(&self.versions, *key, edit.id, seqno);
                appender.memory.count_band(posted);
            }
        }
    }

    /// Appends a large batch on all cores, sorted by shard.
    fn append_grouped(&self, edits: &[DocumentEdit], from: u32, appender: &mut Appender) {
        let ids = edits.iter().map(|edit| edit.id.0);
        let firsts = self.newest.write_groups(ids, |newest, group| {
            let mut old_states = Vec::new();
            let known = newest.len();
            newest.reserve(group.len());
            for &nth in group {
                let (seqno, edit) = (from + nth, &edits[nth as usize]);
                if self.add_version(newest, seqno, edit) {
                    old_states.extend(edit.before.map(|before| (seqno, before)));
                }
            }
            (newest.len() - known, old_states)
        });
        let sorted = appender.old_states.len();
        for (documents, old_states) in firsts {
            appender.memory.documents += documents;
            appender.old_states.extend(old_states);
        }
        appender.old_states[sorted..].sort_unstable_by_key(|(seqno, _)| *seqno);

        let fingerprints: Vec<(u32, Fingerprint)> = zip(from.., edits)
            .filter_map(|(seqno, edit)| Some((seqno, indexed_fingerprint(edit.after)?)))
            .collect();
        let bits = fingerprints
            .iter()
            .map(|(_, fingerprint)| fingerprint.bits());
        let posted = self.postings.write_groups(bits, |postings, group| {
            let (mut distinct, mut copies) = (Vec::with_capacity(group.len()), 0);
            postings.reserve(group.len());
            for &nth in group {
                let (seqno, fingerprint) = fingerprints[nth as usize];
                let id = edits[(seqno - from) as usize].id;
                match postings.add(&self.versions, fingerprint.bits(), id, seqno) {
                    Posted::Distinct => distinct.push(fingerprint),
                    Posted::Shared | Posted::Copy => copies += 1,
                    Posted::Known => {}
                }
            }
            (distinct, copies)
        });
        let mut distinct = Vec::with_capacity(fingerprints.len());
        for (new, copies) in posted {
            distinct.extend(new);
            appender.memory.copies += copies;
        }
        appender.memory.distinct += distinct.len();
        self.fingerprints.extend(&distinct);
        self.append_bands_grouped(edits, from, appender);
    }

    fn append_bands_grouped(&self, edits: &[DocumentEdit], from: u32, appender: &mut Appender) {
        let keys_of = |(seqno, edit): (u32, &DocumentEdit)| {
            let keys = edit.text.keys().to_vec();
            keys.into_iter().map(move |key| (seqno, key))
        };
        let mut keys = zip(from.., edits).flat_map(keys_of).peekable();
        while keys.peek().is_some() {
            let part: Vec<(u32, u64)> = keys.by_ref().take(MOST_GROUPED).collect();
            let posted =
                self.bands
                    .write_groups(part.iter().map(|(_, key)| *key), |bands, group| {
                        let mut memory = MemoryUse::default();
                        bands.reserve(group.len());
                        for &nth in group {
                            let (seqno, key) = part[nth as usize];
                            let id = edits[(seqno - from) as usize].id;
                            memory.count_band(bands.add(&self.versions, key, id, seqno));
                        }
                        memory
                    });
            posted
                .iter()
                .for_each(|memory| appender.memory.add_bands(memory));
        }
    }

    /// Adds a version; returns `true` if it is the first of its document.
    fn add_version(&self, newest: &mut Newest, seqno: u32, edit: &DocumentEdit) -> bool {
        let known = newest.get_mut(&edit.id.0);
        let previous = known.as_deref().copied();
        let replaced = previous.and_then(|previous| self.versions.get(previous));
        let text = match (&edit.text, replaced) {
            (TextEdit::Keep, Some(replaced)) => replaced.text.clone(),
            (text, _) => text.clone(),
        };
        // Set before any index leads readers to it.
        self.versions.set(
            seqno,
            Version {
                id: edit.id,
                after: edit.after,
                text,
                previous: previous.unwrap_or(NONE),
                next: AtomicU32::new(NONE),
            },
        );
        if let Some(replaced) = replaced {
            replaced.next.store(seqno, Ordering::Relaxed);
        }
        match known {
            Some(known) => *known = seqno,
            None => {
                newest.insert(edit.id.0, seqno);
            }
        }
        previous.is_none()
    }

    /// The latest visible version of a document.
    fn version(&self, id: DocId, visible: u32) -> Option<&Version> {
        let mut seqno = *self.newest.read(id.0).get(&id.0)?;
        loop {
            let version = self.versions.get(seqno)?;
            if seqno < visible {
                return Some(version);
            }
            seqno = version.previous;
        }
    }

    /// The documents among the visible edits, each once, in order of their first versions, with the
    /// seqnos of these.
    fn documents(&self, visible: u32) -> impl Iterator<Item = (DocId, u32)> {
        (0..visible).filter_map(|seqno| {
            let version = self.versions.get(seqno)?;
            (version.previous == NONE).then_some((version.id, seqno))
        })
    }

    /// The net edit of each document among the visible edits, in order of ids. An edit may change
    /// nothing in effect.
    pub(crate) fn net_edits(&self, visible: u32) -> Vec<DocumentEdit> {
        let appender = self.appender.lock();
        let mut old_states = appender.old_states.iter().peekable();
        let mut edits = Vec::with_capacity(appender.memory.documents);
        for (id, seqno) in self.documents(visible) {
            let before = old_states.next_if(|(first, _)| *first == seqno);
            let Some(last) = self.version(id, visible) else {
                continue;
            };
            edits.push(DocumentEdit {
                id,
                before: before.map(|(_, before)| *before),
                after: last.after,
                text: last.text.clone(),
            });
        }
        edits.sort_unstable_by_key(|edit| edit.id);
        edits
    }
}

impl std::fmt::Debug for Memtable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut f = f.debug_struct("Memtable");
        f.field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Version {
    /// Returns `true` if no later version is visible.
    fn is_last(&self, visible: u32) -> bool {
        self.next.load(Ordering::Relaxed) >= visible
    }
}

impl MemoryUse {
    fn bytes(&self) -> usize {
        self.documents * ENTRY_BYTES
            + self.distinct * DISTINCT_BYTES
            + self.copies * COPY_BYTES
            + self.text_bytes
            + self.text_keys * size_of::<u64>()
            + self.bands * ENTRY_BYTES
            + self.shared_bands * SHARED_BYTES
            + self.band_copies * COPY_BYTES
    }

    fn count_band(&mut self, posted: Posted) {
        match posted {
            Posted::Distinct => self.bands += 1,
            Posted::Shared => self.shared_bands += 1,
            Posted::Copy => self.band_copies += 1,
            Posted::Known => {}
        }
    }

    fn add_bands(&mut self, others: &Self) {
        self.bands += others.bands;
        self.shared_bands += others.shared_bands;
        self.band_copies += others.band_copies;
    }
}

/// The fingerprint under which queries find a document; `None` if removed or unreliable.
fn indexed_fingerprint(state: Option<StoredDocument>) -> Option<Fingerprint> {
    let state = state?;
    state.reliable.then_some(state.fingerprint)
}
