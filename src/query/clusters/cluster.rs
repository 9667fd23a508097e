//! [`Cluster`]: a group of near-duplicates, with its members and its size.

use crate::ids::{DocId, Fingerprint};
use crate::query::limits::QueryLimits;

/// Two documents or more that are near-duplicates of each other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cluster {
    /// The smallest id of the members.
    pub id: DocId,
    /// The id of the member that is kept.
    pub keeper: DocId,
    /// All members, including the keeper, in order of their ids.
    pub members: Vec<Member>,
    /// The largest distance found between two members, a lower bound of the diameter. Exact if it
    /// equals [`most_diameter`](Self::most_diameter).
    ///
    /// In a cluster of up to 2,048 distinct fingerprints, all are compared with all. In a larger
    /// cluster, all are compared with the keeper and with the member farthest from the keeper.
    pub diameter: u32,
    /// An upper bound of the distance of any two members. In a cluster of more than 2,048 distinct
    /// fingerprints, twice the largest distance from the keeper.
    pub most_diameter: u32,
}

/// A document of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Member {
    /// The id of the document.
    pub id: DocId,
    /// The Hamming distance from the fingerprint of the keeper.
    pub distance: u32,
}

impl Cluster {
    /// Creates a cluster; `documents` are all members, in order of their ids.
    pub(in crate::query) fn new(
        (keeper, centre): (DocId, Fingerprint),
        documents: &[(DocId, Fingerprint)],
        limits: &QueryLimits,
    ) -> Self {
        let members = documents.iter().map(|(id, fingerprint)| Member {
            id: *id,
            distance: centre.distance(*fingerprint),
        });
        let members: Vec<Member> = members.collect();
        // Copies have one fingerprint, and must not use up the limit of compared fingerprints.
        let fingerprints = documents.iter().map(|(_, fingerprint)| *fingerprint);
        let mut fingerprints: Vec<Fingerprint> = fingerprints.collect();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        let (diameter, most_diameter) = diameter(centre, &fingerprints, limits);
        Self {
            id: members.first().map_or(keeper, |first| first.id),
            keeper,
            members,
            diameter,
            most_diameter,
        }
    }
}

/// Returns a lower and an upper bound of the largest distance of two of these fingerprints.
fn diameter(centre: Fingerprint, fingerprints: &[Fingerprint], limits: &QueryLimits) -> (u32, u32) {
    let farthest = |from: Fingerprint, others: &[Fingerprint]| {
        others
            .iter()
            .map(|other| (from.distance(*other), other.bits()))
            .max()
            .unwrap_or_default()
    };
    if fingerprints.len() <= limits.fingerprints_compared {
        let largest = (0..fingerprints.len())
            .map(|index| farthest(fingerprints[index], &fingerprints[index..]).0)
            .max()
            .unwrap_or_default();
        return (largest, largest);
    }
    // Two passes instead of a quadratic comparison. Twice the largest distance from the centre
    // bounds each distance (triangle inequality), so the lower bound is at least half the true
    // diameter.
    let (radius, end) = farthest(centre, fingerprints);
    let (other, _) = farthest(Fingerprint::from_bits(end), fingerprints);
    (other.max(radius), (2 * radius).min(u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_distance_is_between_the_one_found_and_the_bound() {
        let limits = QueryLimits::small();
        let max_compared = limits.fingerprints_compared;
        let mut state = 5_u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state >> 33
        };
        for count in [1, 2, 15, max_compared, max_compared + 1, 60] {
            let list: Vec<Fingerprint> = (0..count)
                .map(|_| Fingerprint::from_bits(random() & random()))
                .collect();
            let pairs = list
                .iter()
                .flat_map(|a| list.iter().map(|b| a.distance(*b)));
            let largest = pairs.max().unwrap();
            let (found, most) = diameter(list[0], &list, &limits);
            assert!(
                (found..=most).contains(&largest),
                "{found} {largest} {most}"
            );
            if count <= max_compared {
                assert_eq!(found, most);
            }
            assert!(2 * found >= largest);
        }
    }
}
