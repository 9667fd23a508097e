//! [`Analysed`]: a text and everything that is known about it.

use std::fmt;
use std::sync::OnceLock;

use super::minima::{CountedMinima, Minima};
use super::packed::{PackedWording, pack};
use super::phrases::phrases;
use super::shingle_length::ShingleLength;
use super::sketch::Sketch;
use super::wording_hash;
use super::words::weights::Weights;
use super::words::{Roots, Words};
use crate::feature::{MIN_SHINGLES, is_repetitive};
use crate::record::Record;
use crate::text::{Normaliser, is_cjk, is_informative};

/// Bounds of repetitive texts: fewer distinct shingles of characters than the first number, which
/// occur on average at least as often as the second number. Repetitive texts resemble each other by
/// chance: two random rows of the letters x and o have an edit similarity of 0.71.
///
/// Above 100 distinct shingles there is no bound, because in languages with few syllables each
/// shingle occurs up to five times in prose of a few thousand letters.
const REPETITIVE_SHINGLES: [(usize, u64); 2] = [(32, 2), (100, 4)];

/// The bounds of [`REPETITIVE_SHINGLES`] for phrases. Two long tables over few words have all
/// phrases in common: there are only 1,000 phrases of three digits. Prose of no language has so few
/// phrases that occur twice on average.
const REPETITIVE_PHRASES: [(usize, u64); 2] = [(32, 2), (1024, 4)];

/// A text prepared for a [`SimilarIndex`](crate::in_memory::SimilarIndex) or for
/// [`search`](Self::search): normalised, and cut into shingles and phrases.
///
/// Threads can prepare texts before one of them pushes the texts in order.
///
/// # Cost
/// Some 20 µs for a line of text, and linear in its length. Memory: about 3 KiB, and twenty to
/// thirty times the text, until the text is pushed.
// Every facet is computed by its first use and kept. The facets that a stored text keeps are beside
// the box of the others, so a stored text takes little memory: see `stored`.
#[derive(Clone, Default)]
pub struct Analysed {
    /// The text, for a text to be stored with the key and the fields of its document.
    record: Record,
    /// The keys in a stored forest, ascending.
    keys: OnceLock<Box<[u64]>>,
    sketch: OnceLock<Option<Sketch>>,
    packed: OnceLock<Option<Box<[u8]>>>,
    facets: OnceLock<Box<Facets>>,
}

/// The facets that only a comparison needs.
#[derive(Clone, Debug, Default)]
struct Facets {
    letters: OnceLock<Letters>,
    sentences: OnceLock<String>,
    shingles: OnceLock<Shingles>,
    sorted_shingles: OnceLock<Vec<u64>>,
    phrases: OnceLock<Vec<u64>>,
    distinct_phrases: OnceLock<Vec<u64>>,
    is_informative: OnceLock<bool>,
    is_comparable: OnceLock<bool>,
    /// By [`ShingleLength`].
    minima: [OnceLock<Box<CountedMinima>>; ShingleLength::ALL.len()],
    words: OnceLock<Box<Words>>,
    roots: OnceLock<Box<Roots>>,
}

#[derive(Clone, Debug)]
struct Letters {
    letters: String,
    characters: usize,
}

/// The shingles of the length for comparisons.
#[derive(Clone, Debug)]
struct Shingles {
    /// The hashes of the distinct shingles.
    distinct: Vec<u64>,
    /// The number of shingles, repetitions included.
    total: u64,
}

impl Analysed {
    /// Prepares a text.
    pub fn new(text: &str) -> Self {
        let analysed = Self::lazy(text);
        if analysed.is_comparable() {
            analysed.minima(ShingleLength::of(analysed.characters()));
        }
        analysed
    }

    /// A text without a facet.
    pub(crate) fn lazy(text: impl Into<Record>) -> Self {
        Self {
            facets: OnceLock::from(Box::default()),
            ..Self::unkeyed(text)
        }
    }

    /// A text whose letters and sentences are made by a normaliser.
    pub(crate) fn normalised(normaliser: &Normaliser, text: &str) -> Self {
        let facets = Facets {
            letters: Letters::new(normaliser.letters(text)).into(),
            sentences: normaliser.sentences(text).into(),
            ..Facets::default()
        };
        Self {
            facets: OnceLock::from(Box::new(facets)),
            ..Self::unkeyed(text)
        }
    }

    /// A text that keeps no facet except the packed wording. Its forest keys are made by the first
    /// use.
    pub(crate) fn unkeyed(text: impl Into<Record>) -> Self {
        Self {
            record: text.into(),
            ..Self::default()
        }
    }

    /// A text to be stored under these keys, ascending and distinct.
    pub(crate) fn with_keys(text: impl Into<Record>, keys: Vec<u64>) -> Self {
        // A text under no other key than the key of its wording has no minima.
        let sketch = match keys.len() {
            ..=1 => OnceLock::from(None),
            _ => OnceLock::new(),
        };
        Self {
            keys: keys.into_boxed_slice().into(),
            sketch,
            ..Self::unkeyed(text)
        }
    }

    /// The text of [`checked`](PackedWording::checked) bytes: its normalised letters.
    pub(crate) fn unpack(packed: PackedWording<'_>) -> Self {
        let letters = String::from_utf8_lossy(packed.letters()).into_owned();
        let text = Record::from(letters.as_str());
        let facets = Facets {
            letters: Letters::new(letters).into(),
            distinct_phrases: packed.phrases().collect::<Vec<_>>().into(),
            is_comparable: packed.is_comparable().into(),
            ..Facets::default()
        };
        Self {
            record: text,
            facets: OnceLock::from(Box::new(facets)),
            ..Self::default()
        }
    }

    /// A record of the text, with the facets that a stored text keeps: forest keys, sketch and
    /// packed wording, if they are made.
    pub(crate) fn stored(&self, record: Record) -> Self {
        Self {
            record,
            keys: self.keys.clone(),
            sketch: self.sketch.clone(),
            packed: self.packed.clone(),
            facets: OnceLock::new(),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.record.text()
    }

    /// The text with the key and the fields of its document.
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    fn facets(&self) -> &Facets {
        self.facets.get_or_init(Box::default)
    }

    /// Computes a facet that a stored text keeps.
    fn keep<T>(&self, facet: impl FnOnce(&Self) -> T) -> T {
        match self.facets.get() {
            Some(_) => facet(self),
            // The other facets take thirty times the memory of the text, so a stored text drops
            // them.
            None => facet(&Self::lazy(self.text())),
        }
    }

    /// The normalised letters and digits.
    pub(crate) fn letters(&self) -> &str {
        &self.counted_letters().letters
    }

    /// The number of characters of the letters.
    pub(crate) fn characters(&self) -> usize {
        self.counted_letters().characters
    }

    fn counted_letters(&self) -> &Letters {
        let letters = || Letters::new(Normaliser::shared().letters(self.text()));
        self.facets().letters.get_or_init(letters)
    }

    /// Returns `true` if the text has CJK characters.
    pub(crate) fn has_cjk(&self) -> bool {
        self.letters().contains(is_cjk)
    }

    /// Returns `true` if the text is long: a comparison begins with a test of its shingles.
    pub(crate) fn is_long(&self) -> bool {
        ShingleLength::of(self.characters()) == ShingleLength::Five
    }

    /// The hash of the letters, or of the text if it has no letters.
    pub(crate) fn wording_hash(&self) -> u64 {
        wording_hash(self.text(), self.letters())
    }

    /// Returns `true` if both texts have the same wording: the same letters, or no letters and the
    /// same text.
    pub(crate) fn has_wording_of(&self, other: &Self) -> bool {
        self.letters() == other.letters()
            && (!self.letters().is_empty() || self.text() == other.text())
    }

    /// The normalised text with separators.
    pub(crate) fn sentences(&self) -> &str {
        let sentences = || Normaliser::shared().sentences(self.text());
        self.facets().sentences.get_or_init(sentences)
    }

    fn counted_shingles(&self) -> &Shingles {
        self.facets().shingles.get_or_init(|| {
            let length = ShingleLength::of_comparison(self.characters());
            let counts = length.count(self.letters());
            Shingles {
                distinct: counts.hashes,
                total: counts.total,
            }
        })
    }

    /// The hashes of the distinct shingles of characters, of the length for
    /// [comparisons](ShingleLength::of_comparison).
    pub(crate) fn shingles(&self) -> &[u64] {
        &self.counted_shingles().distinct
    }

    /// The [shingles](Self::shingles), ascending.
    pub(crate) fn sorted_shingles(&self) -> &[u64] {
        self.facets().sorted_shingles.get_or_init(|| {
            let mut shingles = self.shingles().to_vec();
            shingles.sort_unstable();
            shingles
        })
    }

    /// The hashes of the phrases, in text order.
    pub(crate) fn phrases(&self) -> &[u64] {
        let phrases = || phrases(self.sentences());
        self.facets().phrases.get_or_init(phrases)
    }

    /// The hashes of the distinct phrases, ascending.
    pub(crate) fn distinct_phrases(&self) -> &[u64] {
        self.facets().distinct_phrases.get_or_init(|| {
            let mut phrases = self.phrases().to_vec();
            phrases.sort_unstable();
            phrases.dedup();
            phrases
        })
    }

    /// Returns `true` if the text is more than numbers, or than a single word and its repetitions.
    fn is_informative(&self) -> bool {
        let is_informative = || is_informative(self.text(), self.letters(), || self.sentences());
        *self.facets().is_informative.get_or_init(is_informative)
    }

    /// Returns `true` if the text has enough content to be compared by its parts.
    pub(crate) fn is_comparable(&self) -> bool {
        *self.facets().is_comparable.get_or_init(|| {
            let (shingles, distinct) = (self.counted_shingles(), self.distinct_phrases());
            let phrases = self.phrases().len() as u64;
            shingles.distinct.len() >= MIN_SHINGLES
                && !is_repetitive(
                    shingles.distinct.len(),
                    shingles.total,
                    &REPETITIVE_SHINGLES,
                )
                && !is_repetitive(distinct.len(), phrases, &REPETITIVE_PHRASES)
                && self.is_informative()
        })
    }

    /// The minima over the shingles of a length.
    pub(crate) fn minima(&self, length: ShingleLength) -> &Minima {
        &self.counted_minima(length).minima
    }

    fn counted_minima(&self, length: ShingleLength) -> &CountedMinima {
        self.facets().minima[length as usize].get_or_init(|| {
            let is_counted = length == ShingleLength::of_comparison(self.characters());
            let minima = match CountedMinima::fits(self.letters()) && is_counted {
                true => CountedMinima::of_shingles(self.shingles()),
                false => CountedMinima::of_letters(self.letters(), length),
            };
            Box::new(minima)
        })
    }

    /// The minima by which a stored forest knows the text: over the shingles for its length, and
    /// over the shingles of the other length that near-duplicates may have. `None` for too little
    /// content, for no other length, and for other minima that equal the first.
    pub(crate) fn forest_minima(&self) -> [Option<&Minima>; 2] {
        let own = self.own_forest_minima();
        let other = ShingleLength::other_of(self.characters());
        let other = other.and_then(|other| self.forest_minima_of(other));
        // A text of CJK characters only has the same shingles of each length.
        [own, other.filter(|other| own != Some(other))]
    }

    /// The first of [`forest_minima`](Self::forest_minima): the text is stored by them.
    pub(crate) fn own_forest_minima(&self) -> Option<&Minima> {
        self.forest_minima_of(ShingleLength::of(self.characters()))
    }

    fn forest_minima_of(&self, length: ShingleLength) -> Option<&Minima> {
        let counted = || self.counted_minima(length);
        let counted = self.is_informative().then(counted)?;
        (counted.most_distinct >= MIN_SHINGLES).then_some(&counted.minima)
    }

    /// The sketch of a stored text; `None` for a text with too little content.
    pub(crate) fn sketch(&self) -> Option<Sketch> {
        let sketch = |text: &Self| text.own_forest_minima().map(Minima::sketch);
        *self.sketch.get_or_init(|| self.keep(sketch))
    }

    /// The stored text with other keys, ascending too.
    pub(crate) fn map_keys(self, map: impl Fn(u64) -> u64) -> Self {
        let keys = self.keys.get().into_iter().flatten().copied().map(map);
        Self {
            keys: OnceLock::from(keys.collect::<Box<[u64]>>()),
            ..self
        }
    }

    /// The keys of a stored text, ascending; `make` computes them at the first use.
    pub(crate) fn keys_by(&self, make: impl FnOnce(&Self) -> Vec<u64>) -> &[u64] {
        let make = || self.keep(make).into_boxed_slice();
        self.keys.get_or_init(make)
    }

    /// The packed wording; `None` for a text without letters and digits, or with more than 65,535
    /// bytes of them.
    pub(crate) fn packed(&self) -> Option<PackedWording<'_>> {
        let pack = |text: &Self| {
            let phrases = text.distinct_phrases();
            pack(
                text.letters(),
                text.characters(),
                phrases,
                text.is_comparable(),
            )
        };
        let packed = self.packed.get_or_init(|| self.keep(pack));
        PackedWording::new(packed.as_deref()?)
    }

    /// The bytes of the packed wording; none if it is not made.
    pub(crate) fn packed_bytes(&self) -> &[u8] {
        let packed = self.packed.get().and_then(Option::as_deref);
        packed.unwrap_or_default()
    }

    /// The words of the text.
    pub(crate) fn words(&self) -> &Words {
        let words = || Box::new(Words::new(Normaliser::shared(), self.text()));
        self.facets().words.get_or_init(words)
    }

    /// The roots of the words, with the built-in weights.
    pub(crate) fn roots(&self) -> &Roots {
        let roots = || Box::new(Roots::new(self.words(), Weights::builtin()));
        self.facets().roots.get_or_init(roots)
    }

    /// Bytes of memory for the text and the facets of a new [`TextQuery`](crate::TextQuery). The
    /// words are not counted: they are cut when a query runs.
    pub(crate) fn len_bytes(&self) -> usize {
        let facets = self.facets();
        let minima = facets.minima.iter().filter(|minima| minima.get().is_some());
        let shingles = facets
            .shingles
            .get()
            .map_or(0, |shingles| shingles.distinct.len());
        let phrases = facets.phrases.get().map_or(0, |phrases| 2 * phrases.len());
        // The letters and the sentences take as much as the text.
        3 * self.text().len()
            + size_of::<u64>() * (shingles + phrases)
            + size_of::<CountedMinima>() * minima.count()
    }
}

impl Letters {
    fn new(letters: String) -> Self {
        Self {
            characters: letters.chars().count(),
            letters,
        }
    }
}

/// The forest keys, the sketch and the packed wording follow from the text.
impl PartialEq for Analysed {
    fn eq(&self, other: &Self) -> bool {
        self.record == other.record
    }
}

impl Eq for Analysed {}

impl From<&str> for Analysed {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Analysed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedText")
            .field("text", &self.text())
            .finish_non_exhaustive()
    }
}
