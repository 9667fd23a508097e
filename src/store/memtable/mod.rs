//! The tail: what is committed but not yet in the packed tables, in memory, for queries to lay
//! over them.
//!
//! Edits are numbered in the order in which they were committed; the number of one is its *slot*.
//! A reader is given how many slots it may see and sees exactly these, however many are appended
//! meanwhile: nothing is ever taken away or written over. The edits of a document are its
//! *versions*, in a chain from slot to slot, and each knows whether a later one has replaced it.
//!
//! To find what is near a query, the distinct fingerprints are kept as the packed tables keep
//! them, and beside them which documents ever had each. So a fingerprint that a million documents
//! share is compared once, and a query for three of them looks at the three with the smallest ids
//! and at those before them that have it no longer. Two things are looked at in proportion
//! to their number: the fingerprints that share their leading bits in some block with the query, a
//! tenth of a nanosecond each; and, for an *old* view, the versions of a document that came since.
//! The band keys of texts are kept like that too, each with the documents that ever had it.

mod fingerprints;
mod postings;
mod seqno_log;
mod shards;
#[cfg(test)]
mod tests;
mod view;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::iter::zip;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::document::DocId;
use crate::fingerprint::Fingerprint;
use crate::store::tables::edit::{DocumentEdit, StoredDocument, TextEdit};
use fingerprints::Distinct;
use postings::{Posted, Postings};
use seqno_log::Log;
use shards::{Mixing, Shards};

pub(crate) use view::MemtableView;

/// Edits in the order of their commits. One thread appends, any number read.
pub(crate) struct Memtable {
    versions: Log<Version>,
    /// The slot of the newest version of each document.
    newest: Shards<Newest>,
    /// Which documents ever had a reliable fingerprint.
    postings: Shards<Postings>,
    /// Which documents ever had a text with a band key.
    bands: Shards<Postings>,
    /// Every reliable fingerprint that some document ever had.
    distinct: Distinct,
    /// Batches of so many edits are put in on all cores.
    grouped_from: usize,
    writer: Mutex<Writer>,
    len: AtomicU32,
    bytes: AtomicUsize,
}

/// So many distinct fingerprints are compared as fast as a few are looked up among them.
const FEW: usize = 4096;
/// From here on, sorting a batch by where it goes costs less than going there and back.
const GROUPED_FROM: usize = 4096;
/// What is sorted at a time stays in the caches of the processor meanwhile.
const MOST_GROUPED: usize = 1 << 15;

/// In place of a slot: there is none.
const NONE: u32 = u32::MAX;

/// What a document became by one edit.
struct Version {
    id: DocId,
    after: Option<StoredDocument>,
    /// What has become of the text since the tail began.
    text: TextEdit,
    /// The slot of the version before this one, or [`NONE`].
    previous: u32,
    /// The slot of the version that replaces this one, or [`NONE`].
    next: AtomicU32,
}

type Newest = HashMap<u64, u32, Mixing>;

/// What only the thread that appends and the merge need.
#[derive(Default)]
struct Writer {
    /// What was stored of a document before its first version here, by slot, if anything was.
    befores: Vec<(u32, StoredDocument)>,
    tally: Tally,
}

/// What there is of everything, to know the memory it takes.
#[derive(Default)]
struct Tally {
    documents: usize,
    distinct: usize,
    copies: usize,
    text_bytes: usize,
    /// Keys of these texts, each as often as a text has it.
    text_keys: usize,
    /// Distinct keys, those that more than one document has, and all others of those documents.
    bands: usize,
    shared_bands: usize,
    band_copies: usize,
}

/// Measured: hash tables are half to seven eighths full, and vectors grow by doubling.
const ENTRY_BYTES: usize = 28;
const DISTINCT_BYTES: usize = ENTRY_BYTES + 4 * 12;
const COPY_BYTES: usize = 24;
/// A tree with a node of eleven places, and what leads to it.
const SHARED_BYTES: usize = 200;
const EMPTY_BYTES: usize = 128 << 10;

impl Memtable {
    pub(crate) fn new() -> Self {
        Self::with_limits(FEW, GROUPED_FROM)
    }

    fn with_limits(few: usize, grouped_from: usize) -> Self {
        Self {
            versions: Log::new(),
            newest: Shards::new(HashMap::with_hasher),
            postings: Shards::new(Postings::new),
            bands: Shards::new(Postings::new),
            distinct: Distinct::new(few),
            grouped_from,
            writer: Mutex::default(),
            len: AtomicU32::new(0),
            bytes: AtomicUsize::new(EMPTY_BYTES),
        }
    }

    /// How many edits there are.
    pub(crate) fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Appends committed edits in their order and returns how many there are now. Until a reader
    /// is given this number, it sees nothing of them. A document may be edited more than once.
    ///
    /// There is room for `u32::MAX` edits: a tail is merged long before. Thousands at a time are
    /// put in by the threads of the caller's rayon pool, which must be one of whose tasks no other
    /// appends to this tail, as of [`Pool`](crate::store::view::pool::Pool): a lock is held meanwhile.
    pub(crate) fn append(&self, edits: &[DocumentEdit]) -> u32 {
        let mut writer = self.writer.lock();
        let from = self.len();
        if edits.len() < self.grouped_from {
            self.append_each(edits, from, &mut writer);
        } else {
            let mut from = from;
            for part in edits.chunks(MOST_GROUPED) {
                self.append_grouped(part, from, &mut writer);
                from += part.len() as u32;
            }
        }
        let texts = edits.iter().map(|edit| edit.text.len_bytes());
        writer.tally.text_bytes += texts.sum::<usize>();
        let keys = edits.iter().map(|edit| edit.text.keys().len());
        writer.tally.text_keys += keys.sum::<usize>();
        let visible = from + edits.len() as u32;
        let bytes =
            writer.tally.bytes() + writer.befores.len() * size_of::<(u32, StoredDocument)>();
        let bytes = bytes + visible as usize * Log::<Version>::ENTRY_BYTES;
        let bytes = bytes + self.distinct.bucket_bytes();
        self.bytes.store(EMPTY_BYTES + bytes, Ordering::Relaxed);
        self.len.store(visible, Ordering::Release);
        visible
    }

    fn append_each(&self, edits: &[DocumentEdit], from: u32, writer: &mut Writer) {
        for (slot, edit) in zip(from.., edits) {
            let is_first = {
                let mut newest = self.newest.write(edit.id.0);
                self.add_version(&mut newest, slot, edit)
            };
            if is_first {
                writer.tally.documents += 1;
                writer
                    .befores
                    .extend(edit.before.map(|before| (slot, before)));
            }
            if let Some(fingerprint) = found_by(edit.after) {
                let mut postings = self.postings.write(fingerprint.bits());
                match postings.add(&self.versions, fingerprint.bits(), edit.id, slot) {
                    Posted::Distinct => {
                        drop(postings);
                        writer.tally.distinct += 1;
                        self.distinct.push(fingerprint);
                    }
                    Posted::Shared | Posted::Copy => writer.tally.copies += 1,
                    Posted::Known => {}
                }
            }
            for key in edit.text.keys() {
                let mut bands = self.bands.write(*key);
                let posted = bands.add(&self.versions, *key, edit.id, slot);
                writer.tally.count_band(posted);
            }
        }
    }

    /// The same, in the order of the places where each part goes, on all cores.
    fn append_grouped(&self, edits: &[DocumentEdit], from: u32, writer: &mut Writer) {
        let ids = edits.iter().map(|edit| edit.id.0);
        let firsts = self.newest.write_groups(ids, |newest, group| {
            let mut befores = Vec::new();
            let known = newest.len();
            newest.reserve(group.len());
            for &nth in group {
                let (slot, edit) = (from + nth, &edits[nth as usize]);
                if self.add_version(newest, slot, edit) {
                    befores.extend(edit.before.map(|before| (slot, before)));
                }
            }
            (newest.len() - known, befores)
        });
        let sorted = writer.befores.len();
        for (documents, befores) in firsts {
            writer.tally.documents += documents;
            writer.befores.extend(befores);
        }
        writer.befores[sorted..].sort_unstable_by_key(|(slot, _)| *slot);

        let fingerprints: Vec<(u32, Fingerprint)> = zip(from.., edits)
            .filter_map(|(slot, edit)| Some((slot, found_by(edit.after)?)))
            .collect();
        let bits = fingerprints
            .iter()
            .map(|(_, fingerprint)| fingerprint.bits());
        let posted = self.postings.write_groups(bits, |postings, group| {
            let (mut distinct, mut copies) = (Vec::with_capacity(group.len()), 0);
            postings.reserve(group.len());
            for &nth in group {
                let (slot, fingerprint) = fingerprints[nth as usize];
                let id = edits[(slot - from) as usize].id;
                match postings.add(&self.versions, fingerprint.bits(), id, slot) {
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
            writer.tally.copies += copies;
        }
        writer.tally.distinct += distinct.len();
        self.distinct.extend(&distinct);
        self.append_bands_grouped(edits, from, writer);
    }

    fn append_bands_grouped(&self, edits: &[DocumentEdit], from: u32, writer: &mut Writer) {
        let keys_of = |(slot, edit): (u32, &DocumentEdit)| {
            let keys = edit.text.keys().to_vec();
            keys.into_iter().map(move |key| (slot, key))
        };
        let mut keys = zip(from.., edits).flat_map(keys_of).peekable();
        while keys.peek().is_some() {
            let part: Vec<(u32, u64)> = keys.by_ref().take(MOST_GROUPED).collect();
            let posted =
                self.bands
                    .write_groups(part.iter().map(|(_, key)| *key), |bands, group| {
                        let mut tally = Tally::default();
                        bands.reserve(group.len());
                        for &nth in group {
                            let (slot, key) = part[nth as usize];
                            let id = edits[(slot - from) as usize].id;
                            tally.count_band(bands.add(&self.versions, key, id, slot));
                        }
                        tally
                    });
            posted
                .iter()
                .for_each(|tally| writer.tally.add_bands(tally));
        }
    }

    /// Whether it is the first version of the document.
    fn add_version(&self, newest: &mut Newest, slot: u32, edit: &DocumentEdit) -> bool {
        let known = newest.get_mut(&edit.id.0);
        let previous = known.as_deref().copied();
        let replaced = previous.and_then(|previous| self.versions.get(previous));
        let text = match (&edit.text, replaced) {
            (TextEdit::Keep, Some(replaced)) => replaced.text.clone(),
            (text, _) => text.clone(),
        };
        // Before anything leads to it.
        self.versions.set(
            slot,
            Version {
                id: edit.id,
                after: edit.after,
                text,
                previous: previous.unwrap_or(NONE),
                next: AtomicU32::new(NONE),
            },
        );
        if let Some(replaced) = replaced {
            replaced.next.store(slot, Ordering::Relaxed);
        }
        match known {
            Some(known) => *known = slot,
            None => {
                newest.insert(edit.id.0, slot);
            }
        }
        previous.is_none()
    }

    /// The newest version of a document among the slots a reader may see.
    fn version(&self, id: DocId, visible: u32) -> Option<&Version> {
        let mut slot = *self.newest.read(id.0).get(&id.0)?;
        loop {
            let version = self.versions.get(slot)?;
            if slot < visible {
                return Some(version);
            }
            slot = version.previous;
        }
    }

    /// The documents that a reader's slots touch, each once, in no order, and the slots of their
    /// first versions.
    fn documents(&self, visible: u32) -> impl Iterator<Item = (DocId, u32)> {
        (0..visible).filter_map(|slot| {
            let version = self.versions.get(slot)?;
            (version.previous == NONE).then_some((version.id, slot))
        })
    }

    /// What the edits that a reader sees come to: one for each document, in order of their ids.
    /// Some may change nothing in the end.
    pub(crate) fn net_edits(&self, visible: u32) -> Vec<DocumentEdit> {
        let writer = self.writer.lock();
        let mut befores = writer.befores.iter().peekable();
        let mut edits = Vec::with_capacity(writer.tally.documents);
        for (id, slot) in self.documents(visible) {
            let before = befores.next_if(|(first, _)| *first == slot);
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
    /// Whether a reader of so many slots sees no version after this one.
    fn is_last(&self, visible: u32) -> bool {
        self.next.load(Ordering::Relaxed) >= visible
    }
}

impl Tally {
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

/// The fingerprint that a query may find a document by.
fn found_by(state: Option<StoredDocument>) -> Option<Fingerprint> {
    let state = state?;
    state.reliable.then_some(state.fingerprint)
}
