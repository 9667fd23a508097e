//! [`WordingCache`]: the packed wordings of stored texts in memory.
//!
//! A query compares thousands of candidates. To read a text and to normalise it takes a hundred times as
//! long as to compare its packed wording.
//!
//! # Commits
//! An entry has the commit of the tables from which it was read, and is removed by the commit that edits
//! its document, before a snapshot can see that commit. So an entry is valid for its own commit and all
//! later ones. A snapshot of an earlier commit uses the entry only if the document was not edited in
//! between. Edits are recorded by slots, each for many documents.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::hint::black_box;

use foldhash::fast::RandomState;
use parking_lot::RwLock;

use crate::document::DocId;
use crate::fingerprint::Fingerprint;
use crate::similarity::{PackedWording, WordingSize};

/// A query visits the candidates of a shard together, so more shards mean fewer reads of memory at a time.
const SHARDS: usize = 16;
/// Slots for the last edits, in each shard: 32 KiB, allocated by the first edit.
const SLOTS: usize = 4096;

/// Two thirds of the memory of a shard hold the entries, the rest their places: up to 40 bytes of an entry
/// of at least 80.
const ENTRY_SHARE: (usize, usize) = (2, 3);
/// A larger entry would displace too many others.
const MAX_ENTRY_SHARE: usize = 16;

const CACHE_LINE_BYTES: usize = 64;

/// The bytes of an entry before its wording: length, commit, fingerprint.
const PREFIX_BYTES: usize = 4 + 8 + 8;

/// Packed wordings of one file, shared by all snapshots. The oldest entries make room for new ones.
pub(crate) struct WordingCache {
    shards: Box<[RwLock<Shard>]>,
    hasher: RandomState,
}

struct Shard {
    places: HashMap<u64, Place, RandomState>,
    /// All entries in the order of their insertion, including removed ones.
    order: VecDeque<(u64, u32)>,
    /// Entries one after the other. The next entry is written at `head`, over the oldest ones.
    ring: Vec<u8>,
    head: usize,
    capacity: usize,
    /// The last commit that edited a document, by slot; empty before the first.
    last_edits: Vec<u64>,
    /// The last commit that may have edited any document.
    last_unknown: u64,
}

/// The place of an entry in the ring, and the size of its wording, which rejects candidates of another length
/// without a read of the entry.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    size: WordingSize,
}

/// A candidate with its shard and its slot for the last edit.
#[derive(Clone, Copy)]
struct Candidate {
    id: DocId,
    shard: u16,
    slot: u16,
}

/// A cached wording.
struct CachedWording<'c> {
    commit: u64,
    fingerprint: Fingerprint,
    packed: PackedWording<'c>,
}

impl WordingCache {
    pub(crate) fn new(bytes: usize) -> Self {
        let hasher = RandomState::default();
        let capacity = bytes / SHARDS * ENTRY_SHARE.0 / ENTRY_SHARE.1;
        let shard = |_| {
            RwLock::new(Shard {
                places: HashMap::with_hasher(hasher.clone()),
                order: VecDeque::new(),
                ring: Vec::new(),
                head: 0,
                capacity: capacity.min(u32::MAX as usize),
                last_edits: Vec::new(),
                last_unknown: 0,
            })
        };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            hasher,
        }
    }

    /// Calls `visitor` with the fingerprint and the wording of each cached document as of a commit whose
    /// size `accepts` accepts. Returns the documents that are not cached.
    pub(crate) fn visit(
        &self,
        documents: &[DocId],
        commit: u64,
        accepts: impl Fn(WordingSize) -> bool,
        mut visitor: impl FnMut(DocId, Fingerprint, PackedWording<'_>),
    ) -> Vec<DocId> {
        let mut missing = Vec::new();
        let mut accepted = Vec::new();
        let by_shard = self.by_shard(documents);
        for group in by_shard.chunk_by(|a, b| a.shard == b.shard) {
            let shard = self.shards[usize::from(group[0].shard)].read();
            // Places first, then the first words of all entries: these reads do not wait for each other.
            accepted.clear();
            for candidate in group {
                match shard.places.get(&candidate.id.0) {
                    Some(place) if accepts(place.size) => accepted.push((candidate, place.start)),
                    // A commit that edits a document removes its entry, so a rejected entry is current
                    // unless the snapshot is older.
                    Some(_) if shard.last_edit(candidate.slot.into()) <= commit => {}
                    Some(place) => accepted.push((candidate, place.start)),
                    None => missing.push(candidate.id),
                }
            }
            shard.touch(accepted.iter().map(|(_, start)| *start));
            for (candidate, start) in &accepted {
                match shard.entry(*start as usize) {
                    Some(cached)
                        if cached.commit <= commit
                            || shard.last_edit(candidate.slot.into()) <= commit =>
                    {
                        visitor(candidate.id, cached.fingerprint, cached.packed);
                    }
                    _ => missing.push(candidate.id),
                }
            }
        }
        missing
    }

    /// The documents in the order of their shards.
    fn by_shard(&self, documents: &[DocId]) -> Vec<Candidate> {
        let candidate = |id: &DocId| {
            let (shard, slot) = self.shard_and_slot(*id);
            Candidate {
                id: *id,
                shard: shard as u16,
                slot: slot as u16,
            }
        };
        let unsorted: Vec<Candidate> = documents.iter().map(candidate).collect();
        let mut ends = [0; SHARDS];
        for candidate in &unsorted {
            ends[usize::from(candidate.shard)] += 1;
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        let mut sorted = unsorted.clone();
        for candidate in unsorted.iter().rev() {
            let end = &mut ends[usize::from(candidate.shard)];
            *end -= 1;
            sorted[*end] = *candidate;
        }
        sorted
    }

    /// Caches the wording of a document that was read as of a commit, unless a later commit may have
    /// edited the document.
    pub(crate) fn insert(&self, id: DocId, commit: u64, fingerprint: Fingerprint, packed: &[u8]) {
        let (shard, slot) = self.shard_and_slot(id);
        let mut shard = self.shards[shard].write();
        // Race: checked under the lock, because a commit records its edits under the lock.
        if shard.last_edit(slot) <= commit && !shard.places.contains_key(&id.0) {
            shard.push(id, commit, fingerprint, packed);
        }
    }

    /// Removes the entries of edited documents, of all documents for `None`. Must be called before a
    /// snapshot can see the commit.
    pub(crate) fn apply_changes(&self, edited: Option<&[DocId]>, commit: u64) {
        let Some(edited) = edited else {
            for shard in &self.shards {
                let mut shard = shard.write();
                shard.last_unknown = shard.last_unknown.max(commit);
                shard.clear();
            }
            return;
        };
        for id in edited {
            let (shard, slot) = self.shard_and_slot(*id);
            let mut shard = self.shards[shard].write();
            shard.last_edits.resize(SLOTS, 0);
            shard.last_edits[slot] = shard.last_edits[slot].max(commit);
            shard.places.remove(&id.0);
        }
    }

    pub(crate) fn clear(&self) {
        self.shards.iter().for_each(|shard| shard.write().clear());
    }

    fn shard_and_slot(&self, id: DocId) -> (usize, usize) {
        let hash = self.hasher.hash_one(id.0) as usize;
        ((hash >> 40) % SHARDS, (hash >> 28) % SLOTS)
    }
}

impl Shard {
    fn entry(&self, place: usize) -> Option<CachedWording<'_>> {
        let bytes = self.ring.get(place..)?;
        let (len, bytes) = bytes.split_first_chunk()?;
        let (commit, bytes) = bytes.split_first_chunk()?;
        let (fingerprint, bytes) = bytes.split_first_chunk()?;
        let packed = bytes.get(..u32::from_le_bytes(*len) as usize)?;
        Some(CachedWording {
            commit: u64::from_le_bytes(*commit),
            fingerprint: Fingerprint::from_bits(u64::from_le_bytes(*fingerprint)),
            packed: PackedWording::new(packed)?,
        })
    }

    /// Reads the first two cache lines of entries. No read waits for another, so the processor fetches the
    /// lines of all entries from memory at the same time.
    fn touch(&self, starts: impl Iterator<Item = u32>) {
        let byte = |at: usize| self.ring.get(at).copied().unwrap_or(0);
        let lines = |start: u32| byte(start as usize) ^ byte(start as usize + CACHE_LINE_BYTES);
        // The compiler would remove the reads of an unused sum.
        black_box(starts.fold(0, |sum, start| sum ^ lines(start)));
    }

    fn last_edit(&self, slot: usize) -> u64 {
        let last = self.last_edits.get(slot).copied().unwrap_or(0);
        last.max(self.last_unknown)
    }

    fn push(&mut self, id: DocId, commit: u64, fingerprint: Fingerprint, packed: &[u8]) {
        let len = PREFIX_BYTES + packed.len();
        let Some(wording) = PackedWording::new(packed) else {
            return;
        };
        if len > self.capacity / MAX_ENTRY_SHARE {
            return;
        }
        if self.head + len > self.capacity {
            // The rest of the ring stays unused. Its entries are the oldest.
            self.evict(self.capacity);
            self.head = 0;
        }
        let end = self.head + len;
        self.evict(end);
        if self.ring.len() < end {
            self.ring.resize(end, 0);
        }
        let place = &mut self.ring[self.head..end];
        place[..4].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        place[4..12].copy_from_slice(&commit.to_le_bytes());
        place[12..PREFIX_BYTES].copy_from_slice(&fingerprint.bits().to_le_bytes());
        place[PREFIX_BYTES..].copy_from_slice(packed);
        let start = self.head as u32;
        let size = wording.size();
        self.places.insert(id.0, Place { start, size });
        self.order.push_back((id.0, self.head as u32));
        self.head = end;
    }

    /// Removes the entries from `head` to `end`, which are the oldest.
    fn evict(&mut self, end: usize) {
        let range = self.head..end;
        while let Some((id, place)) = self.order.front().copied()
            && range.contains(&(place as usize))
        {
            self.order.pop_front();
            // The document may have a newer entry.
            if self.places.get(&id).is_some_and(|own| own.start == place) {
                self.places.remove(&id);
            }
        }
    }

    fn clear(&mut self) {
        self.places.clear();
        self.order.clear();
        self.ring.clear();
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::similarity::Wording;
    use crate::text::Normaliser;

    fn packed(text: &str) -> Vec<u8> {
        Wording::new(&Normaliser::new(), text).pack().unwrap()
    }

    /// The fingerprints of the cached documents among `ids`.
    fn cached(cache: &WordingCache, ids: &[u64], commit: u64) -> Vec<(u64, u64)> {
        let ids: Vec<DocId> = ids.iter().copied().map(DocId).collect();
        let mut found = Vec::new();
        let accepts = |_: WordingSize| true;
        let missing = cache.visit(&ids, commit, accepts, |id, fingerprint, _| {
            found.push((id.0, fingerprint.bits()));
        });
        assert_eq!(found.len() + missing.len(), ids.len());
        found.sort_unstable();
        found
    }

    #[test]
    fn edited_document_is_not_returned_to_other_commits() {
        let cache = WordingCache::new(1 << 20);
        let text = packed("the cat sat on the mat");
        let fingerprint = Fingerprint::from_bits;
        cache.insert(DocId(1), 5, fingerprint(10), &text);
        cache.insert(DocId(2), 5, fingerprint(20), &text);
        for commit in [4, 5, 9] {
            assert_eq!(cached(&cache, &[1, 2, 3], commit), [(1, 10), (2, 20)]);
        }
        cache.apply_changes(Some(&[DocId(1)]), 6);
        assert_eq!(cached(&cache, &[1, 2], 6), [(2, 20)]);
        // A snapshot from before the edit has read the old text.
        cache.insert(DocId(1), 5, fingerprint(10), &text);
        assert_eq!(cached(&cache, &[1], 5), []);
        cache.insert(DocId(1), 6, fingerprint(11), &text);
        assert_eq!(cached(&cache, &[1], 7), [(1, 11)]);
        assert_eq!(cached(&cache, &[1], 5), []);
        cache.apply_changes(None, 8);
        assert_eq!(cached(&cache, &[1, 2], 8), []);
        cache.insert(DocId(2), 7, fingerprint(20), &text);
        assert_eq!(cached(&cache, &[2], 7), []);
    }

    #[test]
    fn rejected_size_is_neither_visited_nor_missing_unless_snapshot_is_older() {
        let cache = WordingCache::new(1 << 20);
        let text = packed("the cat sat on the mat");
        let rejected = |commit| {
            cache.visit(
                &[DocId(1)],
                commit,
                |_| false,
                |id, _, _| panic!("{id} is visited"),
            )
        };
        assert_eq!(rejected(5), [DocId(1)]);
        cache.insert(DocId(1), 5, Fingerprint::from_bits(10), &text);
        assert_eq!(rejected(5), []);
        cache.apply_changes(Some(&[DocId(1)]), 6);
        cache.insert(DocId(1), 6, Fingerprint::from_bits(11), &text);
        assert_eq!(rejected(6), []);
        // The text of the older snapshot may have another size.
        assert_eq!(rejected(5), [DocId(1)]);
    }

    #[test]
    fn oldest_entries_make_room_and_memory_is_bounded() {
        let text = packed("the cat sat on the mat");
        let len = PREFIX_BYTES + text.len();
        for bytes in [0, 1000, 1 << 20] {
            let cache = WordingCache::new(bytes);
            for round in 0..3 {
                for id in 0..20_000 {
                    if id % 7 == round {
                        cache.apply_changes(Some(&[DocId(id)]), 0);
                    }
                    cache.insert(DocId(id), 0, Fingerprint::from_bits(id), &text);
                }
            }
            let mut entries = 0;
            for shard in &cache.shards {
                let shard = shard.read();
                assert!(shard.ring.len() <= shard.capacity);
                assert!(shard.places.len() <= shard.order.len());
                assert!(shard.order.len() * len <= shard.capacity);
                entries += shard.places.len();
            }
            assert_eq!(entries > 3000, bytes > 1000, "{entries}");
            let ids: Vec<u64> = (0..20_000).collect();
            let found = cached(&cache, &ids, 0);
            assert_eq!(found.len(), entries);
            assert!(found.iter().all(|(id, bits)| id == bits));
        }
    }
}
