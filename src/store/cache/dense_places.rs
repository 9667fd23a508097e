//! [`DensePlaces`]: the places of documents with small ids in the wording cache, by id.
//!
//! A search finds thousands of documents, and the sketches of most of them reject them. Ids that
//! are given in order are small numbers, so their places are in arrays and are read without a lock:
//! the processor fetches many of them from memory at the same time. In a hash table, each look-up
//! takes several times as long.

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// The sketch of a document, and the place of its wording in the ring with its size, which rejects
/// candidates of another length without a read of the wording.
#[derive(Clone, Copy)]
pub(super) struct WordingPlace {
    /// The bits of the sketch, or [`NO_SKETCH`].
    pub(super) sketch: [u64; 2],
    /// The commit from which the sketch was read.
    pub(super) commit: u64,
    /// [`NO_WORDING`] if the ring does not hold the wording.
    pub(super) start: u32,
    pub(super) size: u32,
}

/// The text has no sketch. A text whose sketch has these bits is compared, as a text without one.
pub(super) const NO_SKETCH: [u64; 2] = [u64::MAX; 2];

/// Greater than every place in a ring.
pub(super) const NO_WORDING: u32 = u32::MAX;

/// Places that are allocated together, 8 KiB.
const SEGMENT_LEN: usize = 256;

/// The commit of a missing place.
const MISSING: u64 = u64::MAX;

/// Places of documents with ids below a limit. Writers of one place exclude each other.
pub(super) struct DensePlaces {
    segments: Box<[OnceLock<Box<[DensePlace]>>]>,
    allocated: AtomicUsize,
}

/// A place. It is in one cache line.
#[repr(align(32))]
struct DensePlace {
    sketch: [AtomicU64; 2],
    commit: AtomicU64,
    /// The start of the wording and, in the high half, its size.
    wording: AtomicU64,
}

impl DensePlaces {
    pub(super) const PLACE_BYTES: usize = size_of::<DensePlace>();

    /// Places that take at most `bytes`.
    pub(super) fn new(bytes: usize) -> Self {
        let segments = bytes / (SEGMENT_LEN * Self::PLACE_BYTES);
        Self {
            segments: (0..segments).map(|_| OnceLock::new()).collect(),
            allocated: AtomicUsize::new(0),
        }
    }

    /// The bytes of the allocated places.
    pub(super) fn bytes(&self) -> usize {
        self.allocated.load(Ordering::Relaxed) * SEGMENT_LEN * Self::PLACE_BYTES
    }

    /// Returns `true` if the id is below the limit.
    pub(super) fn has(&self, id: u64) -> bool {
        id / (SEGMENT_LEN as u64) < self.segments.len() as u64
    }

    /// The words of the sketch of a document and the commit from which it was read, without a lock;
    /// `None` if the place is missing or is being written.
    #[inline]
    pub(super) fn sketch(&self, id: u64) -> Option<([u64; 2], u64)> {
        let place = self.place(id)?;
        let commit = place.commit.load(Ordering::Acquire);
        let words = [0, 1].map(|at| place.sketch[at].load(Ordering::Relaxed));
        // Race: a writer sets the commit to `MISSING` before it changes the words. A sketch that
        // was replaced by another one of the same commit is the same sketch.
        fence(Ordering::Acquire);
        let is_whole = place.commit.load(Ordering::Relaxed) == commit;
        (is_whole && commit != MISSING).then_some((words, commit))
    }

    /// Fetches places into the cache of the processor, without a computation between the reads, so
    /// that they do not wait for each other.
    pub(super) fn touch(&self, ids: impl Iterator<Item = u64>) {
        let commits = ids.filter_map(|id| Some(self.place(id)?.commit.load(Ordering::Relaxed)));
        black_box(commits.fold(0, |all, commit| all ^ commit));
    }

    /// The place of a document. The caller excludes writers of this place.
    pub(super) fn get(&self, id: u64) -> Option<WordingPlace> {
        let (sketch, commit) = self.sketch(id)?;
        let wording = self.place(id)?.wording.load(Ordering::Relaxed);
        Some(WordingPlace {
            sketch,
            commit,
            start: wording as u32,
            size: (wording >> 32) as u32,
        })
    }

    /// Sets the place of a document with an id below the limit.
    pub(super) fn set(&self, id: u64, new: WordingPlace) {
        let Some(segment) = self.segments.get((id / SEGMENT_LEN as u64) as usize) else {
            return;
        };
        let segment = segment.get_or_init(|| {
            self.allocated.fetch_add(1, Ordering::Relaxed);
            (0..SEGMENT_LEN).map(|_| DensePlace::missing()).collect()
        });
        let place = &segment[id as usize % SEGMENT_LEN];
        place.commit.store(MISSING, Ordering::Relaxed);
        // A reader that reads one of the words below sees that the place is missing.
        fence(Ordering::Release);
        for (word, new) in place.sketch.iter().zip(new.sketch) {
            word.store(new, Ordering::Relaxed);
        }
        let wording = u64::from(new.size) << 32 | u64::from(new.start);
        place.wording.store(wording, Ordering::Relaxed);
        place.commit.store(new.commit, Ordering::Release);
    }

    pub(super) fn remove(&self, id: u64) {
        if let Some(place) = self.place(id) {
            place.commit.store(MISSING, Ordering::Release);
        }
    }

    /// Removes all places. Their memory stays.
    pub(super) fn clear(&self) {
        let places = self.segments.iter().filter_map(OnceLock::get);
        for place in places.flatten() {
            place.commit.store(MISSING, Ordering::Release);
        }
    }

    #[inline]
    fn place(&self, id: u64) -> Option<&DensePlace> {
        let segment = usize::try_from(id / SEGMENT_LEN as u64).ok()?;
        self.segments
            .get(segment)?
            .get()?
            .get(id as usize % SEGMENT_LEN)
    }
}

impl DensePlace {
    fn missing() -> Self {
        Self {
            sketch: [const { AtomicU64::new(0) }; 2],
            commit: AtomicU64::new(MISSING),
            wording: AtomicU64::new(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(n: u64) -> WordingPlace {
        WordingPlace {
            sketch: [n, !n],
            commit: n,
            start: n as u32 * 3,
            size: n as u32 * 7,
        }
    }

    #[test]
    fn places_below_the_limit_are_kept_until_they_are_removed() {
        let places = DensePlaces::new(3 * SEGMENT_LEN * DensePlaces::PLACE_BYTES);
        let limit = 3 * SEGMENT_LEN as u64;
        assert!(places.has(limit - 1) && !places.has(limit) && !places.has(u64::MAX));
        for id in [0, 5, limit - 1, limit, u64::MAX] {
            assert!(places.get(id).is_none());
            places.set(id, place(9));
            places.set(id, place(id % 100));
        }
        assert_eq!(places.bytes(), 2 * SEGMENT_LEN * DensePlaces::PLACE_BYTES);
        for id in [0, 5, limit - 1] {
            let found = places.get(id).unwrap();
            let expected = place(id % 100);
            assert_eq!(
                (found.sketch, found.commit),
                (expected.sketch, expected.commit)
            );
            assert_eq!((found.start, found.size), (expected.start, expected.size));
        }
        assert!(places.get(limit).is_none() && places.get(1).is_none());
        places.remove(5);
        places.remove(limit);
        assert!(places.get(5).is_none() && places.get(0).is_some());
        places.clear();
        assert!(places.get(0).is_none());
    }

    #[test]
    fn reader_never_sees_halves_of_two_sketches() {
        let places = DensePlaces::new(1 << 20);
        let seen = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while seen.load(Ordering::Relaxed) < 1_000 {
                    if let Some((words, commit)) = places.sketch(7) {
                        assert_eq!(words, [commit, !commit]);
                        seen.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            let mut n = 0;
            while seen.load(Ordering::Relaxed) < 1_000 {
                places.set(7, place(n % 97));
                n += 1;
            }
        });
    }
}
