//! Values that are written in several tokens: prices, dates, times, ordinals, numbers in words. The
//! tokens of one value are equal in all its forms.

use std::ops::Range;

use smol_str::SmolStr;

use super::lexicon::{Class, Lexicon};
use super::number;
use super::scanner::Break;
use super::tokens::Token;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

const ONES: [&str; 9] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];

/// A token and its bytes in the text.
type PlacedToken = (Token, Range<usize>);

/// Gives the tokens of each value in the text their common form.
pub(super) fn unify(tokens: &mut Vec<PlacedToken>, text: &str) {
    let mut merges = false;
    for at in 1..tokens.len() {
        // Most tokens end here.
        let [last, token] = [&tokens[at - 1].0, &tokens[at].0];
        if token.before != Break::None || !begins_value(last) {
            continue;
        }
        let gap = &text[tokens[at - 1].1.end..tokens[at].1.start.max(tokens[at - 1].1.end)];
        if let Some(value) = merged(&tokens[..=at], gap) {
            merge(tokens, at, value);
            merges = true;
        }
    }
    if merges {
        tokens.retain(|(token, _)| !token.text.is_empty());
    }
    for at in 1..tokens.len() {
        let [last, token] = [&tokens[at - 1].0, &tokens[at].0];
        if token.before != Break::None {
            continue;
        }
        if is_currency(last) && token.class == Class::Number {
            swap(tokens, at);
        } else if let Some(month) = month(token).filter(|_| day(last).is_some()) {
            let next = tokens.get(at + 1).map(|(next, _)| next);
            if next.is_none_or(|next| day(next).is_none() || next.before != Break::None) {
                set_date(tokens, [at, at - 1], month);
                swap(tokens, at);
            }
        } else if let Some(month) = month(last).filter(|_| day(token).is_some()) {
            set_date(tokens, [at - 1, at], month);
        } else if is_time(last) && matches!(&*token.key, "am" | "pm" | "a.m" | "p.m") {
            let time = last.text.replace('.', ":");
            let time = time.strip_suffix(":00").unwrap_or(&time);
            tokens[at - 1].0.key = time.into();
            tokens[at - 1].0.text = time.into();
        } else if token.text == "号" && last.class == Class::Number && is_day(tokens, at) {
            tokens[at].0.key = "日".into();
            tokens[at].0.text = "日".into();
        }
    }
}

/// Makes one token of the value of two. The first of them is left without a text.
fn merge(tokens: &mut [PlacedToken], at: usize, value: String) {
    let [.., (last, of_last), (token, range)] = &mut tokens[..=at] else {
        return;
    };
    let entry = Lexicon::builtin().entry(&value);
    token.key = entry
        .and_then(|entry| entry.canonical)
        .unwrap_or(&value)
        .into();
    token.class = match &*value {
        "percent" => Class::Word,
        _ => Class::Number,
    };
    token.text = value.into();
    token.before = last.before;
    token.is_name = false;
    range.start = of_last.start;
    last.text = SmolStr::default();
}

/// Returns `true` for an hour of a clock with two times twelve hours, and its minutes.
fn is_time(token: &Token) -> bool {
    let (hour, minutes) = token
        .text
        .split_once(['.', ':'])
        .unwrap_or((&token.text, "00"));
    let is_below = |part: &str, end: u8| part.parse::<u8>().is_ok_and(|value| value < end);
    token.class == Class::Number
        && token.is_english
        && is_below(hour, 13)
        && minutes.len() == 2
        && is_below(minutes, 60)
}

fn begins_value(token: &Token) -> bool {
    token.class == Class::Number
        || matches!(&*token.text, "a" | "per")
        || TENS.contains(&&*token.text)
}

/// The value of the last two tokens, which are one value; `None` for two values.
fn merged(tokens: &[PlacedToken], gap: &str) -> Option<String> {
    let [before @ .., (last, _), (token, _)] = tokens else {
        return None;
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let before = before.last().map(|(before, _)| before);
    let is_article = last.text == "a" && !last.is_capital;
    match &*token.text {
        "st" | "nd" | "rd" | "th" if gap.is_empty() && is_digits(&last.text) => {
            Some(format!("{}th", last.text))
        }
        "bn" | "mn" if gap.len() <= 1 && !token.is_capital => {
            let power = if token.text == "bn" { 9 } else { 6 };
            number::times_power_of_ten(&last.text, power)
        }
        "m" | "k" if gap.len() <= 1 && before.is_some_and(is_currency) => {
            let power = if token.text == "m" { 6 } else { 3 };
            number::times_power_of_ten(&last.text, power)
        }
        "hundred" if is_article => Some("100".to_owned()),
        "thousand" if is_article => Some("1000".to_owned()),
        "million" if is_article => Some("1000000".to_owned()),
        "billion" if is_article => Some("1000000000".to_owned()),
        "cent"
            if last.text == "per"
                && before.is_some_and(|b| b.class == Class::Number || is_digits(&b.key)) =>
        {
            Some("percent".to_owned())
        }
        ones if matches!(gap, "-" | "‑" | "‐") => {
            let tens = TENS.iter().position(|tens| *tens == last.text)?;
            let ones = ONES.iter().position(|one| *one == ones)?;
            Some((10 * (tens + 2) + ones + 1).to_string())
        }
        _ => None,
    }
}

fn is_currency(token: &Token) -> bool {
    matches!(&*token.text, "$" | "€" | "£" | "¥" | "₹" | "₩")
}

/// The full name of a month, of which the token may be the first letters.
fn month(token: &Token) -> Option<&'static str> {
    let name = &*token.text;
    let is_short = |month: &&&str| matches!(name.len(), 3 | 4) && month.starts_with(name);
    let found = MONTHS
        .iter()
        .find(|month| **month == name || is_short(month));
    found.copied().filter(|_| token.is_capital)
}

/// A day of a month, without the ending of an ordinal.
fn day(token: &Token) -> Option<u8> {
    let digits = token.text.strip_suffix("th").unwrap_or(&token.text);
    let is_number = token.class == Class::Number && digits.len() <= 2;
    let day = digits.parse().ok().filter(|_| is_number)?;
    (1..=31).contains(&day).then_some(day)
}

fn set_date(tokens: &mut [PlacedToken], [of_month, of_day]: [usize; 2], month: &'static str) {
    if let Some(day) = day(&tokens[of_day].0) {
        let token = &mut tokens[of_day].0;
        token.text = day.to_string().into();
        token.key = token.text.clone();
    }
    let token = &mut tokens[of_month].0;
    token.text = month.into();
    token.key = token.text.clone();
    token.is_name = false;
}

/// Returns `true` for 号 behind a month and a number, unless it numbers a house or a line: 5号楼.
fn is_day(tokens: &[PlacedToken], at: usize) -> bool {
    let next = tokens.get(at + 1).map_or("", |(next, _)| &*next.text);
    at >= 2
        && tokens[at - 2].0.text == "月"
        && !matches!(
            next,
            "楼" | "线" | "院" | "店" | "机" | "馆" | "桥" | "门" | "厅"
        )
}

/// Exchanges a token and the token before it. The ends of clauses and sentences stay.
fn swap(tokens: &mut [PlacedToken], at: usize) {
    tokens.swap(at - 1, at);
    let [(one, _), (other, _)] = &mut tokens[at - 1..=at] else {
        return;
    };
    std::mem::swap(&mut one.before, &mut other.before);
    std::mem::swap(&mut one.end, &mut other.end);
    std::mem::swap(&mut one.is_label, &mut other.is_label);
}
