//! [`Entry`]: the entries of packed tables.

/// An entry of a packed table: one `u64`, or a pair of `u64`s as a `u128`. Each `u64` is a *lane*.
///
/// The entry is also the key type of the redb table, because a fence is a lower bound of entries.
pub(crate) trait Entry:
    Copy
    + Ord
    + Send
    + Sync
    + std::fmt::LowerHex
    + Into<u128>
    + TryFrom<u128>
    + redb::Key
    + for<'a> redb::Value<SelfType<'a> = Self>
    + 'static
{
    /// Lanes of an entry: 1 or 2.
    const LANES: usize;
    /// The smallest entry: 0, the first fence of every table.
    const MIN: Self;
    /// The largest entry.
    const MAX: Self;

    /// The entry with these lanes; `second` is ignored except in a pair.
    fn from_lanes(first: u64, second: u64) -> Self;
    /// The first lane.
    fn first(self) -> u64;
    /// The second lane of a pair; 0 of a single `u64`.
    fn second(self) -> u64;
}

impl Entry for u64 {
    const LANES: usize = 1;
    const MIN: Self = 0;
    const MAX: Self = u64::MAX;

    fn from_lanes(first: u64, _second: u64) -> Self {
        first
    }
    fn first(self) -> u64 {
        self
    }
    fn second(self) -> u64 {
        0
    }
}

impl Entry for u128 {
    const LANES: usize = 2;
    const MIN: Self = 0;
    const MAX: Self = u128::MAX;

    fn from_lanes(first: u64, second: u64) -> Self {
        (u128::from(first) << 64) | u128::from(second)
    }
    fn first(self) -> u64 {
        (self >> 64) as u64
    }
    fn second(self) -> u64 {
        self as u64
    }
}

/// A pair as an entry.
pub(crate) fn pair(first: u64, second: u64) -> u128 {
    u128::from_lanes(first, second)
}

/// A pair with its lanes exchanged.
pub(crate) fn swapped(entry: u128) -> u128 {
    pair(entry.second(), entry.first())
}

/// Merges two ascending sequences. `precedes` returns `true` if an item of `left` comes before an
/// item of `right`.
pub(crate) fn merged<T>(
    left: impl Iterator<Item = T>,
    right: impl Iterator<Item = T>,
    precedes: impl Fn(&T, &T) -> bool,
) -> impl Iterator<Item = T> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || match (left.peek(), right.peek()) {
        (Some(first), Some(second)) if precedes(first, second) => left.next(),
        (Some(_), None) => left.next(),
        _ => right.next(),
    })
}
