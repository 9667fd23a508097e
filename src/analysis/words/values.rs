//! [`unify`]: gives the tokens of a price, a unit, a day and an ordinal one form and one order. The
//! tokens of one number are joined.

use smol_str::SmolStr;

use super::forms::{Form, PlacedToken};
use super::lexicon::{Class, Lexicon};
use super::scanner::Break;
use super::token::Token;
use crate::text::is_digits;
use crate::time_reader::{month_named, weekday_named};

/// Gives the tokens of each value their common form, and their common order.
pub(super) fn unify(tokens: &mut [PlacedToken], text: &str) {
    let mut amount_at = None;
    for at in 1..tokens.len() {
        set_weekday(tokens, at, text);
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
        // A currency behind its number is not before the next one: $5 10.
        let is_unit = || amount_at != Some(at - 1) && is_currency(last) || last.text == "百分之";
        if token.class == Class::Number && is_unit() {
            swap(tokens, at);
            set_amount(tokens, at);
            amount_at = Some(at);
        } else if day(last).is_some()
            && let Some(month) = month(token)
        {
            let next = tokens.get(at + 1).map(|(next, _)| next);
            if next.is_none_or(|next| day(next).is_none() || next.before != Break::None) {
                set_date(tokens, [at, at - 1], month);
                swap(tokens, at);
            }
        } else if (day(token).is_some()
            || token.class == Class::Number && token.text.parse().is_ok_and(is_year))
            && let Some(month) = month(last)
        {
            set_date(tokens, [at - 1, at], month);
        } else if last.class == Class::Number
            && !text[tokens[at].1.clone()].contains(char::is_uppercase)
            && let Some(unit) = unit_behind_number(token)
        {
            let token = &mut tokens[at].0;
            (token.key, token.class) = (unit.into(), Class::Word);
            (token.is_name, token.is_exact) = (false, false);
        } else if last.class == Class::Number && is_money(token) {
            set_amount(tokens, at);
        } else if last.class == Class::Number
            && is_measure(token)
            && !token.is_capital
            && text[tokens[at].1.clone()].contains(char::is_uppercase)
        {
            // The capital letter of mL makes no name.
            tokens[at].0.text = token.key.clone();
        } else if token.text == "号" && last.class == Class::Number && is_day(tokens, at) {
            tokens[at].0.key = "日".into();
            tokens[at].0.text = "日".into();
        }
    }
}

/// A number has at most eight groups of digits.
const MAX_GROUPS: usize = 8;

/// A number in groups of three digits with spaces between them, 31 450, and a number in words
/// behind hundreds in words: "a hundred and six".
pub(super) fn joined_number(tokens: &[PlacedToken], at: usize, text: &str) -> Option<Form> {
    let (first, range) = &tokens[at];
    if first.class != Class::Number || first.is_exact || !is_digits(&first.text) {
        return None;
    }
    let next = |at: usize| {
        let token = tokens.get(at);
        token.filter(|(token, _)| token.before == Break::None && !token.is_exact)
    };
    let form = |value: String, replaced| Form::new(vec![first.with_text(value.into())], replaced);
    let is_in_words = |(_, range): &PlacedToken| !text[range.clone()].contains(char::is_numeric);
    if is_in_words(&tokens[at]) {
        let and = next(at + 1).filter(|(and, _)| and.text == "and");
        let ones = next(at + 2).filter(|ones| and.is_some() && is_in_words(ones))?;
        let [hundreds, ones] = [&first.text, &ones.0.key].map(|text| text.parse::<u16>().ok());
        let (hundreds, ones) = hundreds.zip(ones)?;
        let is_sum = (100..1000).contains(&hundreds) && hundreds % 100 == 0 && ones < 100;
        return is_sum.then(|| form((hundreds + ones).to_string(), 3));
    }
    // A row of numbers is not cut, and neither is a date: 15 May 200.
    let is_behind_value = at > 0 && {
        let (last, before) = &tokens[at - 1];
        last.class == Class::Number && before.end + 1 == range.start || month(last).is_some()
    };
    if first.text.len() > 3 || first.text.starts_with('0') || is_behind_value {
        return None;
    }
    let mut value = first.text.to_string();
    let mut end = range.end;
    let mut replaced = 1;
    while replaced <= MAX_GROUPS
        && let Some((group, range)) = next(at + replaced)
        && group.class == Class::Number
        && range.start == end + 1
        && is_digits(&value)
        && let Some((whole, fraction)) = group.text.split_at_checked(3)
    {
        let is_fraction = fraction.is_empty()
            || fraction.strip_prefix('.').is_some_and(is_digits) && fraction.len() > 1;
        if !is_digits(whole) || !is_fraction || range.len() != group.text.len() {
            break;
        }
        value.push_str(&group.text);
        end = range.end;
        replaced += 1;
    }
    // Four digits have no groups: "won 3 200 m races". More groups are a row of numbers.
    let is_group = (2..=MAX_GROUPS).contains(&replaced) && value.len() > 4;
    is_group.then(|| form(value, replaced))
}

/// A number in words with its figures: "fourteen (14)".
pub(super) fn number_with_figures(tokens: &[PlacedToken], at: usize, text: &str) -> Option<Form> {
    let (first, range) = &tokens[at];
    let (figures, place) = tokens.get(at + 1)?;
    let before = text.get(range.end..place.start)?;
    let is_number = figures.class == Class::Number && !first.is_exact;
    let is_same = figures.text == first.key && figures.text != first.text;
    let is_in_brackets = before.trim_start() == "(" && text[place.end..].starts_with(')');
    (is_number && is_same && is_in_brackets).then(|| Form::new(vec![figures.clone()], 2))
}

/// The common name of a unit behind a number, of units whose letters or characters are other words
/// elsewhere.
pub(super) fn unit_behind_number(token: &Token) -> Option<&'static str> {
    Some(match &*token.text {
        "m" | "米" | "公尺" | "metros" | "mètres" | "metri" | "метров" | "м" => "metre",
        "g" | "克" | "公克" | "grammes" | "gramos" | "grammi" | "gramas" | "г" => "gram",
        "l" | "升" | "公升" | "litros" | "litres" | "litri" | "литров" | "л" => "litre",
        "feet" if token.is_english => "foot",
        "h" | "ч" => "hour",
        // The least number, in English.
        "min" if token.is_english => return None,
        "min" | "minutes" | "minutos" | "minuti" | "минут" | "мин" => "minute",
        _ => return None,
    })
}

/// Returns `true` for a number in figures or in words.
pub(super) fn is_number(token: &Token) -> bool {
    token.class == Class::Number || is_digits(&token.key)
}

/// The keys of the long names of units.
#[rustfmt::skip]
const MEASURES: [&str; 10] = [
    "kilometer", "centimeter", "millimeter", "milliliter", "kilogram", "gram", "metre", "litre",
    "foot", "mile",
];

/// Returns `true` for a unit of a length, a volume or a mass.
pub(super) fn is_measure(token: &Token) -> bool {
    unit_behind_number(token).is_some() || MEASURES.contains(&&*token.key)
}

/// A token with the common name of a value, which is no name of a person or a thing.
pub(super) fn named(token: &Token, class: Class, name: &str) -> Token {
    let canonical = Lexicon::builtin().canonical(name);
    Token {
        class,
        is_name: false,
        is_exact: false,
        key: canonical.unwrap_or(name).into(),
        ..token.with_text(name.into())
    }
}

/// The hour and the minutes of a time in figures: 14, 14:30, 14.30.
pub(super) fn clock(text: &str) -> Option<(u32, Option<u32>)> {
    let (hour, minutes) = match text.split_once([':', '.']) {
        Some((hour, digits)) => (hour, Some(minutes(digits)?)),
        None => (text, None),
    };
    let hour = hour.parse().ok().filter(|hour| *hour < 25)?;
    Some((hour, minutes))
}

/// The value of two digits below 60.
pub(super) fn minutes(digits: &str) -> Option<u32> {
    let value = digits.parse().ok().filter(|value| *value < 60);
    value.filter(|_| digits.len() == 2)
}

/// The keys of currencies.
#[rustfmt::skip]
const CURRENCIES: [&str; 16] = [
    "usd", "eur", "gbp", "元", "円", "港币", "新台币", "a$", "c$", "nz$", "s$", "r$", "lira", "¥", "₹",
    "₩",
];

/// Gives the code of a currency, EUR, its name, and an amount without a fraction no zeros.
fn set_amount(tokens: &mut [PlacedToken], of_currency: usize) {
    let [(number, _), (currency, _)] = &mut tokens[of_currency - 1..=of_currency] else {
        return;
    };
    if let Some(name) = name_of_code(currency) {
        *currency = named(currency, Class::Symbol, name);
    }
    if let Some(whole) = number.key.strip_suffix(".00").filter(|_| !number.is_exact) {
        *number = number.with_text(whole.into());
    }
}

/// The sign or the name of a currency that is written by its code in capitals. "Euro 5" is the name
/// of a standard.
fn name_of_code(token: &Token) -> Option<&'static str> {
    let name = match &*token.text {
        "usd" => "$",
        "eur" => "€",
        "gbp" => "£",
        "cny" | "rmb" => "元",
        "jpy" => "円",
        "hkd" => "港币",
        "twd" => "新台币",
        "aud" => "a$",
        "nzd" => "nz$",
        "sgd" => "s$",
        "brl" => "r$",
        _ => return None,
    };
    token.is_name.then_some(name)
}

/// Returns `true` for the sign or the code of a currency, which may stand before its number.
pub(super) fn is_currency(token: &Token) -> bool {
    let is_sign = token.class == Class::Symbol && is_money(token);
    is_sign || name_of_code(token).is_some()
}

/// Returns `true` for a currency behind its number.
fn is_money(token: &Token) -> bool {
    let is_name = CURRENCIES.contains(&&*token.key);
    is_name || name_of_code(token).is_some()
}

/// Gives the short form of a day of the week before a date its full name: "Sat. 14 May".
fn set_weekday(tokens: &mut [PlacedToken], at: usize, text: &str) {
    let (last, range) = &tokens[at - 1];
    let is_short = last.text.len() == 3 || matches!(&*last.text, "tues" | "thur" | "thurs");
    // Without a point it may be a name: "the Sun", SAT.
    if !is_short || !last.is_capital || !text[range.end..].starts_with('.') {
        return;
    }
    let is_month_at = |at: usize| {
        let found = tokens.get(at);
        found.is_some_and(|(token, _)| month(token).is_some())
    };
    let is_date = || is_month_at(at) || day(&tokens[at].0).is_some() && is_month_at(at + 1);
    if let Some(name) = weekday_named(&last.text).filter(|_| is_date()) {
        let token = &mut tokens[at - 1].0;
        (token.text, token.key) = (name.into(), name.into());
        token.is_name = false;
    }
}

/// The full name of the month that a token names, in full or by three or four letters.
pub(super) fn month(token: &Token) -> Option<&'static str> {
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

pub(crate) fn is_year(year: u32) -> bool {
    (1000..3000).contains(&year)
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
