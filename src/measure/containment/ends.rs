//! Differences around the body of a text, which [`Weights::news`](super::Weights::news) forgives.
//!
//! Copies of a report have another headline, a lead-in, a line of the editor, an advertisement, a
//! menu. A *passage* is a run of tokens at the head or the tail that the other text does not have,
//! and the body is the rest.

use std::ops::Range;
use std::slice;

use super::cover::{Addition, Passage, Sides, half_words};
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::analysis::words::scanner::Break;
use crate::analysis::words::token::Token;

/// Tokens that the other text lacks belong to one passage if at most three tokens are between them.
const MAX_GAP: usize = 3;

/// A sentence of at most twelve words without a number, a name or a negation adds no fact.
const MAX_ADDITION_WORDS: usize = 12;

/// A clause of at most five such words leads in a text: "In breaking news this morning".
const MAX_LEAD_IN_WORDS: usize = 5;

/// At most three such sentences at each end.
const MAX_ADDITIONS: usize = 3;

/// The fewest content words of a body to which such sentences add no fact.
const MIN_BODY_WORDS: usize = 5;

/// A headline has at most 24 content words.
const MAX_HEADLINE_WORDS: usize = 24;

/// A passage that begins or ends with a sentence has at least four content words, most of them of
/// its own.
const MIN_PASSAGE_WORDS: usize = 4;

/// Two content words without a word that turns a sentence are a passage of a long text: the name
/// of an addressee.
const MIN_INSERTED_WORDS: usize = 2;

/// Five content words of a long text are a passage, and no clause that is turned.
const MIN_OTHER_WORDS: usize = 5;

/// The fewest content words of a long text.
const MIN_LONG_BODY_WORDS: usize = 150;

/// Passages with facts have at most 16 content words together, or one for eight words of the body.
const MAX_FACT_WORDS: usize = 16;
const BODY_WORDS_OF_A_FACT: usize = 8;

/// The fewest content words of a body with other facts around it.
const MIN_HEADED_BODY_WORDS: usize = 32;

/// A body of 400 content words is no template.
const MIN_ARTICLE_WORDS: usize = 400;

/// A long body may have one edited word in 200. A character of Chinese is no word.
const BODY_WORDS_OF_AN_EDIT: usize = 200;

/// Passages are within a quarter of a text from each end, and within this number of content words.
const END_WORDS: Range<usize> = 48..800;
const END_SHARE: usize = 4;

/// The tokens before and after a difference that tell a menu from a sentence.
const CONTEXT: usize = 6;

/// The most function words of a menu: one token in five.
const TOKENS_OF_A_FUNCTION_WORD: usize = 5;

/// Tokens that the other text lacks.
struct Difference {
    tokens: Range<usize>,
    place: EndPlace,
}

/// The place of a difference in its text.
#[derive(Clone, Copy, PartialEq)]
enum EndPlace {
    Head,
    Body,
    Tail,
}

impl Sides<'_> {
    /// Forgives the differences around the bodies of both texts.
    pub(super) fn forgive_ends(&mut self) {
        for insertions in &mut self.insertions {
            insertions.sort_unstable();
        }
        let differences = [0, 1].map(|side| self.differences(side));
        let passages = [0, 1].map(|side| {
            let [own, others] = [side, 1 - side].map(|side| &differences[side][..]);
            self.passages(side, own, others)
        });
        for (side, passages) in passages.into_iter().enumerate() {
            for passage in &passages {
                self.losses[side][passage.tokens.clone()].fill(0.0);
            }
            // An insertion is a loss of the text that does not have it.
            self.insertions[side].retain(|at| !contains(&passages, *at));
            self.passages[side] = passages;
        }
    }

    /// Returns `true` if a token is in a passage that is forgiven.
    pub(super) fn is_in_passage(&self, side: usize, at: usize) -> bool {
        contains(&self.passages[side], at)
    }

    /// The differences of a text that are forgiven; none if one of them is not.
    fn passages(&self, side: usize, own: &[Difference], others: &[Difference]) -> Vec<Passage> {
        let mut passages = Vec::with_capacity(own.len());
        let (mut halves, mut heads, mut tails) = ([0; 3], 0, 0);
        for Difference { tokens, place } in own {
            // A sentence in the place of another sentence is no addition.
            let is_added = others.iter().all(|other| other.place != *place);
            let Some(addition) = self.addition(*place, side, tokens, is_added) else {
                return Vec::new();
            };
            heads += usize::from(addition == Addition::Plain && *place == EndPlace::Head);
            tails += usize::from(addition == Addition::Plain && *place == EndPlace::Tail);
            // Also an exchanged light word is an edit.
            halves[addition as usize] += half_words(&self.tokens[side][tokens.clone()]).max(2);
            passages.push(Passage {
                tokens: tokens.clone(),
                addition,
            });
        }
        let [plain, facts, edits] = halves;
        let body = half_words(self.tokens[side]).saturating_sub(plain + facts);
        let least_body = match facts {
            0 => MIN_BODY_WORDS,
            _ => MIN_HEADED_BODY_WORDS,
        };
        let is_forgiven = body >= 2 * least_body
            && facts <= (2 * MAX_FACT_WORDS).max(body / BODY_WORDS_OF_A_FACT)
            && edits <= body / BODY_WORDS_OF_AN_EDIT
            && heads.max(tails) <= MAX_ADDITIONS;
        if !is_forgiven {
            passages.clear();
        }
        passages
    }

    /// The differences of a text, with their places.
    fn differences(&self, side: usize) -> Vec<Difference> {
        // The content words before each token.
        let tokens = self.tokens[side].iter();
        let mut sums: Vec<usize> = (tokens.scan(0, |sum, token| {
            let before = *sum;
            *sum += half_words(slice::from_ref(token));
            Some(before)
        }))
        .collect();
        let text = half_words(self.tokens[side]);
        sums.push(text);
        let most = (text / END_SHARE).clamp(2 * END_WORDS.start, 2 * END_WORDS.end);
        let place = |tokens: &Range<usize>| {
            let (before, after) = (sums[tokens.end], text - sums[tokens.start]);
            match (before <= most, after <= most) {
                (false, false) => EndPlace::Body,
                (false, true) => EndPlace::Tail,
                (true, true) if after < before => EndPlace::Tail,
                _ => EndPlace::Head,
            }
        };
        let found = self.runs_of_losses(side).into_iter();
        found
            .map(|tokens| Difference {
                place: place(&tokens),
                tokens,
            })
            .collect()
    }

    /// The runs of tokens that the other text lacks, or that change a clause of the other text. A
    /// run ends with a sentence that the other text does not have.
    fn runs_of_losses(&self, side: usize) -> Vec<Range<usize>> {
        let tokens = self.tokens[side];
        let mut found: Vec<Range<usize>> = Vec::new();
        for at in 0..tokens.len() {
            let is_inserted = self.insertions[side].binary_search(&at).is_ok();
            let is_lost = self.losses[side][at] > 0.0 || is_inserted;
            let is_near = |last: &Range<usize>| at - last.end <= MAX_GAP;
            match found.last_mut() {
                _ if !is_lost => {}
                Some(last) if is_near(last) && !tokens[at].before.ends_unit() => last.end = at + 1,
                _ => {
                    let open = (0..=at).rev().take_while(|at| self.is_open(side, *at));
                    let open = open
                        .take_while(|open| *open == at || !tokens[*open + 1].before.ends_unit());
                    found.push(open.last().unwrap_or(at)..at + 1);
                }
            }
        }
        for run in &mut found {
            let is_open = |at: &usize| self.is_open(side, *at) && !tokens[*at].before.ends_unit();
            run.end += (run.end..tokens.len()).take_while(is_open).count();
        }
        found
    }

    /// The addition of a difference to the body; `None` if the difference is not forgiven.
    fn addition(
        &self,
        place: EndPlace,
        side: usize,
        range: &Range<usize>,
        is_added: bool,
    ) -> Option<Addition> {
        let all = self.tokens[side];
        let tokens = &all[range.clone()];
        let next = all.get(range.end);
        let begins = range.start == 0 || tokens[0].before.ends_unit();
        let ends = next.is_none_or(|next| next.before.ends_unit());
        let words = half_words(tokens);
        let has_fact = |token: &Token| {
            let is_fact = matches!(token.class, Class::Number | Class::Symbol);
            is_fact || token.is_name || Lexicon::builtin().negates(&token.text)
        };
        let is_plain = !tokens.iter().any(has_fact);
        let turns = tokens.iter().any(Token::is_turn);
        let open = self
            .content(side, range)
            .filter(|at| self.is_open(side, *at));
        let is_own = 2 * open.count() >= self.content(side, range).count();
        if place != EndPlace::Body {
            let is_plain_addition = is_added && is_own && is_plain;
            if begins && ends && is_plain_addition && words <= 2 * MAX_ADDITION_WORDS {
                return Some(Addition::Plain);
            }
            let leads_in = range.start == 0
                && next.is_some_and(|next| next.before == Break::Clause)
                && words <= 2 * MAX_LEAD_IN_WORDS;
            if leads_in && is_plain_addition {
                return Some(Addition::Plain);
            }
            let sentence = self.sentence(side, range.start);
            let lost = self
                .content(side, &sentence)
                .filter(|at| self.is_open(side, *at));
            // A title with another number or name is the title of another item of a series.
            let is_title = place == EndPlace::Head
                && half_words(&all[..range.start]) <= 2 * MAX_HEADLINE_WORDS
                && words >= 2 * MIN_INSERTED_WORDS
                && 3 * lost.count() >= self.content(side, &sentence).count()
                && half_words(&all[sentence.clone()]) <= 2 * MAX_HEADLINE_WORDS
                && all
                    .get(sentence.end)
                    .is_some_and(|next| next.before == Break::Line);
            let is_aligned = match place {
                EndPlace::Tail => ends || begins,
                _ => begins,
            };
            let is_passage = is_aligned && is_own && words >= 2 * MIN_PASSAGE_WORDS;
            let is_inserted = is_own
                && words >= 2 * MIN_INSERTED_WORDS
                && half_words(all) >= 2 * MIN_LONG_BODY_WORDS
                && (words >= 2 * MIN_OTHER_WORDS || !turns);
            let is_headed = place == EndPlace::Tail || is_plain || self.is_headline(side, range);
            if is_headed && (is_title || is_passage || is_inserted) || self.is_menu(side, range) {
                return Some(Addition::Facts);
            }
        }
        let is_cjk = tokens.iter().any(Token::is_cjk);
        (is_plain && !turns && !is_cjk).then_some(Addition::Edit)
    }

    /// Returns `true` for words of which the other text has a third, as the body has words of its
    /// headline. In a template the words that are in no other place name the subject.
    fn is_headline(&self, side: usize, range: &Range<usize>) -> bool {
        if half_words(self.tokens[side]) >= 2 * MIN_ARTICLE_WORDS {
            return true;
        }
        let others = &self.keys[1 - side];
        let lexicon = Lexicon::builtin();
        let is_word = |at: &usize| lexicon.class(&self.tokens[side][*at].text) == Class::Word;
        let words: Vec<usize> = self.content(side, range).filter(is_word).collect();
        let known = words
            .iter()
            .filter(|at| others.contains(&self.keys[side][**at]));
        3 * known.count() >= words.len()
    }

    /// Returns `true` for tokens between the signs of a menu, without the function words of a
    /// sentence.
    fn is_menu(&self, side: usize, range: &Range<usize>) -> bool {
        let all = self.tokens[side];
        let context = range.start.saturating_sub(CONTEXT)..(range.end + CONTEXT).min(all.len());
        let tokens = &all[context];
        let lexicon = Lexicon::builtin();
        let is_function_word = |token: &&Token| {
            token.class != Class::Symbol
                && matches!(lexicon.class(&token.text), Class::Light | Class::Turn)
        };
        half_words(&all[range.clone()]) >= 2 * MIN_INSERTED_WORDS
            && tokens.iter().any(|token| token.class == Class::Symbol)
            && !tokens.iter().any(Token::is_cjk)
            && tokens.iter().filter(is_function_word).count() * TOKENS_OF_A_FUNCTION_WORD
                <= tokens.len()
    }
}

fn contains(passages: &[Passage], at: usize) -> bool {
    let after = passages.partition_point(|passage| passage.tokens.end <= at);
    passages
        .get(after)
        .is_some_and(|passage| passage.tokens.start <= at)
}
