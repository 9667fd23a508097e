//! The decision about a text that is alike: the thresholds decide, or the words that would be lost.

use std::cmp::Ordering;

use super::containment::{Containment, Verdict, Weights};
use super::{Likeness, Resemblance, compare};
use crate::analysis::Analysed;

/// The measure that decides about two texts which [`Likeness`] calls alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Decision {
    /// The words that a text would lose: see [`containment`](crate::containment). Texts of one
    /// template that differ in a name are alike, and neither contains the other.
    #[default]
    Contained,
    /// The words that a text would lose from its body. Copies of a report have another headline, a
    /// lead-in, a line of the editor, an advertisement: see [`Weights::news`], and what it costs.
    News,
    /// The thresholds alone.
    Alike,
}

impl Decision {
    /// The weights of the words of two texts: the built-in weights, unless news decides.
    pub fn weights(self) -> &'static Weights {
        match self {
            Self::News => Weights::news(),
            Self::Contained | Self::Alike => Weights::builtin(),
        }
    }

    /// Returns `true` if words decide about texts that are alike.
    pub(crate) fn compares_words(self) -> bool {
        self != Self::Alike
    }

    /// The least likeness of two texts that a [`SimilarJoin`](crate::join::SimilarJoin) compares,
    /// unless it is given: [`Likeness::default`] where thresholds decide alone, and less where the
    /// words decide.
    ///
    /// The shorter of two texts may have half of the words of the longer text, and be contained in
    /// it.
    pub fn join_likeness(self) -> Likeness {
        match self {
            Self::Contained | Self::News => Likeness {
                edit_similarity: 0.5,
                jaccard: 0.4,
            },
            Self::Alike => Likeness::default(),
        }
    }
}

/// The treatment of stored documents whose texts are contained in a new document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum OnExtended {
    /// The stored documents stay.
    #[default]
    KeepBoth,
    /// The change that stores the new document removes the stored documents.
    Replace,
}

/// The rule by which [`Change::InsertUnlessSimilar`](crate::Change::InsertUnlessSimilar) stores a
/// document or not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SimilarRule {
    /// The measure that decides about texts which are alike.
    pub decision: Decision,
    /// The least likeness of texts that are alike.
    pub likeness: Likeness,
    /// The treatment of stored documents that are contained in the new document. Not used with
    /// [`Decision::Alike`].
    pub on_extended: OnExtended,
}

/// The treatment of a new document with a similar text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The new document is not stored.
    Refuse,
    /// The new document is stored, and the other documents stay.
    KeepBoth,
    /// The new document is stored, and the documents that it covers are removed.
    Replace,
}

impl SimilarRule {
    /// Decides about a new document by the verdict about the first document of its answer, in the
    /// order of [`Similar`](crate::Similar): A is the new text. Covered texts come last in this
    /// order, so the new text covers all others if it covers the first.
    pub(crate) fn resolve(&self, first: Option<Verdict>) -> Resolution {
        match (first, self.on_extended) {
            (Some(Verdict::BInA), OnExtended::KeepBoth) => Resolution::KeepBoth,
            (Some(Verdict::BInA), OnExtended::Replace) => Resolution::Replace,
            _ => Resolution::Refuse,
        }
    }
}

impl Analysed {
    /// The containment of this text, A, and another text, B; `None` if neither covers the other, or
    /// thresholds decide.
    pub(crate) fn removable(&self, other: &Self, decision: Decision) -> Option<Containment> {
        if !decision.compares_words() {
            return None;
        }
        Containment::of_removable(decision.weights(), self.words(), other.words())
    }

    /// The decision of a search for this text about another text: their resemblance and their
    /// containment, where A is this text; `None` if the texts are not alike, or neither contains
    /// the other.
    ///
    /// # Cost
    /// Some 10 µs for lines of text that are not alike.
    pub fn search(&self, other: &str, likeness: &Likeness) -> Option<(Resemblance, Containment)> {
        let other = Self::lazy(other);
        let resemblance = compare(self, &other, likeness)?;
        Some((resemblance, self.removable(&other, Decision::Contained)?))
    }
}

/// The order of two answers to a query, each with its resemblance and its verdict, where A is the
/// text of the query: see [`Similar`](crate::Similar).
pub(crate) fn answer_order(
    (one, one_verdict): (&Resemblance, Option<Verdict>),
    (other, other_verdict): (&Resemblance, Option<Verdict>),
) -> Ordering {
    let is_extended = |verdict| verdict == Some(Verdict::BInA);
    (is_extended(one_verdict).cmp(&is_extended(other_verdict)))
        .then_with(|| other.same_wording.cmp(&one.same_wording))
        .then_with(|| one_verdict.cmp(&other_verdict))
        .then_with(|| other.score().total_cmp(&one.score()))
}
