//! What a visitor is told of clusters: in order of their ids, each with its members and its size.

use std::ops::ControlFlow;

use super::graph::{Graph, Lists, NONE};
use crate::document::DocId;
use crate::fingerprint::Fingerprint;

/// Up to so many different fingerprints of a cluster are compared all with all.
const MOST_COMPARED: usize = if cfg!(test) { 20 } else { 2048 };

/// Documents that are near-duplicates of each other, two or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The smallest id of its members, whichever of them is the keeper.
    pub id: DocId,
    /// The member that stands for all: the one to keep.
    pub keeper: DocId,
    /// All of them, the keeper too, in order of their ids.
    pub members: Vec<Member>,
    /// The largest distance of two members that was found: the largest there is, if
    /// [`most_diameter`](Self::most_diameter) is the same.
    ///
    /// Up to 2,048 different fingerprints are compared all with all. In a larger cluster it is the
    /// largest distance from the keeper, or from the member that is farthest from it.
    pub diameter: u32,
    /// No two members are farther from each other: they are at most as far as the two that are
    /// farthest from the keeper would be in opposite directions.
    pub most_diameter: u32,
}

/// A document of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// The document.
    pub id: DocId,
    /// The Hamming distance of its fingerprint from that of the keeper.
    pub distance: u32,
}

/// How many documents each keeper has, itself among them, by its place.
pub(super) fn sizes(keepers: &[u32]) -> Vec<u32> {
    let mut sizes = vec![0; keepers.len()];
    for keeper in keepers {
        sizes[*keeper as usize] += 1;
    }
    sizes
}

/// Tells `visitor` of each cluster of two documents or more, given the keeper of each document.
pub(super) fn tell(
    graph: &Graph,
    keepers: &[u32],
    visitor: &mut dyn FnMut(&Cluster) -> ControlFlow<()>,
) -> ControlFlow<()> {
    // Documents are in order of their ids, so clusters are met in order of theirs.
    let sizes = sizes(keepers);
    let mut numbers = vec![NONE; keepers.len()];
    let mut met = Vec::new();
    for keeper in keepers {
        let number = &mut numbers[*keeper as usize];
        if *number == NONE && sizes[*keeper as usize] > 1 {
            *number = met.len() as u32;
            met.push(*keeper);
        }
    }
    let members = Lists::of(met.len(), || {
        let numbered = (0..)
            .zip(keepers)
            .map(|(document, keeper)| (numbers[*keeper as usize], document));
        numbered.filter(|(number, _)| *number != NONE)
    });
    for (number, keeper) in (0..).zip(met) {
        visitor(&cluster(graph, keeper, members.of_one(number)))?;
    }
    ControlFlow::Continue(())
}

fn cluster(graph: &Graph, keeper: u32, documents: &[u32]) -> Cluster {
    let from = graph.fingerprint(keeper);
    let member = |document: &u32| Member {
        id: graph.id(*document),
        distance: from.distance(graph.fingerprint(*document)),
    };
    let members: Vec<Member> = documents.iter().map(member).collect();
    let mut fingerprints: Vec<Fingerprint> = documents
        .iter()
        .map(|document| graph.fingerprint(*document))
        .collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let (diameter, most_diameter) = diameter(from, &fingerprints);
    Cluster {
        id: members.first().map_or(graph.id(keeper), |first| first.id),
        keeper: graph.id(keeper),
        members,
        diameter,
        most_diameter,
    }
}

/// The largest distance of two of these fingerprints that is found, and a bound of the largest there
/// is.
fn diameter(from: Fingerprint, fingerprints: &[Fingerprint]) -> (u32, u32) {
    let farthest = |from: Fingerprint, others: &[Fingerprint]| {
        let distances = others
            .iter()
            .map(|other| (from.distance(*other), other.bits()));
        distances.max().unwrap_or_default()
    };
    if fingerprints.len() <= MOST_COMPARED {
        let of_each = (0..fingerprints.len())
            .map(|db_path| farthest(fingerprints[db_path], &fingerprints[db_path..]).0);
        let largest = of_each.max().unwrap_or_default();
        return (largest, largest);
    }
    let (radius, end) = farthest(from, fingerprints);
    let (other, _) = farthest(Fingerprint::from_bits(end), fingerprints);
    let largest = other.max(radius);
    (largest, (2 * radius).min(u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_below_what_there_is_and_a_found_distance_never_above() {
        let mut state = 5_u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state >> 33
        };
        for count in [1, 2, 15, MOST_COMPARED, MOST_COMPARED + 1, 60] {
            let list: Vec<Fingerprint> = (0..count)
                .map(|_| Fingerprint::from_bits(random() & random()))
                .collect();
            let pairs = list
                .iter()
                .flat_map(|a| list.iter().map(|b| a.distance(*b)));
            let largest = pairs.max().unwrap();
            let (found, most) = diameter(list[0], &list);
            assert!(
                (found..=most).contains(&largest),
                "{found} {largest} {most}"
            );
            if count <= MOST_COMPARED {
                assert_eq!(found, most);
            }
            assert!(2 * found >= largest);
        }
    }
}
