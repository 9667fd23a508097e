//! [`Alignment`]: two texts word by word, for a picture of their differences.

use std::ops::Range;

use super::{Containment, Weights, with_sides};
use crate::analysis::words::Words;
use crate::text::Normaliser;

/// The words of two texts side by side, and the decision about the texts.
///
/// # Examples
///
/// ```
/// use simdb::Normaliser;
/// use simdb::containment::{Alignment, Weights};
///
/// let alignment = Alignment::new(
///     &Normaliser::new(),
///     Weights::builtin(),
///     "the MongoDB component",
///     "components of Memcached",
/// );
/// let [the, mongodb, component] = &alignment.a[..] else { panic!() };
/// assert_eq!((the.weight, the.counterpart), (0.0, None));
/// assert!(mongodb.weight > 4.0);
/// assert_eq!(component.counterpart, Some(0));
/// assert_eq!(component.range, 12..21);
/// assert_eq!(alignment.b[0].word, "components");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Alignment {
    /// The decision, and the missing words of both texts.
    pub containment: Containment,
    /// The words of the first text, in text order.
    pub a: Vec<AlignedWord>,
    /// The words of the second text, in text order.
    pub b: Vec<AlignedWord>,
}

/// A word of one of two texts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AlignedWord {
    /// The word as it is in the normalised text.
    pub word: String,
    /// The weight in nats; 0 if the other text has the word, or may lack it.
    pub weight: f64,
    /// The index of the word of the other text that is equal; `None` for missing words, and for
    /// words that the other text writes in several words.
    pub counterpart: Option<usize>,
    /// The bytes of the word in the text. The words of a price or a date may be in another order
    /// than their bytes.
    /// The later words of a date have no bytes of their own: their range is empty, at its end.
    pub range: Range<usize>,
}

impl Alignment {
    /// Aligns two texts.
    ///
    /// # Cost
    /// The cost of [`Containment::new`].
    pub fn new(normaliser: &Normaliser, weights: &Weights, a: &str, b: &str) -> Self {
        let [a, b] = [a, b].map(|text| Words::new(normaliser, text));
        Self::between(weights, &a, &b)
    }

    /// Aligns two prepared texts.
    pub(crate) fn between(weights: &Weights, a: &Words, b: &Words) -> Self {
        let ranges = [&a.ranges[..], &b.ranges[..]];
        with_sides(weights, a, b, |[a, b], sides| Self {
            containment: Containment::of([a, b], sides),
            a: sides.words(a, ranges[0]),
            b: sides.words(b, ranges[1]),
        })
    }
}
