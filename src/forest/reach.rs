//! [`Reach`]: the bounds of a search of a forest.

use crate::analysis::{LEVELS, SKETCH_BITS, ShingleLength, TREES};

/// The first level of deep nodes, counted from 0.
const DEEP: usize = 2;

/// A text of less than 30 characters is short.
pub(crate) const SHORT_CHARACTERS: usize = 30;

/// The candidates of a search: more of them find more texts, and take longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The number of trees, at most [`TREES`].
    pub(crate) trees: usize,
    /// The most entries of a node of the first two levels that is taken whole.
    max_shallow_entries: usize,
    /// The most entries of a node of a deeper level that is taken whole.
    max_deep_entries: usize,
    /// The most second minima of a prefix in a stored forest.
    pub(crate) max_probes: usize,
    /// The most bits in which the sketches of a candidate and of a query with a long text differ.
    max_sketch_distance: u32,
    /// The most bits in which the sketches of a candidate and of a query with a short text differ.
    /// An edit changes a larger share of the shingles of a short text.
    max_short_sketch_distance: u32,
}

impl Reach {
    /// The reach for texts that are alike by the default thresholds. Of the near-duplicates among a
    /// million real texts, the sketches of 99.5 % differ in at most 52 bits. Each bit more adds a
    /// third to the candidates.
    pub(crate) const ALIKE: Self = Self {
        trees: TREES,
        max_shallow_entries: 32,
        // A smaller bound loses texts of large templates.
        max_deep_entries: 1 << 12,
        max_probes: 1,
        max_sketch_distance: 52,
        max_short_sketch_distance: 56,
    };

    /// The reach for short texts that are alike in a stored forest, which has fewer trees: among a
    /// million real texts, larger nodes find a quarter of the near-duplicates that are lost
    /// otherwise, and so do prefixes of two second minima.
    const SHORT_ALIKE_STORED: Self = Self {
        max_shallow_entries: 128,
        max_probes: 2,
        max_sketch_distance: 54,
        max_short_sketch_distance: 58,
        ..Self::ALIKE
    };

    /// The reach for long texts that are alike in a stored forest. Of 1,500 real descriptions among
    /// 61,000, it finds .9972 of the near-duplicates on average, and .9985 with a bound of 52 bits.
    /// In a million articles of 80 to 200 random words, a bound of 52 leaves more candidates
    /// than the cache has room for wordings, and a search takes twice as long.
    const LONG_ALIKE_STORED: Self = Self {
        max_sketch_distance: 50,
        ..Self::ALIKE
    };

    /// The reach for a text of this number of characters and the texts that are alike in a stored
    /// forest.
    pub(crate) fn alike_stored(characters: usize) -> &'static Self {
        match ShingleLength::of(characters) {
            ShingleLength::Five => &Self::LONG_ALIKE_STORED,
            _ => &Self::SHORT_ALIKE_STORED,
        }
    }

    /// The reach for texts that contain each other, which have more in common than texts that are
    /// alike. From 256,000 real texts, a join removes 23,069 texts with [`ALIKE`](Self::ALIKE), and
    /// 23,018 of them in half of the time with this reach.
    pub(crate) const CONTAINED: Self = Self {
        trees: TREES / 2,
        max_shallow_entries: 16,
        max_deep_entries: 1 << 10,
        max_probes: 1,
        max_sketch_distance: 46,
        max_short_sketch_distance: 50,
    };

    #[cfg(test)]
    pub(crate) const SMALL: Self = Self {
        max_shallow_entries: 3,
        max_deep_entries: 5,
        max_probes: 2,
        ..Self::ALIKE
    };

    /// The reach without a bound for sketches, for thresholds that are not measured.
    pub(crate) fn of_any_sketch(self) -> Self {
        Self {
            max_sketch_distance: SKETCH_BITS as u32,
            max_short_sketch_distance: SKETCH_BITS as u32,
            ..self
        }
    }

    /// The most entries of a node of this level that is taken whole.
    #[inline]
    pub(crate) fn max_entries(&self, level: usize) -> usize {
        match level {
            level if level == LEVELS - 1 => usize::MAX,
            DEEP.. => self.max_deep_entries,
            _ => self.max_shallow_entries,
        }
    }

    /// The most bits in which the sketches of a text and of a near-duplicate differ.
    pub(crate) fn max_sketch_distance(&self, characters: usize) -> u32 {
        match characters {
            ..SHORT_CHARACTERS => self.max_short_sketch_distance,
            _ => self.max_sketch_distance,
        }
    }
}
