//! [`NodeEntries`]: the texts of a node of an LSH forest in another system.

use std::ops::Range;

use crate::minhash::Sketch;
use crate::similarity::{Likeness, PackedComparison, PackedWording, Wording};

/// A text in a node of an LSH forest: fields of its [`SearchKeys`](crate::SearchKeys), which say what each of them is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeText<'t> {
    /// The length class: the lowest 4 bits of the keys.
    pub class: u8,
    /// The classes of a query.
    pub classes: u16,
    /// The most different bits of the sketches of a query and of an entry.
    pub max_sketch_distance: u32,
    /// The sketch, by which an entry is compared; of a query without one, the other sketch.
    pub sketch: [u64; 2],
    /// The other sketch of a query; of a query without one, the sketch once more.
    pub other_sketch: [u64; 2],
    /// The packed wording.
    pub wording: &'t [u8],
}

/// The entries of a node of an LSH forest in another system, such as Spark, and the search for those that are
/// alike a query.
///
/// # Examples
///
/// ```
/// use simdb::{NodeEntries, NodeText, SearchKeys};
///
/// let [one, other, unrelated] = [
///     "The ferry to the islands was cancelled because of fog.",
///     "The ferry to the islands was canceled, because of fog!",
///     "MongoDB integration component for Plone",
/// ]
/// .map(SearchKeys::new);
/// fn text(keys: &SearchKeys) -> NodeText<'_> {
///     NodeText {
///         class: (keys.keys[0] & 15) as u8,
///         classes: keys.classes,
///         max_sketch_distance: keys.max_sketch_distance,
///         sketch: keys.sketch,
///         other_sketch: keys.sketch,
///         wording: &keys.wording,
///     }
/// }
/// let mut entries = NodeEntries::default();
/// entries.push(&text(&unrelated));
/// entries.push(&text(&other));
/// assert_eq!(entries.search(&text(&one), |_| true), [1]);
/// ```
#[derive(Debug, Default)]
pub struct NodeEntries {
    /// The sketch and the bit of the length class of each entry.
    entries: Vec<(Sketch, u16)>,
    /// The place of each packed wording in `bytes`.
    wordings: Vec<Range<usize>>,
    bytes: Vec<u8>,
}

impl NodeEntries {
    /// Adds an entry. Memory: 40 bytes and its packed wording.
    pub fn push(&mut self, entry: &NodeText<'_>) {
        let start = self.bytes.len();
        // Other bytes are as no wording: the texts decide then.
        if PackedWording::checked(entry.wording).is_some() {
            self.bytes.extend(entry.wording);
        }
        self.entries
            .push((Sketch::from_words(entry.sketch), 1 << (entry.class & 15)));
        self.wordings.push(start..self.bytes.len());
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.wordings.clear();
        self.bytes.clear();
    }

    /// The positions, in the order of [`push`](Self::push), of the candidates that are sought and that are alike the
    /// query by the default [`Likeness`]. If one of both texts has no packed wording, a candidate is found too.
    ///
    /// # Cost
    /// Some nanoseconds for each entry, a microsecond for each candidate, and some microseconds for a query with
    /// candidates.
    pub fn search(&self, query: &NodeText<'_>, is_sought: impl Fn(usize) -> bool) -> Vec<u32> {
        let sketches = [query.sketch, query.other_sketch].map(Sketch::from_words);
        let mut found = Vec::new();
        for (at, (sketch, class)) in self.entries.iter().enumerate() {
            let distance = sketches.map(|own| own.distance(*sketch));
            let is_near = distance[0].min(distance[1]) <= query.max_sketch_distance;
            if is_near && query.classes & class != 0 && is_sought(at) {
                found.push(at as u32);
            }
        }
        let Some(own) = PackedWording::checked(query.wording).filter(|_| !found.is_empty()) else {
            return found;
        };
        let own = Wording::unpack(own);
        let comparison = PackedComparison::new(&own, &Likeness::default());
        found.retain(|at| {
            let packed = self.packed(*at);
            packed.is_none_or(|packed| comparison.may_be_alike(packed.header()))
        });
        let near = comparison.retain_near(&mut found, |at| self.packed(at));
        found.truncate(near);
        found.retain(|at| {
            let packed = self.packed(*at);
            packed.is_none_or(|packed| comparison.compare(packed).is_some())
        });
        found
    }

    fn packed(&self, at: u32) -> Option<PackedWording<'_>> {
        PackedWording::new(&self.bytes[self.wordings[at as usize].clone()])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::SearchKeys;
    use crate::minhash::ForestKeys;

    fn node_text(keys: &SearchKeys) -> NodeText<'_> {
        NodeText {
            class: (keys.keys[0] & 15) as u8,
            classes: keys.classes,
            max_sketch_distance: keys.max_sketch_distance,
            sketch: keys.sketch,
            other_sketch: keys.sketch,
            wording: &keys.wording,
        }
    }

    fn edited() -> impl Strategy<Value = (Vec<String>, String)> {
        let word = "[a-f]{1,5}|[一二三漢语]{1,3}|[0-9]{1,3}|[éßあ]{1,3}";
        let edit = (any::<prop::sample::Index>(), "[a-z]{0,6}");
        let edits = prop::collection::vec(prop::collection::vec(edit, 0..9), 1..20);
        (prop::collection::vec(word, 1..60), edits).prop_map(|(words, copies)| {
            let copies = copies.into_iter().map(|edits| {
                let mut copy = words.clone();
                for (at, word) in edits {
                    *at.get_mut(&mut copy) = word;
                }
                copy.join(" ")
            });
            (copies.collect(), words.join(" "))
        })
    }

    proptest! {
        #[test]
        fn search_finds_the_candidates_that_are_alike((entries, query) in edited()) {
            let keys: Vec<_> = entries.iter().map(|text| SearchKeys::new(text)).collect();
            let query_keys = SearchKeys::new(&query);
            let sought = |at: usize| at % 5 != 4;
            let mut node = NodeEntries::default();
            for keys in &keys {
                node.push(&node_text(keys));
            }
            let normaliser = ForestKeys::shared().normaliser();
            let wording = Wording::new(normaliser, &query);
            let is_found = |at: &usize| {
                let sketches = [&query_keys, &keys[*at]].map(|keys| Sketch::from_words(keys.sketch));
                let is_candidate = sketches[0].distance(sketches[1]) <= query_keys.max_sketch_distance
                    && query_keys.classes >> (keys[*at].keys[0] & 15) & 1 == 1;
                let compare = || wording.compare(normaliser, &entries[*at], &Likeness::default());
                let is_packed = ![&query_keys, &keys[*at]].iter().any(|keys| keys.wording.is_empty());
                is_candidate && sought(*at) && (!is_packed || compare().is_some())
            };
            let expected: Vec<_> = (0..entries.len()).filter(is_found).map(|at| at as u32).collect();
            prop_assert_eq!(node.search(&node_text(&query_keys), sought), expected);
        }

        #[test]
        fn damaged_wordings_are_left_to_the_texts(
            (entries, query) in edited(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let [mut damaged, sound] = [&entries[0], &query].map(|text| SearchKeys::new(text));
            for (at, byte) in damage.iter().filter(|_| !entries[0].is_empty()) {
                *at.get_mut(&mut damaged.wording) ^= byte;
            }
            let [all, cut] = [damaged.wording.len(), cut.index(damaged.wording.len().max(1))];
            for len in [all, cut] {
                let every = |wording| NodeText {
                    classes: u16::MAX,
                    max_sketch_distance: 128,
                    wording,
                    ..NodeText::default()
                };
                let [damaged, sound] = [&damaged.wording[..len], &sound.wording].map(every);
                for (entry, query) in [(damaged, sound), (sound, damaged), (damaged, damaged)] {
                    let mut node = NodeEntries::default();
                    node.push(&entry);
                    let found = node.search(&query, |_| true);
                    prop_assert!(len == all || found == [0]);
                }
            }
        }
    }

    #[test]
    fn texts_without_a_packed_wording_are_found() {
        let long: String = (0..20_000).map(|n| format!("{n} ")).collect();
        let [long, none] = [&long, "\u{2026}"].map(SearchKeys::new);
        assert_eq!((long.wording.len(), none.wording.len()), (0, 0));
        let mut node = NodeEntries::default();
        node.push(&node_text(&long));
        assert_eq!(node.search(&node_text(&long), |_| true), [0]);
        node.clear();
        assert!(node.search(&node_text(&long), |_| true).is_empty());
    }
}
