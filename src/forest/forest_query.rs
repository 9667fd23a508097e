//! [`ForestSearch`]: the search of a stored forest, tree by tree.

use std::ops::{Range, RangeInclusive};

use super::forest_key::{Prefix, TREE_KEY_BITS, class_of_key, scope_mask};
use super::reach::Reach;
use super::{STORED_TREES, tree_bits};
use crate::analysis::{Analysed, LEVELS, LengthClasses, Minima, Sketch};
use crate::error::Result;
use crate::ids::scope::ScopeNumber;

/// Second minima replace one of the first three minima.
pub(crate) const PROBED_LEVELS: usize = 3;

/// An entry of a forest: the key of a text, and the id of its document.
pub(crate) type ForestEntry = (u64, u64);

/// Consecutive entries.
pub(crate) trait ForestSpan {
    /// Returns `false` if the next span may have entries with a key of at most `last`.
    fn has_all_to(&self, last: u64) -> bool;

    /// The number of entries with a key of a range.
    fn count(&self, keys: &RangeInclusive<u64>) -> usize;

    /// Appends the entries with a key of a range.
    fn push(&self, keys: &RangeInclusive<u64>, entries: &mut Vec<ForestEntry>);
}

/// Entries by key.
pub(crate) trait ForestEntries {
    /// Fetches the entries from some keys on into the cache of the processor, where this takes less
    /// time for many keys together.
    fn fetch(&self, _keys: &[u64]) {}

    /// Calls `visitor` with the span that may have the first entry with a key of at least `first`,
    /// if there are entries. If the span changes while the visitor reads it, the visitor is called
    /// again with the next state of the span.
    fn visit_span(
        &self,
        first: u64,
        visitor: &mut dyn FnMut(&dyn ForestSpan) -> Result<()>,
    ) -> Result<()>;

    /// Appends the entries with a key of a range, ascending, at most `most` of them. Returns
    /// `false` if there are more. The keys of the range have the same first level.
    fn read(
        &self,
        keys: RangeInclusive<u64>,
        most: usize,
        entries: &mut Vec<ForestEntry>,
    ) -> Result<bool>;
}

/// A search for the texts that may be near-duplicates of a text.
pub(crate) struct ForestSearch<'q> {
    /// The key of which all texts are found: the key of the wording.
    keys: Vec<u64>,
    /// Over the shingles for the length of the text, then, if there are any, over the shingles of
    /// the other length.
    minima: Vec<&'q Minima>,
    reach: Reach,
    classes: LengthClasses,
    sketches: Vec<Sketch>,
    max_sketch_distance: u32,
}

impl<'q> ForestSearch<'q> {
    /// The search within a reach. `least` is the smaller threshold of edit similarity and Jaccard
    /// index.
    pub(crate) fn new(text: &'q Analysed, reach: Reach, least: f64) -> Self {
        let minima: Vec<&Minima> = text.forest_minima().into_iter().flatten().collect();
        let characters = text.characters();
        Self {
            keys: vec![text.wording_key()],
            max_sketch_distance: reach.max_sketch_distance(characters),
            classes: LengthClasses::of_near_duplicates(characters, text.has_cjk(), least),
            sketches: minima.iter().map(|minima| minima.sketch()).collect(),
            minima,
            reach,
        }
    }

    /// The search for the texts with the same wording.
    pub(crate) fn of_wording(text: &Analysed) -> Self {
        Self::of_keys(vec![text.wording_key()])
    }

    /// The search for the texts with one of these keys.
    pub(crate) fn of_keys(keys: Vec<u64>) -> Self {
        Self {
            keys,
            minima: Vec::new(),
            reach: Reach::ALIKE,
            classes: LengthClasses::of_near_duplicates(0, true, 0.0),
            sketches: Vec::new(),
            max_sketch_distance: 0,
        }
    }
}

impl ForestSearch<'_> {
    /// Returns `false` for the sketches of most texts that are not near-duplicates. Texts with too
    /// little content have no sketch, and may be.
    pub(crate) fn may_be_near(&self, sketch: Option<Sketch>) -> bool {
        let is_near = |sketch| {
            let mut own = self.sketches.iter();
            own.any(|own| own.distance(sketch) <= self.max_sketch_distance)
        };
        self.sketches.is_empty() || sketch.is_none_or(is_near)
    }

    /// Calls `found` with the entries of the texts that may be near-duplicates, some of them
    /// several times. The entries of texts of other scopes than `scope` are there by chance.
    pub(crate) fn run(
        &self,
        source: &impl ForestEntries,
        scope: ScopeNumber,
        found: &mut dyn FnMut(ForestEntry),
    ) -> Result<()> {
        let mut entries = Vec::new();
        let mask = scope_mask(scope);
        for key in &self.keys {
            let key = key ^ mask;
            source.read(key..=key, usize::MAX, &mut entries)?;
        }
        entries.drain(..).for_each(&mut *found);
        for (nth, minima) in self.minima.iter().enumerate() {
            let trees = 0..self.reach.trees.min(STORED_TREES);
            let root = Node {
                // Few near-duplicates are of the other length, so these trees are searched without
                // second minima.
                probes: if nth > 0 { self.reach.max_probes } else { 0 },
                ..Node::default()
            };
            let mut walk = Walk {
                tree: 0,
                mask: mask << (u64::BITS - TREE_KEY_BITS),
                minima,
                classes: self.classes,
                reach: &self.reach,
                source,
                entries: &mut entries,
                found,
            };
            source.fetch(&walk.first_keys(root, trees.clone()));
            for tree in trees {
                walk.tree = tree;
                walk.search_children(root)?;
            }
        }
        Ok(())
    }
}

/// A node of a tree.
#[derive(Clone, Copy, Default)]
struct Node {
    prefix: Prefix,
    /// The level of its children.
    level: usize,
    /// The second minima of the prefix.
    probes: usize,
}

/// The part of a node that is not searched.
enum Rest {
    Nothing,
    /// A node that may be taken whole.
    Small,
    /// A node with too many entries to be taken whole.
    Large,
}

/// The walk down a tree.
struct Walk<'w, S> {
    tree: usize,
    /// The [mask](scope_mask) of the scope, at the place of a prefix.
    mask: u64,
    minima: &'w Minima,
    classes: LengthClasses,
    reach: &'w Reach,
    source: &'w S,
    entries: &'w mut Vec<ForestEntry>,
    found: &'w mut dyn FnMut(ForestEntry),
}

impl<S: ForestEntries> Walk<'_, S> {
    /// The children of a node whose texts have the minima of the query, and few second minima.
    fn children(&self, node: Node) -> impl Iterator<Item = Node> + use<S> {
        let level = node.level;
        let child = move |part, probes| Node {
            prefix: node.prefix.child(level, part),
            level: level + 1,
            probes,
        };
        let own = child(self.minima.part(self.tree, level), node.probes);
        let may_probe = level < PROBED_LEVELS && node.probes < self.reach.max_probes;
        let probe = || child(self.minima.second_part(self.tree, level), node.probes + 1);
        let probe = may_probe.then(probe);
        [own].into_iter().chain(probe)
    }

    /// The first keys of the nodes of the second level that a search of these trees may visit.
    fn first_keys(&mut self, root: Node, trees: Range<usize>) -> Vec<u64> {
        let mut keys = Vec::new();
        for tree in trees {
            self.tree = tree;
            let nodes = self.children(root).flat_map(|node| self.children(node));
            keys.extend(nodes.map(|node| *self.keys(node).start()));
        }
        keys
    }

    fn search_children(&mut self, node: Node) -> Result<()> {
        self.children(node)
            .try_for_each(|child| self.search_node(child))
    }

    fn search_node(&mut self, node: Node) -> Result<()> {
        let (keys, source) = (self.keys(node), self.source);
        let mut rest = Rest::Small;
        source.visit_span(*keys.start(), &mut |span| {
            self.entries.clear();
            rest = self.search_span(node, span);
            Ok(())
        })?;
        self.take_entries();
        match rest {
            Rest::Nothing => Ok(()),
            Rest::Large => self.search_children(node),
            Rest::Small => {
                if source.read(keys, self.max_entries(node), self.entries)? {
                    self.take_entries();
                    return Ok(());
                }
                self.entries.clear();
                self.search_children(node)
            }
        }
    }

    /// Searches the part of a node that is on one span, unless more of the node is on other spans.
    fn search_span(&mut self, node: Node, span: &dyn ForestSpan) -> Rest {
        let keys = self.keys(node);
        let count = span.count(&keys);
        let is_large = count > self.max_entries(node);
        if !span.has_all_to(*keys.end()) {
            return if is_large { Rest::Large } else { Rest::Small };
        }
        if is_large {
            for child in self.children(node) {
                self.search_span(child, span);
            }
        } else if count > 0 {
            span.push(&keys, self.entries);
        }
        Rest::Nothing
    }

    /// Takes the entries that were read and have the length of a near-duplicate.
    fn take_entries(&mut self) {
        for entry in self.entries.drain(..) {
            if self.classes.contain(class_of_key(entry.0)) {
                (self.found)(entry);
            }
        }
    }

    /// The most entries of a node that is taken whole.
    fn max_entries(&self, node: Node) -> usize {
        self.reach.max_entries(node.level - 1)
    }

    fn keys(&self, node: Node) -> RangeInclusive<u64> {
        let key = |bits: u64| tree_bits(self.tree) | bits >> (u64::BITS - TREE_KEY_BITS);
        let prefix = node.prefix.masked(self.mask);
        key(prefix.first())..=key(prefix.last())
    }
}

const _: () = assert!(LEVELS > PROBED_LEVELS);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::forest_key::tree_key;
    use super::*;

    /// Sorted entries in spans of a length.
    struct Spans {
        entries: Vec<ForestEntry>,
        len: usize,
    }

    struct Span<'p> {
        entries: &'p [ForestEntry],
        is_last: bool,
    }

    impl ForestSpan for Span<'_> {
        fn has_all_to(&self, last: u64) -> bool {
            self.is_last || self.entries.last().is_some_and(|(key, _)| *key > last)
        }

        fn count(&self, keys: &RangeInclusive<u64>) -> usize {
            let mut entries = Vec::new();
            self.push(keys, &mut entries);
            entries.len()
        }

        fn push(&self, keys: &RangeInclusive<u64>, entries: &mut Vec<ForestEntry>) {
            let found = self.entries.iter().filter(|(key, _)| keys.contains(key));
            entries.extend(found);
        }
    }

    impl ForestEntries for Spans {
        fn visit_span(
            &self,
            first: u64,
            visitor: &mut dyn FnMut(&dyn ForestSpan) -> Result<()>,
        ) -> Result<()> {
            let at = self.entries.partition_point(|(key, _)| *key < first);
            let start = at.saturating_sub(1) / self.len * self.len;
            let end = self.entries.len().min(start + self.len);
            visitor(&Span {
                entries: &self.entries[start..end],
                is_last: end == self.entries.len(),
            })
        }

        fn read(
            &self,
            keys: RangeInclusive<u64>,
            most: usize,
            entries: &mut Vec<ForestEntry>,
        ) -> Result<bool> {
            let wanted = || self.entries.iter().filter(|(key, _)| keys.contains(key));
            entries.extend(wanted().take(most));
            Ok(wanted().count() <= most)
        }
    }

    /// The definition: the entries of each node that is taken whole.
    fn plain(
        entries: &[ForestEntry],
        tree: usize,
        minima: &Minima,
        reach: &Reach,
        node: Node,
    ) -> Vec<ForestEntry> {
        let mut parts = vec![(minima.part(tree, node.level), node.probes)];
        if node.level < PROBED_LEVELS && node.probes < reach.max_probes {
            parts.push((minima.second_part(tree, node.level), node.probes + 1));
        }
        let mut found = Vec::new();
        for (part, probes) in parts {
            let child = Node {
                prefix: node.prefix.child(node.level, part),
                level: node.level + 1,
                probes,
            };
            let shift = u64::BITS - child.prefix.bits();
            let has_prefix = |key: u64| {
                key >> TREE_KEY_BITS == tree as u64
                    && key << (u64::BITS - TREE_KEY_BITS) >> shift == child.prefix.first() >> shift
            };
            let own = entries.iter().filter(|(key, _)| has_prefix(*key));
            let own: Vec<ForestEntry> = own.copied().collect();
            if own.len() <= reach.max_entries(node.level) {
                found.extend(own);
            } else {
                found.extend(plain(&own, tree, minima, reach, child));
            }
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn search_of_spans_equals_the_definition(
            texts in prop::collection::vec(prop::collection::vec(0..9_u64, 1..7), 1..200),
            asked in prop::collection::vec(0..9_u64, 1..7),
            len in 1..300_usize,
            scope in 0..3_u64,
        ) {
            let minima = |shingles: &Vec<u64>| {
                let hash = |shingle: &u64| shingle.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                Minima::new(&shingles.iter().map(hash).collect::<Vec<u64>>())
            };
            let mut entries = Vec::new();
            for (id, text) in (0..).zip(&texts) {
                let minima = minima(text);
                let key = |tree| tree_bits(tree) | tree_key(&minima, tree, 7);
                entries.extend((0..STORED_TREES).map(|tree| (key(tree), id)));
            }
            entries.sort_unstable();
            let asked = minima(&asked);
            let mut expected = BTreeSet::new();
            for tree in 0..STORED_TREES {
                let node = Node::default();
                expected.extend(plain(&entries, tree, &asked, &Reach::SMALL, node));
            }
            let mut found = BTreeSet::new();
            let search = ForestSearch {
                minima: vec![&asked],
                reach: Reach::SMALL,
                ..ForestSearch::of_keys(Vec::new())
            };
            let mask = scope_mask(ScopeNumber(scope));
            entries.iter_mut().for_each(|(key, _)| *key ^= mask);
            entries.sort_unstable();
            let source = Spans { entries, len };
            let scope = ScopeNumber(scope);
            search.run(&source, scope, &mut |entry| { found.insert(entry); }).unwrap();
            let unmasked = |(key, id)| (key ^ scope_mask(scope), id);
            let found: BTreeSet<ForestEntry> = found.into_iter().map(unmasked).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
