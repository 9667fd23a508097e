//! [`SeqnoLog`]: values by seqno, each set once, read without a lock.

use std::sync::OnceLock;

/// A segment has 512 values. It is allocated when its first value is set, and never moves.
// So a small log stays small, and an append never waits for a copy of the log.
const SEGMENT_LEN: u32 = 1 << SEGMENT_BITS;
const SEGMENT_BITS: u32 = 9;
/// Level n lists 2ⁿ segments, so 24 levels hold every `u32`.
const LEVELS: usize = (u32::BITS - SEGMENT_BITS) as usize + 1;

type Segment<T> = OnceLock<Box<[OnceLock<T>]>>;

/// Values by seqno.
///
/// Append-only vectors, as in crate `boxcar`, choose the index themselves. Here the threads of one
/// batch set values out of order, each at the seqno of its edit.
pub(super) struct SeqnoLog<T> {
    levels: [OnceLock<Box<[Segment<T>]>>; LEVELS],
}

impl<T> SeqnoLog<T> {
    pub(super) const ENTRY_BYTES: usize = size_of::<OnceLock<T>>();

    pub(super) fn new() -> Self {
        Self {
            levels: [const { OnceLock::new() }; LEVELS],
        }
    }

    /// Sets a value; no effect if the value is set.
    pub(super) fn set(&self, seqno: u32, value: T) {
        let (level, segment, nth) = position(seqno);
        let segments = self.levels[level].get_or_init(|| empty(1 << level));
        let values = segments[segment].get_or_init(|| empty(SEGMENT_LEN as usize));
        let _ = values[nth].set(value);
    }

    pub(super) fn get(&self, seqno: u32) -> Option<&T> {
        let (level, segment, nth) = position(seqno);
        self.levels[level].get()?[segment].get()?[nth].get()
    }
}

/// The level, the segment in the level, and the index in the segment.
fn position(seqno: u32) -> (usize, usize, usize) {
    // Counted from 1, the segments of level n are 2ⁿ..2ⁿ⁺¹.
    let segment = (seqno >> SEGMENT_BITS) + 1;
    let level = segment.ilog2();
    let nth = seqno % SEGMENT_LEN;
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
    fn every_seqno_has_its_own_position() {
        let mut expected = (0, 0, 0);
        for seqno in 0..SEGMENT_LEN * 70 {
            assert_eq!(position(seqno), expected);
            let (level, segment, nth) = &mut expected;
            *nth += 1;
            if *nth == SEGMENT_LEN as usize {
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
    fn first_value_set_out_of_order_is_read_and_stays() {
        let log = SeqnoLog::new();
        for seqno in (0..SEGMENT_LEN * 5).rev().step_by(3) {
            log.set(seqno, seqno);
            log.set(seqno, 0);
            assert_eq!(log.get(seqno), Some(&seqno));
        }
        assert_eq!(log.get(1), None);
        let last = SEGMENT_LEN * 5 - 1;
        assert_eq!(log.get(last), Some(&last));
    }
}
