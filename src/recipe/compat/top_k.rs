//! [`top_k`]: the choice of `std::partial_sort` of libstdc++, including the order of ties.

/// A keyword and its weight.
type Keyword<'t> = (&'t str, f64);

/// The `top` heaviest keywords, heaviest first.
///
/// The choice among equally heavy keywords, and their order, follow from the steps of libstdc++
/// (GCC 3.4 to 15). Another C++ library may choose others.
pub(super) fn top_k(mut keywords: Vec<Keyword<'_>>, top: usize) -> Vec<Keyword<'_>> {
    let top = top.min(keywords.len());
    if top == 0 {
        return Vec::new();
    }
    // `__heap_select`: a heap of the first `top` keywords with the lightest at the root. Each later
    // keyword that is heavier replaces the root.
    let (heap, others) = keywords.split_at_mut(top);
    for parent in (0..top / 2).rev() {
        let value = heap[parent];
        adjust_heap(heap, parent, value);
    }
    for other in others {
        if is_heavier(other, &heap[0]) {
            let value = std::mem::replace(other, heap[0]);
            adjust_heap(heap, 0, value);
        }
    }
    // `__sort_heap`: the lightest keyword goes to the end, again and again.
    for end in (1..top).rev() {
        let value = heap[end];
        heap[end] = heap[0];
        adjust_heap(&mut heap[..end], 0, value);
    }
    keywords.truncate(top);
    keywords
}

fn is_heavier(a: &Keyword<'_>, b: &Keyword<'_>) -> bool {
    a.1 > b.1
}

/// `__adjust_heap`: moves the hole at `top` down to a leaf, each time to the lighter child, then
/// moves `value` up from there. A heap that stops early would break ties differently.
fn adjust_heap<'t>(heap: &mut [Keyword<'t>], top: usize, value: Keyword<'t>) {
    let mut hole = top;
    while 2 * hole + 2 < heap.len() {
        let right = 2 * hole + 2;
        let child = right - usize::from(is_heavier(&heap[right], &heap[right - 1]));
        heap[hole] = heap[child];
        hole = child;
    }
    if 2 * hole + 2 == heap.len() {
        heap[hole] = heap[2 * hole + 1];
        hole = 2 * hole + 1;
    }
    while hole > top {
        let parent = (hole - 1) / 2;
        if !is_heavier(&heap[parent], &value) {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = value;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn order_of_ties_equals_libstdcxx() {
        // The output of a C++ program, compiled by GCC 12.
        for (weights, top, expected) in [
            ("3100342", 5, "5 4 0 6 1"),
            ("0233123", 10, "6 3 2 1 5 4 0"),
            ("4442241022232141", 10, "14 0 1 2 5 11 3 8 4 9"),
            ("401202342343121241003144041022213", 5, "7 0 16 22 10"),
            (
                "341134401040223412303132203412234",
                10,
                "32 1 27 10 5 15 6 14 0 20",
            ),
            (
                "330413234330222420233440303300403",
                20,
                "8 21 15 3 22 30 7 32 1 9 19 10 5 27 0 24 26 20 16 18",
            ),
            (
                "022022332424321010213034243123022113144011120414012023110322",
                5,
                "9 11 25 37 23",
            ),
        ] {
            let names: Vec<_> = (0..weights.len()).map(|i| i.to_string()).collect();
            let weights = weights.bytes().map(|digit| f64::from(digit - b'0'));
            let keywords = names.iter().map(String::as_str).zip(weights).collect();
            let chosen = top_k(keywords, top).into_iter().map(|(name, _)| name);
            assert_eq!(chosen.collect::<Vec<_>>().join(" "), expected);
        }
        assert_eq!(top_k(vec![("CEO", 1.0)], 0), []);
    }

    proptest! {
        #[test]
        fn chosen_weights_are_largest_in_order(
            weights in prop::collection::vec(0..9_u32, 0..40),
            top in 0..50_usize,
        ) {
            let names: Vec<_> = (0..weights.len()).map(|i| i.to_string()).collect();
            let keywords: Vec<_> = names.iter().map(String::as_str).zip(weights.iter().map(|&w| f64::from(w))).collect();
            let chosen = top_k(keywords.clone(), top);
            let mut expected: Vec<_> = keywords.iter().map(|&(_, weight)| weight).collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            expected.truncate(top);
            prop_assert_eq!(chosen.iter().map(|&(_, weight)| weight).collect::<Vec<_>>(), expected);
            let mut distinct: Vec<_> = chosen.iter().map(|&(name, _)| name).collect();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), chosen.len());
        }
    }
}
