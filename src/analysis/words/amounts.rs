//! Amounts of money and measures that are written in several tokens, or in another order: HK$5,
//! 人民币5元, 5 degrees Celsius, 零下5度, 5 km per hour.

use super::forms::{Form, PlacedToken, next_in_clause as next};
use super::lexicon::Class;
use super::scanner::Break;
use super::token::Token;
use super::values::{is_measure, is_number, named, unit_behind_number};

/// The letters before the sign $ of dollars and reals, and the name of the currency.
#[rustfmt::skip]
const DOLLARS: [(&str, &str); 9] = [
    ("nt", "新台币"), ("hk", "港币"), ("a", "a$"), ("au", "a$"), ("c", "c$"), ("ca", "c$"),
    ("s", "s$"), ("nz", "nz$"), ("r", "r$"),
];

/// Currencies that stand before a number in Chinese, with or without 元 behind it, and their names.
#[rustfmt::skip]
const BEFORE_NUMBER: [(&str, &str); 5] = [
    ("人民币", "元"), ("新台币", "新台币"), ("台币", "新台币"), ("港币", "港币"), ("美金", "$"),
];

/// The form of the amount that begins at a token; `None` if none begins there.
pub(super) fn form(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let first = &tokens[at].0;
    match &*first.text {
        "零" => below_zero(tokens, at),
        "小" | "分" => unit_of_two_characters(tokens, at),
        "每" => rate_before_number(tokens, at),
        "摄" => celsius_around_number(tokens, at),
        "per" | "/" => rate(tokens, at),
        _ if first.is_cjk() => currency_around_number(tokens, at),
        _ => dollars(tokens, at).or_else(|| celsius(tokens, at)),
    }
}

/// Returns `true` for digits, with or without a decimal point.
fn is_decimal(token: &Token) -> bool {
    token.key.starts_with(|c: char| c.is_ascii_digit())
        && token.key.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// HK$5, before the number.
fn dollars(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let (first, range) = &tokens[at];
    let sign = next(tokens, at + 1).filter(|sign| sign.text == "$" && !sign.is_exact)?;
    let (_, name) = DOLLARS.iter().find(|(letters, _)| *letters == first.text)?;
    let is_joined = tokens[at + 1].1.start == range.end && first.is_capital;
    let is_before_number = next(tokens, at + 2)?.class == Class::Number;
    (is_joined && is_before_number).then(|| Form::new(vec![named(sign, Class::Symbol, name)], 2))
}

/// 港币5元, 人民币5.
fn currency_around_number(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let first = &tokens[at].0;
    let (_, name) = (BEFORE_NUMBER.iter()).find(|(name, _)| *name == first.text)?;
    let number = next(tokens, at + 1).filter(|number| is_decimal(number))?;
    let is_behind_number = at > 0 && tokens[at - 1].0.class == Class::Number;
    let has_unit = next(tokens, at + 2).is_some_and(|unit| unit.text == "元");
    (!is_behind_number).then(|| {
        Form::new(
            vec![number.clone(), named(first, Class::Symbol, name)],
            2 + usize::from(has_unit),
        )
    })
}

/// Degrees Celsius; the number before them stays.
fn celsius(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let first = &tokens[at].0;
    let scale = next(tokens, at + 1)?;
    if !matches!(&*scale.text, "celsius" | "цельсия") {
        return None;
    }
    let is_degree = first.key == "degree"
        || matches!(
            &*first.text,
            "grad" | "degrés" | "grados" | "graus" | "gradi" | "градусов"
        );
    is_degree.then(|| Form::new(vec![named(first, Class::Symbol, "°c")], 2))
}

/// 摄氏5度.
fn celsius_around_number(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let scale = next(tokens, at + 1)?;
    let number = next(tokens, at + 2).filter(|number| number.class == Class::Number)?;
    let unit = next(tokens, at + 3)?;
    (scale.text == "氏" && unit.text == "度")
        .then(|| Form::new(vec![number.clone(), named(unit, Class::Symbol, "°c")], 4))
}

/// 零下5度; the unit stays.
fn below_zero(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let number = next(tokens, at + 2).filter(|number| is_decimal(number))?;
    let unit = next(tokens, at + 3)?;
    let is_degree = unit.text == "度" || matches!(&*unit.key, "°c" | "degree");
    (next(tokens, at + 1)?.text == "下" && is_degree).then(|| {
        Form::new(
            vec![named(number, Class::Number, &format!("-{}", number.key))],
            3,
        )
    })
}

/// The name of a unit of time behind "per", "/" or 每, and its tokens.
fn unit_of_time(tokens: &[PlacedToken], at: usize) -> Option<(&'static str, usize)> {
    let second = next(tokens, at + 1).map_or("", |token| &*token.text);
    Some(match (&*next(tokens, at)?.text, second) {
        ("小", "时") => ("hour", 2),
        ("分", "钟") => ("minute", 2),
        ("h" | "hour", _) => ("hour", 1),
        ("min" | "minute", _) => ("minute", 1),
        ("s" | "second" | "秒", _) => ("second", 1),
        _ => return None,
    })
}

/// 小时 and 分钟 behind a number.
fn unit_of_two_characters(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let (name, replaced @ 2) = unit_of_time(tokens, at)? else {
        return None;
    };
    let (number, _) = &tokens[at.checked_sub(1)?];
    is_number(number).then(|| Form::new(vec![named(&tokens[at].0, Class::Word, name)], replaced))
}

/// A rate behind a number and its unit: 5 km per hour, 5 m/s.
fn rate(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let [(number, _), (unit, _)] = tokens.get(at.checked_sub(2)?..at)? else {
        return None;
    };
    // 120 KM/H
    let time = next(tokens, at + 1).filter(|time| !time.is_capital || unit.is_capital)?;
    let (name, of_time) = unit_of_time(tokens, at + 1)?;
    let is_rate = number.class == Class::Number && is_measure(unit) && !time.is_exact;
    let first = &tokens[at].0;
    (is_rate && first.before == Break::None).then(|| {
        Form::new(
            vec![
                named(first, Class::Symbol, "/"),
                named(time, Class::Word, name),
            ],
            1 + of_time,
        )
    })
}

/// A rate before its number: 每秒5米.
fn rate_before_number(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let (name, of_time) = unit_of_time(tokens, at + 1)?;
    let number = next(tokens, at + 1 + of_time).filter(|number| is_decimal(number))?;
    let unit = next(tokens, at + 2 + of_time).filter(|unit| is_measure(unit))?;
    let time = &tokens[at + 1].0;
    let unit_name = unit_behind_number(unit).unwrap_or(&unit.key);
    Some(Form::new(
        vec![
            number.clone(),
            named(unit, Class::Word, unit_name),
            named(&tokens[at].0, Class::Symbol, "/"),
            named(time, Class::Word, name),
        ],
        3 + of_time,
    ))
}
