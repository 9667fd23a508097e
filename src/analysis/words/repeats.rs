//! Tokens that add nothing. A second "the" is dropped. A first sentence that repeats its headline,
//! and the numbers and the signs before items, are marked: they may be absent, and are not
//! exchanged.

use std::ops::Range;

use super::lexicon::Class;
use super::number;
use super::scanner::{Break, End};
use super::token::Token;
use crate::text::floor_char_boundary;

/// Words of English grammar that are written twice by mistake alone. "of of", "is is" and "that
/// that" are also the end of one phrase and the start of another one: "whatever is is right". The
/// same is true of 与与 in Chinese and of "die die" in German.
const DOUBLED: [&str; 3] = ["an", "the", "your"];

/// A shorter sentence, such as an answer or a row of numbers, has its meaning by its place.
const MIN_REPEATED_TOKENS: usize = 4;

/// An item of fewer words is a value: "1. B" is a key of answers.
const MIN_ITEM_WORDS: usize = 2;

/// The words of an item are sought among its first tokens.
const MAX_ITEM_TOKENS: usize = 64;

/// The fewest items of a list with numbers.
const MIN_ITEMS: usize = 2;

/// The most bytes of spaces, brackets and bullets before an item.
const MAX_INDENT_BYTES: usize = 256;

/// Drops the second one of two equal words of grammar beside each other: "the the". Three equal
/// words are no mistake.
pub(super) fn drop_doubled(tokens: &mut Vec<(Token, Range<usize>)>, text: &str) {
    let is_again = |at: usize| {
        let pair = at.checked_sub(1).and_then(|last| tokens.get(last..=at));
        let Some([(last, before), (token, range)]) = pair else {
            return false;
        };
        last.text == token.text
            && DOUBLED.contains(&&*token.text)
            && token.before == Break::None
            && text.get(before.end..range.start) == Some(" ")
            && token.is_english
            && !(token.is_name || token.is_capital || last.is_proper)
    };
    let is_doubled = |at: usize| is_again(at) && !is_again(at - 1) && !is_again(at + 1);
    if !(0..tokens.len()).any(is_doubled) {
        return;
    }
    let doubled: Vec<bool> = (0..tokens.len()).map(is_doubled).collect();
    let mut doubled = doubled.into_iter();
    tokens.retain(|_| !doubled.next().unwrap_or_default());
}

/// Marks the first sentence of a text whose headline is the same sentence. A headline has no mark
/// at its end. Two equal rows with numbers are rows of a list.
pub(super) fn mark_headline(tokens: &mut [Token]) {
    let mut ends = (1..tokens.len()).filter(|at| tokens[*at].before.ends_unit());
    let Some(headline) = ends.next() else {
        return;
    };
    let end = ends.next().unwrap_or(tokens.len());
    let (one, other) = (&tokens[..headline], &tokens[headline..end]);
    let mut pairs = one.iter().zip(other);
    let ends = [one, other].map(|sentence| sentence.last().map_or(End::None, |last| last.end));
    let is_row = ends[1] == End::None && one.iter().any(|token| token.class == Class::Number);
    let is_prose =
        ends[0] == End::None && !is_row && one.iter().all(|token| token.class != Class::Symbol);
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

/// Returns `true` for a sign that begins an item: a shape, an arrow, a star, a tick, a hand. A
/// cross, a prohibition, a currency and a comparison carry information about the item.
fn is_bullet_sign(sign: &str) -> bool {
    let is_bullet = |c: char| {
        matches!(
            c,
            '\u{2190}'..='\u{21ff}' | '\u{25a0}'..='\u{25ff}' | '★' | '☆' | '☐' | '☑' | '☛'..='☞'
                | '✅' | '✓' | '✔' | '✦'..='❋' | '❖' | '➔'..='➾' | '⚪' | '⚫' | '⬛'..='⬜' | '⭐'
                | '👆'..='👉' | '📌' | '📍' | '🔵'..='🔹' | '🔘' | '🔲' | '🔳'
        )
    };
    matches!(sign, "->" | "[ ]") || sign.starts_with(is_bullet)
}

/// Marks the signs that begin several lines, and carry no information about them.
pub(super) fn mark_bullets(tokens: &mut [Token], ranges: &[Range<usize>], text: &str) {
    let is_bullet = |at: &usize| {
        (tokens[*at].class == Class::Symbol || is_bullet_sign(&tokens[*at].text))
            && text[ranges[*at].end..].starts_with(' ')
            && begins_line(&text[..ranges[*at].start])
    };
    let bullets: Vec<usize> = (0..tokens.len()).filter(is_bullet).collect();
    let Some((first, rest)) = bullets.split_first() else {
        return;
    };
    let is_sign = |at: &usize| tokens[*at].text == tokens[*first].text;
    if rest.is_empty() || !is_bullet_sign(&tokens[*first].text) || !rest.iter().all(is_sign) {
        return;
    }
    for at in bullets {
        tokens[at].class = Class::Light;
        // A full shape ticks nothing if each line has it.
        if matches!(&*tokens[at].text, "■" | "◆" | "▪") {
            tokens[at].text = "●".into();
            tokens[at].key = tokens[at].text.clone();
        }
    }
}

/// Marks the numbers of the items of a list, each at the start of a line, "1. Open the door.", or
/// in a circle.
pub(super) fn mark_numbers_of_items(tokens: &mut [Token], ranges: &[Range<usize>], text: &str) {
    let is_number = |at: &usize| {
        // Most tokens end here.
        let next = tokens.get(at + 1);
        if next.is_none_or(|next| next.before != Break::Clause) {
            return false;
        }
        let (before, after) = (&text[..ranges[*at].start], &text[ranges[*at].end..]);
        let own = text[ranges[*at].clone()].chars().next();
        let is_circled = own.and_then(number::circled).is_some();
        let is_label = after.starts_with(['.', ')', '、', '．', '）'])
            && tokens[*at].before.ends_unit()
            && begins_line(before);
        (is_circled || is_label) && has_item_words(&tokens[at + 1..])
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

/// Returns `true` if the sentence or line at the start of some tokens has the words of an item.
fn has_item_words(tokens: &[Token]) -> bool {
    let tokens = tokens.iter().take(MAX_ITEM_TOKENS);
    let item = tokens.take_while(|token| !token.before.ends_unit());
    let words = item.filter(|token| token.class == Class::Word);
    words.take(MIN_ITEM_WORDS).count() == MIN_ITEM_WORDS
}

/// Returns `true` for the text before a line, with or without the spaces, brackets and bullets of
/// the line.
fn begins_line(before: &str) -> bool {
    let from = floor_char_boundary(before, before.len().saturating_sub(MAX_INDENT_BYTES));
    let indent = before[from..].trim_end_matches([' ', '\t', '(', '（', '*', '-', '#']);
    indent.is_empty() && from == 0 || indent.ends_with('\n')
}
