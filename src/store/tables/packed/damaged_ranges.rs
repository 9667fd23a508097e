//! The readable parts of a damaged table, and the damaged ranges between them.

use redb::ReadableTable;

use crate::error::{Error, Result};
use crate::store::disk::path::{DbPath, RedbResult};
use crate::store::tables::packed::entry::Entry;

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
    /// [`Error::Corrupt`], or [`Error::Storage`] for a failed read of the disk.
    pub(crate) why: Error,
}

/// The next key; `None` after the largest.
pub(crate) fn successor<K: Entry>(key: K) -> Option<K> {
    K::try_from(key.into().checked_add(1)?).ok()
}

/// The end of a damaged range that begins at `from`: a readable key after an unreadable key, or
/// `None` if the rest of the table is unreadable.
///
/// Takes at most about 300 reads. May skip a readable part that is shorter than the damage before
/// it.
pub(crate) fn end_of_damage<K: Entry>(from: K, can_read: impl Fn(K) -> bool) -> Option<K> {
    // Doubling steps to a readable key, then bisection. Trying every key would never end: one
    // damaged page may span most of the 2^128 keys.
    let (mut lost, mut step): (u128, u128) = (from.into(), 1);
    let largest = K::MAX.into();
    let can_read = |number: u128| K::try_from(number).is_ok_and(&can_read);
    let mut found = loop {
        let next = lost.saturating_add(step).min(largest);
        if can_read(next) {
            break next;
        }
        if next == largest {
            return None;
        }
        lost = next;
        step = step.saturating_mul(2);
    };
    while found - lost > 1 {
        let middle = lost + (found - lost) / 2;
        if can_read(middle) {
            found = middle
        } else {
            lost = middle
        }
    }
    K::try_from(found).ok()
}

/// The rows of a table from `from` on, each a key and its bytes, and the damaged ranges between
/// them. Damage does not end the iteration; any other error does.
pub(crate) fn rows_past_damage<K: Entry>(
    table: &impl ReadableTable<K, &'static [u8]>,
    from: K,
    db_path: &DbPath,
) -> impl Iterator<Item = Result<Part<K, (K, Vec<u8>)>>> {
    let rows_from =
        move |from: K| db_path.catch_failed_reads(|| table.range::<K>(from..).reading(db_path));
    let next_row = move |rows: &mut redb::Range<'_, K, &'static [u8]>| {
        let row = rows.next().transpose().reading(db_path)?;
        Ok(row.map(|(key, bytes)| (key.value(), bytes.value().to_vec())))
    };
    let can_read = move |from: K| {
        db_path
            .catch_failed_reads(|| next_row(&mut rows_from(from)?))
            .is_ok()
    };
    let mut from = Some(from);
    let mut rows = None;
    let mut next = move || {
        let Some(first) = from else {
            return Ok(None);
        };
        let read = db_path.catch_failed_reads(|| {
            let rows = match &mut rows {
                Some(rows) => rows,
                none => none.insert(rows_from(first)?),
            };
            next_row(rows)
        });
        match split_damage(read)? {
            Ok(None) => {
                from = None;
                Ok(None)
            }
            Ok(Some((key, bytes))) => {
                from = successor(key);
                Ok(Some(Part::Read((key, bytes))))
            }
            Err(why) => {
                // The failed read panicked through the iterator, so a new one begins after the
                // damage.
                rows = None;
                from = end_of_damage(first, can_read);
                Ok(Some(Part::Damaged(Damaged {
                    from: first,
                    to: from,
                    why,
                })))
            }
        }
    };
    std::iter::from_fn(move || next().transpose())
}

/// Moves [`Error::Corrupt`] and [`Error::Storage`] to the inner result, so that `?` returns only
/// errors other than damage.
pub(crate) fn split_damage<T>(read: Result<T>) -> Result<Result<T, Error>> {
    match read {
        Err(why @ (Error::Corrupt { .. } | Error::Storage { .. })) => Ok(Err(why)),
        read => read.map(Ok),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_damage_is_found_anywhere() {
        for end in [1, 2, 3, 1000, u64::MAX - 1, u64::MAX] {
            assert_eq!(end_of_damage(0, |key: u64| key >= end), Some(end));
        }
        for end in [1_u128 << 90, u128::MAX] {
            assert_eq!(end_of_damage(77, |key: u128| key >= end), Some(end));
        }
        assert_eq!(end_of_damage(5_u64, |_| false), None);
        assert_eq!(end_of_damage(u64::MAX, |_| false), None);
        assert_eq!((successor(u64::MAX), successor(7_u128)), (None, Some(8)));
    }

    #[test]
    fn readable_part_between_two_damaged_ranges_is_found() {
        let can_read = |key: u64| !(100..200).contains(&key) && !(900..1000).contains(&key);
        assert_eq!(end_of_damage(100, can_read), Some(200));
        assert_eq!(end_of_damage(900, can_read), Some(1000));
    }
}
