//! The words that one text adds to a clause of the other, or beside it: they turn the clause, name
//! another thing, or take the text back.

use std::ops::Range;

use super::cover::{MIN_TEASER_WORDS, Sides, begins_with_any, half_words, is_conjunction};
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::analysis::words::scanner::Break;
use crate::analysis::words::token::Token;
use crate::analysis::words::values::is_year;
use crate::time_reader::month_named;

/// At most three content words behind a title or before a sentence name another thing: "apple" and
/// "apple pie". More words add a fact.
const MAX_QUALIFIER_WORDS: usize = 3;

/// The fewest content words of a sentence. A shorter clause is taken for a title.
const MIN_SENTENCE_WORDS: usize = 5;

/// A sentence that takes back another one says so in its first two words; if it has few tokens and
/// is about the text, anywhere: "This is a hoax."
const HEAD_OF_RETRACTION: usize = 2;
const MAX_RETRACTION: usize = 6;

/// The beginnings of sentences about the text.
const OF_TEXT: [&str; 6] = ["this", "that", "just", "这", "以上", "本文"];

/// Words that begin a clause by which another one is doubtful: "..., or so they thought", "...,
/// says a blog", "According to a blog, ...".
#[rustfmt::skip]
const DOUBTS: [&str; 14] = [
    "or", "says", "said", "say", "according", "contrary", "writes", "wrote", "argues", "argued", "believes",
    "suggests", "据", "前提",
];

/// Adverbs of place and time that end no noun.
#[rustfmt::skip]
const ADVERBS: [&str; 28] = [
    "outside", "inside", "outdoors", "indoors", "here", "there", "home", "abroad", "nearby", "upstairs",
    "downstairs", "everywhere", "today", "tonight", "yesterday", "tomorrow", "now", "again", "later", "soon",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "online",
];

/// Words that end the name of a time before a sentence: "last week".
#[rustfmt::skip]
const TIMES: [&str; 12] = [
    "week", "weekend", "month", "year", "century", "morning", "afternoon", "evening", "night", "ago", "later",
    "earlier",
];

const SEASONS: [&str; 5] = ["spring", "summer", "autumn", "fall", "winter"];

/// Words that join a sentence to the sentences before it.
#[rustfmt::skip]
const CONNECTIVES: [&str; 36] = [
    "additionally", "finally", "firstly", "secondly", "thirdly", "lastly", "similarly", "consequently",
    "accordingly", "subsequently", "separately", "recently", "currently", "此外", "另外", "同时", "因此", "所以", "于是",
    "其中", "目前", "随后", "最后", "首先", "其次", "然后", "接着", "而且", "并且", "总之", "近期", "如今", "现在", "最近", "当前",
    "日前",
];

/// Words that make a condition of a time: "before 1990".
const CONDITIONS: [&str; 6] = ["before", "until", "till", "after", "unless", "from"];

/// Titles in front of the name of an author.
const TITLES: [&str; 3] = ["记者", "本报", "新华社"];

/// Words in front of a page that was changed.
const CHANGED: [&str; 4] = ["updated", "edited", "posted", "published"];

fn is_day(word: &str) -> bool {
    word.ends_with("day") && ADVERBS.contains(&word) || month_named(word).is_some()
}

/// Returns `true` for a label that names the author of a text: "Ann wrote:", 记者王军报道：
fn names_author(label: &[Token]) -> bool {
    let [names @ .., last] = label else {
        return false;
    };
    let is_of_name = |token: &Token| token.is_capital || token.is_light();
    match last.is_cjk() {
        true => {
            let text: String = label.iter().map(|token| &*token.text).collect();
            let has_title = TITLES.iter().any(|title| text.contains(title));
            has_title && text.ends_with("报道")
        }
        false => matches!(&*last.text, "writes" | "wrote") && names.iter().all(is_of_name),
    }
}

impl Sides<'_> {
    /// Finds clauses of a text into which the other text inserts words that turn the clause or name
    /// another thing.
    pub(super) fn find_insertions(&mut self, side: usize) {
        let other = 1 - side;
        for run in self.runs(other) {
            self.find_retraction(other, &run);
            if self.is_between_neighbours(other, &run) {
                self.insertions[other].push(run.start);
            }
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
            if to.is_some_and(|to| !tokens[to].before.ends_unit()) {
                self.find_added_clause(other, &run, true);
            }
            for (is_tail, (neighbour, segment)) in
                [head.map(|s| (false, s)), tail.map(|s| (true, s))]
                    .into_iter()
                    .flatten()
            {
                let ends_clause = !is_tail && (first_break.is_some() || !joins_next);
                let Some(place) = self.counterpart(other, neighbour) else {
                    continue;
                };
                // The rest of the clause that a mark of truncation stands for. In a short text an
                // ellipsis may end a sentence.
                if self.tokens[side][place].is_cut
                    && !is_tail
                    && half_words(self.tokens[side]) >= 2 * MIN_TEASER_WORDS
                {
                    continue;
                }
                let is_sentence = ends_clause
                    && self.is_sentence(side, place)
                    && !self.is_compound(other, segment.start);
                if !is_tail {
                    self.find_added_clause(other, &run, false);
                }
                if self.alters(other, segment.clone(), ends_clause, is_sentence) {
                    self.insertions[other].push(segment.start);
                }
            }
        }
    }

    /// Finds a sentence that takes back the sentence before or behind it, "Correction: the road is
    /// open.", and a heading that negates what is below it. Sentences farther off are about other
    /// things.
    fn find_retraction(&mut self, other: usize, run: &Range<usize>) {
        let (tokens, lexicon) = (self.tokens[other], Lexicon::builtin());
        let begins_unit = |at: &usize| tokens.get(*at).is_none_or(|next| next.before.ends_unit());
        let first = Some(run.start).filter(|at| *at > 0 && begins_unit(at));
        let last = run.clone().rev().find(begins_unit);
        let last = last.filter(|_| run.end < tokens.len() && begins_unit(&run.end));
        let starts = first.into_iter().chain(last);
        let unit_of = |at: usize| at..(at + 1..run.end).find(begins_unit).unwrap_or(run.end);
        let head_of = |unit: Range<usize>| {
            let is_about_text = begins_with_any(&tokens[unit.clone()], &OF_TEXT);
            match is_about_text && unit.len() <= MAX_RETRACTION {
                true => unit,
                false => unit.start..unit.end.min(unit.start + HEAD_OF_RETRACTION),
            }
        };
        let mut heads = starts.flat_map(|at| head_of(unit_of(at)));
        let found = heads.find(|at| lexicon.retracts(&tokens[*at].text));
        // "Do not eat:", above a list
        let ends_heading = |at: &usize| tokens[*at].is_label && begins_unit(&(at + 1));
        let end = run
            .clone()
            .rev()
            .find(ends_heading)
            .filter(|_| last.is_some());
        let heading = end.map(|end| {
            let begins = |at: &usize| *at == run.start || begins_unit(at);
            (run.start..=end).rev().find(begins).unwrap_or(end)..=end
        });
        let negated =
            heading.and_then(|mut unit| unit.find(|at| lexicon.negates(&tokens[*at].text)));
        self.insertions[other].extend(found.or(negated));
    }

    /// Finds a word that negates a sentence in the clauses that a run adds to the sentence: "If it
    /// rains, ...", 除外; and a clause of [`DOUBTS`]. Behind a comma, a bracket or a dash, also a
    /// few words name another thing: "a library (documentation)".
    fn find_added_clause(&mut self, other: usize, run: &Range<usize>, is_tail: bool) {
        let (tokens, lexicon) = (self.tokens[other], Lexicon::builtin());
        let mut ends = run.clone().filter(|at| tokens[*at].before.ends_unit());
        let added = match is_tail {
            true => ends.next_back().unwrap_or(run.start)..run.end,
            false => run.start..ends.next().unwrap_or(run.end),
        };
        let halves = half_words(&tokens[added.clone()]);
        let is_name = (1..=2 * MAX_QUALIFIER_WORDS).contains(&halves)
            && match is_tail {
                true => self.is_front(other, &added),
                false => tokens[added.start].before == Break::Clause,
            };
        let negates = |at: &usize| lexicon.negates(&tokens[*at].text);
        let is_doubt = tokens[added.start].before != Break::None
            && begins_with_any(&tokens[added.clone()], &DOUBTS);
        let is_found = is_name || is_doubt;
        let found = added.clone().find(negates);
        let found = found.or(is_found.then_some(added.start));
        self.insertions[other].extend(found);
    }

    /// Returns `true` for a phrase before a sentence, with a comma behind it and without a time,
    /// "In the novel, the king dies", and for a label, "Draft: ...". A single word may join the
    /// sentence to others: "meanwhile". Other words doubt the sentence, "hopefully", or take it
    /// back: `[Closed]`.
    fn is_front(&self, side: usize, added: &Range<usize>) -> bool {
        let (tokens, phrase) = (self.tokens[side], &self.tokens[side][added.clone()]);
        // "In Season 3" and "In Windows 2000" are no times, and "before 1990" is a condition.
        let is_year = |at: usize| {
            let last = at.checked_sub(1).filter(|last| *last > 0);
            let is_named = last
                .is_some_and(|last| phrase[last].is_capital && phrase[last].class == Class::Word);
            phrase[at].text.parse().is_ok_and(is_year) && !is_named
        };
        let is_dated = |at: usize| {
            let token = &phrase[at];
            is_day(&token.text)
                || token.class == Class::Number && (token.text.contains(':') || is_year(at))
        };
        let is_condition = |token: &Token| CONDITIONS.contains(&&*token.text);
        let is_time_of_sentence =
            (0..phrase.len()).any(is_dated) && !phrase.iter().any(is_condition);
        let is_time = |text: &str| {
            TIMES.contains(&text)
                || text.ends_with(['时', '天', '日', '周', '月', '年', '晚', '午'])
        };
        let next = tokens.get(added.end);
        let is_ended = next.is_some_and(|next| next.before == Break::Clause);
        let text = || phrase.iter().map(|token| &*token.text).collect::<String>();
        let is_front = match phrase {
            [.., last] if last.is_label => {
                !names_author(phrase) && phrase.iter().any(|token| token.class != Class::Number)
            }
            [word] if !word.is_cjk() => {
                word.is_english
                    && (word.text.ends_with("ly")
                        || word.text.ends_with("ed") && !CHANGED.contains(&&*word.text))
            }
            [.., last] => !is_time(&last.text),
            [] => false,
        };
        is_front
            && is_ended
            && phrase[0].before.ends_unit()
            && !CONNECTIVES.contains(&&*text())
            && !is_time_of_sentence
    }

    /// Returns `true` if a token is in a sentence, to whose end a word adds a fact, and not in a
    /// title, whose last word names a thing.
    fn is_sentence(&self, side: usize, at: usize) -> bool {
        let start = self.sentence(side, at).start;
        let token = &self.tokens[side][at];
        // Of other languages, the words that turn a sentence at its end are not all known.
        (token.is_english || token.is_cjk())
            && half_words(&self.tokens[side][start..=at]) >= 2 * MIN_SENTENCE_WORDS
    }

    /// Returns `true` for a word that follows a sentence directly, and may make another thing of
    /// its last word or turn the sentence: "apple pie", "unsuccessfully". Words of place and time
    /// add a fact: "the rain outside".
    fn is_compound(&self, side: usize, at: usize) -> bool {
        let token = &self.tokens[side][at];
        let is_adverb = ADVERBS.contains(&&*token.text);
        let is_of_title = match token.class {
            Class::Word => true,
            // "Linux", "Linux 5.15"; a time is none: "3 May 2020", "2 days ago"
            Class::Number => !self.is_time(side, at),
            _ => false,
        };
        is_of_title && token.before == Break::None && !is_adverb
    }

    /// Returns `true` for a number that is a time of a day, a year behind another part of a date or
    /// behind a season, or a number of days.
    fn is_time(&self, side: usize, at: usize) -> bool {
        let tokens = self.tokens[side];
        let last = at.checked_sub(1).map(|last| &tokens[last]);
        let is_of_date = |last: &Token| {
            last.class == Class::Number || is_day(&last.text) || SEASONS.contains(&&*last.text)
        };
        let is_year = tokens[at].text.parse().is_ok_and(is_year) && last.is_some_and(is_of_date);
        let is_unit = |next: &Token| {
            let unit = next.text.strip_suffix('s').unwrap_or(&next.text);
            TIMES.contains(&unit) || matches!(unit, "second" | "minute" | "hour" | "day")
        };
        tokens[at].text.contains(':') || is_year || tokens.get(at + 1).is_some_and(is_unit)
    }

    /// Returns `true` if inserted tokens turn a clause or name another thing. Between two words of
    /// a clause they do, however many they are: "the mayor", "the mayor's old friend Bob".
    fn alters(
        &self,
        side: usize,
        segment: Range<usize>,
        ends_clause: bool,
        is_sentence: bool,
    ) -> bool {
        let tokens = &self.tokens[side][segment];
        let halves = half_words(tokens);
        // A noun behind 的 or "and" is another thing: 市长去世, 市长去世的传闻; "Simon and Garfunkel".
        let joins_noun =
            |token: &Token| matches!(&*token.text, "的" | "之") || is_conjunction(token);
        let is_noun = tokens.first().is_some_and(joins_noun);
        if (is_noun || !ends_clause) && halves > 0 || tokens.iter().any(Token::is_turn) {
            return true;
        }
        // A possessor is another person: a doctor, a doctor's son.
        let begins_phrase = |token: &Token| {
            token.is_light() && token.text != "s" || matches!(&*token.text, "that" | "which")
        };
        let is_phrase = is_sentence || tokens.first().is_some_and(begins_phrase);
        halves > 0 && halves.div_ceil(2) <= MAX_QUALIFIER_WORDS && !is_phrase
    }
}
