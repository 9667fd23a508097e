//! Values that are written in several tokens: prices, dates, times. The tokens of one value are
//! equal in all its forms.

use std::ops::Range;

use smol_str::SmolStr;

use super::lexicon::Class;
use super::scanner::Break;
use super::token::Token;
use crate::time_reader::month_named;

/// A token and its bytes in the text.
type PlacedToken = (Token, Range<usize>);

/// Gives the tokens of each value their common form, and their common order.
pub(super) fn unify(tokens: &mut [PlacedToken]) {
    for at in 1..tokens.len() {
        let [last, token] = [&tokens[at - 1].0, &tokens[at].0];
        if token.before != Break::None {
            continue;
        }
        // 03月04日
        let is_part = matches!(&*token.text, "月" | "日" | "号" | "时" | "分");
        let digit = last.text.strip_prefix('0').filter(|rest| rest.len() == 1);
        if let Some(digit) = digit.filter(|_| is_part && last.class == Class::Number) {
            let digit = SmolStr::from(digit);
            (tokens[at - 1].0.key, tokens[at - 1].0.text) = (digit.clone(), digit);
        }
        let [last, token] = [&tokens[at - 1].0, &tokens[at].0];
        let is_unit = is_currency(last) || last.text == "百分之";
        if is_unit && token.class == Class::Number {
            set_sign(&mut tokens[at - 1].0);
            swap(tokens, at);
        } else if day(last).is_some()
            && let Some(month) = month(token)
        {
            let next = tokens.get(at + 1).map(|(next, _)| next);
            if next.is_none_or(|next| day(next).is_none() || next.before != Break::None) {
                set_date(tokens, [at, at - 1], month);
                swap(tokens, at);
            }
        } else if day(token).is_some()
            && let Some(month) = month(last)
        {
            set_date(tokens, [at - 1, at], month);
        } else if matches!(&*token.key, "am" | "pm" | "a.m" | "p.m") && is_time(last) {
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

/// Gives the code of a currency, EUR, the form of its sign.
fn set_sign(token: &mut Token) {
    if let Some(sign) = sign_of_code(token) {
        token.text = sign.into();
        token.is_name = false;
    }
}

/// The sign of a currency that is written by its code in capitals. "Euro 5" is the name of a
/// standard.
fn sign_of_code(token: &Token) -> Option<&'static str> {
    let sign = match &*token.text {
        "usd" => "$",
        "eur" => "€",
        "gbp" => "£",
        _ => return None,
    };
    token.is_name.then_some(sign)
}

pub(super) fn is_currency(token: &Token) -> bool {
    matches!(&*token.text, "$" | "€" | "£" | "¥" | "₹" | "₩") || sign_of_code(token).is_some()
}

/// The full name of the month that a token names, in full or by three or four letters.
fn month(token: &Token) -> Option<&'static str> {
    let name = &*token.text;
    let month = month_named(name).filter(|month| name.len() <= 4 || name == *month)?;
    token.is_capital.then_some(month)
}

/// A day of a month, without the ending of an ordinal.
fn day(token: &Token) -> Option<u8> {
    if token.class != Class::Number {
        return None;
    }
    let digits = token.text.strip_suffix("th").unwrap_or(&token.text);
    let day = digits.parse().ok().filter(|_| digits.len() <= 2)?;
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
