//! Values by number, each set once, read without a lock.

use std::sync::OnceLock;

/// Values in a segment. It is made whole, when its first value is set: with little, a small log
/// stays small; and since no segment ever moves, no value is late because others were moved.
const SEGMENT: u32 = 1 << SEGMENT_BITS;
const SEGMENT_BITS: u32 = 9;
/// Level n lists 2ⁿ segments.
const LEVELS: usize = (u32::BITS - SEGMENT_BITS) as usize + 1;

type Segment<T> = OnceLock<Box<[OnceLock<T>]>>;

/// A value for each of the numbers from 0 on that it was set for.
pub(super) struct Log<T> {
    levels: [OnceLock<Box<[Segment<T>]>>; LEVELS],
}

impl<T> Log<T> {
    /// What a value takes.
    pub(super) const ENTRY_BYTES: usize = size_of::<OnceLock<T>>();

    pub(super) fn new() -> Self {
        Self {
            levels: [const { OnceLock::new() }; LEVELS],
        }
    }

    /// Sets a value. One that is set stays as it is.
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

/// Level, segment of that level, and value of that segment.
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
    fn every_number_has_a_place_of_its_own() {
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
        assert!(Log::<u64>::new().get(u32::MAX).is_none());
    }

    #[test]
    fn what_is_set_is_read_and_stays() {
        let log = Log::new();
        for number in (0..SEGMENT * 5).rev().step_by(3) {
            log.set(number, number);
            log.set(number, 0);
            assert_eq!(log.get(number), Some(&number));
        }
        assert_eq!(log.get(1), None);
        assert_eq!(log.get(SEGMENT * 5 - 1), Some(&(SEGMENT * 5 - 1)));
    }
}
