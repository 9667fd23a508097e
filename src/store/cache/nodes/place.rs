//! [`Place`]: where the words of a node are.

use super::node::{MAX_ENTRIES, buckets};

/// Changes when all nodes are removed: 1 to 4095, then 1 again.
pub(super) struct Generation(pub(super) u64);

/// The place of the words of a node: start, number of entries, 1 for high parts of ids, and
/// generation, which is never 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(pub(super) u64);

impl Place {
    /// The node is not in the cache.
    pub(super) const MISSING: Self = Self(0);
    /// The node has more than [`MAX_ENTRIES`].
    pub(super) const TOO_LARGE: Self = Self(u64::MAX);

    pub(super) const GENERATION_BITS: u32 = 12;
    const LEN_SHIFT: u32 = Self::GENERATION_BITS + 1;
    pub(super) const START_SHIFT: u32 = Self::LEN_SHIFT + MAX_ENTRIES.ilog2() + 1;

    pub(super) fn new(start: usize, len: usize, has_high: bool, generation: &Generation) -> Self {
        let (start, len) = (start as u64, len as u64);
        let flags = u64::from(has_high) << Self::GENERATION_BITS | generation.0;
        Self(start << Self::START_SHIFT | len << Self::LEN_SHIFT | flags)
    }

    pub(super) fn start(self) -> usize {
        (self.0 >> Self::START_SHIFT) as usize
    }

    pub(super) fn len(self) -> usize {
        (self.0 >> Self::LEN_SHIFT) as usize % (1 << (Self::START_SHIFT - Self::LEN_SHIFT))
    }

    pub(super) fn has_high(self) -> bool {
        self.0 >> Self::GENERATION_BITS & 1 == 1
    }

    /// The words of the ends of buckets, of the entries and of the high parts.
    pub(super) fn parts(self) -> [usize; 3] {
        let high = if self.has_high() {
            self.len().div_ceil(2)
        } else {
            0
        };
        [buckets(self.len()), self.len(), high]
    }

    pub(super) fn is_node(self) -> bool {
        self != Self::MISSING && self != Self::TOO_LARGE
    }
}
