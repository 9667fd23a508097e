//! The notations of a time: each is read into the fields that RFC 3339 has.

use std::ops::{Range, RangeInclusive};

/// The parts of a time, as RFC 3339 writes them.
pub(super) struct Fields {
    pub(super) date: String,
    /// `None` if there is no time of day.
    pub(super) time: Option<String>,
    /// Empty if there is no zone; `None` if the zone is not known.
    pub(super) zone: Option<String>,
}

impl Fields {
    fn new(
        [year, month, day]: [u32; 3],
        time: Option<([u32; 3], &str)>,
        zone: Option<String>,
    ) -> Self {
        Self {
            date: format!("{year:04}-{month:02}-{day:02}"),
            time: time.map(|([hour, minute, second], fraction)| {
                format!("{hour:02}:{minute:02}:{second:02}{fraction}")
            }),
            zone,
        }
    }
}

/// The text with the digits, colons and blanks of East Asian fonts as in ASCII.
pub(super) fn folded(text: &str) -> String {
    let fold = |c: char| match c {
        '０'..='９' => char::from(b'0' + (c as u32 - '０' as u32) as u8),
        '：' => ':',
        '（' => '(',
        '）' => ')',
        c if c.is_whitespace() => ' ',
        c => c,
    };
    text.chars().map(fold).collect()
}

/// The fields of a compact date: `20240531`, with a time of day `2000` or `200000`, also after `T`,
/// and a zone. The year is from 1900 to 2199: no number of seconds or milliseconds in the years
/// 1990 to 2100 has as many digits and begins like that.
pub(super) fn compact_fields(text: &str) -> Option<Fields> {
    let digits_len = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let number = |range: Range<usize>, digits: &str| digits.get(range)?.parse().ok();
    let (date, mut rest) = text.split_at_checked(8)?;
    if digits_len(date) < 8 {
        return None;
    }
    let day: [u32; 3] = [
        number(0..4, date)?,
        number(4..6, date)?,
        number(6..8, date)?,
    ];
    if !(1900..2200).contains(&day[0]) || !(1..=12).contains(&day[1]) || !(1..=31).contains(&day[2])
    {
        return None;
    }
    if rest.is_empty() {
        return Some(Fields::new(day, None, Some(String::new())));
    }
    rest = rest.trim_start_matches([' ', 'T', 't']);
    let (time, zone) = rest.split_at(digits_len(rest));
    let second = match time.len() {
        4 => 0,
        6 => number(4..6, time)?,
        _ => return None,
    };
    let time = [number(0..2, time)?, number(2..4, time)?, second];
    let (fraction, zone) = fraction_of(zone);
    Some(Fields::new(day, Some((time, &fraction)), zone_of(zone)))
}

/// The fields of a date in numbers: with `-`, `/` or `.`, or with the signs of years, months and
/// days of Chinese, Japanese and Korean.
pub(super) fn civil_fields(text: &str) -> Option<Fields> {
    let mut rest = text;
    let year = digits(&mut rest, 4..=4)?;
    let separator = skip(&mut rest, &['-', '/', '.', '年', '년'])?;
    let month = digits(&mut rest, 1..=2)?;
    let next = skip(&mut rest, &['-', '/', '.', '月', '월'])?;
    let is_in_signs = matches!(separator, '年' | '년');
    if is_in_signs != matches!(next, '月' | '월') || !is_in_signs && next != separator {
        return None;
    }
    let day = digits(&mut rest, 1..=2)?;
    if is_in_signs {
        skip(&mut rest, &['日', '号', '號', '일']);
    }
    let day = [year, month, day];
    rest = without_weekday(rest);
    if rest.trim().is_empty() {
        return Some(Fields::new(day, None, Some(String::new())));
    }
    let has_gap = is_in_signs || rest.starts_with([' ', 'T', 't']);
    rest = rest.trim_start_matches([' ', 'T', 't', ',', '，']);
    let mut half = half_of_day(&mut rest);
    let hour = digits(&mut rest, 1..=2).filter(|_| has_gap)?;
    let sign = skip(&mut rest, &[':', '时', '時', '点', '點', '시'])?;
    let (mut minute, mut second, mut fraction) = (0, 0, String::new());
    if let Some(read) = digits(&mut rest, 1..=2) {
        minute = read;
        if skip(&mut rest, &[':', '分', '분']).is_some()
            && let Some(read) = digits(&mut rest, 1..=2)
        {
            second = read;
            let (read, after) = fraction_of(rest);
            fraction = read;
            rest = after;
            skip(&mut rest, &['秒', '초']);
        }
    } else if sign == ':' {
        return None;
    }
    rest = rest.trim_start();
    half = half.or_else(|| half_of_day(&mut rest));
    let hour = hour_of(hour, half)?;
    let time = Some(([hour, minute, second], &fraction[..]));
    Some(Fields::new(day, time, zone_of(rest)))
}

/// The fields of `Fri, 31 May 2024 20:00:00 GMT`. The day of the week, which many feeds write
/// wrong, is not compared with the date.
pub(super) fn rfc_2822_fields(text: &str) -> Option<Fields> {
    // Comments, as in `+0000 (UTC)`.
    let text = match text.split_once('(') {
        Some((text, comment)) if comment.trim_end().ends_with(')') => text,
        _ => text,
    };
    let mut rest = text.trim();
    if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let name = letters(&mut rest);
        WEEKDAYS
            .iter()
            .find(|weekday| is_short_for(name, weekday))?;
        rest = rest.trim_start_matches(['.', ',', ' ']);
    }
    let day = digits(&mut rest, 1..=2)?;
    rest = rest.trim_start_matches([' ', '-']);
    let name = letters(&mut rest);
    let month = MONTHS.iter().position(|month| is_short_for(name, month))? as u32 + 1;
    rest = rest.trim_start_matches(['.', ' ', '-', ',']);
    let year = match (digits(&mut rest, 2..=4)?, rest) {
        // RFC 2822, section 4.3.
        (year @ 0..50, _) => year + 2000,
        (year @ 50..1000, _) => year + 1900,
        (year, _) => year,
    };
    let day = [year, month, day];
    rest = rest.trim_start_matches([' ', ',']);
    if rest.is_empty() {
        return Some(Fields::new(day, None, Some(String::new())));
    }
    let hour = digits(&mut rest, 1..=2)?;
    skip(&mut rest, &[':'])?;
    let minute = digits(&mut rest, 2..=2)?;
    let second = match skip(&mut rest, &[':']) {
        Some(_) => digits(&mut rest, 2..=2)?,
        None => 0,
    };
    let (fraction, zone) = fraction_of(rest);
    let time = Some(([hour, minute, second], &fraction[..]));
    Some(Fields::new(day, time, zone_of(zone)))
}

const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

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

/// The zones of RFC 822 with their offsets.
const ZONES: [(&str, &str); 12] = [
    ("Z", "Z"),
    ("UT", "Z"),
    ("UTC", "Z"),
    ("GMT", "Z"),
    ("EDT", "-04:00"),
    ("EST", "-05:00"),
    ("CDT", "-05:00"),
    ("CST", "-06:00"),
    ("MDT", "-06:00"),
    ("MST", "-07:00"),
    ("PDT", "-07:00"),
    ("PST", "-08:00"),
];

/// The offset of a zone as RFC 3339 writes it; empty without a zone; `None` if the zone is not
/// known.
fn zone_of(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() {
        return Some(String::new());
    }
    let named = |(name, _): &&(&str, &str)| text.eq_ignore_ascii_case(name);
    if let Some((_, offset)) = ZONES.iter().find(named) {
        return Some((*offset).to_owned());
    }
    let unnamed = ["UTC", "GMT"].iter().find_map(|name| {
        let (start, offset) = text.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then_some(offset)
    });
    let mut rest = unnamed.unwrap_or(text);
    let sign = skip(&mut rest, &['+', '-'])?;
    let digits_len = rest.bytes().take_while(u8::is_ascii_digit).count();
    // An hour may have one digit: `UTC+8`.
    let hour_len = if digits_len == 3 { 1 } else { 2 };
    let hour = digits(&mut rest, 1..=hour_len)?;
    let minute = match rest {
        "" => 0,
        _ => {
            skip(&mut rest, &[':']);
            digits(&mut rest, 2..=2)?
        }
    };
    rest.is_empty()
        .then(|| format!("{sign}{hour:02}:{minute:02}"))
}

/// Takes a number from the start of a text. The number of its digits is in `len`, and further
/// digits stay.
fn digits(rest: &mut &str, len: RangeInclusive<usize>) -> Option<u32> {
    let text = rest.trim_start_matches(' ');
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    let count = count.min(*len.end());
    let (digits, after) = text
        .split_at_checked(count)
        .filter(|_| len.contains(&count))?;
    *rest = after;
    digits.parse().ok()
}

/// Takes one of these characters from the start of a text, after blanks.
fn skip(rest: &mut &str, any_of: &[char]) -> Option<char> {
    let text = rest.trim_start_matches(' ');
    let first = text.chars().next().filter(|first| any_of.contains(first))?;
    *rest = &text[first.len_utf8()..];
    Some(first)
}

fn letters<'t>(rest: &mut &'t str) -> &'t str {
    let end = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (letters, after) = rest.split_at(end);
    *rest = after;
    letters
}

/// The full name of a month, by the name or its first three or more letters.
pub(crate) fn month_named(name: &str) -> Option<&'static str> {
    MONTHS.into_iter().find(|month| is_short_for(name, month))
}

/// The full name of the day of the week that a name, or its first three or more letters, is short
/// for.
pub(crate) fn weekday_named(name: &str) -> Option<&'static str> {
    WEEKDAYS.into_iter().find(|day| is_short_for(name, day))
}

/// The full name of a month by its number, from 1 on.
pub(crate) fn month_at(month: u32) -> Option<&'static str> {
    MONTHS.get(month.checked_sub(1)? as usize).copied()
}

/// Returns `true` for a name or its first three or more letters.
fn is_short_for(short: &str, name: &str) -> bool {
    let start = name.get(..short.len());
    short.len() >= 3 && start.is_some_and(|start| start.eq_ignore_ascii_case(short))
}

/// A fraction of a second with its point, of at most nine digits, and the text after the fraction.
fn fraction_of(text: &str) -> (String, &str) {
    let Some(fraction) = text.strip_prefix(['.', ',']) else {
        return (String::new(), text);
    };
    let end = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, after) = fraction.split_at(end);
    if digits.is_empty() {
        return (String::new(), text);
    }
    (format!(".{}", &digits[..digits.len().min(9)]), after)
}

/// The text after a day of the week in parentheses, or after 星期五, 周五 or 金曜日.
fn without_weekday(text: &str) -> &str {
    let trimmed = text.trim_start();
    let (inner, after) = match trimmed
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
    {
        Some((inner, after)) => (inner, Some(after)),
        None => (trimmed, None),
    };
    let begins = ["星期", "周", "週", "礼拜"];
    let name = begins.iter().find_map(|begin| inner.strip_prefix(begin));
    let first = inner.chars().next();
    let is_day = |c: char| "一二三四五六日天月火水木金土월화수목금토일".contains(c);
    match (after, name) {
        (Some(after), _) if name.is_some() || first.is_some_and(is_day) => after,
        (None, Some(name)) => match name.chars().next() {
            Some(day) if is_day(day) => &name[day.len_utf8()..],
            _ => text,
        },
        _ => text,
    }
}

/// A half of a day, named before or after the hour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HalfOfDay {
    First,
    Second,
}

fn half_of_day(rest: &mut &str) -> Option<HalfOfDay> {
    let names = [
        ("上午", HalfOfDay::First),
        ("午前", HalfOfDay::First),
        ("오전", HalfOfDay::First),
        ("AM", HalfOfDay::First),
        ("下午", HalfOfDay::Second),
        ("午後", HalfOfDay::Second),
        ("오후", HalfOfDay::Second),
        ("PM", HalfOfDay::Second),
    ];
    let text = rest.trim_start();
    names.into_iter().find_map(|(name, half)| {
        let (start, after) = text.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then(|| {
            *rest = after.trim_start();
            half
        })
    })
}

/// The hour from 0 to 23. 12 in the first half of a day is 0. Some sites write 下午20:00.
fn hour_of(hour: u32, half: Option<HalfOfDay>) -> Option<u32> {
    match (half, hour) {
        (None, hour) => Some(hour),
        (Some(HalfOfDay::First), 12) => Some(0),
        (Some(HalfOfDay::First), 0..12) => Some(hour),
        (Some(HalfOfDay::Second), 0..12) => Some(hour + 12),
        (Some(HalfOfDay::Second), 12..24) => Some(hour),
        _ => None,
    }
}
