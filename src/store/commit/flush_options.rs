//! How much is gathered before it is merged, and how much one commit of a merge takes.

/// Fewer changes than this are not merged before the end, unless told otherwise.
const MERGE_FROM: usize = if cfg!(test) { 256 } else { 64 << 10 };
/// The most documents that are merged in one commit with all there is of them.
const MOST_AT_ONCE: usize = 2048;
/// The most changes of one table in a commit. In a table of millions each touches a page or half of
/// one, so that a commit writes about as many pages.
const MOST_IN_A_SLICE: usize = 8 << 10;
/// The most changes of `bands` that are gathered before they are applied: 64 MiB.
const MOST_BANDS: usize = 4 << 20;

/// How much is done at a time, from how many changes on a merge is worth it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlushOptions {
    merge_from: usize,
}

impl Default for FlushOptions {
    fn default() -> Self {
        Self::merging_from(MERGE_FROM)
    }
}

impl FlushOptions {
    pub(crate) fn merging_from(changes: usize) -> Self {
        Self {
            merge_from: changes.max(1),
        }
    }

    /// The least changes that are merged before the end.
    pub(crate) fn merge_from(self) -> usize {
        self.merge_from
    }

    /// So few documents are merged in one commit.
    pub(crate) fn at_once(self) -> usize {
        (self.merge_from / 32).clamp(1, MOST_AT_ONCE)
    }

    /// Changes of one table in a commit, where there are more documents than that.
    pub(crate) fn slice(self) -> usize {
        (self.merge_from / 8).clamp(1, MOST_IN_A_SLICE)
    }

    /// Changes of `bands` that are merged in one commit with all others of their documents. A text
    /// has dozens, each in another page.
    pub(crate) fn bands_at_once(self) -> usize {
        4 * self.slice()
    }

    /// Changes of `bands` that are gathered before they are applied. The more, the fewer pages are
    /// written for each.
    pub(crate) fn gathered_bands(self) -> usize {
        self.merge_from.saturating_mul(64).min(MOST_BANDS)
    }
}
