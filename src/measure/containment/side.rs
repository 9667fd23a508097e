//! The matched and the missing tokens of two texts.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

use super::align::align;
use super::forgive::{can_be_acronym, end_of_glued, is_misspelling, spelled_out};
use super::{AlignedWord, MIN_REPLACED, MIN_STRONG, Missing};
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::analysis::words::tokens::Token;
use crate::analysis::words::weights::Weights;

/// The weight of a filler, in nats. Ten fillers weigh as much as a contained text may lose.
const FILLER: f64 = 0.3;

/// The weight of the name of a piece of software, in nats.
const KIND: f64 = 0.7;

/// The weight of a filler in a long text, in nats: "minimal" and "common" tell packages of one
/// program apart.
const LONG_FILLER: f64 = 1.0;

/// The weight of the name of a piece of software in a long text, in nats.
const LONG_KIND: f64 = 2.0;

/// The weight of a kind with another kind in its place, in nats: "tool" and "library".
const OTHER_KIND: f64 = 1.0;

/// The least weight of a word, in nats.
const MIN_WORD: f64 = 1.0;

/// In a text with more tokens a word stands somewhere by chance: the words of another place of the
/// text count only together with the word before or after them.
const MAX_LOOSE_TOKENS: usize = 30;

/// At most 250,000 pairs of words are compared letter by letter, in some 25 ms. In texts with more
/// pairs, glued and misspelled words and acronyms count as missing.
const MAX_FUZZY_PAIRS: usize = 250_000;

/// The state of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// The token has no counterpart yet.
    Open,
    /// The other text says the token at this position.
    At(usize),
    /// The other text says the token in other words.
    Said,
    /// The counterparts of the token have other partners: the text says it more often.
    Repeated,
}

/// Two texts, side by side. Indexes of arrays of two are 0 for the first text, 1 for the second.
pub(super) struct Sides<'s, 't> {
    lexicon: &'static Lexicon,
    weights: &'s Weights,
    tokens: [&'s [Token<'t>]; 2],
    keys: &'s [Vec<u32>; 2],
    states: [Vec<State>; 2],
    /// The number of aligned pairs before each token. Tokens with one number are in one place.
    gaps: [Vec<usize>; 2],
    losses: [Vec<f64>; 2],
}

impl<'s, 't> Sides<'s, 't> {
    pub fn new(
        lexicon: &'static Lexicon,
        weights: &'s Weights,
        tokens: [&'s [Token<'t>]; 2],
        keys: &'s [Vec<u32>; 2],
    ) -> Self {
        Self {
            lexicon,
            weights,
            tokens,
            keys,
            states: tokens.map(|tokens| vec![State::Open; tokens.len()]),
            gaps: tokens.map(|tokens| vec![0; tokens.len()]),
            losses: tokens.map(|tokens| vec![0.0; tokens.len()]),
        }
    }

    /// Matches the common tokens in text order.
    pub fn align(&mut self) {
        let weight = |at: usize| {
            let token = &self.tokens[0][at];
            match token.class {
                Class::Stop => 0.1,
                Class::Filler => 0.5,
                Class::Kind(_) => 1.0,
                _ => 1.0 + self.weights.of_token(token) as f32,
            }
        };
        let pairs = align(&self.keys[0], &self.keys[1], weight);
        let mut from = [0, 0];
        let ends = self.tokens.map(<[_]>::len);
        let last = (ends[0], ends[1]);
        for (gap, pair) in pairs.iter().chain([&last]).enumerate() {
            for (side, to) in [pair.0, pair.1].into_iter().enumerate() {
                let to_end = ends[side].min(to + 1);
                self.gaps[side][from[side]..to_end].fill(gap);
                from[side] = to_end;
            }
        }
        for (one, other) in pairs {
            self.match_pair([one, other]);
        }
    }

    fn match_pair(&mut self, places: [usize; 2]) {
        self.states[0][places[0]] = State::At(places[1]);
        self.states[1][places[1]] = State::At(places[0]);
    }

    fn is_open(&self, side: usize, at: usize) -> bool {
        self.states[side][at] == State::Open
    }

    fn open(&self, side: usize) -> Vec<usize> {
        let all = 0..self.tokens[side].len();
        all.filter(|at| self.is_open(side, *at)).collect()
    }

    /// Matches tokens that stand elsewhere in the other text.
    pub fn match_moved(&mut self) {
        let mut places: HashMap<u32, Vec<usize>, FixedState> = HashMap::default();
        for at in self.open(1).into_iter().rev() {
            places.entry(self.keys[1][at]).or_default().push(at);
        }
        for at in self.open(0) {
            let Some(others) = places.get_mut(&self.keys[0][at]) else {
                continue;
            };
            let mut nearest = (0..others.len()).rev();
            let found = nearest.find(|place| self.may_move([at, others[*place]]));
            if let Some(place) = found {
                let other = others.remove(place);
                self.match_pair([at, other]);
            }
        }
    }

    /// Returns `true` if equal tokens at two positions of the texts say the same.
    fn may_move(&self, [a, b]: [usize; 2]) -> bool {
        let token = &self.tokens[0][a];
        let before = [self.before(0, a), self.before(1, b)];
        match token.class {
            Class::Stop | Class::Filler => true,
            // "3 cats and 5 dogs" are not "5 cats and 3 dogs".
            Class::Number | Class::Strong | Class::Not => self.is_phrase([a, b]),
            // "JSON to YAML" is not "YAML to JSON".
            Class::Word | Class::Kind(_) => {
                let toward = [0, 1].map(|side| {
                    let before = before[side].map(|at| &self.tokens[side][at]);
                    before
                        .filter(|token| token.is_toward())
                        .map(|token| &token.key)
                });
                toward[0] == toward[1] && (!self.is_long() || self.is_phrase([a, b]))
            }
        }
    }

    /// Returns `true` if the tokens before or after two positions are equal.
    fn is_phrase(&self, [a, b]: [usize; 2]) -> bool {
        let are_equal = |one: Option<usize>, other: Option<usize>| matches!((one, other), (Some(a), Some(b)) if self.keys[0][a] == self.keys[1][b]);
        are_equal(self.before(0, a), self.before(1, b))
            || are_equal(self.after(0, a), self.after(1, b))
    }

    /// The token before, without stop words that give no role.
    fn before(&self, side: usize, at: usize) -> Option<usize> {
        let counts = |at: &usize| {
            let token = &self.tokens[side][*at];
            token.class != Class::Stop || token.is_toward()
        };
        (0..at).rev().find(counts)
    }

    /// The token after, without stop words.
    fn after(&self, side: usize, at: usize) -> Option<usize> {
        let mut rest = at + 1..self.tokens[side].len();
        rest.find(|at| self.tokens[side][*at].class != Class::Stop)
    }

    /// Matches tokens that say the same in other letters.
    pub fn match_forgiven(&mut self) {
        for side in [0, 1] {
            self.match_glued(side);
        }
        self.match_misspelled();
        for side in [0, 1] {
            self.match_acronyms(side);
        }
    }

    /// Matches tokens of one text with several tokens of the other text.
    fn match_glued(&mut self, side: usize) {
        let other = 1 - side;
        let (unmatched, open) = (self.open(side), self.open(other));
        // Long texts with little in common: the product would take minutes.
        if unmatched.len().saturating_mul(open.len()) > MAX_FUZZY_PAIRS {
            return;
        }
        for at in unmatched {
            let glued = &self.tokens[side][at];
            // Two CJK characters are always two tokens.
            if glued.text.len() < 2 || glued.class == Class::Stop {
                continue;
            }
            for &from in &open {
                let end = end_of_glued(self.lexicon, glued, self.tokens[other], from);
                let Some(end) = end.filter(|end| (from..*end).any(|at| self.is_open(other, at)))
                else {
                    continue;
                };
                self.states[side][at] = State::At(from);
                for part in from..end {
                    if self.is_open(other, part) {
                        self.states[other][part] = State::Said;
                    }
                }
                break;
            }
        }
    }

    fn match_misspelled(&mut self) {
        let is_word = |side: usize, at: &usize| {
            let token = &self.tokens[side][*at];
            let may_be = !matches!(token.class, Class::Stop | Class::Number);
            may_be && token.text.len() > 4 && !token.is_name
        };
        let [mut a, mut b] = [self.open(0), self.open(1)];
        a.retain(|at| is_word(0, at));
        b.retain(|at| is_word(1, at));
        let everywhere = a.len().saturating_mul(b.len()) <= MAX_FUZZY_PAIRS;
        // A word in the same place is the better counterpart.
        for in_place in [true, false] {
            if !in_place && !everywhere {
                break;
            }
            for &one in &a {
                let found = b.iter().copied().find(|&other| {
                    (self.gaps[0][one] == self.gaps[1][other]) == in_place
                        && self.is_open(0, one)
                        && self.is_open(1, other)
                        && is_misspelling(
                            self.weights,
                            &self.tokens[0][one],
                            &self.tokens[1][other],
                        )
                });
                if let Some(other) = found {
                    self.match_pair([one, other]);
                }
            }
        }
    }

    fn match_acronyms(&mut self, side: usize) {
        let other = 1 - side;
        let tokens = self.tokens[other];
        let mut acronyms = self.open(side);
        acronyms.retain(|at| can_be_acronym(&self.tokens[side][*at]));
        if acronyms.len().saturating_mul(tokens.len()) > MAX_FUZZY_PAIRS {
            return;
        }
        for at in acronyms {
            let token = &self.tokens[side][at];
            // Words that the other text says as well would spell an acronym by chance.
            let words = (0..tokens.len()).find_map(|from| {
                let words = spelled_out(&token.text, tokens, from)?;
                words
                    .iter()
                    .all(|word| self.is_open(other, *word))
                    .then_some(words)
            });
            let Some(words) = words else { continue };
            self.states[side][at] = State::Said;
            for word in words {
                self.states[other][word] = State::Said;
            }
        }
    }

    /// Marks the tokens that the other text says somewhere, though less often.
    pub fn find_said_elsewhere(&mut self) {
        for side in [0, 1] {
            let keys: HashSet<u32, FixedState> = self.keys[1 - side].iter().copied().collect();
            for at in self.open(side) {
                let class = self.tokens[side][at].class;
                if class != Class::Not
                    && keys.contains(&self.keys[side][at])
                    && self.is_said_elsewhere(side, at)
                {
                    self.states[side][at] = State::Repeated;
                }
            }
        }
    }

    fn is_said_elsewhere(&self, side: usize, at: usize) -> bool {
        let key = self.keys[side][at];
        let places = (0..self.tokens[1 - side].len()).filter(|at| self.keys[1 - side][*at] == key);
        let mut places = places.map(|place| match side {
            0 => [at, place],
            _ => [place, at],
        });
        places.any(|places| self.may_move(places))
    }

    /// Computes the weight of each missing token.
    pub fn weigh(&mut self) {
        for side in [0, 1] {
            for at in self.open(side) {
                self.losses[side][at] = self.loss(side, at);
            }
        }
        self.weigh_replaced();
        for side in [0, 1] {
            self.weigh_denied(side);
        }
    }

    /// Returns `true` if one of the texts is longer than a title. In a description of a package
    /// each of its kinds is there for a reason: "library", "tools".
    fn is_long(&self) -> bool {
        self.tokens
            .iter()
            .any(|tokens| tokens.len() > MAX_LOOSE_TOKENS)
    }

    fn loss(&self, side: usize, at: usize) -> f64 {
        let token = &self.tokens[side][at];
        let weight = self.weights.of_token(token);
        match token.class {
            Class::Stop => 0.0,
            Class::Filler if self.is_long() => LONG_FILLER,
            Class::Filler => FILLER,
            Class::Kind(_) if self.is_long() => LONG_KIND,
            Class::Kind(_) => KIND,
            Class::Number | Class::Strong | Class::Not => weight.max(MIN_STRONG),
            Class::Word => weight.max(MIN_WORD),
        }
    }

    /// Weighs the words that have other words in their place, and opposites.
    fn weigh_replaced(&mut self) {
        let mut places: HashMap<usize, [Vec<usize>; 2], FixedState> = HashMap::default();
        for side in [0, 1] {
            for at in 0..self.tokens[side].len() {
                if matches!(self.states[side][at], State::Open | State::Repeated) {
                    places.entry(self.gaps[side][at]).or_default()[side].push(at);
                }
            }
        }
        for [a, b] in places.values_mut() {
            for (one, other) in a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b))) {
                if self.tokens[0][one].is_opposite(&self.tokens[1][other]) {
                    for (side, at) in [(0, one), (1, other)] {
                        let loss = &mut self.losses[side][at];
                        *loss = loss.max(MIN_STRONG);
                    }
                }
            }
            a.retain(|at| self.tokens[0][*at].is_content());
            b.retain(|at| self.tokens[1][*at].is_content());
            let is_kind =
                |side: usize, at: &usize| matches!(self.tokens[side][*at].class, Class::Kind(_));
            // One kind in the place of another kind.
            let kinds = [
                a.iter().copied().find(|at| is_kind(0, at)),
                b.iter().copied().find(|at| is_kind(1, at)),
            ];
            if let [Some(one), Some(other)] = kinds
                && !self.is_long()
            {
                self.losses[0][one] = OTHER_KIND;
                self.losses[1][other] = OTHER_KIND;
                a.retain(|at| *at != one);
                b.retain(|at| *at != other);
            }
            if a.is_empty() || b.is_empty() {
                continue;
            }
            for (side, places) in [&*a, &*b].into_iter().enumerate() {
                let losses = &mut self.losses[side];
                let sum: f64 = places.iter().map(|at| losses[*at]).sum();
                let heaviest = places
                    .iter()
                    .max_by(|a, b| losses[**a].total_cmp(&losses[**b]));
                if let Some(at) = heaviest {
                    losses[*at] += (MIN_REPLACED - sum).max(0.0);
                }
            }
        }
    }

    /// Weighs the words that only the other text denies.
    ///
    /// A negation that the other text has more denies the word after it. A text that says the word
    /// without the negation says something else.
    fn weigh_denied(&mut self, side: usize) {
        let other = 1 - side;
        for at in self.open(other) {
            if self.tokens[other][at].class != Class::Not {
                continue;
            }
            let rest = &self.tokens[other][at + 1..];
            let next = rest
                .iter()
                .position(|token| !matches!(token.class, Class::Stop | Class::Filler | Class::Not));
            let next = next.map(|next| at + 1 + next);
            if let Some(State::At(place)) = next.map(|next| self.states[other][next]) {
                let loss = &mut self.losses[side][place];
                *loss = loss
                    .max(self.weights.of_token(&self.tokens[side][place]))
                    .max(MIN_STRONG);
            }
        }
    }

    /// All words of a text, in text order.
    pub fn words(&self, side: usize) -> Vec<AlignedWord> {
        let word = |(at, token): (usize, &Token<'_>)| AlignedWord {
            word: token.text.to_string(),
            weight: self.losses[side][at],
            counterpart: match self.states[side][at] {
                State::At(place) => Some(place),
                _ => None,
            },
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

    /// Returns `true` if a text has at least as much in common with the other text as it loses.
    pub fn has_enough_in_common(&self, side: usize) -> bool {
        let (mut common, mut lost) = (0.0, 0.0);
        for at in 0..self.tokens[side].len() {
            let loss = self.losses[side][at];
            if loss > 0.0 {
                lost += loss;
            } else if self.states[side][at] != State::Open {
                common += self.loss(side, at);
            }
        }
        common >= lost
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
