//! Tokens that tell nothing more: a sentence that repeats its headline, the numbers and the signs
//! before items. They may be absent, and are not exchanged.

use std::ops::Range;

use super::lexicon::Class;
use super::number;
use super::scanner::Break;
use super::tokens::Token;

/// A shorter sentence, such as an answer or a row of numbers, has its meaning by its place.
const MIN_REPEATED_TOKENS: usize = 4;

/// An item of fewer words is a value: "1. B" is a key of answers.
const MIN_ITEM_WORDS: usize = 2;

/// The fewest items of a list with numbers.
const MIN_ITEMS: usize = 2;

/// Marks the first sentence of a text whose headline is the same sentence.
pub(super) fn mark_headline(tokens: &mut [Token]) {
    let mut ends = (1..tokens.len()).filter(|at| tokens[*at].before.ends_unit());
    let Some(headline) = ends.next() else {
        return;
    };
    let end = ends.next().unwrap_or(tokens.len());
    let (one, other) = (&tokens[..headline], &tokens[headline..end]);
    let mut pairs = one.iter().zip(other);
    let is_prose = one.iter().all(|token| token.class != Class::Symbol);
    if one.len() == other.len()
        && one.len() >= MIN_REPEATED_TOKENS
        && is_prose
        && pairs.all(|(one, other)| one.text == other.text)
    {
        for token in &mut tokens[headline..end] {
            token.is_in_frame = true;
            token.is_name = false;
        }
    }
}

/// Marks the signs that begin several lines: emoji, arrows, empty boxes.
pub(super) fn mark_bullets(tokens: &mut [Token], ranges: &[Range<usize>], text: &str) {
    let is_bullet = |at: &usize| {
        tokens[*at].class == Class::Symbol
            && text[ranges[*at].end..].starts_with(' ')
            && begins_line(text, ranges[*at].start)
    };
    let bullets: Vec<usize> = (0..tokens.len()).filter(is_bullet).collect();
    let Some((first, rest)) = bullets.split_first() else {
        return;
    };
    let sign = tokens[*first].text.clone();
    if rest.is_empty() || rest.iter().any(|at| tokens[*at].text != sign) {
        return;
    }
    for at in bullets {
        tokens[at].class = Class::Light;
    }
}

/// Marks the numbers of the items of a list, each at the start of a line: "1. Open the door."
pub(super) fn mark_numbers_of_items(tokens: &mut [Token], ranges: &[Range<usize>], text: &str) {
    let is_number = |at: &usize| {
        let next = tokens.get(at + 1);
        let own = &text[ranges[*at].clone()];
        let is_circled = || {
            own.chars()
                .next()
                .is_some_and(|c| number::circled(c).is_some())
        };
        let ends_number = text[ranges[*at].end..].starts_with(['.', ')', '、', '．', '）']);
        let item = (*at + 1..tokens.len()).take_while(|at| !tokens[*at].before.ends_unit());
        let words = item.filter(|at| tokens[*at].class == Class::Word);
        next.is_some_and(|next| next.before == Break::Clause)
            && (ends_number || is_circled())
            && words.take(MIN_ITEM_WORDS).count() == MIN_ITEM_WORDS
            && (tokens[*at].before.ends_unit() && begins_line(text, ranges[*at].start)
                || is_circled())
    };
    let items: Vec<usize> = (0..tokens.len()).filter(is_number).collect();
    let mut last = 0_u32;
    // A second list begins with 1 again.
    let is_next = |at: &usize| {
        let number = tokens[*at].key.parse().ok();
        let is_next = number.is_some_and(|number| number == last + 1 || number == 1);
        last = number.unwrap_or_default();
        is_next
    };
    if items.len() >= MIN_ITEMS && items.iter().all(is_next) {
        for at in items {
            tokens[at].class = Class::Light;
        }
    }
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t', '(', '（', '*', '-', '#']);
    before.is_empty() || before.ends_with('\n')
}
