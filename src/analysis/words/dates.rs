//! Dates and times of a day as values: the forms of one date are the same tokens, and so are the
//! forms of one time.
//!
//! A date is the month, the day and the year: 2022-11-09 and 9 November 2022. In a text of CJK
//! characters it is 2022年11月9日. A date without a year keeps its words. The order of day and month
//! in 08/04/2019 is known outside of English alone.

use smol_str::{SmolStr, ToSmolStr};

use super::lexicon::Class;
use super::scanner::Break;
use super::token::Token;
use super::values::{Form, PlacedToken, is_time, month};
use crate::time_reader::month_at;

/// The months in other languages: German, French, Spanish, Italian, Portuguese, Dutch, Indonesian,
/// Russian, Turkish.
const FOREIGN_MONTHS: [&str; 12] = [
    "januar janvier enero gennaio janeiro januari января ocak",
    "februar février febrero febbraio fevereiro februari февраля şubat",
    "märz mars marzo março maart maret марта mart",
    "april avril abril aprile апреля nisan",
    "mai mayo maggio maio mei мая mayıs",
    "juni juin junio giugno junho июня haziran",
    "juli juillet julio luglio julho июля temmuz",
    "august août agosto augustus agustus августа ağustos",
    "september septembre septiembre settembre setembro сентября eylül",
    "oktober octobre octubre ottobre outubro октября ekim",
    "november novembre noviembre novembro ноября kasım",
    "dezember décembre diciembre dicembre dezembro december desember декабря aralık",
];

/// Words between the parts of a date.
const OF: [&str; 4] = ["de", "di", "del", "of"];

/// The form of the date or the time that begins at a token; `None` if none begins there.
pub(super) fn form(tokens: &[PlacedToken], at: usize, is_cjk: bool) -> Option<Form> {
    let (first, _) = &tokens[at];
    // Code has no dates.
    if first.is_exact {
        return None;
    }
    match first.class {
        Class::Number => numeric_date(first, is_cjk)
            .or_else(|| written_date(tokens, at))
            .or_else(|| time(tokens, at)),
        _ if first.is_cjk() => afternoon(tokens, at),
        _ => None,
    }
}

/// The token at a position, if it continues a clause.
fn next(tokens: &[PlacedToken], at: usize) -> Option<&Token> {
    let token = tokens.get(at).map(|(token, _)| token);
    token.filter(|token| token.before == Break::None)
}

fn is_day(day: u32) -> bool {
    (1..=31).contains(&day)
}

fn is_year(year: u32) -> bool {
    (1000..3000).contains(&year)
}

/// A day with its month and its year, in figures.
fn numeric_date(token: &Token, is_cjk: bool) -> Option<Form> {
    let separator = token.text.chars().find(|c| !c.is_ascii_digit())?;
    let mut parts = token.text.split(separator);
    let parts = [parts.next()?, parts.next()?, parts.next()?];
    let is_whole = token.text.len() == parts.iter().map(|part| part.len()).sum::<usize>() + 2;
    let [first, month, last] = parts.map(|part| part.parse::<u32>().ok());
    let (year, day) = match separator {
        // 2021.3.6 is a version, elsewhere.
        '.' if parts[0].len() == 4 && is_cjk => (first?, last?),
        '-' | '/' if parts[0].len() == 4 => (first?, last?),
        '.' | '/' if parts[2].len() == 4 && !token.is_english && !is_cjk => (last?, first?),
        _ => return None,
    };
    let month = month?;
    if !is_whole || !is_day(day) || !is_year(year) {
        return None;
    }
    let name = month_at(month)?;
    let number = |value: u32| token.with_text(value.to_smolstr());
    let word = |text| Token {
        class: Class::Word,
        ..token.with_text(SmolStr::new_static(text))
    };
    let pieces = match is_cjk {
        true => vec![
            number(year),
            word("年"),
            number(month),
            word("月"),
            number(day),
            word("日"),
        ],
        false => vec![word(name), number(day), number(year)],
    };
    Some(Form {
        pieces,
        replaced: 1,
    })
}

/// A day with the name of its month and its year: "15. Mai 2023". In English, the day and the month
/// of "the 4th of July".
fn written_date(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let (first, _) = &tokens[at];
    let digits = first.text.strip_suffix("th").unwrap_or(&first.text);
    let day = digits.parse().ok().filter(|day| is_day(*day))?;
    let of = |at| usize::from(next(tokens, at).is_some_and(|token| OF.contains(&&*token.text)));
    let name_at = at + 1 + of(at + 1);
    // "15. Mai" seems to begin a sentence.
    let named = match next(tokens, name_at) {
        None if !first.is_english => &tokens.get(name_at)?.0,
        named => named?,
    };
    let with_text = |text: SmolStr| first.with_text(text);
    let of_month = |name: &'static str| Token {
        is_name: false,
        ..named.with_text(SmolStr::new_static(name))
    };
    if first.is_english {
        let name = month(named).filter(|_| name_at > at + 1)?;
        return Some(Form {
            pieces: vec![of_month(name), with_text(day.to_smolstr())],
            replaced: name_at + 1 - at,
        });
    }
    let is_named = |names: &str| names.split(' ').any(|name| name == named.text);
    let index = FOREIGN_MONTHS.iter().position(|names| is_named(names))?;
    let name = month_at(index as u32 + 1)?;
    let year_at = name_at + 1 + of(name_at + 1);
    let year = next(tokens, year_at).filter(|year| year.class == Class::Number)?;
    let value = year.text.parse().ok().filter(|year| is_year(*year))?;
    let is_word_for_year = |token: &Token| matches!(&*token.text, "года" | "г");
    let tail = usize::from(next(tokens, year_at + 1).is_some_and(is_word_for_year));
    let numbers = [day, value].map(|value: u32| with_text(value.to_smolstr()));
    Some(Form {
        pieces: [of_month(name)].into_iter().chain(numbers).collect(),
        replaced: year_at + 1 + tail - at,
    })
}

/// The hour and the minutes of a time in figures: 14, 14:30, 14.30.
fn clock(text: &str) -> Option<(u32, Option<u32>)> {
    let (hour, minutes) = match text.split_once([':', '.']) {
        Some((hour, minutes)) => {
            let two = Some(minutes).filter(|minutes| minutes.len() == 2)?;
            let value = two.parse().ok().filter(|minutes| *minutes < 60)?;
            (hour, Some(value))
        }
        None => (text, None),
    };
    let hour = hour.parse().ok().filter(|hour| *hour < 25)?;
    Some((hour, minutes))
}

fn of_clock(first: &Token, hour: u32, minutes: u32, replaced: usize) -> Form {
    let token = Token {
        class: Class::Number,
        ..first.with_text(format!("{hour}:{minutes:02}").into())
    };
    Form {
        pieces: vec![token],
        replaced,
    }
}

/// A time of a day: 7:30 pm, 18 Uhr, 14 h 30, 15时30分.
fn time(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let (first, _) = &tokens[at];
    let (hour, minutes) = clock(&first.text)?;
    let second = next(tokens, at + 1)?;
    let number = |at| {
        let token: &Token = next(tokens, at).filter(|token| token.class == Class::Number)?;
        let is_two_digits = token.text.len() == 2;
        token
            .text
            .parse::<u32>()
            .ok()
            .filter(|value| is_two_digits && *value < 60)
    };
    match &*second.text {
        "pm" | "p.m" if is_time(first) => {
            let hour = if hour < 12 { hour + 12 } else { hour };
            Some(of_clock(first, hour, minutes.unwrap_or(0), 2))
        }
        "uhr" => Some(of_clock(first, hour, minutes.unwrap_or(0), 1)),
        "horas" | "ч" | "час" => Some(of_clock(first, hour, minutes?, 1)),
        "h" if !first.is_english && minutes.is_none() => {
            Some(of_clock(first, hour, number(at + 2)?, 3))
        }
        "时" | "点" => o_clock(tokens, at, 0),
        text if !first.is_english && minutes.is_none() => {
            let minutes = text.strip_prefix('h').filter(|digits| digits.len() == 2)?;
            let minutes = minutes.parse().ok().filter(|minutes| *minutes < 60)?;
            Some(of_clock(first, hour, minutes, 2))
        }
        _ => None,
    }
}

/// The time before 时 or 点, and its minutes, so many hours later. 3点 may be three points: an hour
/// of the first half of a day needs minutes, or hours that are added.
fn o_clock(tokens: &[PlacedToken], at: usize, added: u32) -> Option<Form> {
    let (first, _) = &tokens[at];
    let (hour, minutes) = clock(&first.key)?;
    let is_hour = next(tokens, at + 1).is_some_and(|token| matches!(&*token.text, "时" | "点"));
    let minutes = match (is_hour, minutes) {
        (false, Some(minutes)) if added > 0 => Some((minutes, 1)),
        (true, None) => {
            let third = next(tokens, at + 2);
            let is_minutes = next(tokens, at + 3).is_some_and(|token| token.text == "分");
            let digits = third.filter(|_| is_minutes);
            let digits = digits.and_then(|third| third.text.parse::<u32>().ok());
            match digits.filter(|digits| *digits < 60) {
                Some(digits) => Some((digits, 4)),
                None if third.is_some_and(|third| third.text == "半") => Some((30, 3)),
                None => Some((0, 2)).filter(|_| added > 0 || hour > 12),
            }
        }
        _ => None,
    };
    let (minutes, replaced) = minutes?;
    Some(of_clock(first, hour + added, minutes, replaced))
}

/// A time behind the name of the second half of a day: 下午3时, 晚上8:30.
fn afternoon(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let (first, _) = &tokens[at];
    let second = next(tokens, at + 1)?;
    if !matches!(
        (&*first.text, &*second.text),
        ("下", "午") | ("午", "后") | ("晚", "上")
    ) {
        return None;
    }
    let hour = next(tokens, at + 2)?;
    clock(&hour.key).filter(|(hour, _)| (1..12).contains(hour))?;
    let form = o_clock(tokens, at + 2, 12)?;
    Some(Form {
        replaced: form.replaced + 2,
        ..form
    })
}
