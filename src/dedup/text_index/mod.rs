//! [`SimilarIndex`]: similar texts in memory.
//!
//! | file | responsibility |
//! |---|---|
//! | `slot_search` | the comparison of a text with the texts of one wording |
//! | `wordings` | the texts, each wording once; `arena` has their bytes |
//! | `postings` | the texts by their words, which select the texts that may cover a text |
//!
//! The forest in memory (`forest/memory`) selects the wordings that may be near-duplicates. In an
//! index [of containers](SimilarIndex::of_containers) of which no word may be lost, words select
//! them.

mod arena;
mod postings;
mod slot_search;
#[cfg(test)]
mod tests;
mod wordings;

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use crate::analysis::{Analysed, LengthClasses, Minima, ShingleLength};
use crate::error::Result;
use crate::forest::Reach;
use crate::forest::memory::{Forest, ForestQuery};
use crate::measure::containment::{Containment, Verdict};
use crate::measure::decision::{Decision, answer_order};
use crate::measure::{Likeness, Resemblance, SELECTED_TOGETHER, Verifier, itself};
use slot_search::{SlotSearch, StoredWords};
use wordings::Wordings;

pub(crate) use slot_search::Sought;

/// Texts that are prepared at a time by [`SimilarIndex::extend`].
const PREPARED_TEXTS: usize = 1 << 12;

/// Most texts of a join have at most 64 candidates, some of them found by several trees.
const FEW_CANDIDATES: usize = 64;

/// An index of texts in memory that finds the texts which are like a text. The texts are known by
/// their positions: 0 for the first, 1 for the next.
///
/// A match is decided as in a database made for [similar search](crate::Builder::similar): the
/// texts are alike by the [`Likeness`], and with [`Decision::Contained`] one of both contains the
/// other. Candidates come from an LSH forest, so a match can be missed: of real texts of one line,
/// a few of a thousand matches with a [score](Resemblance::score) below 0.75, and none above. With
/// [`Decision::Contained`] the forest has half of the trees, and misses three of a hundred matches,
/// nearly all with a low score; most texts that have a match have others too. Thresholds below the
/// thresholds of [`Likeness::default`] miss more matches. Every reported match is exact, and texts
/// with the same wording are always found.
///
/// No answer is cut off. A text with many near-duplicates has a long answer, and
/// [`visit`](Self::visit) can stop early.
///
/// # Cost
/// For a million texts of one line: 0.6 GB of memory, and a fraction of a millisecond for a search
/// of one of them. Copies of a text take four bytes each. With [`Decision::Contained`] each text
/// that is alike takes some microseconds more, so a search among thousands of texts of one template
/// takes some ten milliseconds.
///
/// # Examples
///
/// Texts that a text before them covers:
///
/// ```
/// use std::ops::ControlFlow;
/// use simdb::similarity::Likeness;
/// use simdb::in_memory::{PreparedText, SimilarIndex};
/// use simdb::Decision;
///
/// let texts = [
///     "The ferry to the islands was cancelled because of fog.",
///     "MongoDB integration component for Plone",
///     "the ferry to the islands was cancelled because of the fog, and buses were late",
///     "Memcached integration component for Plone",
///     "The ferry to the islands was canceled because of fog!",
/// ];
/// let mut index = SimilarIndex::new(Likeness::default(), Decision::Contained)?;
/// index.extend(&texts);
///
/// // The third text covers the first and more. The first text covers the last.
/// let mut covered = Vec::new();
/// for (position, text) in (0..).zip(texts) {
///     let text = PreparedText::new(text);
///     let found = index.visit(&text, 0..position, |earlier| {
///         match earlier.verdict().is_some_and(|verdict| verdict.is_a_in_b()) {
///             true => ControlFlow::Break(earlier.position),
///             false => ControlFlow::Continue(()),
///         }
///     });
///     covered.extend(found.break_value().map(|earlier| (position, earlier)));
/// }
/// assert_eq!(covered.len(), 1);
/// assert_eq!(covered[0].0, 4);
///
/// // All matches of a text, the best first. The third text is too long to be alike.
/// let answer = index.similar(&PreparedText::new("Ferries to islands was canceled because of fog"));
/// assert_eq!(answer.len(), 2);
/// # Ok::<(), simdb::Error>(())
/// ```
///
/// # Source
/// See [`similarity`](crate::similarity) and [`containment`](crate::containment) for the measures;
/// M. Bawa, T. Condie, P. Ganesan, *LSH Forest*, WWW 2005 (the candidates).
pub struct SimilarIndex {
    likeness: Likeness,
    decision: Decision,
    wordings: Wordings,
    /// `None` if the words of a text select the texts that are compared.
    forest: Option<Forest>,
}

/// A text of a [`SimilarIndex`] that is like the text of a search.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SimilarText {
    /// The position of the text in the index.
    pub position: u32,
    /// The resemblance of the two texts.
    pub resemblance: Resemblance,
    /// The verdict and the missing words: A is the text of the search, B the text of the index.
    /// `None` with [`Decision::Alike`].
    pub containment: Option<Box<Containment>>,
}

impl SimilarText {
    /// The verdict: A is the text of the search, B the text of the index. `None` with
    /// [`Decision::Alike`].
    pub fn verdict(&self) -> Option<Verdict> {
        self.containment.as_ref().map(|found| found.verdict)
    }

    fn order(&self, other: &Self) -> Ordering {
        let own = (&self.resemblance, self.verdict());
        answer_order(own, (&other.resemblance, other.verdict()))
            .then_with(|| self.position.cmp(&other.position))
    }
}

impl SimilarIndex {
    /// An empty index.
    ///
    /// # Errors
    /// [`Error::InvalidLikeness`](crate::Error::InvalidLikeness) for a threshold that is not from 0
    /// to 1.
    pub fn new(likeness: Likeness, decision: Decision) -> Result<Self> {
        likeness.check()?;
        Ok(Self {
            likeness,
            decision,
            wordings: Wordings::new(decision.compares_words(), false),
            forest: Some(Forest::new(reach(&likeness, decision))),
        })
    }

    /// An empty index for searches for the [containers](Sought::only_containers) of texts. If no
    /// word of a text may be lost, the words select the texts that are compared, and no match is
    /// missed.
    pub(crate) fn of_containers(likeness: Likeness, decision: Decision) -> Result<Self> {
        let index = Self::new(likeness, decision)?;
        if !decision.compares_words() || decision.weights().are_ends_free {
            return Ok(index);
        }
        Ok(Self {
            wordings: Wordings::new(true, true),
            forest: None,
            ..index
        })
    }

    /// Adds a text, and returns its position.
    ///
    /// # Panics
    /// After 2³² − 1 texts.
    pub fn push(&mut self, text: impl Into<Analysed>) -> u32 {
        let position = self.push_unsorted(&text.into());
        self.sort(Forest::sort_long_tail);
        position
    }

    /// Adds texts in order. Texts are prepared and sorted on all cores, which takes a fraction of
    /// the time of single pushes.
    ///
    /// # Panics
    /// After 2³² − 1 texts.
    pub fn extend<T: AsRef<str> + Sync>(&mut self, texts: &[T]) {
        for texts in texts.chunks(PREPARED_TEXTS) {
            let prepare = |text: &T| self.preparation().prepare(text.as_ref());
            let prepared: Vec<Analysed> = texts.par_iter().map(prepare).collect();
            for text in &prepared {
                self.push_unsorted(text);
            }
            self.sort(Forest::sort_very_long_tail);
        }
        self.sort(Forest::sort_long_tail);
    }

    fn sort(&mut self, sort: fn(&mut Forest)) {
        self.forest.as_mut().map(sort);
    }

    /// The facets that [`extend_prepared`](Self::extend_prepared) needs of each text.
    pub(crate) fn preparation(&self) -> Preparation {
        Preparation {
            has_minima: self.forest.is_some(),
            has_words: self.decision.compares_words(),
        }
    }

    /// Adds prepared texts in order.
    pub(crate) fn extend_prepared<'t>(&mut self, texts: impl Iterator<Item = &'t Analysed>) {
        for text in texts {
            self.push_unsorted(text);
        }
        self.sort(Forest::sort_long_tail);
    }

    fn push_unsorted(&mut self, text: &Analysed) -> u32 {
        let position = self.wordings.len() as u32;
        if self.wordings.push(text)
            && let Some(forest) = &mut self.forest
        {
            let minima = own_minima(text).map(|(_, minima)| minima);
            forest.push(minima, text.characters());
        }
        position
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.wordings.len()
    }

    /// Returns `true` if the index has no texts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of memory that the index holds. While it sorts, it takes up to twice as much.
    pub fn len_bytes(&self) -> usize {
        self.wordings.len_bytes() + self.forest.as_ref().map_or(0, Forest::len_bytes)
    }

    /// The most bytes of memory that the index takes while it sorts, or while a table grows.
    pub(crate) fn peak_bytes(&self) -> usize {
        2 * self.len_bytes() - self.wordings.arena_bytes()
    }

    /// All texts that are like a text, in the order of [`Similar`](crate::Similar), by position
    /// instead of by id.
    pub fn similar(&self, text: &Analysed) -> Vec<SimilarText> {
        let mut found = Vec::new();
        let everything = self.visit(text, 0..u32::MAX, |similar| {
            found.push(similar);
            ControlFlow::<()>::Continue(())
        });
        debug_assert!(everything.is_continue());
        found.sort_unstable_by(SimilarText::order);
        found
    }

    /// Calls `visitor` with each text at one of these positions that is like a text, until it
    /// breaks. Texts with the same wording come first, then texts with many common shingles.
    /// Returns the break.
    ///
    /// Threads may search at the same time.
    pub fn visit<B>(
        &self,
        text: &Analysed,
        positions: Range<u32>,
        visitor: impl FnMut(SimilarText) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let candidates = self.candidates(text, positions.end);
        let sought = Sought {
            positions,
            accepts: &|_| true,
            only_containers: false,
        };
        self.visit_candidates(text, candidates, &sought, visitor)
    }

    /// Visits like [`visit`](Self::visit) the texts that are sought, with candidates of
    /// [`candidates_of_all`](Self::candidates_of_all).
    pub(crate) fn visit_candidates<B>(
        &self,
        text: &Analysed,
        mut candidates: Vec<u32>,
        sought: &Sought<'_>,
        mut visitor: impl FnMut(SimilarText) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        // A load pushes most of the texts that it has searched on one thread. The searches, on all
        // cores, cut them into words.
        if self.decision.compares_words() {
            text.words();
        }
        let mut search = SlotSearch {
            index: self,
            text,
            sought,
            heavy_words: OnceCell::new(),
            own_words: OnceCell::new(),
            stored: StoredWords::default(),
            visitor: &mut visitor,
        };
        let own = self.wordings.slot_of(text);
        if let Some(slot) = own {
            search.visit(slot, || Some(itself(text)))?;
        }
        if candidates.is_empty() {
            return ControlFlow::Continue(());
        }
        let verifier = Verifier::new(text, &self.likeness);
        for slots in candidates.chunks_mut(SELECTED_TOGETHER) {
            let len = verifier.select(
                slots,
                |slot| self.wordings.header(slot),
                |slot| Some(slot) != own && search.is_sought(slot),
                |slot| self.wordings.packed(slot),
            );
            let len = search.select_covering(&mut slots[..len]);
            for slot in &slots[..len] {
                search.visit(*slot, || self.compare(*slot, &verifier))?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The slots that may be like a text and have a text before `end`, by the distance of their
    /// sketches.
    fn candidates(&self, text: &Analysed, end: u32) -> Vec<u32> {
        let Some(forest) = &self.forest else {
            return self.covering(text, end);
        };
        let mut found = Vec::new();
        for query in self.queries(forest, text, end) {
            forest.search(&query, &mut found);
        }
        // Two searches may find one slot.
        found.sort_unstable_by_key(|(distance, slot)| (*slot, *distance));
        found.dedup_by_key(|(_, slot)| *slot);
        found.sort_unstable();
        found.into_iter().map(|(_, slot)| slot).collect()
    }

    /// The searches of the forest for texts before `end` that are like a text: over its shingles,
    /// and over the shingles of the other length.
    fn queries<'t>(
        &self,
        forest: &Forest,
        text: &'t Analysed,
        end: u32,
    ) -> impl Iterator<Item = ForestQuery<'t>> {
        let (characters, has_cjk) = (text.characters(), text.has_cjk());
        let least = self.likeness.least();
        let classes = LengthClasses::of_near_duplicates(characters, has_cjk, least);
        let minima = search_minima(text, |length| forest.has(length));
        minima.map(move |(length, minima)| ForestQuery {
            minima,
            length,
            classes,
            max_sketch_distance: forest.reach().max_sketch_distance(characters),
            end: self.wordings.slots_before(end),
        })
    }

    /// The candidates of each text before an end, for [`visit_candidates`](Self::visit_candidates),
    /// in less time than single searches.
    pub(crate) fn candidates_of_all(&self, texts: &[(&Analysed, u32)]) -> Vec<Vec<u32>> {
        let Some(forest) = &self.forest else {
            let texts = texts.iter();
            return texts.map(|(text, end)| self.covering(text, *end)).collect();
        };
        let (mut queries, mut numbers) = (Vec::new(), Vec::new());
        for (number, (text, end)) in texts.iter().enumerate() {
            queries.extend(self.queries(forest, text, *end));
            numbers.resize(queries.len(), number);
        }
        let few = || Vec::with_capacity(FEW_CANDIDATES);
        let mut candidates: Vec<Vec<u32>> = std::iter::repeat_with(few).take(texts.len()).collect();
        forest.search_all(&queries, &mut |query, slot| {
            candidates[numbers[query as usize]].push(slot);
        });
        for slots in &mut candidates {
            slots.sort_unstable();
            slots.dedup();
        }
        candidates
    }

    /// The slots that may cover a text and have a text before `end`, ascending.
    fn covering(&self, text: &Analysed, end: u32) -> Vec<u32> {
        if !text.is_comparable() {
            return Vec::new();
        }
        let weights = self.decision.weights();
        self.wordings.covering(weights, text.words(), end)
    }

    /// The resemblance of a text and a wording; `None` unless they are alike.
    fn compare(&self, slot: u32, verifier: &Verifier<'_>) -> Option<Resemblance> {
        if let Some(packed) = self.wordings.packed(slot) {
            return verifier.compare(packed);
        }
        let stored = self.wordings.text(self.wordings.variants(slot).next()?);
        verifier.compare_text(&Analysed::lazy(stored))
    }
}

/// The facets of a text that an index keeps. Threads compute them while another thread adds texts
/// to the index.
#[derive(Clone, Copy)]
pub(crate) struct Preparation {
    has_minima: bool,
    has_words: bool,
}

impl Preparation {
    pub(crate) fn prepare(self, text: &str) -> Analysed {
        let text = match self.has_minima {
            true => Analysed::new(text),
            false => Analysed::lazy(text),
        };
        text.packed();
        if self.has_words {
            text.words();
        }
        text
    }
}

/// The minima of a text in the index; `None` for a text with too little content.
fn own_minima(text: &Analysed) -> Option<(ShingleLength, &Minima)> {
    let own = ShingleLength::of(text.characters());
    text.is_comparable().then(|| (own, text.minima(own)))
}

/// The minima of a search: over the shingles for the length of the text, and over the shingles of
/// the other length that near-duplicates may have, unless no text has it.
fn search_minima(
    text: &Analysed,
    are_there: impl Fn(ShingleLength) -> bool,
) -> impl Iterator<Item = (ShingleLength, &Minima)> {
    let other = ShingleLength::other_of(text.characters()).filter(|other| are_there(*other));
    let other = other.filter(|_| text.is_comparable());
    let other = other.map(|other| (other, text.minima(other)));
    own_minima(text).into_iter().chain(other)
}

/// The reach of searches with this decision.
fn reach(likeness: &Likeness, decision: Decision) -> Reach {
    let reach = match decision {
        Decision::Alike => Reach::ALIKE,
        Decision::Contained | Decision::News => Reach::CONTAINED,
    };
    let least = decision.join_likeness();
    let is_measured =
        likeness.edit_similarity >= least.edit_similarity && likeness.jaccard >= least.jaccard;
    match is_measured {
        true => reach,
        false => reach.of_any_sketch(),
    }
}

impl fmt::Debug for SimilarIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimilarIndex")
            .field("likeness", &self.likeness)
            .field("decision", &self.decision)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
