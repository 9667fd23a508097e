//! [`SearchKeys`]: a text as an entry and as a query of a forest in another system.

use crate::analysis::{Analysed, LengthClasses};
use crate::forest::{self, Reach, second_keys, tree_keys};
use crate::measure::Likeness;

/// A text as an entry and as a query of an LSH forest, for a search in another system, such as
/// Spark.
///
/// The keys are the keys of a database made for [similar search](crate::Builder::similar), in 24
/// trees. A key has 47 bits: 5 of the tree, then 15, 10, 7, 4 and 2 bits of its five minima, then 4
/// of the length class. A *node* is a tree with a prefix of minima; its entries are the documents
/// with that prefix. A query descends in each tree to the first node that is *small*: at most
/// [`max_entries`](Self::max_entries) entries in a node of one or two minima, 4,096 in a node of
/// three or four, any number in a node of five. It descends with its own minima, and once more for
/// each of the first three levels that it reaches, with the second minimum of this level; a prefix
/// has at most [`max_seconds`](Self::max_seconds) second minima. The other system counts the
/// entries of nodes, and finds the entries of small nodes by a join. A
/// [narrow](crate::TextQuery::narrow) query descends in the first 16 trees, to nodes of at most 16
/// entries, or 1,024 in a node of three or four minima, with one second minimum, and accepts
/// sketches that differ in at most 46 bits, 50 for a text of less than 30 characters. The fields of
/// the keys are the fields of a query that is not narrow.
///
/// An entry of a node is a candidate if its length class is in [`classes`](Self::classes), and its
/// sketch differs from a sketch of the query in at most
/// [`max_sketch_distance`](Self::max_sketch_distance) bits. Documents with the same key of the
/// wording are candidates of any class and sketch. [`NodeEntries`](crate::external::NodeEntries)
/// finds the candidates of a node that are alike, without their texts.
/// [`Snapshot::similar`](crate::Snapshot::similar) finds the same candidates, and also documents
/// whose fingerprints differ in at most 3 bits;
/// [`PreparedText::search`](crate::in_memory::PreparedText::search) decides about a candidate as it
/// does.
///
/// # Examples
///
/// ```
/// use simdb::external::SearchKeys;
///
/// let one = SearchKeys::new("The ferry to the islands was cancelled because of fog.");
/// let other = SearchKeys::new("The ferry to the islands was canceled, because of fog!");
/// let unrelated = SearchKeys::new("MongoDB integration component for Plone");
/// // The trees in which two texts have the first minimum in common.
/// let common = |a: &SearchKeys, b: &SearchKeys| {
///     let pairs = a.keys.iter().zip(&b.keys).take(24);
///     pairs.filter(|(a, b)| *a >> 27 == *b >> 27).count()
/// };
/// assert!(common(&one, &other) >= 12 && common(&one, &unrelated) <= 1);
/// ```
///
/// # Source
/// M. Bawa, T. Condie, P. Ganesan, *LSH Forest: Self-Tuning Indexes for Similarity Search*, WWW
/// 2005.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchKeys {
    /// The number of letters and digits of the text.
    pub letters: u32,
    /// The keys of the entries of the text, ascending: one for each tree, then the key of the
    /// wording. A text with too little content has the key of the wording only.
    pub keys: Vec<u64>,
    /// The sketch of the entries; zeros for a text with too little content.
    pub sketch: [u64; 2],
    /// The second minima of the first three levels in each tree, at their places in a key, of the
    /// first of [`keys`](Self::keys) and [`others`](Self::others) that has keys of trees.
    pub seconds: Vec<u64>,
    /// The keys of a query by shingles of another length, without length class; empty if no
    /// near-duplicate has such shingles. A query descends with them without second minima, unless
    /// [`keys`](Self::keys) has no keys of trees.
    pub others: Vec<u64>,
    /// The sketch by shingles of the other length; zeros without [`others`](Self::others).
    pub other_sketch: [u64; 2],
    /// A bit for each length class of a near-duplicate.
    pub classes: u16,
    /// The most entries of a small node of one or two minima: 128 for a short text, 32 for a long
    /// text.
    pub max_entries: u32,
    /// The most second minima of a prefix: 2 for a short text, 1 for a long text.
    pub max_seconds: u32,
    /// The most bits in which the sketches of a query and of a candidate differ.
    pub max_sketch_distance: u32,
    /// The number of normalised letters and digits, at most 65,535.
    pub characters: u16,
    /// The normalised text in the form in which texts are compared; empty for a text without
    /// letters and digits, or with more than 65,535 bytes of them.
    pub wording: Vec<u8>,
}

impl SearchKeys {
    /// The keys of a text.
    ///
    /// # Cost
    /// Some 20 µs for a line of text, and linear in its length.
    pub fn new(text: &str) -> Self {
        let analysed = Analysed::new(text);
        let characters = analysed.characters();
        let [own, other] = analysed.forest_minima();
        let reach = Reach::alike_stored(characters);
        let least = Likeness::default().least();
        let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
        Self {
            letters: letters as u32,
            keys: analysed.text_keys().to_vec(),
            sketch: analysed.sketch().unwrap_or_default().words(),
            seconds: own.or(other).map_or_else(Vec::new, second_keys),
            others: other.map_or_else(Vec::new, |other| tree_keys(other, 0).collect()),
            other_sketch: other.map_or([0; 2], |other| other.sketch().words()),
            classes: LengthClasses::of_near_duplicates(characters, analysed.has_cjk(), least)
                .to_bits(),
            max_entries: reach.max_entries(0) as u32,
            max_seconds: reach.max_probes as u32,
            max_sketch_distance: reach.max_sketch_distance(characters),
            characters: u16::try_from(characters).unwrap_or(u16::MAX),
            wording: packed(&analysed),
        }
    }

    /// One line with every parameter that determines keys and candidates. Keys of different
    /// descriptions cannot be compared.
    pub fn description() -> String {
        let [short, long] = [0, usize::MAX].map(Reach::alike_stored);
        let narrow = Reach::CONTAINED;
        let Likeness {
            edit_similarity,
            jaccard,
        } = Likeness::default();
        format!(
            "search keys v5: {}; nodes of at most {} or {}, {} and {} entries; at most {} or {} second minima; \
             sketches of at most {} to {} bits different; narrow: {} trees, {} and {} entries, {} second minima, {} to \
             {} bits; edit similarity {edit_similarity} or Jaccard index {jaccard}; packed wordings v1",
            forest::description(),
            short.max_entries(0),
            long.max_entries(0),
            long.max_entries(2),
            long.max_entries(3),
            short.max_probes,
            long.max_probes,
            long.max_sketch_distance(usize::MAX),
            short.max_sketch_distance(0),
            narrow.trees,
            narrow.max_entries(0),
            narrow.max_entries(2),
            narrow.max_probes,
            narrow.max_sketch_distance(usize::MAX),
            narrow.max_sketch_distance(0),
        )
    }
}

/// The bytes of the packed wording.
fn packed(text: &Analysed) -> Vec<u8> {
    text.packed();
    text.packed_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "The ferry to the islands was cancelled because of fog";

    const REST: &str = "and the harbour stays closed until noon, said its board of directors today, while crews \
        repair the northern pier; trains and buses are running as usual on both shores, and tickets remain \
        valid for the following week without any further charge.";

    #[test]
    fn keys_depend_on_the_length() {
        let counts = |text: &str| {
            let made = SearchKeys::new(text);
            (
                [made.keys.len(), made.seconds.len(), made.others.len()],
                [made.max_entries, made.max_seconds],
            )
        };
        assert_eq!(counts("hello"), ([1, 0, 0], [128, 2]));
        assert_eq!(counts("Ferries to the islands"), ([25, 24, 24], [128, 2]));
        assert_eq!(counts(LINE), ([25, 24, 0], [128, 2]));
        let long = format!("{LINE}, {REST}");
        assert_eq!(counts(&long[..150]), ([25, 24, 24], [32, 1]));
        assert_eq!(counts(&long), ([25, 24, 0], [32, 1]));
    }

    #[test]
    fn keys_by_the_other_length_meet_the_texts_of_that_length() {
        let long = SearchKeys::new(&format!("{LINE}, {}", &REST[..80]));
        let short = SearchKeys::new(&format!("{LINE}, {}", &REST[..54]));
        assert_eq!((long.max_entries, short.max_entries), (32, 128));
        for (query, entry) in [(&long, &short), (&short, &long)] {
            let common = query.others.iter().zip(&entry.keys);
            assert!(common.filter(|(a, b)| *a >> 27 == *b >> 27).count() >= 8);
        }
    }

    #[test]
    fn prepared_text_decides_as_a_search() {
        let text = Analysed::new(LINE);
        let likeness = Likeness::default();
        let verdict = |other: &str| {
            let found = text.search(other, &likeness);
            found.map(|(_, containment)| containment.verdict.name())
        };
        assert_eq!(verdict(&LINE.to_uppercase()), Some("same"));
        assert_eq!(verdict(&format!("{LINE} today in Bergen")), Some("a_in_b"));
        assert_eq!(verdict("MongoDB integration component for Plone"), None);
        assert_eq!(verdict(&LINE.replace("ferry", "bus")), None);
    }
}
