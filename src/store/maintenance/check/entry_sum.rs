//! [`EntrySum`]: compares sets of entries without sorting them.

use crate::store::tables::packed::entry::{Entry, pair};

/// The count and the sum of a set of scrambled entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EntrySum {
    pub(super) count: u64,
    sum: u128,
}

impl EntrySum {
    /// The sum of two disjoint sets.
    pub(super) fn union(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum.wrapping_add(other.sum),
        }
    }

    pub(super) fn add(&mut self, entry: u128) {
        // Two crossed rounds of the finaliser of splitmix64: sums of plain entries would be equal
        // for sets such as {1, 4} and {2, 3}.
        let scramble = |mut word: u64| {
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        let low = scramble(entry.second() ^ scramble(entry.first().wrapping_add(1)));
        let high = scramble(entry.first() ^ scramble(low.wrapping_add(2)));
        self.count += 1;
        self.sum = self.sum.wrapping_add(pair(high, low));
    }
}
