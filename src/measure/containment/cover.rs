//! The matched and the missing tokens of two texts.
//!
//! A token is matched by an equal token in text order. Whole sentences, lines and list items may
//! stand elsewhere. What is left over is missing, exchanged or inserted.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::align::align;
use super::forgive::{MAX_GLUED, forgiven, is_glued};
use super::{AlignedWord, Equality, Forgiven, MIN_REPLACED, Missing};
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::analysis::words::scanner::Break;
use crate::analysis::words::tokens::Token;
use crate::analysis::words::weights::Weights;

/// An insertion of at most three content words into a clause names another thing: "queue" and
/// "priority queue". A longer insertion adds a fact.
const MAX_QUALIFIER_WORDS: usize = 3;

/// A moved sentence is compared with at most 16 sentences that begin with the same word.
const MAX_COMPARED_UNITS: usize = 16;

/// The fewest content words of a list item that may stand elsewhere. In "Ana, cook, Ben, pilot" the
/// single words have their meaning by their order.
const MIN_ITEM_WORDS: usize = 2;

/// The fewest words of a sentence or line that is looked up wherever it stands. Shorter ones, such
/// as answers and rows of numbers, have their meaning by their place.
const MIN_MOVED_WORDS: usize = 3;

/// A clause with more tokens between two of its words is no clause of the other text.
const MAX_INSERTED_TOKENS: usize = 16;

/// The most tokens of an item of an enumeration.
const MAX_ITEM_TOKENS: usize = 3;

/// A light word that the other text has at most six tokens away stands in another order.
const DISPLACED: usize = 6;

/// The fewest content words of a sentence. A shorter clause is taken for a title.
const MIN_SENTENCE_WORDS: usize = 5;

/// The state of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// The token has no counterpart.
    Open,
    /// The counterpart is the token at this position.
    At(usize),
    /// The counterpart is a token that is written as one with the tokens beside this one.
    Part,
}

/// Two texts, side by side. Indexes of arrays of two are 0 for the first text, 1 for the second.
pub(super) struct Sides<'s, 't> {
    weights: &'s Weights,
    tokens: [&'s [Token<'t>]; 2],
    keys: &'s [Vec<u32>; 2],
    states: [Vec<State>; 2],
    losses: [Vec<f64>; 2],
    /// `true` for a text with a clause into which the other text inserts words that turn the clause
    /// or name another thing.
    altered: [bool; 2],
}

impl<'s, 't> Sides<'s, 't> {
    pub fn new(
        weights: &'s Weights,
        tokens: [&'s [Token<'t>]; 2],
        keys: &'s [Vec<u32>; 2],
    ) -> Self {
        let mut sides = Self {
            weights,
            tokens,
            keys,
            states: tokens.map(|tokens| vec![State::Open; tokens.len()]),
            losses: tokens.map(|tokens| vec![0.0; tokens.len()]),
            altered: [false; 2],
        };
        sides.match_sentences();
        sides.align();
        sides.match_moved(Break::Sentence);
        sides.match_moved(Break::Clause);
        sides.match_enumerations();
        sides.match_forgiven();
        for side in [0, 1] {
            sides.weigh_missing(side);
            sides.find_insertions(side);
            sides.weigh_scattered(side);
        }
        sides
    }

    /// Matches equal sentences, wherever they stand.
    ///
    /// An alignment of both texts would match the words of a moved sentence with equal words
    /// elsewhere.
    fn match_sentences(&mut self) {
        let mut others: HashMap<Vec<u32>, Vec<Range<usize>>, FixedState> = HashMap::default();
        let units = [0, 1].map(|side| self.units(side, Break::Sentence));
        // Texts of one sentence, and most texts of one line, have nothing to move.
        if units[0].len().min(units[1].len()) < 2 {
            return;
        }
        for unit in units[1].iter().rev() {
            let keys = self.keys[1][unit.clone()].to_vec();
            others.entry(keys).or_default().push(unit.clone());
        }
        for unit in &units[0] {
            let words = self
                .content(0, unit)
                .filter(|at| self.tokens[0][*at].class == Class::Word);
            let is_sentence = words.count() >= MIN_MOVED_WORDS;
            let found = others
                .get_mut(&self.keys[0][unit.clone()])
                .filter(|_| is_sentence);
            if let Some(other) = found.and_then(Vec::pop)
                && self.has_tokens_of(unit, &other)
            {
                self.match_units(unit, &other);
            }
        }
    }

    /// Matches the common tokens of the rest in text order.
    fn align(&mut self) {
        let rest = [0, 1].map(|side| {
            let all = 0..self.tokens[side].len();
            all.filter(|at| self.is_open(side, *at)).collect::<Vec<_>>()
        });
        let keys = [0, 1].map(|side| {
            let rest = rest[side].iter();
            rest.map(|at| self.keys[side][*at]).collect::<Vec<_>>()
        });
        let weight = |at: usize| {
            let token = &self.tokens[0][rest[0][at]];
            match token.class {
                Class::Light => 0.1,
                _ => 1.0 + self.weights.of_token(token) as f32,
            }
        };
        for (one, other) in align(&keys[0], &keys[1], weight) {
            let (one, other) = (rest[0][one], rest[1][other]);
            if self.tokens[0][one].is_equal_form(&self.tokens[1][other]) {
                self.match_pair([one, other]);
            }
        }
    }

    fn match_pair(&mut self, places: [usize; 2]) {
        self.states[0][places[0]] = State::At(places[1]);
        self.states[1][places[1]] = State::At(places[0]);
    }

    fn is_open(&self, side: usize, at: usize) -> bool {
        self.states[side][at] == State::Open
    }

    fn content(&self, side: usize, unit: &Range<usize>) -> impl Iterator<Item = usize> {
        let tokens = self.tokens[side];
        unit.clone().filter(move |at| !tokens[*at].is_light())
    }

    /// The sentences or the clauses of a text.
    fn units(&self, side: usize, level: Break) -> Vec<Range<usize>> {
        let tokens = self.tokens[side];
        let starts = (0..tokens.len()).filter(|at| *at == 0 || tokens[*at].before >= level);
        let starts: Vec<usize> = starts.chain([tokens.len()]).collect();
        starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// Matches sentences, or list items, that stand elsewhere in the other text.
    fn match_moved(&mut self, level: Break) {
        let is_missed = |sides: &Self, side: usize, unit: &Range<usize>| {
            sides.content(side, unit).any(|at| sides.is_open(side, at))
        };
        let may_move = |sides: &Self, side: usize, unit: &Range<usize>| {
            level == Break::Sentence
                || sides.content(side, unit).count() >= MIN_ITEM_WORDS
                    && !sides.tokens[side][unit.clone()]
                        .iter()
                        .any(|token| token.is_name)
        };
        let mut missed = self.units(0, level);
        missed.retain(|unit| is_missed(self, 0, unit) && may_move(self, 0, unit));
        if missed.is_empty() {
            return;
        }
        let mut others: HashMap<u32, Vec<Range<usize>>, FixedState> = HashMap::default();
        for unit in self.units(1, level) {
            let first = self.content(1, &unit).next();
            if let Some(first) = first.filter(|_| is_missed(self, 1, &unit)) {
                others.entry(self.keys[1][first]).or_default().push(unit);
            }
        }
        for unit in missed {
            let first = self.content(0, &unit).next();
            let found = first.and_then(|first| others.get_mut(&self.keys[0][first]));
            let Some(candidates) = found else { continue };
            let mut compared = candidates.iter().take(MAX_COMPARED_UNITS);
            if let Some(at) = compared.position(|other| self.has_tokens_of(&unit, other)) {
                let other = candidates.swap_remove(at);
                self.match_units(&unit, &other);
            }
        }
    }

    /// Returns `true` if two units have the same content words, and none has a counterpart outside
    /// of the units.
    fn has_tokens_of(&self, unit: &Range<usize>, other: &Range<usize>) -> bool {
        let is_free = |side: usize, unit: &Range<usize>, other: &Range<usize>| {
            self.content(side, unit)
                .all(|at| match self.states[side][at] {
                    State::Open => true,
                    State::At(place) => other.contains(&place),
                    State::Part => false,
                })
        };
        let equal = |(one, other): (usize, usize)| {
            self.keys[0][one] == self.keys[1][other]
                && self.tokens[0][one].is_equal_form(&self.tokens[1][other])
        };
        self.content(0, unit).count() == self.content(1, other).count()
            && self.content(0, unit).zip(self.content(1, other)).all(equal)
            && is_free(0, unit, other)
            && is_free(1, other, unit)
    }

    fn match_units(&mut self, unit: &Range<usize>, other: &Range<usize>) {
        for (side, unit) in [(0, unit), (1, other)] {
            for at in unit.clone() {
                if let State::At(place) = self.states[side][at] {
                    self.states[1 - side][place] = State::Open;
                    self.states[side][at] = State::Open;
                }
            }
        }
        for (one, of) in align(
            &self.keys[0][unit.clone()],
            &self.keys[1][other.clone()],
            |_| 1.0,
        ) {
            self.match_pair([unit.start + one, other.start + of]);
        }
    }

    /// Matches items of enumerations, such as "cats, dogs and birds", whose order carries no sense.
    fn match_enumerations(&mut self) {
        let runs = [0, 1].map(|side| {
            let mut runs = self.runs(side);
            for run in &mut runs {
                // The conjunction stays in its place.
                run.start +=
                    usize::from(run.len() > 1 && is_conjunction(&self.tokens[side][run.start]));
            }
            runs.retain(|run| run.len() <= MAX_ITEM_TOKENS && self.is_item(side, run));
            runs
        });
        for run in &runs[0] {
            let is_same = |other: &&Range<usize>| {
                other.len() == run.len()
                    && run.clone().zip((*other).clone()).all(|(one, of)| {
                        self.keys[0][one] == self.keys[1][of]
                            && self.is_open(1, of)
                            && self.tokens[0][one].class == Class::Word
                            && self.tokens[0][one].is_equal_form(&self.tokens[1][of])
                    })
            };
            if let Some(other) = runs[1].iter().find(is_same) {
                for (one, of) in run.clone().zip(other.clone()) {
                    self.match_pair([one, of]);
                }
            }
        }
    }

    /// Returns `true` for an item, or the end of the first item, of an enumeration of at least
    /// three items, the last one behind a conjunction.
    fn is_item(&self, side: usize, run: &Range<usize>) -> bool {
        let tokens = self.tokens[side];
        let is_and = |at: usize| is_conjunction(&tokens[at]);
        let is_start = |at: usize| {
            tokens
                .get(at)
                .is_none_or(|token| token.before != Break::None)
        };
        let follows = run.start > 0 && is_and(run.start - 1) || is_start(run.start);
        let precedes = is_start(run.end) || is_and(run.end);
        // The items around: commas and a conjunction within one sentence.
        let from = (0..=run.start)
            .rev()
            .find(|at| tokens[*at].before == Break::Sentence)
            .unwrap_or(0);
        let to = (run.end..tokens.len())
            .find(|at| tokens[*at].before == Break::Sentence)
            .unwrap_or(tokens.len());
        let commas = (from + 1..to)
            .filter(|at| tokens[*at].before == Break::Clause)
            .count();
        let has_and = (from..to).any(is_and);
        let is_first = !(from + 1..run.end).any(|at| tokens[at].before == Break::Clause);
        precedes && (follows || is_first) && commas > 0 && has_and
    }

    /// The maximal runs of tokens without a counterpart.
    fn runs(&self, side: usize) -> Vec<Range<usize>> {
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
    fn opposite(&self, side: usize, run: &Range<usize>) -> Option<Range<usize>> {
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

    fn neighbours(&self, side: usize, run: &Range<usize>) -> (Option<usize>, Option<usize>) {
        let to = Some(run.end).filter(|at| *at < self.tokens[side].len());
        (run.start.checked_sub(1), to)
    }

    fn counterpart(&self, side: usize, at: usize) -> Option<usize> {
        match self.states[side][at] {
            State::At(place) => Some(place),
            _ => None,
        }
    }

    /// Matches tokens in one place of the texts that are other forms of one word.
    fn match_forgiven(&mut self) {
        for run in self.runs(0) {
            let Some(other) = self.opposite(0, &run) else {
                continue;
            };
            if run.len() == other.len() {
                for places in run.clone().zip(other.clone()) {
                    let [one, of] = [&self.tokens[0][places.0], &self.tokens[1][places.1]];
                    let are_neighbours_equal = run.len() == 1;
                    match forgiven(self.weights, one, of) {
                        Some(Equality::Accent | Equality::Regional) => {
                            self.match_pair([places.0, places.1])
                        }
                        Some(Equality::Misspelling) if are_neighbours_equal => {
                            self.match_pair([places.0, places.1]);
                        }
                        _ => {}
                    }
                }
            } else {
                self.match_glued(&run, &other);
            }
        }
    }

    /// Matches a word with the words that it is written in: `website`, "web site".
    fn match_glued(&mut self, run: &Range<usize>, other: &Range<usize>) {
        let (side, whole, parts) = match run.len() < other.len() {
            true => (0, run, other),
            false => (1, other, run),
        };
        if whole.len() != 1 || parts.len() > MAX_GLUED {
            return;
        }
        let pieces = &self.tokens[1 - side][parts.clone()];
        if is_glued(&self.tokens[side][whole.start], pieces) {
            self.states[side][whole.start] = State::At(parts.start);
            self.states[1 - side][parts.clone()].fill(State::Part);
        }
    }

    /// Weighs the tokens of a text that the other text does not have.
    fn weigh_missing(&mut self, side: usize) {
        for run in self.runs(side) {
            for at in run.clone() {
                let token = &self.tokens[side][at];
                if !token.is_light()
                    || self.is_exchanged(side, &run, at)
                    || self.is_displaced(side, &run, at)
                {
                    self.losses[side][at] = self.weights.of_token(token).max(MIN_REPLACED);
                }
            }
        }
    }

    /// Returns `true` if the other text has a light word beside its place, in another order of the
    /// words.
    fn is_displaced(&self, side: usize, run: &Range<usize>, at: usize) -> bool {
        let key = self.keys[side][at];
        if matches!(&*self.tokens[side][at].key, "a" | "的" | "and" | "和") {
            return false;
        }
        let (from, to) = self.neighbours(side, run);
        let places = [from, to]
            .into_iter()
            .flatten()
            .filter_map(|at| self.counterpart(side, at));
        places.into_iter().any(|place| {
            let near = place.saturating_sub(DISPLACED)
                ..(place + DISPLACED).min(self.tokens[1 - side].len());
            near.into_iter()
                .any(|other| self.keys[1 - side][other] == key && self.is_open(1 - side, other))
        })
    }

    /// Returns `true` if the other text has another word in the place of a light word.
    fn is_exchanged(&self, side: usize, run: &Range<usize>, at: usize) -> bool {
        if self
            .opposite(side, run)
            .is_some_and(|other| (1..=MAX_ITEM_TOKENS).contains(&other.len()))
        {
            return true;
        }
        let (tokens, others) = (self.tokens[side], self.tokens[1 - side]);
        let (from, to) = self.neighbours(side, run);
        let follows = (run.start..=at).all(|at| tokens[at].before == Break::None);
        let after = from
            .filter(|_| follows)
            .and_then(|from| self.counterpart(side, from));
        let is_after = after.is_some_and(|place| {
            others
                .get(place + 1)
                .is_some_and(|token| token.before == Break::None)
                && self.is_open(1 - side, place + 1)
        });
        let precedes =
            to.is_some_and(|to| (at + 1..=to).all(|at| tokens[at].before == Break::None));
        let before = to
            .filter(|_| precedes)
            .and_then(|to| self.counterpart(side, to));
        let is_before = before.is_some_and(|place| {
            place > 0 && others[place].before == Break::None && self.is_open(1 - side, place - 1)
        });
        is_after || is_before
    }

    /// Finds clauses of a text into which the other text inserts words that turn the clause or name
    /// another thing.
    fn find_insertions(&mut self, side: usize) {
        let other = 1 - side;
        for run in self.runs(other) {
            let (from, to) = self.neighbours(other, &run);
            let tokens = self.tokens[other];
            let first_break = run.clone().find(|at| tokens[*at].before != Break::None);
            let last_break = run
                .clone()
                .rev()
                .find(|at| tokens[*at].before != Break::None);
            let joins_next = to.is_some_and(|to| tokens[to].before == Break::None);
            let head = from.map(|from| (from, run.start..first_break.unwrap_or(run.end)));
            let tail = to
                .filter(|_| joins_next)
                .map(|to| (to, last_break.unwrap_or(run.start)..run.end));
            for (is_tail, (neighbour, segment)) in
                [head.map(|s| (false, s)), tail.map(|s| (true, s))]
                    .into_iter()
                    .flatten()
            {
                let ends_clause = !is_tail && (first_break.is_some() || !joins_next);
                let Some(place) = self.counterpart(other, neighbour) else {
                    continue;
                };
                // The rest of the clause that a mark of truncation stands for.
                if self.tokens[side][place].is_cut && !is_tail {
                    continue;
                }
                let is_sentence = ends_clause && self.is_sentence(side, place);
                self.altered[side] |= self.alters(other, segment, ends_clause, is_sentence);
            }
        }
    }

    /// Weighs the words of a clause that the other text has in several sentences, or in another
    /// order.
    fn weigh_scattered(&mut self, side: usize) {
        let (tokens, others) = (self.tokens[side], self.tokens[1 - side]);
        let mut last: Option<usize> = None;
        for (at, token) in tokens.iter().enumerate() {
            if token.before != Break::None {
                last = None;
            }
            let Some(place) = self.counterpart(side, at).filter(|_| !token.is_light()) else {
                continue;
            };
            let is_apart = last.is_some_and(|last| {
                let between = last + 1..place + 1;
                last > place
                    || between.len() > MAX_INSERTED_TOKENS
                    || between
                        .clone()
                        .any(|at| others[at].before == Break::Sentence)
                        && between
                            .clone()
                            .any(|at| self.is_open(1 - side, at) && !others[at].is_light())
            });
            if is_apart && !self.is_item_of_enumeration(side, at) {
                self.losses[side][at] = self.losses[side][at].max(MIN_REPLACED);
            }
            last = Some(place);
        }
    }

    /// Returns `true` for a token of an enumeration, whose items may stand in another order.
    fn is_item_of_enumeration(&self, side: usize, at: usize) -> bool {
        let tokens = self.tokens[side];
        let from = (0..=at)
            .rev()
            .find(|at| tokens[*at].before == Break::Sentence)
            .unwrap_or(0);
        let to = (at + 1..tokens.len())
            .find(|at| tokens[*at].before == Break::Sentence)
            .unwrap_or(tokens.len());
        let has_comma = (from + 1..to).any(|at| tokens[at].before == Break::Clause);
        has_comma && (from..to).any(|at| is_conjunction(&tokens[at]))
    }

    /// Returns `true` if a token is in a sentence, to whose end a word adds a fact, and not in a
    /// title, whose last word names a thing.
    fn is_sentence(&self, side: usize, at: usize) -> bool {
        let tokens = self.tokens[side];
        let start = (0..=at)
            .rev()
            .find(|at| tokens[*at].before == Break::Sentence)
            .unwrap_or(0);
        let content = tokens[start..=at].iter().filter(|token| !token.is_light());
        let halves: usize = content
            .map(|token| if token.is_cjk() { 1 } else { 2 })
            .sum();
        halves >= 2 * MIN_SENTENCE_WORDS
    }

    /// Returns `true` if inserted tokens turn a clause or name another thing.
    fn alters(
        &self,
        side: usize,
        segment: Range<usize>,
        ends_clause: bool,
        is_sentence: bool,
    ) -> bool {
        let tokens = &self.tokens[side][segment];
        if tokens.iter().any(Token::is_turn) {
            return true;
        }
        // Two CJK characters count as a word.
        let content = tokens.iter().filter(|token| !token.is_light());
        let halves: usize = content
            .map(|token| if token.is_cjk() { 1 } else { 2 })
            .sum();
        let is_phrase = is_sentence || ends_clause && tokens.first().is_some_and(Token::is_light);
        halves > 0 && halves.div_ceil(2) <= MAX_QUALIFIER_WORDS && !is_phrase
    }

    /// All tokens of a text, in text order, with their bytes in the text.
    pub fn words(&self, side: usize, ranges: &[Range<usize>]) -> Vec<AlignedWord> {
        let word = |(at, token): (usize, &Token<'_>)| AlignedWord {
            range: ranges.get(at).cloned().unwrap_or_default(),
            word: token.text.to_string(),
            weight: self.losses[side][at],
            counterpart: self.counterpart(side, at),
        };
        self.tokens[side].iter().enumerate().map(word).collect()
    }

    /// The missing words of a text, in text order, each word once.
    pub fn missing(&self, side: usize) -> Vec<Missing> {
        let mut heaviest: HashMap<u32, f64, FixedState> = HashMap::default();
        for (key, loss) in self.keys[side].iter().zip(&self.losses[side]) {
            let weight = heaviest.entry(*key).or_default();
            *weight = weight.max(*loss);
        }
        let tokens = self.tokens[side].iter().zip(&self.keys[side]);
        let missing = tokens.filter_map(|(token, key)| {
            let weight = heaviest.remove(key).filter(|weight| *weight > 0.0)?;
            Some(Missing {
                word: token.text.to_string(),
                weight,
            })
        });
        missing.collect()
    }

    /// The differences that are forgiven, for two texts of which one covers the other.
    pub fn forgiven(&self, [a, b]: [usize; 2]) -> Vec<Forgiven> {
        let mut found = Vec::new();
        for (at, token) in self.tokens[a].iter().enumerate() {
            let (text, class) = match self.states[a][at] {
                State::At(place) => {
                    let other = &self.tokens[b][place];
                    if token.text == other.text && self.states[b][place] != State::Part {
                        continue;
                    }
                    match self.states[b][place] {
                        State::Part => (self.glued(b, place), Equality::Compound),
                        _ => (other.text.to_string(), self.equality([a, b], [at, place])),
                    }
                }
                State::Open if token.is_light() && self.is_covered(a) => {
                    (String::new(), Equality::Absent)
                }
                _ => continue,
            };
            found.push(Forgiven {
                a: token.text.to_string(),
                b: text,
                class,
            });
        }
        for (at, token) in self.tokens[b].iter().enumerate() {
            let (text, class) = match self.states[b][at] {
                State::At(place) if self.states[a][place] == State::Part => {
                    (self.glued(a, place), Equality::Compound)
                }
                State::Open if token.is_light() && self.is_covered(b) => {
                    (String::new(), Equality::Absent)
                }
                _ => continue,
            };
            found.push(Forgiven {
                a: text,
                b: token.text.to_string(),
                class,
            });
        }
        found
    }

    /// The words from `at` on that the other text writes as one.
    fn glued(&self, side: usize, at: usize) -> String {
        let parts =
            (at..self.tokens[side].len()).take_while(|at| self.states[side][*at] == State::Part);
        let parts: Vec<&str> = parts.map(|at| &*self.tokens[side][at].text).collect();
        parts.join(" ")
    }

    fn equality(&self, sides: [usize; 2], places: [usize; 2]) -> Equality {
        let [one, other] = [0, 1].map(|at| &self.tokens[sides[at]][places[at]]);
        let lexicon = Lexicon::builtin();
        let is_listed = |token: &Token<'_>| {
            lexicon
                .entry(&token.text)
                .is_some_and(|entry| entry.canonical.is_some())
        };
        if one.key != other.key {
            return forgiven(self.weights, one, other).unwrap_or(Equality::Misspelling);
        }
        match (one.class, other.class) {
            (Class::Number, _) | (_, Class::Number) => Equality::Number,
            _ if is_listed(one) || is_listed(other) => Equality::Doublet,
            _ => Equality::Form,
        }
    }

    /// Returns `true` if a text has content, and the other text has all of it.
    pub fn is_covered(&self, side: usize) -> bool {
        let matched = (0..self.tokens[side].len())
            .any(|at| !self.is_open(side, at) && !self.tokens[side][at].is_light());
        let is_whole = !self.tokens[side].is_empty() && self.keys[0] == self.keys[1];
        let is_lossless = self.losses[side].iter().all(|loss| *loss == 0.0);
        is_lossless && !self.altered[side] && (matched || is_whole)
    }

    /// The share of the words of the shorter text that the other text has too.
    pub fn common_share(&self) -> f64 {
        let shares = [0, 1].map(|side| {
            let states = &self.states[side];
            let matched = states.iter().filter(|state| **state != State::Open).count();
            matched as f64 / states.len().max(1) as f64
        });
        shares[0].max(shares[1])
    }
}

fn is_conjunction(token: &Token<'_>) -> bool {
    matches!(&*token.key, "and" | "or" | "和" | "或")
}
