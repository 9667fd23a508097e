//! [`PreparedText`]: a text with everything that a search for it needs.

use std::fmt;
use std::sync::OnceLock;

use crate::analysis::{Minima, ShingleLength, wording_hash};
use crate::forest::ForestKeys;
use crate::measure::containment::{Containment, Prepared};
use crate::measure::decision::DecidingText;
use crate::measure::{Likeness, Resemblance, Wording};

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
    /// The minima over the shingles of the other length that near-duplicates may have, made by the first search.
    others: OnceLock<Box<Minima>>,
}

impl PreparedText {
    /// Prepares a text.
    pub fn new(text: &str) -> Self {
        let wording = Wording::new(ForestKeys::shared().normaliser(), text);
        let minima = || minima(&wording, ShingleLength::of(wording.characters()));
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

    /// The minima of a search, with the lengths of their shingles: the length for the text, and the other length that
    /// near-duplicates may have, unless no text has it.
    pub(super) fn all_minima(
        &self,
        are_there: impl Fn(ShingleLength) -> bool,
    ) -> impl Iterator<Item = (ShingleLength, &Minima)> {
        let characters = self.wording.characters();
        let own = ShingleLength::of(characters);
        let other = ShingleLength::other_of(characters).filter(|other| are_there(*other));
        let others = other.filter(|_| self.minima.is_some()).map(|other| {
            let minima = || minima(&self.wording, other);
            (other, &**self.others.get_or_init(minima))
        });
        let own = self.minima.iter().map(move |minima| (own, &**minima));
        own.chain(others)
    }
}

fn minima(wording: &Wording, length: ShingleLength) -> Box<Minima> {
    let minima = match length == ShingleLength::of_comparison(wording.characters()) {
        true => Minima::new(wording.shingles()),
        false => Minima::new(&length.count(wording.letters()).hashes),
    };
    Box::new(minima)
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
