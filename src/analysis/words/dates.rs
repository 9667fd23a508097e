//! Dates and times of a day as values: the forms of one date are the same tokens, and so are the
//! forms of one time.
//!
//! A date is the month, the day and the year: 2022-11-09 and 9 November 2022. In a text of CJK
//! characters it is 2022年11月9日. A date without a year keeps its words, except "the 4th of July".
//! The order of day and month in 08/04/2019 is known in texts of letters that are not English.
//!
//! A time is no duration: 3 h 30 is not 3:30, which may be minutes and seconds.

use smol_str::{SmolStr, ToSmolStr};

use super::forms::{Form, PlacedToken, next_in_clause as next};
use super::lexicon::Class;
use super::token::{AM, OF_24_HOURS, Token};
use super::values::{clock, is_currency, is_year, minutes, month};
use crate::time_reader::month_at;

/// The months in other languages: German, French, Spanish, Italian, Portuguese, Dutch, Indonesian,
/// Russian, Turkish, Swedish, Danish, Polish, Czech, Ukrainian. A name of two months is none of
/// them: listopada is November in Polish and October in Croatian.
const FOREIGN_MONTHS: [&str; 12] = [
    "januar janvier enero gennaio janeiro januari января ocak stycznia ledna січня",
    "februar février febrero febbraio fevereiro februari февраля şubat lutego února лютого",
    "märz mars marzo março maart maret марта mart marts marca března березня",
    "april avril abril aprile апреля nisan kwietnia dubna квітня",
    "mai mayo maggio maio mei мая mayıs maj maja května травня",
    "juni juin junio giugno junho июня haziran czerwca června червня",
    "juli juillet julio luglio julho июля temmuz lipca července липня",
    "august août agosto augustus agustus августа ağustos augusti sierpnia srpna серпня",
    "september septembre septiembre settembre setembro сентября eylül września září вересня",
    "oktober octobre octubre ottobre outubro октября ekim października října жовтня",
    "november novembre noviembre novembro ноября kasım listopadu листопада",
    "dezember décembre diciembre dicembre dezembro december desember декабря aralık grudnia prosince грудня",
];

/// Words between the parts of a date.
const OF: [&str; 4] = ["de", "di", "del", "of"];

/// Words behind a year, before a time or a place.
const BEHIND_YEAR: [&str; 12] = [
    "um", "à", "a", "alle", "ore", "в", "en", "in", "auf", "im", "am", "bei",
];

/// The eras of Japan and of Taiwan: the name, the year before the first one, the last year.
const ERAS: [(&str, u32, u32); 7] = [
    ("令和", 2018, 99),
    ("平成", 1988, 31),
    ("昭和", 1925, 64),
    ("大正", 1911, 15),
    ("明治", 1867, 45),
    ("民国", 1911, 199),
    ("中华民国", 1911, 199),
];

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
            .or_else(|| time(tokens, at, text, is_cjk)),
        _ if first.is_cjk() => of_daypart(tokens, at).or_else(|| year_of_era(tokens, at)),
        _ if first.key.starts_with(|c: char| c.is_ascii_digit()) => time(tokens, at, text, is_cjk),
        _ => None,
    }
}

fn is_day(day: u32) -> bool {
    (1..=31).contains(&day)
}

/// A day with its month and its year, in figures.
fn numeric_date(token: &Token, is_cjk: bool) -> Option<Form> {
    let text = &token.text;
    let separator = text.chars().find(|c| !c.is_ascii_digit())?;
    let mut parts = text.split(separator);
    let parts = [parts.next()?, parts.next()?, parts.next()?];
    let is_whole = text.len() == parts.iter().map(|part| part.len()).sum::<usize>() + 2;
    let [first, second, last] = parts.map(|part| part.parse::<u32>().ok());
    let (first, second, last) = (first?, second?, last?);
    let (year, month, day) = match separator {
        // Outside of CJK texts, 2021.3.6 is a version.
        '.' if parts[0].len() == 4 && is_cjk => (first, second, last),
        '-' | '/' if parts[0].len() == 4 => (first, second, last),
        '.' | '/' if parts[2].len() != 4 || is_cjk => return None,
        '.' | '/' if !token.is_english || first > 12 => (last, second, first),
        // 04/30/2019, and not 08/04/2019
        '/' if second > 12 => (last, first, second),
        _ => return None,
    };
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
    Some(Form::new(pieces, 1))
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
        return Some(Form::new(
            vec![of_month(name), number(day)],
            name_at + 1 - at,
        ));
    }
    let is_named = |names: &str| names.split(' ').any(|name| name == named.text);
    let index = FOREIGN_MONTHS.iter().position(|names| is_named(names))?;
    let name = month_at(index as u32 + 1)?;
    let year_at = name_at + 1 + of(name_at + 1);
    let year = next(tokens, year_at).filter(|year| year.class == Class::Number)?;
    let value = year.text.parse().ok().filter(|year| is_year(*year))?;
    // Other words are counted: "el 3 de mayo 2000 personas".
    let behind = next(tokens, year_at + 1).map(|token| &*token.text);
    let tail = usize::from(matches!(behind, Some("года" | "г" | "року" | "r" | "roku")));
    if tail == 0 && behind.is_some_and(|word| !BEHIND_YEAR.contains(&word)) {
        return None;
    }
    Some(Form::new(
        vec![of_month(name), number(day), number(value)],
        year_at + 1 + tail - at,
    ))
}

/// The form of a time. `half` is the end of its text: [`AM`], [`OF_24_HOURS`] or nothing.
/// `replaced` is the number of tokens that the time replaces.
fn of_clock(first: &Token, [hour, minutes]: [u32; 2], half: &str, replaced: usize) -> Form {
    let time = format!("{hour}:{minutes:02}");
    let token = Token {
        class: Class::Number,
        text: format!("{time}{half}").into(),
        ..first.with_text(time.into())
    };
    Form::new(vec![token], replaced)
}

/// A time of a day: 7:30 pm, 18 Uhr. A time or a duration in one form: 14 h 30, 14h30.
fn time(tokens: &[PlacedToken], at: usize, text: &str, is_cjk: bool) -> Option<Form> {
    let (first, range) = &tokens[at];
    let (hour, own_minutes) = clock(&first.key)?;
    let is_number = first.class == Class::Number;
    let second = next(tokens, at + 1).map_or("", |second| &*second.text);
    // 7,50 is a decimal, and £7.50 pm a price.
    let is_decimal = text[range.clone()].contains(',');
    let is_price = at > 0 && is_currency(&tokens[at - 1].0);
    if is_decimal || is_price {
        return None;
    }
    let is_24 = text[range.clone()].starts_with('0');
    let is_in_figures = is_number && first.text.contains(':');
    let value = [hour, own_minutes.unwrap_or(0)];
    let is_half = first.is_english && hour < 13;
    let is_foreign = is_number && !first.is_english && own_minutes.is_none();
    let hours_and_minutes = |digits: &str, replaced| {
        let form = format!("{hour}h{digits}");
        minutes(digits).map(|_| Form::new(vec![first.with_text(form.into())], replaced))
    };
    let is_small = || !tokens[at + 1].0.is_capital;
    match second {
        "pm" | "p.m" if is_half => Some(of_clock(first, [hour % 12 + 12, value[1]], "", 2)),
        "am" | "a.m" if is_half => Some(of_clock(first, [hour % 12, value[1]], AM, 2)),
        "o" if is_half && own_minutes.is_none() => {
            let is_clock = next(tokens, at + 2).is_some_and(|third| third.text == "clock");
            is_clock.then(|| of_clock(first, value, "", 3))
        }
        "uhr" if is_number => Some(of_clock(first, value, "", 1)),
        "h" | "heure" | "heures" if is_foreign && !is_cjk => {
            let third = next(tokens, at + 2).map(|third| &*third.text);
            let form = third.and_then(|digits| hours_and_minutes(digits, 3));
            form.or_else(|| hours_and_minutes("00", 2))
        }
        "h" if is_foreign => hours_and_minutes(&next(tokens, at + 2)?.text, 3),
        word if is_foreign && word.starts_with('h') && is_small() => {
            hours_and_minutes(word.strip_prefix('h')?, 2)
        }
        _ if is_in_figures && is_24 => Some(of_clock(first, value, OF_24_HOURS, 1)),
        _ => None,
    }
}

/// A time in a half of a day: 上午9时, 下午3点半, 晚上8:30, 오후 3시 30분. Before six, 晚上 is the night.
fn of_daypart(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let (first, _) = &tokens[at];
    let second = next(tokens, at + 1)?;
    let (hours, half) = match (&*first.text, &*second.text) {
        ("上", "午") | ("午", "前") | ("오", "전") => (0..12, AM),
        ("凌", "晨") => (0..6, AM),
        ("早", "上") => (5..12, AM),
        ("下", "午") | ("午", "后") | ("오", "후") => (1..12, ""),
        ("晚", "上") => (6..12, ""),
        _ => return None,
    };
    let time = next(tokens, at + 2)?;
    let (hour, minutes) = clock(&time.key).filter(|_| !time.key.contains('.'))?;
    let is_hour =
        next(tokens, at + 3).is_some_and(|token| matches!(&*token.text, "时" | "点" | "시"));
    let (minutes, replaced) = match minutes {
        Some(minutes) => (minutes, 3),
        None if !is_hour => return None,
        None => {
            let fifth = next(tokens, at + 4);
            let unit = next(tokens, at + 5).map(|token| &*token.text);
            let digits = fifth.and_then(|fifth| fifth.key.parse::<u32>().ok());
            match (digits, fifth.map(|fifth| &*fifth.text), unit) {
                (Some(digits), _, Some("分" | "분")) if digits < 60 => (digits, 6),
                (Some(quarters @ (1 | 3)), _, Some("刻")) => (quarters * 15, 6),
                (_, Some("半" | "반"), _) => (30, 5),
                (_, Some("整" | "钟"), _) => (0, 5),
                _ => (0, 4),
            }
        }
    };
    let noon = if half == AM { 0 } else { 12 };
    let is_of_half = hours.contains(&hour);
    is_of_half.then(|| of_clock(time, [hour + noon, minutes], half, replaced))
}

/// A year of an era, in the common era: 令和元年, 民国108年.
fn year_of_era(tokens: &[PlacedToken], at: usize) -> Option<Form> {
    let is_named = |name: &str| {
        let mut characters = name.chars().enumerate();
        characters.all(|(place, c)| {
            let token = match place {
                0 => tokens.get(at).map(|(token, _)| token),
                _ => next(tokens, at + place),
            };
            token.is_some_and(|token| token.text.chars().eq([c]))
        })
    };
    let (name, before, last) = ERAS.into_iter().find(|(name, ..)| is_named(name))?;
    let year_at = at + name.chars().count();
    let year = next(tokens, year_at)?;
    let value = match &*year.text {
        "元" => 1,
        _ => year.key.parse().ok()?,
    };
    let is_year = next(tokens, year_at + 1).is_some_and(|token| token.text == "年");
    (is_year && (1..=last).contains(&value)).then(|| {
        Form::new(
            vec![Token {
                class: Class::Number,
                ..year.with_text((before + value).to_smolstr())
            }],
            year_at + 1 - at,
        )
    })
}
