//! The alignment of two lists of tokens: the common tokens in text order.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

/// At most one byte for each of 1 MiB of cells: longer stretches are cut at words that are unique
/// in both texts, and a stretch without such words is not aligned.
const MAX_CELLS: usize = 1 << 20;

/// A stretch is cut at most eight times, each time in linear time: a text could make each cut
/// remove one word only.
const MAX_CUTS: u32 = 8;

/// Aligns two lists of keys. The answer has pairs of positions, ascending on both sides, of equal
/// keys, with a large sum of the weights of the keys.
///
/// Short lists get the largest sum. Long lists are first cut at their unique common keys.
pub(super) fn align(a: &[u32], b: &[u32], weight: impl Fn(usize) -> f32) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    stretch(a, b, 0..a.len(), 0..b.len(), &weight, &mut pairs, MAX_CUTS);
    pairs
}

fn stretch(
    a: &[u32],
    b: &[u32],
    mut of_a: Range<usize>,
    mut of_b: Range<usize>,
    weight: &impl Fn(usize) -> f32,
    pairs: &mut Vec<(usize, usize)>,
    cuts_left: u32,
) {
    while !of_a.is_empty() && !of_b.is_empty() && a[of_a.start] == b[of_b.start] {
        pairs.push((of_a.start, of_b.start));
        of_a.start += 1;
        of_b.start += 1;
    }
    let mut ends = Vec::new();
    while !of_a.is_empty() && !of_b.is_empty() && a[of_a.end - 1] == b[of_b.end - 1] {
        of_a.end -= 1;
        of_b.end -= 1;
        ends.push((of_a.end, of_b.end));
    }
    if of_a.len().saturating_mul(of_b.len()) <= MAX_CELLS {
        largest_sum(a, b, of_a, of_b, weight, pairs);
    } else if cuts_left > 0 {
        let cuts = common_unique(a, b, &of_a, &of_b);
        // Without a cut the stretch would come back as it is.
        let cuts_left = if cuts.is_empty() { 0 } else { cuts_left - 1 };
        let (mut from_a, mut from_b) = (of_a.start, of_b.start);
        for (to_a, to_b) in cuts.into_iter().chain([(of_a.end, of_b.end)]) {
            stretch(a, b, from_a..to_a, from_b..to_b, weight, pairs, cuts_left);
            (from_a, from_b) = (to_a, to_b);
        }
    }
    pairs.extend(ends.into_iter().rev());
}

/// The pairs with the largest sum of weights (a weighted longest common subsequence).
fn largest_sum(
    a: &[u32],
    b: &[u32],
    of_a: Range<usize>,
    of_b: Range<usize>,
    weight: &impl Fn(usize) -> f32,
    pairs: &mut Vec<(usize, usize)>,
) {
    if of_a.is_empty() || of_b.is_empty() {
        return;
    }
    let columns = of_b.len();
    // The sums of the last row, and for each cell the way it was reached.
    let mut row = vec![0.0_f32; columns + 1];
    let mut ways = vec![0_u8; of_a.len() * columns];
    let (left, above, both) = (0, 1, 2);
    for (i, at_a) in of_a.clone().enumerate() {
        let mut diagonal = 0.0;
        let gain = weight(at_a);
        for (j, at_b) in of_b.clone().enumerate() {
            let up = row[j + 1];
            let mut best = (row[j], left);
            if up > best.0 {
                best = (up, above);
            }
            if a[at_a] == b[at_b] && diagonal + gain > best.0 {
                best = (diagonal + gain, both);
            }
            diagonal = up;
            (row[j + 1], ways[i * columns + j]) = best;
        }
    }
    let from = pairs.len();
    let (mut i, mut j) = (of_a.len(), columns);
    while i > 0 && j > 0 {
        let way = ways[(i - 1) * columns + j - 1];
        if way == both {
            pairs.push((of_a.start + i - 1, of_b.start + j - 1));
        }
        i -= usize::from(way != left);
        j -= usize::from(way != above);
    }
    pairs[from..].reverse();
}

/// The longest ascending list of pairs of keys that occur once in each stretch (patience diff).
fn common_unique(
    a: &[u32],
    b: &[u32],
    of_a: &Range<usize>,
    of_b: &Range<usize>,
) -> Vec<(usize, usize)> {
    let once = |keys: &[u32], of: &Range<usize>| {
        let mut places: HashMap<u32, Option<usize>, FixedState> = HashMap::default();
        for at in of.clone() {
            let place = places.entry(keys[at]);
            place.and_modify(|place| *place = None).or_insert(Some(at));
        }
        places
    };
    let (once_a, once_b) = (once(a, of_a), once(b, of_b));
    let pairs: Vec<_> = of_a
        .clone()
        .filter_map(|at| {
            once_a[&a[at]]?;
            Some((at, (*once_b.get(&a[at])?)?))
        })
        .collect();
    // Patience sorting: `piles` holds the last pair of the best list of each length.
    let mut piles: Vec<usize> = Vec::new();
    let mut before = vec![None; pairs.len()];
    for (at, &(_, place)) in pairs.iter().enumerate() {
        let pile = piles.partition_point(|top| pairs[*top].1 < place);
        before[at] = pile.checked_sub(1).map(|below| piles[below]);
        if pile == piles.len() {
            piles.push(at);
        } else {
            piles[pile] = at;
        }
    }
    let mut longest = Vec::with_capacity(piles.len());
    let mut next = piles.last().copied();
    while let Some(at) = next {
        longest.push(pairs[at]);
        next = before[at];
    }
    longest.reverse();
    longest
}
