//! [`Sides`]: two texts side by side, and the rule by which one covers the other.

use std::cell::OnceCell;
use std::ops::Range;

use smol_str::SmolStr;

use crate::analysis::words::scanner::Break;
use crate::analysis::words::token::Token;
use crate::analysis::words::weights::Weights;
use crate::text::is_digits;

/// The most tokens of an item of an enumeration.
pub(super) const MAX_ITEM_TOKENS: usize = 3;

/// The fewest content words of a text that is cut short by an ellipsis.
pub(super) const MIN_TEASER_WORDS: usize = 12;

/// A sentence of more tokens is no enumeration.
const MAX_ENUMERATION_TOKENS: usize = 512;

/// Words that give the order of items a meaning.
#[rustfmt::skip]
const ORDERS: [&str; 16] = [
    "top", "sequence", "then", "followed", "left", "right", "左", "右", "respectively", "resp", "ranked",
    "分别", "依次", "顺序", "先后", "排名",
];

/// The state of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CoverState {
    /// The token has no counterpart.
    Open,
    /// The counterpart is the token at this position.
    At(usize),
    /// The counterpart is a token that is written as one with the tokens beside this one.
    Part,
}

/// The addition of a difference to a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Addition {
    /// A sentence without a fact.
    Plain,
    /// A headline, or facts around the body.
    Facts,
    /// Edited words of the body.
    Edit,
}

/// A difference that is forgiven.
#[derive(Debug, Clone)]
pub(super) struct Passage {
    pub tokens: Range<usize>,
    pub addition: Addition,
}

/// Two texts, side by side. Indexes of arrays of two are 0 for the first text, 1 for the second.
pub(super) struct Sides<'s> {
    pub(super) weights: &'s Weights,
    pub(super) tokens: [&'s [Token]; 2],
    pub(super) keys: &'s [Vec<u32>; 2],
    pub(super) states: [Vec<CoverState>; 2],
    pub(super) losses: [Vec<f64>; 2],
    /// The words of each text that turn a clause of the other text, or name another thing in it.
    pub(super) insertions: [Vec<usize>; 2],
    /// The passages of each text that are forgiven, ascending: see [`Weights::news`].
    pub(super) passages: [Vec<Passage>; 2],
    /// `true` if no sentence may stand elsewhere.
    pub(super) is_in_order: OnceCell<bool>,
    /// The starts of the sentences and lines of each text, and its end.
    bounds: [Vec<usize>; 2],
}

fn bounds_of_units(tokens: &[Token]) -> Vec<usize> {
    let starts = (0..tokens.len()).filter(|at| *at == 0 || tokens[*at].before.ends_unit());
    starts.chain([tokens.len()]).collect()
}

impl<'s> Sides<'s> {
    pub fn new(weights: &'s Weights, tokens: [&'s [Token]; 2], keys: &'s [Vec<u32>; 2]) -> Self {
        let mut sides = Self {
            weights,
            tokens,
            keys,
            states: tokens.map(|tokens| vec![CoverState::Open; tokens.len()]),
            losses: tokens.map(|tokens| vec![0.0; tokens.len()]),
            insertions: [Vec::new(), Vec::new()],
            passages: [Vec::new(), Vec::new()],
            is_in_order: OnceCell::new(),
            bounds: tokens.map(bounds_of_units),
        };
        sides.match_sentences();
        sides.align();
        sides.match_moved();
        sides.match_enumerations();
        sides.match_forgiven();
        sides.match_cut();
        for side in [0, 1] {
            sides.weigh_missing(side);
            sides.find_insertions(side);
            sides.weigh_scattered(side);
        }
        sides.weigh_moved_ends();
        sides.weigh_exchanged();
        if weights.are_ends_free {
            sides.forgive_ends();
        }
        sides
    }

    pub(super) fn match_pair(&mut self, places: [usize; 2]) {
        self.states[0][places[0]] = CoverState::At(places[1]);
        self.states[1][places[1]] = CoverState::At(places[0]);
    }

    pub(super) fn is_open(&self, side: usize, at: usize) -> bool {
        self.states[side][at] == CoverState::Open
    }

    pub(super) fn content(&self, side: usize, unit: &Range<usize>) -> impl Iterator<Item = usize> {
        let tokens = self.tokens[side];
        unit.clone().filter(move |at| !tokens[*at].is_light())
    }

    /// The sentences and lines of a text.
    pub(super) fn units(&self, side: usize) -> Vec<Range<usize>> {
        let bounds = self.bounds[side].windows(2);
        bounds.map(|pair| pair[0]..pair[1]).collect()
    }

    /// The sentence or line of a token.
    pub(super) fn sentence(&self, side: usize, at: usize) -> Range<usize> {
        let bounds = &self.bounds[side];
        let next = bounds.partition_point(|bound| *bound <= at);
        bounds[next - 1]..bounds[next]
    }

    /// The maximal runs of tokens without a counterpart.
    pub(super) fn runs(&self, side: usize) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in 0..self.tokens[side].len() {
            match runs.last_mut() {
                _ if !self.is_open(side, at) => {}
                Some(last) if last.end == at => last.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        runs
    }

    /// The run of the other text in the place of a run: between the counterparts of its neighbours.
    pub(super) fn opposite(&self, side: usize, run: &Range<usize>) -> Option<Range<usize>> {
        let (from, to) = self.neighbours(side, run);
        let start = match from {
            Some(at) => self.counterpart(side, at)? + 1,
            None => 0,
        };
        let end = match to {
            Some(at) => self.counterpart(side, at)?,
            None => self.tokens[1 - side].len(),
        };
        let is_run = start <= end && (start..end).all(|at| self.is_open(1 - side, at));
        is_run.then_some(start..end)
    }

    pub(super) fn neighbours(
        &self,
        side: usize,
        run: &Range<usize>,
    ) -> (Option<usize>, Option<usize>) {
        let to = Some(run.end).filter(|at| *at < self.tokens[side].len());
        (run.start.checked_sub(1), to)
    }

    pub(super) fn counterpart(&self, side: usize, at: usize) -> Option<usize> {
        match self.states[side][at] {
            CoverState::At(place) => Some(place),
            _ => None,
        }
    }

    /// Returns `true` if a text has content, and the other text has all of it.
    pub fn is_covered(&self, side: usize) -> bool {
        let matched = (0..self.tokens[side].len())
            .any(|at| !self.is_open(side, at) && !self.tokens[side][at].is_light());
        let is_whole = !self.tokens[side].is_empty() && self.keys[0] == self.keys[1];
        let is_lossless = self.losses[side].iter().all(|loss| *loss == 0.0);
        is_lossless && self.insertions[1 - side].is_empty() && (matched || is_whole)
    }

    /// Returns `true` if a headline, facts around the body, or edited words are forgiven.
    pub fn has_other_facts(&self) -> bool {
        let mut passages = self.passages.iter().flatten();
        passages.any(|passage| passage.addition != Addition::Plain)
    }

    /// The share of the words of the shorter text that the other text has too.
    pub fn common_share(&self) -> f64 {
        let shares = [0, 1].map(|side| {
            let states = &self.states[side];
            let matched = states
                .iter()
                .filter(|state| **state != CoverState::Open)
                .count();
            matched as f64 / states.len().max(1) as f64
        });
        shares[0].max(shares[1])
    }
}

/// Returns `true` for tokens that begin with one of some words, of one token or of two characters.
pub(super) fn begins_with_any(tokens: &[Token], words: &[&str]) -> bool {
    let characters = || tokens.iter().take(2).map(|token| &*token.text);
    let is_listed = |word: &str| words.contains(&word);
    tokens.first().is_some_and(|first| {
        is_listed(&first.text) || first.is_cjk() && is_listed(&characters().collect::<SmolStr>())
    })
}

pub(super) fn is_conjunction(token: &Token) -> bool {
    matches!(&*token.key, "and" | "or" | "和" | "或")
}

/// Returns `true` for a sentence with items whose order carries no sense: "cats, dogs and birds".
/// The order counts if the sentence has another list, or names the order: 从高到低, "top three".
pub(super) fn is_enumeration(sentence: &[Token]) -> bool {
    // A sentence is looked at once for each of its tokens.
    if sentence.len() > MAX_ENUMERATION_TOKENS {
        return false;
    }
    let is_break = |at: &usize| sentence[*at].before == Break::Clause;
    let mut breaks = (1..sentence.len()).filter(is_break);
    let (Some(first), Some(conjunction)) =
        (breaks.next(), sentence.iter().rposition(is_conjunction))
    else {
        return false;
    };
    // Between the first comma and the conjunction are items alone, and no list is behind it.
    let mut start = first;
    for end in breaks.chain([conjunction]) {
        let is_item = start <= end && end <= conjunction && end - start <= MAX_ITEM_TOKENS;
        if !is_item || sentence[start..end].iter().any(is_conjunction) {
            return false;
        }
        start = end;
    }
    let has = |word: &str| sentence.iter().any(|token| token.text == word);
    let is_range = has("from") && has("to") || has("从") && has("到");
    let is_order = |token: &Token| ORDERS.contains(&&*token.text);
    let is_ordered = |pair: &[Token]| {
        pair[1].text == "order" && pair[0].text != "in"
            || pair[0].text == "calls" && pair[1].text == "at"
            || pair[0].text == "前" && is_digits(&pair[1].key)
    };
    // A sequence of events: "He apologised, resigned and was charged."
    let is_event = |token: &Token| token.is_english && token.text.ends_with("ed");
    !is_range
        && !sentence.iter().any(is_order)
        && !sentence.windows(2).any(is_ordered)
        && !sentence[first..].iter().any(is_event)
}

/// The content words of tokens, times two: a CJK character counts as half a word.
pub(super) fn half_words(tokens: &[Token]) -> usize {
    let content = tokens.iter().filter(|token| !token.is_light());
    content.map(Token::half_words).sum()
}
