//! [`ScopeNumber`], the upper bits of an id in a database with scopes, and [`IdRanges`], the ids of
//! some scopes.

use super::DocId;

/// The bits of an id below the number of its scope. With a thousand documents a second, simdb gives
/// the last id of 40 bits after 34 years.
const SEQUENCE_BITS: u32 = 40;

/// At most 65,535 scopes beside the empty scope. The names of all scopes are in memory.
pub(crate) const MAX_SCOPE: u64 = 0xffff;

/// The number of a scope, which is the upper part of the ids of its documents. The empty scope has
/// number 0.
// Table `block0` and every posting list are sorted by fingerprint, then id: the documents of a
// scope with one fingerprint are neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ScopeNumber(pub(crate) u64);

impl ScopeNumber {
    /// The scope of a document, in a database with scopes.
    pub(crate) fn of(id: DocId) -> Self {
        Self(id.0 >> SEQUENCE_BITS)
    }

    /// The first and the last id of the scope.
    fn range(self) -> (DocId, DocId) {
        let first = self.0 << SEQUENCE_BITS;
        (DocId(first), DocId(first | LAST_SEQUENCE))
    }

    /// The id of a document of the scope.
    pub(crate) fn id(self, sequence: u64) -> DocId {
        DocId(self.0 << SEQUENCE_BITS | sequence)
    }
}

/// The largest [`sequence`] of an id.
pub(crate) const LAST_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;

/// The part of an id that ascends over all scopes: the id without the number of the scope. In a
/// database with keys, the id.
pub(crate) fn sequence(id: DocId) -> u64 {
    id.0 & LAST_SEQUENCE
}

/// All ids, or the ids of some scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct IdRanges {
    /// Ascending first and last ids; `None` for all ids.
    some: Option<Box<[(DocId, DocId)]>>,
}

impl IdRanges {
    pub(crate) const ALL: Self = Self { some: None };

    /// The ids of these scopes, in any order.
    pub(crate) fn of_scopes(scopes: impl IntoIterator<Item = ScopeNumber>) -> Self {
        let mut ranges: Vec<_> = scopes.into_iter().map(ScopeNumber::range).collect();
        ranges.sort_unstable();
        ranges.dedup();
        Self {
            some: Some(ranges.into()),
        }
    }

    /// First and last ids, ascending.
    pub(crate) fn ranges(&self) -> &[(DocId, DocId)] {
        match &self.some {
            Some(ranges) => ranges,
            None => &[(DocId(0), DocId(u64::MAX))],
        }
    }

    pub(crate) fn contains(&self, id: DocId) -> bool {
        let Some(ranges) = &self.some else {
            return true;
        };
        let behind = ranges.partition_point(|(first, _)| *first <= id);
        behind > 0 && id <= ranges[behind - 1].1
    }

    /// Returns `true` if no id is in the ranges.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_scopes_contain_the_ids_of_these_scopes_only() {
        let scopes = [7, 2, 7].map(ScopeNumber);
        let ranges = IdRanges::of_scopes(scopes);
        assert_eq!(ranges.ranges().len(), 2);
        for scope in 0..10 {
            for sequence in [0, 1, LAST_SEQUENCE] {
                let id = ScopeNumber(scope).id(sequence);
                assert_eq!(ScopeNumber::of(id), ScopeNumber(scope));
                assert_eq!(super::sequence(id), sequence);
                assert_eq!(ranges.contains(id), [2, 7].contains(&scope), "{id}");
                assert!(IdRanges::ALL.contains(id));
            }
        }
        assert!(IdRanges::of_scopes([]).is_empty());
        assert!(!IdRanges::of_scopes([]).contains(DocId(0)));
    }
}
