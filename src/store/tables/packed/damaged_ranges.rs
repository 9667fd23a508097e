//! Reading a damaged table from end to end: its readable parts and the ranges between them.

use crate::error::{Error, Result};

/// A readable part of a table, or a damaged range.
#[derive(Debug)]
pub(crate) enum Part<K, V> {
    Read(V),
    Damaged(Damaged<K>),
}

/// A range of keys that cannot be read.
#[derive(Debug)]
pub(crate) struct Damaged<K> {
    pub(crate) from: K,
    /// The first readable key behind the range; `None` if the rest of the table is lost.
    pub(crate) to: Option<K>,
    /// [`Error::Corrupt`], or [`Error::Storage`] if the disk failed.
    pub(crate) why: Error,
}

/// A key as an integer with the same order.
pub(crate) trait KeyInt: Copy + Ord {
    const MAX: u128;
    fn number(self) -> u128;
    fn from_number(number: u128) -> Self;
}

impl KeyInt for u64 {
    const MAX: u128 = u64::MAX as u128;
    fn number(self) -> u128 {
        u128::from(self)
    }
    fn from_number(number: u128) -> Self {
        number as u64
    }
}

impl KeyInt for u128 {
    const MAX: u128 = u128::MAX;
    fn number(self) -> u128 {
        self
    }
    fn from_number(number: u128) -> Self {
        number
    }
}

/// The next key, or `None` after the last.
pub(crate) fn after<K: KeyInt>(key: K) -> Option<K> {
    let number = key.number();
    (number < K::MAX).then(|| K::from_number(number + 1))
}

/// The end of a damaged range that begins at `from`: a key that can be read while the key before it
/// cannot. Searches in doubling steps, then by bisection: at most about 300 reads. A readable part
/// that is shorter than the damage in front of it may be skipped.
pub(crate) fn end_of_damage<K: KeyInt>(from: K, can_read: impl Fn(K) -> bool) -> Option<K> {
    let (mut lost, mut step) = (from.number(), 1_u128);
    let mut found = loop {
        let next = lost.saturating_add(step).min(K::MAX);
        if can_read(K::from_number(next)) {
            break next;
        }
        if next == K::MAX {
            return None;
        }
        lost = next;
        step = step.saturating_mul(2);
    };
    while found - lost > 1 {
        let middle = lost + (found - lost) / 2;
        if can_read(K::from_number(middle)) {
            found = middle
        } else {
            lost = middle
        }
    }
    Some(K::from_number(found))
}

/// Sets damage to the file or the disk apart, as the inner error, from all other errors.
pub(crate) fn damage_apart<T>(read: Result<T>) -> Result<Result<T, Error>> {
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
            assert_eq!(end_of_damage(0, |key: u64| key >= end), Some(end));
        }
        for end in [1_u128 << 90, u128::MAX] {
            assert_eq!(end_of_damage(77, |key: u128| key >= end), Some(end));
        }
        assert_eq!(end_of_damage(5_u64, |_| false), None);
        assert_eq!(end_of_damage(u64::MAX, |_| false), None);
        assert_eq!((after(u64::MAX), after(7_u128)), (None, Some(8)));
    }

    #[test]
    fn what_can_be_read_between_two_gaps_is_not_passed_over() {
        let can_read = |key: u64| !(100..200).contains(&key) && !(900..1000).contains(&key);
        assert_eq!(end_of_damage(100, can_read), Some(200));
        assert_eq!(end_of_damage(900, can_read), Some(1000));
    }
}
