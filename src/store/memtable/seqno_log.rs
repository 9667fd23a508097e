//! [`SeqnoLog`]: values by number, each set once, read without a lock.

use std::sync::OnceLock;

/// Values in a segment. A segment is allocated when its first value is set and never moves, so a small
/// log stays small and no append waits for a copy of the values before it.
const SEGMENT: u32 = 1 << SEGMENT_BITS;
const SEGMENT_BITS: u32 = 9;
/// Level n lists 2ⁿ segments.
const LEVELS: usize = (u32::BITS - SEGMENT_BITS) as usize + 1;

type Segment<T> = OnceLock<Box<[OnceLock<T>]>>;

/// A value for each number that was set.
///
/// Threads set numbers out of order, which the append-only vectors of the ecosystem do not offer.
pub(super) struct SeqnoLog<T> {
    levels: [OnceLock<Box<[Segment<T>]>>; LEVELS],
}

impl<T> SeqnoLog<T> {
    /// Bytes of a value.
    pub(super) const ENTRY_BYTES: usize = size_of::<OnceLock<T>>();

    pub(super) fn new() -> Self {
        Self {
            levels: [const { OnceLock::new() }; LEVELS],
        }
    }

    /// Sets a value; no effect if the value is set.
    pub(super) fn set(&self, number: u32, value: T) {
        let (level, segment, nth) = position(number);
        let segments = self.levels[level].get_or_init(|| empty(1 << level));
        let values = segments[segment].get_or_init(|| empty(SEGMENT as usize));
        let _ = values[nth].set(value);
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        let (level, segment, nth) = position(number);
        self.levels[level].get()?[segment].get()?[nth].get()
    }
}

/// The level, the segment in the level, and the index in the segment.
fn position(number: u32) -> (usize, usize, usize) {
    let segment = (number >> SEGMENT_BITS) + 1;
    let level = segment.ilog2();
    let nth = number % SEGMENT;
    (
        level as usize,
        (segment - (1 << level)) as usize,
        nth as usize,
    )
}

fn empty<T>(count: usize) -> Box<[OnceLock<T>]> {
    (0..count).map(|_| OnceLock::new()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_own_position() {
        let mut expected = (0, 0, 0);
        for number in 0..SEGMENT * 70 {
            assert_eq!(position(number), expected);
            let (level, segment, nth) = &mut expected;
            *nth += 1;
            if *nth == SEGMENT as usize {
                (*nth, *segment) = (0, *segment + 1);
            }
            if *segment == 1 << *level {
                (*segment, *level) = (0, *level + 1);
            }
        }
        assert!(position(u32::MAX).0 < LEVELS);
        assert!(SeqnoLog::<u64>::new().get(u32::MAX).is_none());
    }

    #[test]
    fn what_is_set_is_read_and_stays() {
        let log = SeqnoLog::new();
        for number in (0..SEGMENT * 5).rev().step_by(3) {
            log.set(number, number);
            log.set(number, 0);
            assert_eq!(log.get(number), Some(&number));
        }
        assert_eq!(log.get(1), None);
        assert_eq!(log.get(SEGMENT * 5 - 1), Some(&(SEGMENT * 5 - 1)));
    }
}
