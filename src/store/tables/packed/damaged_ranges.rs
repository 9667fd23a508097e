//! Tables that may be damaged, walked from end to end: what can be read, and where the gaps are.

use crate::error::{Error, Result};

/// A piece of a table.
#[derive(Debug)]
pub(crate) enum Part<K, V> {
    /// What can be read.
    Read(V),
    /// What cannot.
    Damaged(Damaged<K>),
}

/// Keys of a table that cannot be read.
#[derive(Debug)]
pub(crate) struct Damaged<K> {
    pub(crate) from: K,
    /// The first that can be read again; nothing where the rest of the table is lost.
    pub(crate) to: Option<K>,
    /// [`Error::Corrupt`], or [`Error::Storage`] where the disk does not read.
    pub(crate) why: Error,
}

/// The key of a table as a number in the same order.
pub(crate) trait KeyInt: Copy + Ord {
    const MOST: u128;
    fn number(self) -> u128;
    fn of_number(number: u128) -> Self;
}

impl KeyInt for u64 {
    const MOST: u128 = u64::MAX as u128;
    fn number(self) -> u128 {
        u128::from(self)
    }
    fn of_number(number: u128) -> Self {
        number as u64
    }
}

impl KeyInt for u128 {
    const MOST: u128 = u128::MAX;
    fn number(self) -> u128 {
        self
    }
    fn of_number(number: u128) -> Self {
        number
    }
}

/// The key behind this one, if there is any.
pub(crate) fn after<K: KeyInt>(key: K) -> Option<K> {
    let number = key.number();
    (number < K::MOST).then(|| K::of_number(number + 1))
}

/// The end of a gap that begins at `from`: a key from which on the table can be read, where that is
/// not so from the key before it. Looks in ever larger steps, then between the last two: some three
/// hundred times at most. What can be read within a gap and is shorter than the gap up to it may be
/// passed over.
pub(crate) fn end_of_gap<K: KeyInt>(from: K, can_read: impl Fn(K) -> bool) -> Option<K> {
    let (mut lost, mut step) = (from.number(), 1_u128);
    let mut found = loop {
        let next = lost.saturating_add(step).min(K::MOST);
        if can_read(K::of_number(next)) {
            break next;
        }
        if next == K::MOST {
            return None;
        }
        lost = next;
        step = step.saturating_mul(2);
    };
    while found - lost > 1 {
        let middle = lost + (found - lost) / 2;
        if can_read(K::of_number(middle)) {
            found = middle
        } else {
            lost = middle
        }
    }
    Some(K::of_number(found))
}

/// What was read, or why it was not, where that is damage to the file or to the disk.
pub(crate) fn read_or_why<T>(read: Result<T>) -> Result<Result<T, Error>> {
    match read {
        Err(why @ (Error::Corrupt { .. } | Error::Storage { .. })) => Ok(Err(why)),
        read => read.map(Ok),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_gap_is_found_wherever_it_is() {
        for end in [1, 2, 3, 1000, u64::MAX - 1, u64::MAX] {
            assert_eq!(end_of_gap(0, |key: u64| key >= end), Some(end));
        }
        for end in [1_u128 << 90, u128::MAX] {
            assert_eq!(end_of_gap(77, |key: u128| key >= end), Some(end));
        }
        assert_eq!(end_of_gap(5_u64, |_| false), None);
        assert_eq!(end_of_gap(u64::MAX, |_| false), None);
        assert_eq!((after(u64::MAX), after(7_u128)), (None, Some(8)));
    }

    #[test]
    fn what_can_be_read_between_two_gaps_is_not_passed_over() {
        let can_read = |key: u64| !(100..200).contains(&key) && !(900..1000).contains(&key);
        assert_eq!(end_of_gap(100, can_read), Some(200));
        assert_eq!(end_of_gap(900, can_read), Some(1000));
    }
}
