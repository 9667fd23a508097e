//! Dates and times of a day as values: the forms of one date are the same tokens, and so are the
//! forms of one time.
//!
//! A date is the month, the day and the year: 2022-11-09 and 9 November 2022. In a text of CJK
//! characters it is 2022年11月9日. A date without a year keeps its words, except "the 4th of July".
//! The order of day and month in 08/04/2019 is known in texts of letters that are not English.
//!
//! A time is no duration: 3 h 30 is not 3:30, which may be minutes and seconds.

use smol_str::{SmolStr, ToSmolStr};

use super::forms::{Form, PlacedToken};
use super::lexicon::Class;
use super::scanner::Break;
use super::token::Token;
use super::values::{clock, is_currency, is_time, minutes, month};
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

/// Words behind a year, before a time or a place.
const BEHIND_YEAR: [&str; 8] = ["um", "à", "a", "alle", "ore", "в", "en", "in"];

/// Returns `true` for a text of CJK characters, whose dates have 年, 月 and 日.
pub(super) fn are_cjk(tokens: &[PlacedToken]) -> bool {
    let has_cjk = tokens.iter().any(|(token, _)| token.is_cjk());
    has_cjk && !tokens.iter().any(|(token, _)| token.is_english)
}

/// The form of the date or the time that begins at a token; `None` if none begins there.
pub(super) fn form(tokens: &[PlacedToken], at: usize, text: &str, is_cjk: bool) -> Option<Form> {
    let (first, _) = &tokens[at];
    // Code has no dates.
    if first.is_exact {
        return None;
    }
    match first.class {
        Class::Number => numeric_date(first, is_cjk)
            .or_else(|| written_date(tokens, at, text))
            .or_else(|| time(tokens, at, text)),
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
        // Outside of CJK texts, 2021.3.6 is a version.
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
fn written_date(tokens: &[PlacedToken], at: usize, text: &str) -> Option<Form> {
    let (first, range) = &tokens[at];
    let digits = first.text.strip_suffix("th").unwrap_or(&first.text);
    let day = digits.parse().ok().filter(|day| is_day(*day))?;
    let of = |at| usize::from(next(tokens, at).is_some_and(|token| OF.contains(&&*token.text)));
    let name_at = at + 1 + of(at + 1);
    // "15. Mai" seems to begin a sentence.
    let named = match next(tokens, name_at) {
        None => {
            let (named, of_name) = tokens.get(name_at)?;
            (text.get(range.end..of_name.start) == Some(". ")).then_some(named)?
        }
        Some(named) => named,
    };
    let number = |value: u32| first.with_text(value.to_smolstr());
    let of_month = |name: &'static str| Token {
        is_name: false,
        ..named.with_text(SmolStr::new_static(name))
    };
    if first.is_english {
        let is_ordinal = first.text.ends_with("th");
        let name = month(named).filter(|_| is_ordinal && name_at > at + 1)?;
        return Some(Form {
            pieces: vec![of_month(name), number(day)],
            replaced: name_at + 1 - at,
        });
    }
    let is_named = |names: &str| names.split(' ').any(|name| name == named.text);
    let index = FOREIGN_MONTHS.iter().position(|names| is_named(names))?;
    let name = month_at(index as u32 + 1)?;
    let year_at = name_at + 1 + of(name_at + 1);
    let year = next(tokens, year_at).filter(|year| year.class == Class::Number)?;
    let value = year.text.parse().ok().filter(|year| is_year(*year))?;
    // Other words are counted: "el 3 de mayo 2000 personas".
    let behind = next(tokens, year_at + 1).map(|token| &*token.text);
    let tail = usize::from(matches!(behind, Some("года" | "г")));
    if tail == 0 && behind.is_some_and(|word| !BEHIND_YEAR.contains(&word)) {
        return None;
    }
    Some(Form {
        pieces: vec![of_month(name), number(day), number(value)],
        replaced: year_at + 1 + tail - at,
    })
}

/// A time, in place of so many tokens.
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

/// A time of a day: 7:30 pm, 18 Uhr. A time or a duration in one form: 14 h 30, 14h30.
fn time(tokens: &[PlacedToken], at: usize, text: &str) -> Option<Form> {
    let (first, range) = &tokens[at];
    let (hour, own_minutes) = clock(&first.text)?;
    let second = next(tokens, at + 1)?;
    // 7,50 is a decimal, and £7.50 pm a price.
    let is_decimal = text[range.clone()].contains(',');
    let is_price = at > 0 && is_currency(&tokens[at - 1].0);
    if is_decimal || is_price {
        return None;
    }
    let hours_and_minutes = |digits: &str, replaced| {
        let form = format!("{hour}h{digits}");
        (minutes(digits).is_some() && own_minutes.is_none()).then(|| Form {
            pieces: vec![first.with_text(form.into())],
            replaced,
        })
    };
    match &*second.text {
        "pm" | "p.m" if is_time(first) => {
            let hour = if hour < 12 { hour + 12 } else { hour };
            Some(of_clock(first, hour, own_minutes.unwrap_or(0), 2))
        }
        "uhr" => Some(of_clock(first, hour, own_minutes.unwrap_or(0), 1)),
        "h" if !first.is_english => hours_and_minutes(&next(tokens, at + 2)?.text, 3),
        word if !first.is_english && !second.is_capital => {
            hours_and_minutes(word.strip_prefix('h')?, 2)
        }
        _ => None,
    }
}

/// A time in the second half of a day: 下午3时, 下午3点半, 晚上8:30. Before six, 晚上 is the night.
fn afternoon(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let (first, _) = &tokens[at];
    let second = next(tokens, at + 1)?;
    let hours = match (&*first.text, &*second.text) {
        ("下", "午") | ("午", "后") => 1..12,
        ("晚", "上") => 6..12,
        _ => return None,
    };
    let time = next(tokens, at + 2)?;
    let (hour, minutes) = clock(&time.key).filter(|_| !time.key.contains('.'))?;
    let is_hour = next(tokens, at + 3).is_some_and(|token| matches!(&*token.text, "时" | "点"));
    let (minutes, replaced) = match minutes {
        Some(minutes) => (minutes, 3),
        None if !is_hour => return None,
        None => {
            let fifth = next(tokens, at + 4);
            let is_minutes = next(tokens, at + 5).is_some_and(|token| token.text == "分");
            let digits = fifth.and_then(|fifth| fifth.key.parse::<u32>().ok());
            match digits.filter(|digits| is_minutes && *digits < 60) {
                Some(digits) => (digits, 6),
                None if fifth.is_some_and(|fifth| fifth.text == "半") => (30, 5),
                None => (0, 4),
            }
        }
    };
    let is_afternoon = hours.contains(&hour);
    is_afternoon.then(|| of_clock(time, hour + 12, minutes, replaced))
}
