//! Keys of an LSH forest: the entry of a text in a tree begins with the minima of that tree, so the
//! texts with a common prefix of minima are neighbours.
//!
//! | bits | content |
//! |---|---|
//! | 15, 10, 7, 4, 2 | a part of the hash of each minimum of the tree |
//! | 4 | length class |
//!
//! In a database with scopes, the parts of the levels are XORed with the mask of the scope.

use xxhash_rust::xxh3::xxh3_64;

use crate::analysis::{LENGTH_CLASSES, LEVEL_BITS, LEVELS, Minima};
use crate::ids::scope::ScopeNumber;

const CLASS_BITS: u32 = LENGTH_CLASSES.ilog2();

/// The bits of a key without the tree.
pub(crate) const TREE_KEY_BITS: u32 = 38 + CLASS_BITS;

/// The key of a text in a tree.
pub(crate) fn tree_key(minima: &Minima, tree: usize, length_class: u32) -> u64 {
    let parts = LEVEL_BITS.iter().enumerate();
    let key = parts.fold(0, |key, (level, bits)| {
        key << bits | minima.part(tree, level)
    });
    key << CLASS_BITS | u64::from(length_class)
}

/// The bits in which the keys of a scope differ from the keys of the empty scope: a part of each
/// level, no bit of the tree or of the length class.
// Two texts of one scope are as near each other in a tree as without scopes. A text of another
// scope is as near as any other text, so a million copies there do not fill the nodes of a search.
pub(crate) fn scope_mask(scope: ScopeNumber) -> u64 {
    let levels = (1 << TREE_KEY_BITS) - (1 << CLASS_BITS);
    match scope.0 {
        0 => 0,
        number => xxh3_64(&number.to_le_bytes()) & levels,
    }
}

/// The length class of a key.
#[inline]
pub(crate) fn class_of_key(key: u64) -> u32 {
    key as u32 & (LENGTH_CLASSES - 1)
}

/// The prefix of a key: the parts of its first levels, at the top of the number.
#[derive(Clone, Copy, Default)]
pub(crate) struct Prefix {
    key: u64,
    bits: u32,
}

impl Prefix {
    /// The prefix with the part of one more level.
    #[inline]
    pub(crate) fn child(self, level: usize, part: u64) -> Self {
        let bits = self.bits + LEVEL_BITS[level];
        let key = self.key | part << (u64::BITS - bits);
        Self { key, bits }
    }

    /// The prefix with other bits where a mask has ones.
    #[inline]
    pub(crate) fn masked(self, mask: u64) -> Self {
        let behind = u64::MAX.checked_shr(self.bits).unwrap_or(0);
        let key = (self.key ^ mask) & !behind;
        Self { key, ..self }
    }

    /// The number of bits of the prefix.
    #[inline]
    pub(crate) fn bits(self) -> u32 {
        self.bits
    }

    /// The first number of 64 bits with the prefix.
    #[inline]
    pub(crate) fn first(self) -> u64 {
        self.key
    }

    /// The last number of 64 bits with the prefix.
    #[inline]
    pub(crate) fn last(self) -> u64 {
        self.key | u64::MAX >> self.bits
    }
}

const _: () =
    assert!(LEVEL_BITS[0] + LEVEL_BITS[1] + LEVEL_BITS[2] + LEVEL_BITS[3] + LEVEL_BITS[4] == 38);
const _: () = assert!(LEVELS == 5);
