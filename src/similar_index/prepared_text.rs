//! [`PreparedText`]: a text with everything that a search for it needs.

use std::fmt;
use std::sync::OnceLock;

use crate::containment::{Containment, Prepared};
use crate::decision::DecidingText;
use crate::minhash::{
    ForestKeys, Minima, is_long, shingle_hashes, shingles_of_query, wording_hash,
};
use crate::similarity::{Likeness, Resemblance, Wording};

/// A text prepared for a [`SimilarIndex`](crate::SimilarIndex): normalised, and cut into shingles and
/// phrases.
///
/// Threads can prepare texts before one of them pushes the texts in order.
///
/// # Cost
/// Some 20 µs for a line of text, and linear in its length. Memory: about 3 KiB, and twenty to thirty
/// times the text, until the text is pushed.
#[derive(Clone)]
pub struct PreparedText {
    pub(super) text: DecidingText,
    pub(super) wording: Wording,
    /// The hash of the wording.
    pub(super) key: u64,
    /// `None` for a text with too little content.
    pub(super) minima: Option<Box<Minima>>,
    /// The minima over shingles of the other length, made by the first search; `None` if no
    /// near-duplicate has such shingles.
    others: OnceLock<Option<Box<Minima>>>,
}

impl PreparedText {
    /// Prepares a text.
    pub fn new(text: &str) -> Self {
        let wording = Wording::new(ForestKeys::shared().normaliser(), text);
        let minima = || Box::new(Minima::new(wording.shingles()));
        Self {
            text: DecidingText::new(text),
            key: wording_hash(text, wording.letters()),
            minima: wording.is_informative().then(minima),
            wording,
            others: OnceLock::new(),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.text.text()
    }

    /// The decision of a search for this text about another text: their resemblance and their containment, where
    /// A is this text; `None` if the texts are not alike, or neither contains the other.
    ///
    /// # Cost
    /// Some 10 µs for lines of text that are not alike.
    pub fn search(&self, other: &str, likeness: &Likeness) -> Option<(Resemblance, Containment)> {
        let normaliser = ForestKeys::shared().normaliser();
        let resemblance = self.wording.compare(normaliser, other, likeness)?;
        Some((resemblance, self.text.removable(normaliser, other)?))
    }

    /// The text, with its words once they are cut.
    pub(crate) fn deciding(&self) -> &DecidingText {
        &self.text
    }

    /// The words of the text, which the first call cuts.
    pub(super) fn words(&self) -> &Prepared<'static> {
        self.text.words(ForestKeys::shared().normaliser())
    }

    /// The minima of a search: over the shingles of the text, and over shingles of the other length if
    /// near-duplicates may have such shingles. The flag is `true` for the shingles of long texts, which `are_there`
    /// refuses if no text has them.
    pub(super) fn all_minima(
        &self,
        are_there: impl Fn(bool) -> bool,
    ) -> impl Iterator<Item = (bool, &Minima)> {
        let is_long = is_long(self.wording.characters());
        let others = || {
            self.minima.as_ref()?;
            let (short, long) = shingles_of_query(self.wording.characters());
            let others = || Minima::new(&shingle_hashes(self.wording.letters(), !is_long));
            (short && long).then(|| Box::new(others()))
        };
        let others = are_there(!is_long).then(|| self.others.get_or_init(others));
        let others = others.into_iter().flatten();
        let own = self.minima.iter().map(move |own| (is_long, &**own));
        own.chain(others.map(move |others| (!is_long, &**others)))
    }
}

impl From<&str> for PreparedText {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for PreparedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedText")
            .field("text", &self.text())
            .finish_non_exhaustive()
    }
}
