//! [`NodeEntries`]: the texts of a node of an LSH forest in another system.

use super::SearchKeys;
use crate::analysis::{Analysed, PackedWording, PackedWordings, Sketch};
use crate::forest::class_of_key;
use crate::measure::{Likeness, Verifier};

/// A text in a node of an LSH forest. [`SearchKeys`] say what the fields mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeText<'t> {
    /// The length class of an entry, at most 15: the lowest 4 bits of its keys.
    pub class: u8,
    /// The length classes of the candidates of a query.
    pub classes: u16,
    /// The most bits in which the sketches of a query and of a candidate differ.
    pub max_sketch_distance: u32,
    /// The sketch; without [`keys`](SearchKeys::keys) of trees, the other sketch.
    pub sketch: [u64; 2],
    /// The other sketch of a query; without [`others`](SearchKeys::others), the same as `sketch`.
    pub other_sketch: [u64; 2],
    /// The [packed wording](SearchKeys::wording).
    pub wording: &'t [u8],
}

impl<'t> From<&'t SearchKeys> for NodeText<'t> {
    fn from(keys: &'t SearchKeys) -> Self {
        let sketch = match keys.keys.len() {
            ..=1 => keys.other_sketch,
            _ => keys.sketch,
        };
        let other_sketch = match keys.others.is_empty() {
            true => sketch,
            false => keys.other_sketch,
        };
        Self {
            class: keys.keys.first().map_or(0, |key| class_of_key(*key) as u8),
            classes: keys.classes,
            max_sketch_distance: keys.max_sketch_distance,
            sketch,
            other_sketch,
            wording: &keys.wording,
        }
    }
}

/// The entries of a node of an LSH forest in another system, such as Spark, and the search for the
/// near-duplicates of a query among them.
///
/// # Examples
///
/// ```
/// use simdb::external::{NodeEntries, NodeText, SearchKeys};
///
/// let [query, near, unrelated] = [
///     "The ferry to the islands was cancelled because of fog.",
///     "The ferry to the islands was canceled, because of fog!",
///     "MongoDB integration component for Plone",
/// ]
/// .map(SearchKeys::new);
/// let mut entries = NodeEntries::default();
/// entries.push(&NodeText::from(&unrelated));
/// entries.push(&NodeText::from(&near));
/// assert_eq!(entries.search(&NodeText::from(&query), |_| true), [1]);
/// ```
#[derive(Debug, Default)]
pub struct NodeEntries {
    /// The sketch and the bit of the length class of each entry.
    entries: Vec<(Sketch, u16)>,
    wordings: PackedWordings,
}

impl NodeEntries {
    /// Adds an entry. Bytes on which a comparison could panic are stored as no wording. Memory: 32
    /// bytes and the packed wording.
    pub fn push(&mut self, entry: &NodeText<'_>) {
        self.wordings.push(PackedWording::checked(entry.wording));
        self.entries
            .push((Sketch::from_words(entry.sketch), 1 << (entry.class & 15)));
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.wordings.clear();
    }

    /// The packed wording of the entry at a position, in the order of [`push`](Self::push).
    pub fn wording(&self, position: u32) -> &[u8] {
        self.wordings.bytes(position)
    }

    /// The positions of the candidates that are sought and that are near-duplicates of the query by
    /// the default [`Likeness`]. If one of both texts has no packed wording, a candidate is found
    /// too.
    ///
    /// # Cost
    /// Some nanoseconds for each entry, a microsecond for each candidate, and some microseconds for
    /// a query with candidates.
    pub fn search(&self, query: &NodeText<'_>, is_sought: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut found = near(&self.entries, query);
        found.retain(|at| is_sought(*at));
        if found.is_empty() {
            return found;
        }
        let Some(own) = PackedWording::checked(query.wording) else {
            return found;
        };
        let own = Analysed::unpack(own);
        let verifier = Verifier::new(&own, &Likeness::default());
        let packed = |at| self.wordings.get(at);
        let header = |at| packed(at).map(PackedWording::header);
        let len = verifier.select(&mut found, header, |_| true, packed);
        found.truncate(len);
        found.retain(|at| packed(*at).is_none_or(|other| verifier.compare(other).is_some()));
        found
    }
}

/// The positions of the candidates.
#[multiversion::multiversion(targets("x86_64+popcnt"))]
fn near(entries: &[(Sketch, u16)], query: &NodeText<'_>) -> Vec<u32> {
    let [own, other] = [query.sketch, query.other_sketch].map(Sketch::from_words);
    let mut found = Vec::new();
    for (at, (sketch, class)) in (0..).zip(entries) {
        let distance = own.distance(*sketch).min(other.distance(*sketch));
        if distance <= query.max_sketch_distance && query.classes & class != 0 {
            found.push(at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::compare;

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
            let sought = |at: u32| at % 5 != 4;
            let mut node = NodeEntries::default();
            for keys in &keys {
                node.push(&NodeText::from(keys));
            }
            let own_text = Analysed::new(&query);
            let is_found = |at: &usize| {
                let [own, other] = [&query_keys, &keys[*at]].map(NodeText::from);
                let sketch = Sketch::from_words(other.sketch);
                let mut sketches = [own.sketch, own.other_sketch].map(Sketch::from_words).into_iter();
                let is_candidate = sketches.any(|own| own.distance(sketch) <= query_keys.max_sketch_distance)
                    && query_keys.classes >> other.class & 1 == 1;
                let compared = || compare(&own_text, &Analysed::new(&entries[*at]), &Likeness::default());
                let is_packed = ![&query_keys, &keys[*at]].iter().any(|keys| keys.wording.is_empty());
                is_candidate && sought(*at as u32) && (!is_packed || compared().is_some())
            };
            let expected: Vec<_> = (0..entries.len()).filter(is_found).map(|at| at as u32).collect();
            prop_assert_eq!(node.search(&NodeText::from(&query_keys), sought), expected);
        }

        #[test]
        fn damaged_wordings_are_left_to_the_texts(
            (entries, query) in edited(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let [mut damaged, sound] = [&entries[0], &query].map(|text| SearchKeys::new(text));
            let has_wording = !damaged.wording.is_empty();
            for (at, byte) in damage.iter().filter(|_| has_wording) {
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
    fn query_meets_entries_by_shingles_of_the_other_length() {
        let line = "The ferry to the islands was cancelled because of fog, and the harbour stays closed until noon";
        let long = format!("{line}, said its board of directors today");
        let [long, short] = [&long, line].map(SearchKeys::new);
        assert!(long.characters >= 100 && short.characters < 100 && !long.others.is_empty());
        let mut node = NodeEntries::default();
        node.push(&NodeText::from(&short));
        let query = NodeText::from(&long);
        assert_eq!(node.search(&query, |_| true), [0]);
        let without = NodeText {
            other_sketch: query.sketch,
            ..query
        };
        assert!(node.search(&without, |_| true).is_empty());
    }

    #[test]
    fn texts_without_a_packed_wording_are_found() {
        let long: String = (0..20_000).map(|n| format!("{n} ")).collect();
        let [long, none] = [&long, "\u{2026}"].map(SearchKeys::new);
        assert_eq!((long.wording.len(), none.wording.len()), (0, 0));
        let mut node = NodeEntries::default();
        node.push(&NodeText::from(&long));
        assert_eq!(node.search(&NodeText::from(&long), |_| true), [0]);
        node.clear();
        assert!(node.search(&NodeText::from(&long), |_| true).is_empty());
    }
}
