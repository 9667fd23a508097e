//! [`WordingCache`]: the sketches and the packed wordings of stored texts in memory.
//!
//! A query has thousands of candidates. Their sketches reject most of them; the others are
//! compared. To read a text and to normalise it takes a hundred times as long as to compare its
//! packed wording.
//!
//! # Commits
//! An entry has the number of the commit from which it was read, and the rule of [`CommitStamps`]
//! says which snapshots may use it. A stamp stands for many documents, so a lookup compares the
//! number first.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::hint::black_box;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use parking_lot::{RwLock, RwLockWriteGuard};

use crate::analysis::{PackedWording, Sketch};
use crate::ids::DocId;
use crate::store::cache::commit_stamps::CommitStamps;
use crate::store::cache::dense_places::{DensePlaces, NO_SKETCH, NO_WORDING, WordingPlace};

/// Shards, each under a lock.
// A query visits the candidates of a shard together, so more shards mean fewer reads of memory at a
// time.
const SHARDS: usize = 16;
/// Stamps of each shard: 32 KiB.
const STAMPS: usize = 4096;

/// The most bytes of a place in a hash table.
// A hash table is at least 7/16 full.
const PLACE_BYTES: usize = 100;
/// A larger entry would displace too many others.
const MAX_ENTRY_SHARE: usize = 16;

/// The places that are fetched from memory at the same time.
const TOUCHED_TOGETHER: usize = 64;

const CACHE_LINE_BYTES: usize = 64;

/// The bytes of an entry before its wording: length and commit.
const PREFIX_BYTES: usize = 4 + 8;

/// Sketches and packed wordings of one file, shared by all snapshots. The oldest entries make room
/// for new ones.
pub(crate) struct WordingCache {
    shards: Box<[RwLock<Shard>]>,
    /// The places of small ids, each written under the lock of its shard.
    dense: DensePlaces,
    /// The commits that edited documents, each recorded under the lock of the shard.
    stamps: CommitStamps,
    /// The most bytes of the places of all shards and of those in `dense`.
    place_bytes: usize,
    /// The most bytes of the ring of a shard that has places of its own.
    small_ring: usize,
    hasher: RandomState,
    pub(super) misses: AtomicU64,
}

struct Shard {
    /// The places of documents that are not in [`DensePlaces`].
    places: HashMap<u64, WordingPlace, RandomState>,
    /// The ids in `places` in the order of their insertion, including removed ones.
    ids: VecDeque<u64>,
    /// All wordings in the order of their insertion, including removed ones.
    order: VecDeque<(u64, u32)>,
    /// Wordings one after the other. The next one is written at `head`, over the oldest ones.
    ring: Vec<u8>,
    head: usize,
    /// The most bytes of the ring.
    capacity: usize,
}

fn sketch_of(words: [u64; 2]) -> Option<Sketch> {
    (words != NO_SKETCH).then(|| Sketch::from_words(words))
}

/// A candidate with its shard and its stamp.
#[derive(Clone, Copy)]
struct Candidate {
    id: DocId,
    shard: u16,
    stamp: u16,
}

/// A cached wording.
struct CachedWording<'c> {
    commit: u64,
    packed: PackedWording<'c>,
}

impl WordingCache {
    /// Sizes a cache of `bytes` for `texts` documents and 25 % growth.
    ///
    /// Half of the memory holds the wordings, the other half the places. If the places of all texts
    /// need more than a half, the places get up to three quarters. In a shard without large ids,
    /// the wordings also have the memory that the array of the places of small ids leaves.
    pub(crate) fn new(bytes: usize, texts: u64) -> Self {
        let hasher = RandomState::default();
        let wanted = usize::try_from(texts).unwrap_or(usize::MAX);
        let wanted = wanted.saturating_add(wanted / 4);
        let wanted = wanted.saturating_mul(DensePlaces::PLACE_BYTES);
        // A search reads ten times as many sketches, which are in the places, as wordings.
        let place_bytes = wanted.clamp(bytes / 2, bytes - bytes / 4);
        // Places of an array are never freed, so a part of the memory is left for large ids.
        let dense_bytes = wanted.clamp(place_bytes / 2, place_bytes - place_bytes / 8);
        let ring = |bytes: usize| (bytes / SHARDS).min(NO_WORDING as usize);
        let small_ring = ring(bytes - place_bytes);
        // An eighth for the order of the wordings.
        let large_ring = ring((bytes - dense_bytes) / 8 * 7).max(small_ring);
        let shard = |_| {
            RwLock::new(Shard {
                places: HashMap::with_hasher(hasher.clone()),
                ids: VecDeque::new(),
                order: VecDeque::new(),
                ring: Vec::new(),
                head: 0,
                capacity: large_ring,
            })
        };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            dense: DensePlaces::new(dense_bytes),
            stamps: CommitStamps::new(SHARDS * STAMPS),
            place_bytes,
            small_ring,
            hasher,
            misses: AtomicU64::new(0),
        }
    }

    /// Splits documents into `accepted` documents and `unknown` documents, which need a locked
    /// look-up. Rejected documents are left out. `accepts` gets `None` for a text without a sketch.
    pub(crate) fn filter_unlocked(
        &self,
        documents: &[DocId],
        commit: u64,
        accepts: impl Fn(Option<Sketch>) -> bool,
        accepted: &mut Vec<DocId>,
        unknown: &mut Vec<DocId>,
    ) {
        let (first_accepted, first_unknown) = (accepted.len(), unknown.len());
        // Both lists get their full length first, so that the loop below writes without a branch.
        accepted.resize(first_accepted + documents.len(), DocId(0));
        unknown.resize(first_unknown + documents.len(), DocId(0));
        let (mut accepted_len, mut unknown_len) = (first_accepted, first_unknown);
        for together in documents.chunks(TOUCHED_TOGETHER) {
            self.dense.touch(together.iter().map(|id| id.0));
            for id in together {
                let (words, read) = self.dense.sketch(id.0).unwrap_or((NO_SKETCH, u64::MAX));
                let is_known = read <= commit;
                let is_accepted = is_known & accepts(sketch_of(words));
                accepted[accepted_len] = *id;
                accepted_len += usize::from(is_accepted);
                unknown[unknown_len] = *id;
                unknown_len += usize::from(!is_known);
            }
        }
        accepted.truncate(accepted_len);
        unknown.truncate(unknown_len);
    }

    /// Calls `visitor` with each document whose sketch as of a commit is in memory, and with the
    /// sketch, `None` for a text without one. Returns the other documents.
    pub(crate) fn visit_sketches(
        &self,
        documents: &[DocId],
        commit: u64,
        mut visitor: impl FnMut(DocId, Option<Sketch>),
    ) -> Vec<DocId> {
        let mut missing = Vec::new();
        let by_shard = self.by_shard(documents);
        for group in by_shard.chunk_by(|a, b| a.shard == b.shard) {
            let shard = self.shards[usize::from(group[0].shard)].read();
            for candidate in group {
                match self.place(&shard, candidate.id) {
                    Some(place) if self.is_valid(candidate, place.commit, commit) => {
                        visitor(candidate.id, sketch_of(place.sketch));
                    }
                    _ => missing.push(candidate.id),
                }
            }
        }
        missing
    }

    /// Returns `true` for a small id whose sketch is not in memory.
    pub(crate) fn lacks_dense(&self, id: DocId) -> bool {
        self.dense.has(id.0) && self.dense.sketch(id.0).is_none()
    }

    /// Caches the sketch of a document that was read as of a commit, unless a later commit may have
    /// edited the document.
    pub(crate) fn insert_sketch(&self, id: DocId, commit: u64, sketch: Option<Sketch>) {
        let candidate = self.candidate(id);
        let mut shard = self.shards[usize::from(candidate.shard)].write();
        // Race: checked under the lock, because a commit records its edits under the lock.
        if self.is_unedited_since(&candidate, commit) {
            self.add_place(&mut shard, id, commit, sketch);
        }
    }

    /// Calls `visitor` with the wording of each cached document as of a commit, if `accepts`
    /// accepts its size. Returns the documents that are not cached.
    pub(crate) fn visit(
        &self,
        documents: &[DocId],
        commit: u64,
        accepts: impl Fn(u32) -> bool,
        mut visitor: impl FnMut(DocId, PackedWording<'_>),
    ) -> Vec<DocId> {
        let mut missing = Vec::new();
        let mut accepted = Vec::new();
        let by_shard = self.by_shard(documents);
        for group in by_shard.chunk_by(|a, b| a.shard == b.shard) {
            let shard = self.shards[usize::from(group[0].shard)].read();
            // Places first, then the first words of all entries: these reads do not wait for each
            // other.
            accepted.clear();
            for candidate in group {
                let place = self.place(&shard, candidate.id);
                match place.filter(|place| place.start != NO_WORDING) {
                    Some(place) if accepts(place.size) => accepted.push((candidate, place.start)),
                    // A commit that edits a document removes its place, so a rejected wording is
                    // current unless the snapshot is older.
                    Some(_) if self.is_unedited_since(candidate, commit) => {}
                    Some(place) => accepted.push((candidate, place.start)),
                    None => missing.push(candidate.id),
                }
            }
            shard.touch(accepted.iter().map(|(_, start)| *start));
            for (candidate, start) in &accepted {
                match shard.entry(*start as usize) {
                    Some(cached) if self.is_valid(candidate, cached.commit, commit) => {
                        visitor(candidate.id, cached.packed);
                    }
                    _ => missing.push(candidate.id),
                }
            }
        }
        missing
    }

    /// The documents in the order of their shards.
    fn by_shard(&self, documents: &[DocId]) -> Vec<Candidate> {
        let candidates = documents.iter().map(|id| self.candidate(*id));
        let unsorted: Vec<Candidate> = candidates.collect();
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

    /// Caches the sketch and the wording of a document. As [`insert_sketch`](Self::insert_sketch).
    pub(crate) fn insert(&self, id: DocId, commit: u64, sketch: Option<Sketch>, packed: &[u8]) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        let candidate = self.candidate(id);
        let mut shard = self.shards[usize::from(candidate.shard)].write();
        // Race: checked under the lock, because a commit records its edits under the lock.
        if self.is_unedited_since(&candidate, commit) {
            self.add_place(&mut shard, id, commit, sketch);
            self.add_wording(&mut shard, id, commit, packed);
        }
    }

    /// Removes the entries of edited documents; `None` removes all. Must be called before a
    /// snapshot can see the commit.
    pub(super) fn apply(&self, edited: Option<&[DocId]>, commit: u64) {
        let Some(edited) = edited else {
            let _locks = self.clear_all();
            return self.stamps.record_all(commit);
        };
        for id in edited {
            let candidate = self.candidate(*id);
            let mut shard = self.shards[usize::from(candidate.shard)].write();
            self.stamps.record(candidate.stamp(), commit);
            shard.places.remove(&id.0);
            self.dense.remove(id.0);
        }
    }

    pub(crate) fn clear(&self) {
        self.clear_all();
    }

    /// Removes all entries. Returns the locks of all shards.
    fn clear_all(&self) -> Vec<RwLockWriteGuard<'_, Shard>> {
        // Locked together: an entry whose place is small and whose wording is in a shard is removed
        // at once.
        let shards = self.shards.iter().map(|shard| shard.write());
        let mut shards: Vec<_> = shards.collect();
        shards.iter_mut().for_each(|shard| shard.clear());
        self.dense.clear();
        shards
    }

    fn candidate(&self, id: DocId) -> Candidate {
        let hash = self.hasher.hash_one(id.0);
        Candidate {
            id,
            shard: (hash >> 40) as u16 % SHARDS as u16,
            stamp: (hash >> 28) as u16 % STAMPS as u16,
        }
    }

    /// Returns `true` if what was read as of a commit is what a snapshot of another commit would
    /// read.
    fn is_valid(&self, candidate: &Candidate, read: u64, commit: u64) -> bool {
        read <= commit || self.is_unedited_since(candidate, commit)
    }

    fn is_unedited_since(&self, candidate: &Candidate, commit: u64) -> bool {
        self.stamps.is_unchanged_since(candidate.stamp(), commit)
    }

    /// The place of a document in a shard that is locked.
    fn place(&self, shard: &Shard, id: DocId) -> Option<WordingPlace> {
        match self.dense.has(id.0) {
            true => self.dense.get(id.0),
            false => shard.places.get(&id.0).copied(),
        }
    }

    fn add_place(&self, shard: &mut Shard, id: DocId, commit: u64, sketch: Option<Sketch>) {
        if self.place(shard, id).is_some() {
            return;
        }
        let place = WordingPlace {
            sketch: sketch.map_or(NO_SKETCH, Sketch::words),
            commit,
            start: NO_WORDING,
            size: 0,
        };
        if self.dense.has(id.0) {
            self.dense.set(id.0, place);
        } else {
            // Places of large ids need the memory that the ring has beyond its share.
            if shard.capacity > self.small_ring {
                self.shrink_ring(shard);
            }
            shard.ids.push_back(id.0);
            shard.places.insert(id.0, place);
        }
        let most = self.place_bytes.saturating_sub(self.dense.bytes()) / SHARDS / PLACE_BYTES;
        while shard.ids.len() > most
            && let Some(oldest) = shard.ids.pop_front()
        {
            shard.places.remove(&oldest);
        }
    }

    fn add_wording(&self, shard: &mut Shard, id: DocId, commit: u64, packed: &[u8]) {
        let len = PREFIX_BYTES + packed.len();
        let Some(wording) = PackedWording::new(packed) else {
            return;
        };
        let is_new = |place: WordingPlace| place.start == NO_WORDING;
        if len > shard.capacity / MAX_ENTRY_SHARE || !self.place(shard, id).is_some_and(is_new) {
            return;
        }
        if shard.head + len > shard.capacity {
            // The rest of the ring stays unused. Its wordings are the oldest.
            self.evict(shard, shard.capacity);
            shard.head = 0;
        }
        let end = shard.head + len;
        self.evict(shard, end);
        if shard.ring.len() < end {
            shard.ring.resize(end, 0);
        }
        let entry = &mut shard.ring[shard.head..end];
        entry[..4].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        entry[4..PREFIX_BYTES].copy_from_slice(&commit.to_le_bytes());
        entry[PREFIX_BYTES..].copy_from_slice(packed);
        self.set_wording(shard, id, shard.head as u32, wording.size());
        shard.order.push_back((id.0, shard.head as u32));
        shard.head = end;
    }

    /// Reduces the ring of a shard to `small_ring`. The wordings behind its new end are removed.
    fn shrink_ring(&self, shard: &mut Shard) {
        shard.capacity = self.small_ring;
        for (id, start) in mem::take(&mut shard.order) {
            let end = shard.entry_end(start as usize);
            if end.is_some_and(|end| end <= shard.capacity) {
                shard.order.push_back((id, start));
            } else {
                self.remove_wording(shard, DocId(id), start);
            }
        }
        shard.ring.truncate(shard.capacity);
        shard.ring.shrink_to_fit();
        if shard.head > shard.capacity {
            shard.head = 0;
        }
    }

    /// Removes the wordings from `head` to `end`, which are the oldest. Their sketches stay.
    fn evict(&self, shard: &mut Shard, end: usize) {
        let range = shard.head..end;
        while let Some((id, start)) = shard.order.front().copied()
            && range.contains(&(start as usize))
        {
            shard.order.pop_front();
            self.remove_wording(shard, DocId(id), start);
        }
    }

    /// Removes the wording of a document, unless the document has a newer one.
    fn remove_wording(&self, shard: &mut Shard, id: DocId, start: u32) {
        let is_newest = |place: WordingPlace| place.start == start;
        if self.place(shard, id).is_some_and(is_newest) {
            self.set_wording(shard, id, NO_WORDING, 0);
        }
    }

    /// Sets the wording of a place, if there is a place.
    fn set_wording(&self, shard: &mut Shard, id: DocId, start: u32, size: u32) {
        let Some(place) = self.place(shard, id) else {
            return;
        };
        let place = WordingPlace {
            start,
            size,
            ..place
        };
        match self.dense.has(id.0) {
            true => self.dense.set(id.0, place),
            false => {
                shard.places.insert(id.0, place);
            }
        }
    }
}

impl Candidate {
    fn stamp(&self) -> usize {
        usize::from(self.shard) * STAMPS + usize::from(self.stamp)
    }
}

impl Shard {
    /// The end of the entry that starts at a byte of the ring.
    fn entry_end(&self, start: usize) -> Option<usize> {
        let len = self.ring.get(start..)?.first_chunk()?;
        Some(start + PREFIX_BYTES + u32::from_le_bytes(*len) as usize)
    }

    fn entry(&self, place: usize) -> Option<CachedWording<'_>> {
        let bytes = self.ring.get(place..)?;
        let (len, bytes) = bytes.split_first_chunk()?;
        let (commit, bytes) = bytes.split_first_chunk()?;
        let packed = bytes.get(..u32::from_le_bytes(*len) as usize)?;
        Some(CachedWording {
            commit: u64::from_le_bytes(*commit),
            packed: PackedWording::new(packed)?,
        })
    }

    /// Reads the first two cache lines of entries. No read waits for another, so the processor
    /// fetches the lines of all entries from memory at the same time.
    fn touch(&self, starts: impl Iterator<Item = u32>) {
        let byte = |at: usize| self.ring.get(at).copied().unwrap_or(0);
        let lines = |start: u32| byte(start as usize) ^ byte(start as usize + CACHE_LINE_BYTES);
        // The compiler would remove the reads of an unused sum.
        black_box(starts.fold(0, |sum, start| sum ^ lines(start)));
    }

    fn clear(&mut self) {
        self.places.clear();
        self.ids.clear();
        self.order.clear();
        self.ring.clear();
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use foldhash::fast::FixedState;

    use super::*;
    use crate::analysis::Analysed;

    fn packed(text: &str) -> Vec<u8> {
        let text = Analysed::new(text);
        assert!(text.packed().is_some());
        text.packed_bytes().to_vec()
    }

    fn sketch(id: u64) -> Option<Sketch> {
        (!id.is_multiple_of(5)).then(|| Sketch::from_words([id << 60, id]))
    }

    /// A wording for each number.
    fn numbered(number: u64) -> Vec<u8> {
        packed(&format!("the cat sat on the mat {number}"))
    }

    fn hash(packed: &[u8]) -> u64 {
        FixedState::default().hash_one(PackedWording::new(packed).unwrap())
    }

    fn insert(cache: &WordingCache, id: u64, commit: u64, packed: &[u8]) {
        cache.insert(DocId(id), commit, sketch(id), packed);
    }

    /// The cached documents among `ids`, which have their sketches.
    fn sketched(cache: &WordingCache, ids: &[u64], commit: u64) -> Vec<u64> {
        let ids: Vec<DocId> = ids.iter().copied().map(DocId).collect();
        let mut found = Vec::new();
        let missing = cache.visit_sketches(&ids, commit, |id, cached| {
            assert_eq!(cached, sketch(id.0));
            found.push(id.0);
        });
        assert_eq!(found.len() + missing.len(), ids.len());
        found.sort_unstable();
        found
    }

    /// The cached documents among `ids`, and the hashes of their wordings.
    fn cached(cache: &WordingCache, ids: &[u64], commit: u64) -> Vec<(u64, u64)> {
        let ids: Vec<DocId> = ids.iter().copied().map(DocId).collect();
        let mut found = Vec::new();
        let accepts = |_: u32| true;
        let missing = cache.visit(&ids, commit, accepts, |id, packed| {
            found.push((id.0, FixedState::default().hash_one(packed)));
        });
        assert_eq!(found.len() + missing.len(), ids.len());
        found.sort_unstable();
        found
    }

    #[test]
    fn edited_document_is_not_returned_to_other_commits() {
        let cache = WordingCache::new(1 << 20, 0);
        let [ten, eleven, twenty] = [10, 11, 20].map(numbered);
        insert(&cache, 1, 5, &ten);
        insert(&cache, 2, 5, &twenty);
        for commit in [4, 5, 9] {
            assert_eq!(
                cached(&cache, &[1, 2, 3], commit),
                [(1, hash(&ten)), (2, hash(&twenty))]
            );
            assert_eq!(sketched(&cache, &[1, 2, 3], commit), [1, 2]);
        }
        cache.apply(Some(&[DocId(1)]), 6);
        assert_eq!(cached(&cache, &[1, 2], 6), [(2, hash(&twenty))]);
        assert_eq!(sketched(&cache, &[1, 2], 6), [2]);
        // A snapshot from before the edit has read the old text.
        insert(&cache, 1, 5, &ten);
        cache.insert_sketch(DocId(1), 5, sketch(1));
        assert_eq!(cached(&cache, &[1], 5), []);
        assert!(sketched(&cache, &[1], 5).is_empty());
        insert(&cache, 1, 6, &eleven);
        assert_eq!(cached(&cache, &[1], 7), [(1, hash(&eleven))]);
        assert_eq!(cached(&cache, &[1], 5), []);
        assert_eq!(sketched(&cache, &[1], 7), [1]);
        assert!(sketched(&cache, &[1], 5).is_empty());
        cache.apply(None, 8);
        assert_eq!(cached(&cache, &[1, 2], 8), []);
        insert(&cache, 2, 7, &twenty);
        assert_eq!(cached(&cache, &[2], 7), []);
    }

    #[test]
    fn rejected_size_is_neither_visited_nor_missing_unless_snapshot_is_older() {
        let cache = WordingCache::new(1 << 20, 0);
        let text = packed("the cat sat on the mat");
        let rejected = |commit| {
            cache.visit(
                &[DocId(1)],
                commit,
                |_| false,
                |id, _| panic!("{id} is visited"),
            )
        };
        assert_eq!(rejected(5), [DocId(1)]);
        insert(&cache, 1, 5, &text);
        assert_eq!(rejected(5), []);
        cache.apply(Some(&[DocId(1)]), 6);
        insert(&cache, 1, 6, &text);
        assert_eq!(rejected(6), []);
        // The text of the older snapshot may have another size.
        assert_eq!(rejected(5), [DocId(1)]);
    }

    #[test]
    fn oldest_entries_make_room_and_memory_is_bounded() {
        let wordings: Vec<Vec<u8>> = (0..10).map(numbered).collect();
        let len = PREFIX_BYTES + wordings[0].len();
        // Small ids, large ids, and both.
        for (bytes, first, texts) in [
            (0, 0, 0),
            (1000, 0, 0),
            (1 << 20, 0, 0),
            (1 << 20, 1 << 40, 0),
            (1 << 20, 1 << 40, 20_000),
            (1 << 20, 6_000, 0),
        ] {
            let cache = WordingCache::new(bytes, texts);
            let ids: Vec<u64> = (first..first + 20_000).collect();
            for round in 0..3 {
                for id in &ids {
                    if id % 7 == round {
                        cache.apply(Some(&[DocId(*id)]), 0);
                    }
                    insert(&cache, *id, 0, &wordings[(id % 10) as usize]);
                }
            }
            let (mut ids_in_tables, mut ring_bytes) = (0, 0);
            for shard in &cache.shards {
                let shard = shard.read();
                assert!(shard.ring.len() <= shard.capacity);
                assert!(shard.places.len() <= shard.ids.len());
                assert!(shard.order.len() * len <= shard.capacity);
                ids_in_tables += shard.ids.len();
                ring_bytes += shard.ring.len();
            }
            let place_bytes = cache.dense.bytes() + ids_in_tables * PLACE_BYTES;
            assert!(place_bytes <= cache.place_bytes && place_bytes + ring_bytes <= bytes);
            let places = sketched(&cache, &ids, 0).len();
            assert_eq!(places > 4000, bytes > 1000, "{places}");
            assert_eq!(ids_in_tables > 1000, bytes > 1000, "{ids_in_tables}");
            let found = cached(&cache, &ids, 0);
            assert_eq!(found.len() > 1000, bytes > 1000, "{}", found.len());
            let is_own = |(id, found): &(u64, u64)| *found == hash(&wordings[(id % 10) as usize]);
            assert!(found.iter().all(is_own));
        }
    }

    #[test]
    fn sketches_of_small_ids_are_known_without_a_lock() {
        let cache = WordingCache::new(1 << 20, 0);
        let known = |ids: &[u64], commit| {
            let ids: Vec<DocId> = ids.iter().copied().map(DocId).collect();
            let (mut accepted, mut unknown) = (vec![DocId(99)], Vec::new());
            let accepts =
                |sketch: Option<Sketch>| sketch.is_none_or(|sketch| sketch.words()[1] > 2);
            cache.filter_unlocked(&ids, commit, accepts, &mut accepted, &mut unknown);
            (accepted, unknown)
        };
        for id in [1, 2, 3, 5, 1 << 40] {
            cache.insert_sketch(DocId(id), 5, sketch(id));
        }
        let ids = [1, 2, 3, 4, 5, 3, 1 << 40];
        let expected = (
            [99, 3, 5, 3].map(DocId).to_vec(),
            [4, 1 << 40].map(DocId).to_vec(),
        );
        assert_eq!(known(&ids, 5), expected);
        // The document may have had another text before.
        assert_eq!(known(&[3], 4), (vec![DocId(99)], vec![DocId(3)]));
        cache.apply(Some(&[DocId(3)]), 6);
        assert_eq!(known(&[3], 6), (vec![DocId(99)], vec![DocId(3)]));
        cache.clear();
        assert_eq!(known(&[5], 6), (vec![DocId(99)], vec![DocId(5)]));
    }

    #[test]
    fn sketches_get_up_to_three_quarters_of_the_memory() {
        let text = packed("the cat sat on the mat");
        let ids: Vec<u64> = (0..20_000).collect();
        let kept = |texts| {
            let cache = WordingCache::new(1 << 20, texts);
            ids.iter().for_each(|id| insert(&cache, *id, 0, &text));
            let dense = ids.iter().filter(|id| cache.dense.has(**id)).count();
            assert!(cached(&cache, &ids, 0).len() > 2_000);
            let rings = cache.shards.iter().map(|shard| shard.read().ring.len());
            let wording_bytes: usize = rings.sum();
            (dense, sketched(&cache, &ids, 0).len(), wording_bytes)
        };
        let (dense, sketches, wording_bytes) = kept(0);
        assert!(
            dense * DensePlaces::PLACE_BYTES <= 1 << 18 && sketches < 12_000,
            "{sketches}"
        );
        let (more_dense, more_sketches, fewer_bytes) = kept(20_000);
        assert!(
            more_dense > 2 * dense && more_sketches >= more_dense,
            "{more_dense}"
        );
        assert!(
            more_dense * DensePlaces::PLACE_BYTES <= 3 << 18,
            "{more_dense}"
        );
        assert!(
            fewer_bytes > wording_bytes / 3 && fewer_bytes < wording_bytes,
            "{fewer_bytes} {wording_bytes}"
        );
        kept(u64::MAX);
    }

    #[test]
    fn wordings_get_the_memory_for_places_of_large_ids_while_there_are_none() {
        let text = packed(&"the cat sat on the mat ".repeat(10));
        // Mixed: the shards of regular ids are uneven.
        let mixed = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 40;
        let ids: Vec<u64> = (0..4_000).collect();
        let large: Vec<u64> = (0..1_000).map(mixed).collect();
        let cache = WordingCache::new(1 << 20, 4_000);
        let rings = || cache.shards.iter().map(|shard| shard.read().ring.len());
        ids.iter().for_each(|id| insert(&cache, *id, 0, &text));
        let kept = cached(&cache, &ids, 0);
        assert!(rings().any(|len| len > cache.small_ring));
        large
            .iter()
            .for_each(|id| cache.insert_sketch(DocId(*id), 0, sketch(*id)));
        assert!(rings().all(|len| len <= cache.small_ring));
        assert_eq!(sketched(&cache, &ids, 0), ids);
        // The wordings that fit stay, and new ones make room as before.
        let kept_after = cached(&cache, &ids, 0);
        assert!(kept_after.len() > kept.len() / 2 && kept_after.len() < kept.len());
        assert!(kept_after.iter().all(|found| kept.contains(found)));
        let in_order = cache.shards.iter().map(|shard| shard.read().order.len());
        assert_eq!(in_order.sum::<usize>(), kept_after.len());
        for id in ids.iter().chain(&large) {
            insert(&cache, *id, 0, &text);
        }
        let found = cached(&cache, &[&ids[..], &large[..]].concat(), 0);
        assert!(found.len() > kept.len() / 2);
        assert!(found.iter().all(|(_, found)| *found == hash(&text)));
    }

    #[test]
    fn sketch_stays_when_its_wording_makes_room() {
        let text = packed(&"the cat sat on the mat ".repeat(20));
        let cache = WordingCache::new(1 << 20, 0);
        let ids: Vec<u64> = (0..4_000).collect();
        ids.iter().for_each(|id| insert(&cache, *id, 0, &text));
        assert_eq!(sketched(&cache, &ids, 0), ids);
        let first = cached(&cache, &ids, 0);
        assert!(first.len() < ids.len() / 2);
        // The wording can be cached again.
        insert(&cache, 0, 0, &text);
        assert_eq!(cached(&cache, &[0], 0), [(0, hash(&text))]);
    }
}
