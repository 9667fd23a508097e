//! The findings of a comparison: the words of both texts, the missing words, the forgiven
//! differences.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::cover::{CoverState, Sides};
use super::forgive::forgiven;
use super::{AlignedWord, Equality, Forgiven, Missing};
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::analysis::words::token::Token;

impl Sides<'_> {
    /// All tokens of a text, in text order, with their bytes in the text.
    pub fn words(&self, side: usize, ranges: &[Range<usize>]) -> Vec<AlignedWord> {
        let word = |(at, token): (usize, &Token)| AlignedWord {
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
        let is_covered = [0, 1].map(|side| self.is_covered(side));
        for (index, side) in [a, b].into_iter().enumerate() {
            for passage in &self.passages[side] {
                let tokens = self.tokens[side][passage.tokens.clone()].iter();
                let words: Vec<&str> = tokens.map(|token| &*token.text).collect();
                let mut pair = [String::new(), String::new()];
                pair[index] = words.join(" ");
                let [a, b] = pair;
                let class = Equality::Passage;
                found.push(Forgiven { a, b, class });
            }
        }
        for (own, other) in [(a, b), (b, a)] {
            for (at, token) in self.tokens[own].iter().enumerate() {
                let (text, class) = match self.states[own][at] {
                    CoverState::At(place) if self.states[other][place] == CoverState::Part => {
                        (self.glued(other, place), Equality::Compound)
                    }
                    CoverState::At(place)
                        if own == a && self.tokens[b][place].text != token.text =>
                    {
                        let class = self.equality([a, b], [at, place]);
                        (self.tokens[b][place].text.to_string(), class)
                    }
                    CoverState::Open
                        if token.is_light() && is_covered[own] && !self.is_in_passage(own, at) =>
                    {
                        (String::new(), absence(token))
                    }
                    _ => continue,
                };
                let mut texts = [token.text.to_string(), text];
                if own == b {
                    texts.reverse();
                }
                let [a, b] = texts;
                found.push(Forgiven { a, b, class });
            }
        }
        found
    }

    /// The words from `at` on that the other text writes as one.
    fn glued(&self, side: usize, at: usize) -> String {
        let parts = (at..self.tokens[side].len())
            .take_while(|at| self.states[side][*at] == CoverState::Part);
        let parts: Vec<&str> = parts.map(|at| &*self.tokens[side][at].text).collect();
        parts.join(" ")
    }

    fn equality(&self, sides: [usize; 2], places: [usize; 2]) -> Equality {
        let [one, other] = [0, 1].map(|at| &self.tokens[sides[at]][places[at]]);
        let lexicon = Lexicon::builtin();
        let is_listed = |token: &Token| lexicon.canonical(&token.text).is_some();
        if one.key != other.key {
            return forgiven(self.weights, one, other).unwrap_or(Equality::Misspelling);
        }
        match (one.class, other.class) {
            (Class::Number, _) | (_, Class::Number) => Equality::Number,
            _ if is_listed(one) || is_listed(other) => Equality::Doublet,
            // 8g, 8克
            _ if one.is_cjk() != other.is_cjk() => Equality::Doublet,
            _ if one.is_cjk() => Equality::Misspelling,
            // The words of other scripts have no forms.
            _ if !one.text.is_ascii() => Equality::Accent,
            _ => Equality::Form,
        }
    }
}

/// The class of a token that is absent.
fn absence(token: &Token) -> Equality {
    match token.stamp {
        Some(_) => Equality::Stamp,
        None => Equality::Absent,
    }
}
