//! [`ClockCache`]: values by small index, within a number of bytes.
//!
//! The values are in slots in the order of their indices.
//!
//! Values are removed in the order of CLOCK (Corbató 1968): a hand passes over the slots again and
//! again, and removes each value that was not read since the hand passed it before.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

/// Slots under one lock. They are allocated together, and freed when all are empty.
const GROUP_LEN: usize = 64;

/// Values by index, shared by all threads.
pub(super) struct ClockCache<V> {
    /// Each with [`GROUP_LEN`] slots or none.
    // An array, because a scan of all indices then reads consecutive memory. With a hash table, a
    // scan would take longer to find the values than to compare them.
    groups: Box<[RwLock<Vec<ClockSlot<V>>>]>,
    bytes_of: fn(&V) -> u64,
    /// The bytes of all values and of all allocated slots.
    bytes: AtomicU64,
    capacity_bytes: u64,
    /// The slot that the hand visits next.
    hand: Mutex<usize>,
}

struct ClockSlot<V> {
    value: Option<V>,
    /// The value was read since the hand passed the slot.
    is_read: AtomicBool,
}

impl<V> ClockSlot<V> {
    fn count_as_read(&self) {
        // Stored only once: threads on different cores that store into one cache line wait for each
        // other.
        if !self.is_read.load(Ordering::Relaxed) {
            self.is_read.store(true, Ordering::Relaxed);
        }
    }
}

impl<V: Clone> ClockCache<V> {
    /// The bytes that a value takes besides the bytes of `bytes_of`.
    pub(super) const SLOT_BYTES: u64 = size_of::<ClockSlot<V>>() as u64;
    const GROUP_BYTES: u64 = GROUP_LEN as u64 * Self::SLOT_BYTES;

    /// An empty cache for indices below `slots`. `bytes_of` returns the bytes on the heap of a
    /// value.
    pub(super) fn new(slots: usize, capacity_bytes: u64, bytes_of: fn(&V) -> u64) -> Self {
        let groups = slots.div_ceil(GROUP_LEN);
        Self {
            groups: (0..groups).map(|_| RwLock::default()).collect(),
            bytes_of,
            bytes: AtomicU64::new(0),
            capacity_bytes,
            hand: Mutex::new(0),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    pub(super) fn get(&self, index: usize) -> Option<V> {
        let group = self.groups[index / GROUP_LEN].read();
        let slot = group.get(index % GROUP_LEN)?;
        let value = slot.value.clone()?;
        slot.count_as_read();
        Some(value)
    }

    /// Visits the values of these slots, until a slot has no value or the visitor returns `false`.
    /// Returns the number of visited values before that. Neighbouring slots are visited under one
    /// lock, so the visitor must not use the cache. The values count as read.
    pub(super) fn visit_while(
        &self,
        indices: impl Iterator<Item = usize>,
        mut visitor: impl FnMut(&V) -> bool,
    ) -> usize {
        let mut indices = indices.peekable();
        let mut visited = 0;
        while let Some(first) = indices.next() {
            let number = first / GROUP_LEN;
            let group = self.groups[number].read();
            let mut next = Some(first);
            while let Some(index) = next {
                let visit = |slot: &&ClockSlot<V>| slot.value.as_ref().is_some_and(&mut visitor);
                let Some(slot) = group.get(index % GROUP_LEN).filter(visit) else {
                    return visited;
                };
                slot.count_as_read();
                visited += 1;
                next = indices.next_if(|index| index / GROUP_LEN == number);
            }
        }
        visited
    }

    /// Replaces the value of a slot if `is_valid`, which is called under the lock of the slot. Then
    /// removes values until the cache is within its bytes.
    pub(super) fn insert_if(&self, index: usize, value: V, is_valid: impl FnOnce() -> bool) {
        let mut group = self.groups[index / GROUP_LEN].write();
        if !is_valid() {
            return;
        }
        if group.is_empty() {
            group.resize_with(GROUP_LEN, || ClockSlot {
                value: None,
                is_read: AtomicBool::new(false),
            });
            self.add(Self::GROUP_BYTES);
        }
        self.add((self.bytes_of)(&value));
        let replaced = group[index % GROUP_LEN].value.replace(value);
        self.subtract(replaced.as_ref());
        drop(group);
        if self.bytes() > self.capacity_bytes {
            self.make_room();
        }
    }

    /// Calls `record` under the lock of a slot, and removes the value.
    pub(super) fn take(&self, index: usize, record: impl FnOnce()) -> Option<V> {
        let mut group = self.groups[index / GROUP_LEN].write();
        record();
        let taken = group.get_mut(index % GROUP_LEN)?.value.take()?;
        self.subtract(Some(&taken));
        self.free_if_empty(&mut group);
        Some(taken)
    }

    pub(super) fn clear(&self) {
        for group in &self.groups {
            let mut group = group.write();
            group
                .iter_mut()
                .for_each(|slot| self.subtract(slot.value.take().as_ref()));
            self.free_if_empty(&mut group);
        }
    }

    fn make_room(&self) {
        let mut hand = self.hand.lock();
        while self.bytes() > self.capacity_bytes {
            let number = *hand / GROUP_LEN;
            let mut group = self.groups[number].write();
            for slot in group.iter_mut().skip(*hand % GROUP_LEN) {
                if self.bytes() <= self.capacity_bytes {
                    return;
                }
                if !std::mem::take(slot.is_read.get_mut()) {
                    self.subtract(slot.value.take().as_ref());
                }
                *hand += 1;
            }
            self.free_if_empty(&mut group);
            *hand = (number + 1) % self.groups.len() * GROUP_LEN;
        }
    }

    fn free_if_empty(&self, group: &mut Vec<ClockSlot<V>>) {
        if !group.is_empty() && group.iter().all(|slot| slot.value.is_none()) {
            *group = Vec::new();
            self.bytes.fetch_sub(Self::GROUP_BYTES, Ordering::Relaxed);
        }
    }

    fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn subtract(&self, removed: Option<&V>) {
        let bytes = removed.map_or(0, self.bytes_of);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: usize = 1_000;

    fn cache(capacity_bytes: u64) -> ClockCache<u64> {
        ClockCache::new(SLOTS, capacity_bytes, |value| *value)
    }

    fn insert(cache: &ClockCache<u64>, index: usize, value: u64) {
        cache.insert_if(index, value, || true);
    }

    fn values(cache: &ClockCache<u64>) -> Vec<(usize, u64)> {
        let value = |index| Some((index, cache.get(index)?));
        (0..SLOTS).filter_map(value).collect()
    }

    #[test]
    fn bytes_are_those_of_the_values_and_their_slots() {
        let cache = cache(1 << 30);
        let mut expected = vec![];
        for (index, value) in [(0, 100), (63, 5), (64, 7), (999, 1), (0, 300), (64, 0)] {
            insert(&cache, index, value);
            expected.retain(|(other, _)| *other != index);
            expected.push((index, value));
            expected.sort_unstable();
            assert_eq!(values(&cache), expected);
        }
        let groups = 3 * ClockCache::<u64>::GROUP_BYTES;
        assert_eq!(cache.bytes(), 306 + groups);
        cache.insert_if(63, 6, || false);
        assert_eq!(cache.take(500, || {}), None);
        assert_eq!(cache.bytes(), 306 + groups);
        assert_eq!(cache.take(63, || {}), Some(5));
        assert_eq!(values(&cache), [(0, 300), (64, 0), (999, 1)]);
        assert_eq!(cache.bytes(), 301 + groups);
        cache.clear();
        assert_eq!((values(&cache), cache.bytes()), (vec![], 0));
    }

    #[test]
    fn visit_passes_values_in_order_until_an_empty_slot_or_the_visitor_ends_it() {
        let cache = cache(1 << 30);
        let has_value = |index: &usize| index % 100 != 99;
        let filled = (0..SLOTS).filter(has_value);
        filled.for_each(|index| insert(&cache, index, index as u64));
        for indices in [
            vec![],
            vec![63, 64, 66, 3, 4, 300, 298, 998],
            vec![99, 1],
            (50..SLOTS).collect(),
        ] {
            for last in [usize::MAX, 64, 4] {
                let mut visited = vec![];
                let len = cache.visit_while(indices.iter().copied(), |value| {
                    visited.push(*value as usize);
                    *value as usize != last
                });
                let mut wanted = indices.iter().copied().take_while(has_value);
                let before: Vec<usize> =
                    wanted.by_ref().take_while(|index| *index != last).collect();
                assert_eq!(len, before.len());
                assert_eq!(visited[..len], before);
            }
        }
    }

    #[test]
    fn unread_values_make_room_first() {
        let groups = SLOTS.div_ceil(GROUP_LEN) as u64;
        let cache = cache(groups * ClockCache::<u64>::GROUP_BYTES + 10 * SLOTS as u64);
        (0..SLOTS).for_each(|index| insert(&cache, index, 10));
        assert_eq!(values(&cache).len(), SLOTS);
        // The hand passes all slots, since all were read, and removes the first ones.
        insert(&cache, 999, 30);
        assert!(cache.get(0).is_none() && cache.get(1).is_none() && cache.get(3).is_some());
        assert!((500..600).all(|index| cache.get(index).is_some()));
        for round in 0..80 {
            insert(&cache, 0, 10 + 10 * round);
            assert!(cache.bytes() <= cache.capacity_bytes());
        }
        let kept = values(&cache);
        assert!((500..600).all(|index| kept.contains(&(index, 10))));
        assert!(kept.len() < 930);
    }

    #[test]
    fn too_large_values_are_not_kept() {
        let cache = cache(4_000);
        for index in 0..SLOTS {
            insert(&cache, index, 5_000);
            assert!(cache.bytes() <= 4_000);
        }
        assert_eq!(values(&cache), []);
        insert(&cache, 7, 300);
        assert_eq!(values(&cache), [(7, 300)]);
    }
}
