//! The tokens without a counterpart: missing, exchanged, or in another order.

use std::ops::Range;

use super::MIN_REPLACED;
use super::cover::{MAX_ITEM_TOKENS, Sides, is_conjunction, is_enumeration};
use crate::analysis::words::lexicon::Class;
use crate::analysis::words::readings::is_reading;
use crate::analysis::words::scanner::{Break, End};
use crate::analysis::words::stamps::Stamp;
use crate::analysis::words::token::Token;

/// A clause with more tokens between two of its words is no clause of the other text.
const MAX_INSERTED_TOKENS: usize = 16;

/// A light word that the other text has at most six tokens away stands in another order.
const DISPLACED: usize = 6;

/// The end of a clause moves by at most six tokens. A farther end is another one.
const MAX_MOVED_END: usize = 6;

/// Words that answer a question, and negate a sentence.
#[rustfmt::skip]
const DENIALS: [&str; 27] = [
    "no", "not", "non", "não", "nein", "nee", "niet", "nej", "nei", "nie", "ne", "нет", "не", "ні", "nu", "nem",
    "ei", "không", "tidak", "όχι", "لا", "לא", "नहीं", "不", "没", "没有", "别",
];

/// The place of a run of tokens without a counterpart.
struct Gap {
    /// `true` if the other text has one to three other tokens in the place.
    has_others: bool,
    /// `true` if the other text has a dateline, names or a link in the place.
    has_stamp: bool,
    /// The tokens that follow the token before the run, where the other text has another token.
    after: Range<usize>,
    /// The tokens that precede the token behind the run, where the other text has another token.
    before: Range<usize>,
}

impl Gap {
    /// Returns `true` if the other text has another word in the place of a light word.
    fn is_exchanged(&self, at: usize) -> bool {
        self.has_others || self.after.contains(&at) || self.before.contains(&at)
    }
}

/// Returns `true` for words that belong to the sentence before or behind them: "in Rome", 六月份.
fn is_adjunct(words: &[Token]) -> bool {
    let is_number = |token: &Token| token.key.starts_with(|c: char| c.is_ascii_digit());
    words.first().is_some_and(|first| {
        first.is_turn()
            || matches!(&*first.text, "in" | "on" | "at" | "during")
            || first.is_cjk() && words.iter().any(is_number)
    })
}

impl Sides<'_> {
    /// Weighs the tokens of a text that the other text does not have.
    pub(super) fn weigh_missing(&mut self, side: usize) {
        for run in self.runs(side) {
            let gap = self.gap(side, &run);
            for at in run.clone() {
                let token = &self.tokens[side][at];
                if token.stamp.is_some() {
                    if token.stamp == Some(Stamp::Fact) && gap.has_stamp {
                        self.losses[side][at] = MIN_REPLACED;
                    }
                } else if !token.is_light()
                    || is_reading(&token.text)
                    || self.is_between_neighbours(side, &run)
                    || gap.is_exchanged(at)
                    || token.is_in_frame && self.is_of_common_sentence(side, at)
                    || self.is_displaced(side, &run, at)
                {
                    self.losses[side][at] = self.weights.of_token(token).max(MIN_REPLACED);
                }
            }
        }
        self.weigh_questions(side);
    }

    /// Returns `true` for a conjunction between two names that stand side by side in the other
    /// text: "Lee and Mary", "Lee Mary".
    pub(super) fn is_between_neighbours(&self, side: usize, run: &Range<usize>) -> bool {
        let first = &self.tokens[side][run.start];
        let (from, to) = self.neighbours(side, run);
        let places = [from, to].map(|at| at.and_then(|at| self.counterpart(side, at)));
        let are_joined = |last: usize, next: usize| {
            let others = self.tokens[1 - side];
            last + 1 == next
                && others[next].before == Break::None
                && others[last].is_capital
                && others[next].is_capital
        };
        run.len() == 1
            && is_conjunction(first)
            && first.before == Break::None
            && matches!(places, [Some(last), Some(next)] if are_joined(last, next))
    }

    /// Weighs the last words of questions that are statements in the other text, and of statements
    /// that are questions.
    fn weigh_questions(&mut self, side: usize) {
        for at in 0..self.tokens[side].len() {
            let Some(place) = self.counterpart(side, at) else {
                continue;
            };
            let (end, other) = (self.end(side, at), self.end(1 - side, place));
            if end != End::None && other != End::None && other != end {
                self.losses[side][at] = MIN_REPLACED;
            }
        }
    }

    /// The end of a sentence behind a token. The last CJK character of a line ends a statement
    /// without a mark; an English question has a word at its start.
    fn end(&self, side: usize, at: usize) -> End {
        let tokens = self.tokens[side];
        let is_last = || self.sentence(side, at).end == at + 1;
        match tokens[at].end {
            End::None if tokens[at].is_cjk() && is_last() => End::Statement,
            end => end,
        }
    }

    /// Returns `true` for a word of a sentence about the page that the other text has too, with
    /// other words.
    fn is_of_common_sentence(&self, side: usize, at: usize) -> bool {
        let tokens = self.tokens[side];
        let is_heavy = |at: &usize| tokens[*at].class != Class::Light;
        let mut sentence = self.sentence(side, at).filter(is_heavy);
        is_heavy(&at) && sentence.any(|at| !self.is_open(side, at))
    }

    /// The place of a run in the other text.
    fn gap(&self, side: usize, run: &Range<usize>) -> Gap {
        let (tokens, others) = (self.tokens[side], self.tokens[1 - side]);
        let (from, to) = self.neighbours(side, run);
        let opposite = self.opposite(side, run);
        let mut breaks = run.clone().filter(|at| tokens[*at].before != Break::None);
        let first_break = breaks.next();
        let last_break = breaks.next_back().or(first_break);
        let is_open_after = from
            .and_then(|from| self.counterpart(side, from))
            .is_some_and(|place| {
                let next = others.get(place + 1);
                next.is_some_and(|token| token.before == Break::None)
                    && self.is_open(1 - side, place + 1)
            });
        let joins_next = to.is_some_and(|to| tokens[to].before == Break::None);
        let before = to
            .filter(|_| joins_next)
            .and_then(|to| self.counterpart(side, to));
        let is_open_before = before.is_some_and(|place| {
            place > 0 && others[place].before == Break::None && self.is_open(1 - side, place - 1)
        });
        let after = match is_open_after {
            true => first_break.unwrap_or(run.end),
            false => run.start,
        };
        let before = match is_open_before {
            true => last_break.unwrap_or(run.start),
            false => run.end,
        };
        let is_fact = |at: usize| others[at].stamp == Some(Stamp::Fact);
        Gap {
            has_stamp: opposite.clone().is_some_and(|mut other| other.any(is_fact)),
            has_others: opposite.is_some_and(|other| (1..=MAX_ITEM_TOKENS).contains(&other.len())),
            after: run.start..after,
            before: before..run.end,
        }
    }

    /// Returns `true` if the other text has a light word beside its place, in another order of the
    /// words.
    fn is_displaced(&self, side: usize, run: &Range<usize>, at: usize) -> bool {
        let key = self.keys[side][at];
        if matches!(&*self.tokens[side][at].key, "a" | "的") {
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
            near.into_iter().any(|other| {
                self.keys[1 - side][other] == key
                    && self.is_open(1 - side, other)
                    && ![(side, at), (1 - side, other)]
                        .into_iter()
                        .any(|(side, at)| self.is_conjunction_of_items(side, at))
            })
        })
    }

    /// Weighs the words of a clause that the other text has in several sentences, or in another
    /// order.
    pub(super) fn weigh_scattered(&mut self, side: usize) {
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
                    || between.clone().any(|at| others[at].before.ends_unit())
                        && between
                            .clone()
                            .any(|at| self.is_open(1 - side, at) && !others[at].is_light())
            });
            if is_apart && !self.is_item_of_enumeration(side, at) {
                self.weigh_replaced(side, at);
            }
            last = Some(place);
        }
    }

    /// Gives a token the least loss of a word with another word in its place.
    pub(super) fn weigh_replaced(&mut self, side: usize, at: usize) {
        let loss = &mut self.losses[side][at];
        *loss = loss.max(MIN_REPLACED);
    }

    /// Weighs the words at an end of a clause that has moved by a few words: "Ann left Bob. Called
    /// the police.", "Ann left. Bob called the police."
    pub(super) fn weigh_moved_ends(&mut self) {
        let others = self.tokens[1];
        // For each text, the last word before which only this text ends a clause.
        let mut ends: [Option<(usize, bool)>; 2] = [None; 2];
        for at in 1..self.tokens[0].len() {
            let (last, next) = (self.counterpart(0, at - 1), self.counterpart(0, at));
            let Some(place) = next.filter(|place| last.is_some_and(|last| last + 1 == *place))
            else {
                continue;
            };
            let breaks = [self.tokens[0][at].before, others[place].before];
            // "No, he left" answers, and "No he left" negates.
            let last = &self.tokens[0][at - 1];
            if last.before.ends_unit()
                && DENIALS.contains(&&*last.text)
                && self.tokens[0][at].class != Class::Number
                && breaks.contains(&Break::None)
                && breaks
                    .iter()
                    .any(|each| !matches!(each, Break::None | Break::Line))
            {
                self.weigh_replaced(0, at);
                self.weigh_replaced(1, place);
            }
            let side = match breaks.into() {
                // A text may be wrapped anywhere.
                (Break::None, Break::None | Break::Line) | (Break::Line, Break::None) => continue,
                (_, Break::None) | (Break::Sentence, Break::Clause) => 0,
                (Break::None, _) | (Break::Clause, Break::Sentence) => 1,
                _ => {
                    ends = [None; 2];
                    continue;
                }
            };
            // Other commas and full stops are exchanged: "Great phone, fast delivery. Works well."
            let is_certain = breaks.contains(&Break::None);
            ends[side] = Some((at, is_certain));
            let is_moved = ends[1 - side].is_some_and(|(other, was_certain)| {
                at - other <= MAX_MOVED_END
                    && (is_certain && was_certain || is_adjunct(&self.tokens[0][other..at]))
            });
            if is_moved {
                self.weigh_replaced(0, at);
                self.weigh_replaced(1, place);
            }
        }
    }

    /// Returns `true` for the conjunction of an enumeration, which stands before the last item.
    fn is_conjunction_of_items(&self, side: usize, at: usize) -> bool {
        is_conjunction(&self.tokens[side][at]) && self.is_item_of_enumeration(side, at)
    }

    /// Returns `true` for a token of an enumeration, whose items may stand in another order.
    fn is_item_of_enumeration(&self, side: usize, at: usize) -> bool {
        is_enumeration(&self.tokens[side][self.sentence(side, at)])
    }
}
