//! [`EditLanes`]: the edit distances of a short text and several others at the same time.
//!
//! # Source
//! H. Hyyrö, *A bit-vector algorithm for computing Levenshtein and Damerau edit distances*, Nordic
//! Journal of Computing 10, 2003. Here each lane of a vector has another text.

/// Texts that are compared at the same time.
pub(crate) const LANES: usize = 8;

/// The most letters of the text: the bits of a lane.
const MAX_LETTERS: usize = u64::BITS as usize;

/// The most letters of another text. No text of more than 64 letters is far less similar than a
/// half of both.
pub(super) const MAX_OTHER_LETTERS: usize = 2 * MAX_LETTERS;

const ASCII: usize = 128;

/// A short ASCII text.
pub(super) struct EditLanes {
    /// The places of each letter in the text, a bit each.
    places: Box<[u64; ASCII]>,
    len: usize,
}

impl EditLanes {
    /// `None` for letters that are not ASCII, for none, and for more than 64.
    pub(super) fn new(letters: &[u8]) -> Option<Self> {
        if !letters.is_ascii() || !(1..=MAX_LETTERS).contains(&letters.len()) {
            return None;
        }
        let mut places = Box::new([0; ASCII]);
        for (at, letter) in letters.iter().enumerate() {
            places[usize::from(*letter)] |= 1 << at;
        }
        Some(Self {
            places,
            len: letters.len(),
        })
    }

    /// The edit distances of the text and of each of these ASCII texts of at most
    /// [`MAX_OTHER_LETTERS`] letters.
    pub(super) fn distances(&self, others: &[&[u8]; LANES]) -> [u64; LANES] {
        let mut columns = [[0; LANES]; MAX_OTHER_LETTERS];
        for (lane, letters) in others.iter().enumerate() {
            for (column, letter) in columns.iter_mut().zip(*letters) {
                column[lane] = *letter;
            }
        }
        let ends = others.map(|letters| letters.len() as u64);
        let longest = others.iter().map(|letters| letters.len()).max();
        let columns = &columns[..longest.unwrap_or(0).min(MAX_OTHER_LETTERS)];
        distances(&self.places, self.len, columns, &ends)
    }
}

/// The edit distances after the column at the end of each lane.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn distances(
    places: &[u64; ASCII],
    len: usize,
    columns: &[[u8; LANES]],
    ends: &[u64; LANES],
) -> [u64; LANES] {
    let mut distances = [len as u64; LANES];
    // The places where the distance grows by one, and where it falls by one, from one letter of the
    // text to the next.
    let (mut grows, mut falls) = ([u64::MAX; LANES], [0_u64; LANES]);
    let last = len - 1;
    for (at, column) in (0_u64..).zip(columns) {
        let equal = column.map(|letter| places[usize::from(letter) % ASCII]);
        for lane in 0..LANES {
            let (equal, grow, fall) = (equal[lane], grows[lane], falls[lane]);
            let diagonal = ((equal & grow).wrapping_add(grow) ^ grow) | equal | fall;
            let (up, down) = (fall | !(diagonal | grow), diagonal & grow);
            let is_within = u64::from(at < ends[lane]);
            distances[lane] += up >> last & is_within;
            distances[lane] -= down >> last & is_within;
            let (up, down) = (up << 1 | 1, down << 1);
            grows[lane] = down | !(diagonal | up);
            falls[lane] = up & diagonal;
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rapidfuzz::distance::levenshtein;

    use super::*;

    proptest! {
        #[test]
        fn distances_of_all_lanes_equal_single_distances(
            text in "[a-d]{1,64}",
            others in prop::collection::vec("[a-d]{0,128}|[a-d]{0,20}", LANES),
        ) {
            let lanes = EditLanes::new(text.as_bytes()).unwrap();
            let letters: [&[u8]; LANES] = std::array::from_fn(|lane| others[lane].as_bytes());
            let found = lanes.distances(&letters);
            for (found, letters) in found.into_iter().zip(letters) {
                let expected = levenshtein::distance(text.bytes(), letters.iter().copied());
                prop_assert_eq!(found as usize, expected);
            }
        }
    }
}
