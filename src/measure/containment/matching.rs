//! The tokens of two texts that match: equal tokens in text order, sentences, lines and items of
//! enumerations that stand elsewhere, other forms of one word.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::Equality;
use super::align::align;
use super::cover::{
    CoverState, MAX_ITEM_TOKENS, MIN_TEASER_WORDS, Sides, begins_with_any, half_words,
    is_conjunction, is_enumeration,
};
use super::forgive::{MAX_GLUED, forgiven, is_glued, needs_accents};
use crate::analysis::words::lexicon::Class;
use crate::analysis::words::scanner::Break;
use crate::analysis::words::token::Token;
use crate::text::is_digits;

/// A moved sentence is compared with at most 16 sentences that begin with the same word.
const MAX_COMPARED_UNITS: usize = 16;

/// The fewest words of a sentence or line that is looked up wherever it stands. Shorter ones, such
/// as answers and rows of numbers, have their meaning by their place.
const MIN_MOVED_WORDS: usize = 3;

/// A line of at most four CJK characters is a word.
const MAX_CJK_WORD: usize = 4;

/// Words that begin a step behind other steps, or the other case.
#[rustfmt::skip]
const STEPS: [&str; 14] = [
    "second", "secondly", "third", "then", "next", "finally", "afterwards", "otherwise", "其次", "然后", "接着",
    "随后", "最后", "否则",
];

/// A label has at most four tokens.
const MAX_LABEL_TOKENS: usize = 4;

/// A text that lacks the accents of three other words is written without accents.
const MIN_MISSING_ACCENTS: usize = 3;

/// A sentence or line of the first text that the second text has too.
struct CommonUnit {
    /// The first token that both texts have.
    at: usize,
    /// The number of the sentence or line in the second text.
    other: usize,
    is_item: bool,
}

/// The distance of each place from its rank among the places.
fn distances(places: impl Iterator<Item = usize>) -> Vec<isize> {
    let mut order: Vec<(usize, usize)> =
        places.enumerate().map(|(at, place)| (place, at)).collect();
    order.sort_unstable();
    let mut distances = vec![0; order.len()];
    for (rank, (_, at)) in order.into_iter().enumerate() {
        distances[at] = rank as isize - at as isize;
    }
    distances
}

/// Returns `true` if all units that have moved have moved by multiples of a step, and do not fill
/// the steps: the values in "red, stop, green, go" change places by two. Shuffled items move by any
/// distance.
fn is_exchange(distances: &[isize]) -> bool {
    let divisor = |one: usize, distance: &isize| {
        let (mut one, mut other) = (one, distance.unsigned_abs());
        while other > 0 {
            (one, other) = (other, one % other);
        }
        one
    };
    let step = distances.iter().fold(0, divisor);
    let mut runs = distances.chunk_by(|one, next| one == next);
    step > 1 && runs.any(|run| run[0] != 0 && run.len() % step > 0)
}

impl Sides<'_> {
    /// Matches equal sentences, wherever they stand.
    ///
    /// An alignment of both texts would match the words of a moved sentence with equal words
    /// elsewhere.
    pub(super) fn match_sentences(&mut self) {
        let mut others: HashMap<Vec<u32>, Vec<Range<usize>>, FixedState> = HashMap::default();
        let units = [0, 1].map(|side| self.units(side));
        // Texts of one sentence, and most texts of one line, have nothing to move.
        if units[0].len().min(units[1].len()) < 2 || self.is_in_order() {
            return;
        }
        for unit in units[1].iter().rev() {
            let keys = self.keys[1][unit.clone()].to_vec();
            others.entry(keys).or_default().push(unit.clone());
        }
        for unit in &units[0] {
            let words = self.tokens[0][unit.clone()].iter();
            let words = words.filter(|token| token.class == Class::Word);
            let halves: usize = words.map(Token::half_words).sum();
            let is_sentence = halves >= 2 * MIN_MOVED_WORDS;
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

    /// Returns `true` if each sentence stays in its place: it has a label, a text has numbers
    /// before its items, which the other text may lack, or both texts have a step behind others.
    fn is_in_order(&self) -> bool {
        let is_number = |token: &Token| token.class == Class::Light && is_digits(&token.key);
        *self.is_in_order.get_or_init(|| {
            self.tokens.iter().copied().flatten().any(is_number)
                || self.have_labels()
                || self.have_steps()
        })
    }

    /// Returns `true` if a sentence of both texts begins with a word of [`STEPS`].
    fn have_steps(&self) -> bool {
        [0, 1].into_iter().all(|side| {
            let begins_step = |unit: Range<usize>| {
                unit.len() > 1 && begins_with_any(&self.tokens[side][unit], &STEPS)
            };
            self.units(side).into_iter().any(begins_step)
        })
    }

    /// Returns `true` if sentences belong to speakers, questions or headings: each text has two of
    /// them, before a colon at the start of a line or of a sentence, or has two lines of a word.
    fn have_labels(&self) -> bool {
        [0, 1].into_iter().all(|side| {
            let units = self.units(side).into_iter();
            let is_word = |unit: &Range<usize>| {
                let tokens = &self.tokens[side][unit.clone()];
                tokens[0].stamp.is_none()
                    && (unit.len() == 1 && !tokens[0].is_light()
                        || unit.len() <= MAX_CJK_WORD && tokens.iter().all(Token::is_cjk))
            };
            if units.filter(is_word).count() >= 2 {
                return true;
            }
            let labels = (0..self.tokens[side].len()).filter(|at| self.tokens[side][*at].is_label);
            // A heading has its line to itself.
            let mut labels = labels.filter(|at| {
                let sentence = self.sentence(side, *at);
                sentence.end == at + 1 || at - sentence.start < MAX_LABEL_TOKENS
            });
            labels.nth(1).is_some()
        })
    }

    /// Matches the common tokens of the rest in text order.
    pub(super) fn align(&mut self) {
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

    /// Matches sentences and lines that stand elsewhere in the other text. A clause belongs to its
    /// sentence, and a cell to its row.
    pub(super) fn match_moved(&mut self) {
        if self.is_in_order() {
            return;
        }
        let is_missed = |sides: &Self, side: usize, unit: &Range<usize>| {
            sides.content(side, unit).any(|at| sides.is_open(side, at))
        };
        let mut missed = self.units(0);
        missed.retain(|unit| is_missed(self, 0, unit));
        if missed.is_empty() {
            return;
        }
        let mut others: HashMap<u32, Vec<Range<usize>>, FixedState> = HashMap::default();
        for unit in self.units(1) {
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
                    CoverState::Open => true,
                    CoverState::At(place) => other.contains(&place),
                    CoverState::Part => false,
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
                if let CoverState::At(place) = self.states[side][at] {
                    self.states[1 - side][place] = CoverState::Open;
                    self.states[side][at] = CoverState::Open;
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

    /// Weighs sentences and lines that have changed places around others, as the values of two
    /// labels do. The items of a list with signs are free.
    pub(super) fn weigh_exchanged(&mut self) {
        let others = self.units(1);
        let mut units: Vec<CommonUnit> = Vec::new();
        for unit in self.units(0) {
            let mut content = self.content(0, &unit);
            let Some((at, place)) = content.find_map(|at| Some((at, self.counterpart(0, at)?)))
            else {
                continue;
            };
            let other = others.partition_point(|other| other.start <= place);
            // A line of the other text may be several lines of this one.
            if units.last().is_none_or(|last| last.other != other) {
                let is_item = unit.start == 0 || self.tokens[0][unit.start].before == Break::Item;
                units.push(CommonUnit { at, other, is_item });
            }
        }
        if units.is_sorted_by_key(|unit| unit.other) {
            return;
        }
        let distances = distances(units.iter().map(|unit| unit.other));
        let is_moved = |at: &usize| distances[*at] != 0;
        let is_start = |at: &usize| *at == 0 || distances[*at] != distances[*at - 1];
        let starts = (0..units.len()).filter(is_start);
        let runs = self::distances(starts.map(|at| units[at].other));
        let mut moved = (0..units.len()).filter(is_moved);
        let from = moved.next().unwrap_or(0);
        let to = moved.next_back().unwrap_or(from);
        if units[from..=to].iter().all(|unit| unit.is_item)
            || !is_exchange(&distances) && !is_exchange(&runs)
        {
            return;
        }
        for unit in (0..units.len()).filter(is_moved).map(|at| &units[at]) {
            let place = self.counterpart(0, unit.at).unwrap_or_default();
            self.weigh_replaced(0, unit.at);
            self.weigh_replaced(1, place);
        }
    }

    /// Matches items of enumerations, such as "cats, dogs and birds", whose order carries no sense.
    pub(super) fn match_enumerations(&mut self) {
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
                    && self.have_one_sentence(run.start, other.start)
                    && run.clone().zip((*other).clone()).all(|(one, of)| {
                        self.keys[0][one] == self.keys[1][of]
                            && self.is_open(1, of)
                            && self.tokens[0][one].class == Class::Word
                            && self.tokens[0][one].is_equal_form(&self.tokens[1][of])
                    })
            };
            // The list of the other text.
            let mut places = self.sentence(0, run.start);
            let Some(place) = places.find_map(|at| self.counterpart(0, at)) else {
                continue;
            };
            let list = self.sentence(1, place);
            let first = runs[1].partition_point(|other| other.start < list.start);
            let others = runs[1][first..].iter();
            let mut others = others.take_while(|other| other.start < list.end);
            if let Some(other) = others.find(is_same) {
                for (one, of) in run.clone().zip(other.clone()) {
                    self.match_pair([one, of]);
                }
            }
        }
    }

    /// Returns `true` if the sentences of two tokens have their counterparts in each other: an item
    /// stays in its list.
    fn have_one_sentence(&self, at: usize, other: usize) -> bool {
        let sentences = [self.sentence(0, at), self.sentence(1, other)];
        [0, 1].into_iter().all(|side| {
            let places = sentences[side].clone();
            let mut places = places.filter_map(|at| self.counterpart(side, at));
            places.all(|place| sentences[1 - side].contains(&place))
        })
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
        let from = self.sentence(side, run.start).start;
        let to = self.sentence(side, run.end - 1).end;
        let is_first = || !(from + 1..run.end).any(|at| tokens[at].before == Break::Clause);
        precedes && (follows || is_first()) && is_enumeration(&tokens[from..to])
    }

    /// Matches tokens in one place of the texts that are other forms of one word.
    pub(super) fn match_forgiven(&mut self) {
        let mut accents = Vec::new();
        for run in self.runs(0) {
            let Some(other) = self.opposite(0, &run) else {
                continue;
            };
            if run.len() == other.len() {
                for places in run.clone().zip(other.clone()) {
                    let [one, of] = [&self.tokens[0][places.0], &self.tokens[1][places.1]];
                    let are_neighbours_equal = run.len() == 1;
                    match forgiven(self.weights, one, of) {
                        Some(Equality::Accent) => accents.push([places.0, places.1]),
                        Some(Equality::Regional) => self.match_pair([places.0, places.1]),
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
        // One word may be another word: "drucken", "drücken". English words have no accents.
        let is_certain =
            |[one, of]: &[usize; 2]| !needs_accents(&self.tokens[0][*one], &self.tokens[1][*of]);
        let certain = accents.iter().filter(|pair| is_certain(pair)).count();
        accents.retain(|pair| {
            let is_english = self.tokens[0][pair[0]].is_english;
            certain >= MIN_MISSING_ACCENTS || is_certain(pair) && (certain > 1 || is_english)
        });
        for pair in accents {
            self.match_pair(pair);
        }
    }

    /// Matches the last word of a text that is cut within it with the whole word, which the part
    /// does not cover.
    pub(super) fn match_cut(&mut self) {
        for side in [0, 1] {
            let (tokens, others) = (self.tokens[side], self.tokens[1 - side]);
            let Some(at) = tokens.iter().rposition(|token| token.is_cut) else {
                continue;
            };
            let before = at.checked_sub(1).and_then(|at| self.counterpart(side, at));
            let place = before.map_or(others.len(), |before| before + 1);
            let is_part = |whole: &Token| whole.text.starts_with(&*tokens[at].text);
            // "The fare is 5…" and "he said no…" end with whole words.
            if tokens[at].class == Class::Word
                && half_words(tokens) >= 2 * MIN_TEASER_WORDS
                && self.is_open(side, at)
                && others.get(place).is_some_and(is_part)
                && self.is_open(1 - side, place)
            {
                self.states[side][at] = CoverState::At(place);
                self.states[1 - side][place] = CoverState::At(at);
                self.weigh_replaced(1 - side, place);
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
            self.states[side][whole.start] = CoverState::At(parts.start);
            self.states[1 - side][parts.clone()].fill(CoverState::Part);
        }
    }
}
