//! [`TimeReader`]: times as feeds and corpora write them.

use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::ids::Timestamp;
use crate::parse::{BEFORE_1970, NO_TIME_OF_DAY, NO_ZONE, NOT_A_TIME, TOO_LATE, time_of};

/// The unit of a number that is a time since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TimeUnit {
    /// Units in a millisecond, or 0.001 for seconds.
    fn per_ms(self) -> f64 {
        match self {
            Self::Seconds => 1e-3,
            Self::Milliseconds => 1.0,
            Self::Microseconds => 1e3,
            Self::Nanoseconds => 1e6,
        }
    }
}

/// Reads times in the notations of feeds and corpora.
///
/// | notation | example |
/// |---|---|
/// | RFC 3339 and ISO 8601, also with one digit for a month, day or hour | `2024-05-31T20:00:00+08:00`, `2024/5/31 8:05Z` |
/// | RFC 822 and RFC 2822, also with the whole names of months and days | `Fri, 31 May 2024 20:00:00 GMT` |
/// | Chinese, Japanese and Korean dates | `2024年5月31日 20:00`, `2024年5月31日 下午8时05分` |
/// | compact dates with a time of day | `20240531200000`, `202405312000`, `20240531T200000Z` |
/// | a number, or its digits | `1717185600`, `1717185600.5`, `1717185600000` |
///
/// A number is seconds or milliseconds since 1970, and lies in the years 1990 to 2100. Another
/// number is refused without [`with_unit`](Self::with_unit): the date 20240531 would be a second of
/// the year 1970. A time without a zone, and a date without a time of day, are refused without
/// [`with_default_zone`](Self::with_default_zone). With a default zone a date is its first moment
/// there.
///
/// A time may name a zone of RFC 822 (`GMT`, `UT`, `Z`, `EST`, `PDT`, …) or `UTC`. Other names,
/// such as `CEST`, have no fixed meaning and are refused.
///
/// ```
/// use simdb::{TimeReader, Timestamp};
///
/// let time = Timestamp(1_717_156_800_000);
/// let reader = TimeReader::new();
/// for text in ["2024-05-31T20:00:00+08:00", "Fri, 31 May 2024 12:00:00 GMT", "1717156800"] {
///     assert_eq!(reader.read(text)?, time);
/// }
/// assert!(reader.read("2024-05-31 20:00").is_err());
/// let in_china = reader.with_default_zone("Asia/Shanghai")?;
/// for text in ["2024-05-31 20:00", "2024年5月31日 20时", "20240531200000"] {
///     assert_eq!(in_china.read(text)?, time);
/// }
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeReader {
    zone: Option<TimeZone>,
    unit: Option<TimeUnit>,
}

impl TimeReader {
    /// A reader without a default zone and without a unit of numbers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads times without a zone in this zone: an offset such as `+08:00`, or a name of the IANA
    /// database such as `Europe/Berlin`, whose rules decide about summer time. A time that a change
    /// to winter time repeats is the first; a time that a change to summer time leaves out is later
    /// by the length of the change.
    ///
    /// # Errors
    /// [`Error::UnknownZone`].
    pub fn with_default_zone(self, zone: &str) -> Result<Self> {
        let name = if zone.eq_ignore_ascii_case("Z") {
            "UTC"
        } else {
            zone
        };
        let found = DateTimeParser::new().parse_time_zone(name).ok();
        // jiff reads offsets of up to 25 hours.
        let is_offset = |zone: &TimeZone| {
            let offset = zone.to_fixed_offset();
            offset.is_ok_and(|offset| offset.seconds().abs() >= 86_400)
        };
        match found.filter(|zone| !is_offset(zone)) {
            Some(zone) => Ok(Self {
                zone: Some(zone),
                ..self
            }),
            None => Err(Error::UnknownZone {
                name: zone.to_owned(),
            }),
        }
    }

    /// Reads every number in this unit, also compact dates.
    pub fn with_unit(self, unit: TimeUnit) -> Self {
        Self {
            unit: Some(unit),
            ..self
        }
    }

    /// Reads a time.
    ///
    /// # Errors
    /// [`Error::InvalidTimestamp`]; its text says what is missing or out of range.
    pub fn read(&self, text: &str) -> Result<Timestamp> {
        self.time(text.trim())
            .map_err(|reason| Error::InvalidTimestamp {
                text: text.to_owned(),
                reason,
            })
    }

    fn time(&self, text: &str) -> Result<Timestamp, &'static str> {
        if let Some(number) = Number::parse(text) {
            return self.time_of_number(text, number);
        }
        // Longer texts are no times; the bound keeps the cost small for a text in the wrong field.
        if text.len() > MAX_LEN_BYTES {
            return Err(NOT_A_TIME);
        }
        let strict = match time_of(text) {
            Ok(time) => return Ok(time),
            Err(reason) => reason,
        };
        let text = folded(text);
        let fields = rfc_2822_fields(&text)
            .or_else(|| civil_fields(&text))
            .or_else(|| compact_fields(&text));
        match fields {
            Some(fields) => self.time_of_fields(&fields),
            None => Err(strict),
        }
    }

    fn time_of_number(&self, text: &str, number: Number) -> Result<Timestamp, &'static str> {
        if number.value < 0.0 {
            return Err(BEFORE_1970);
        }
        if let Some(unit) = self.unit {
            return number.in_unit(unit);
        }
        if let Some(fields) = compact_fields(text) {
            return self.time_of_fields(&fields);
        }
        let is_plausible = |unit: TimeUnit| {
            let ms = number.value / unit.per_ms();
            (FIRST_PLAUSIBLE_MS..=LAST_PLAUSIBLE_MS).contains(&ms)
        };
        match [TimeUnit::Seconds, TimeUnit::Milliseconds]
            .into_iter()
            .find(|unit| is_plausible(*unit))
        {
            Some(unit) => number.in_unit(unit),
            None => Err(NEEDS_UNIT),
        }
    }

    fn time_of_fields(&self, fields: &Fields) -> Result<Timestamp, &'static str> {
        let Fields { date, time, zone } = fields;
        let Some(zone) = zone else {
            return Err(UNKNOWN_ZONE);
        };
        if let (Some(time), false) = (time, zone.is_empty()) {
            return time_of(&format!("{date}T{time}{zone}"));
        }
        // A date that is not a day is no better with a zone.
        let checked = time.as_deref().unwrap_or("00:00:00");
        let is_day = time_of(&format!("{date}T{checked}Z"));
        match is_day {
            Err(reason) if reason != BEFORE_1970 => return Err(reason),
            _ => {}
        }
        let default = match (&self.zone, time) {
            (Some(zone), _) => zone,
            (None, Some(_)) => return Err(NO_ZONE),
            (None, None) => return Err(NO_TIME_OF_DAY),
        };
        let moment = match time {
            Some(time) => DateTime::from_str(&format!("{date}T{time}"))
                .and_then(|date_time| date_time.to_zoned(default.clone())),
            None => Date::from_str(date).and_then(|date| date.to_zoned(default.clone())),
        };
        let ms = moment.map_err(|_| TOO_LATE)?.timestamp().as_millisecond();
        u64::try_from(ms).map(Timestamp).map_err(|_| BEFORE_1970)
    }
}

/// The years 1990 to 2100 in milliseconds.
const FIRST_PLAUSIBLE_MS: f64 = 631_152_000_000.0;
const LAST_PLAUSIBLE_MS: f64 = 4_133_980_799_999.0;

/// The longest notation of a time, in bytes, with blanks and comments.
const MAX_LEN_BYTES: usize = 100;

const NEEDS_UNIT: &str = "as seconds and as milliseconds it is outside the years 1990 to 2100; name \
                          the unit of numbers";
const UNKNOWN_ZONE: &str = "its zone is not known; write an offset such as +08:00";

/// A number, with its digits if it has neither sign, fraction nor exponent.
struct Number {
    value: f64,
    integer: Option<u128>,
}

impl Number {
    fn parse(text: &str) -> Option<Self> {
        let is_numeric = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        let begins = text.trim_start_matches(['+', '-']).as_bytes();
        if !begins.first().is_some_and(u8::is_ascii_digit) || !text.bytes().all(is_numeric) {
            return None;
        }
        Some(Self {
            value: text.parse().ok()?,
            integer: text.parse().ok(),
        })
    }

    /// The time of this number in a unit. A fraction of a millisecond is rounded down, except in a
    /// number of seconds: the nearest `f64` to a decimal fraction may be less than the fraction.
    fn in_unit(&self, unit: TimeUnit) -> Result<Timestamp, &'static str> {
        let ms = match (self.integer, unit) {
            (Some(seconds), TimeUnit::Seconds) => seconds.checked_mul(1000),
            (Some(number), unit) => number.checked_div(unit.per_ms() as u128),
            (None, TimeUnit::Seconds) => Some((self.value * 1e3).round() as u128),
            (None, unit) => Some((self.value / unit.per_ms()) as u128),
        };
        let ms = ms.and_then(|ms| u64::try_from(ms).ok());
        ms.map(Timestamp).ok_or(TOO_LATE)
    }
}

/// The parts of a time, as RFC 3339 writes them.
struct Fields {
    date: String,
    /// `None` if there is no time of day.
    time: Option<String>,
    /// Empty if there is no zone; `None` if the zone is not known.
    zone: Option<String>,
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
fn folded(text: &str) -> String {
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
fn compact_fields(text: &str) -> Option<Fields> {
    let digits_len = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let number = |range: std::ops::Range<usize>, digits: &str| digits.get(range)?.parse().ok();
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
fn civil_fields(text: &str) -> Option<Fields> {
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
fn rfc_2822_fields(text: &str) -> Option<Fields> {
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
fn digits(rest: &mut &str, len: std::ops::RangeInclusive<usize>) -> Option<u32> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &TimeReader, text: &str) -> Result<String, String> {
        let time = reader.read(text).map_err(|error| error.to_string())?;
        Ok(time.to_string().replace(".000Z", "Z"))
    }

    #[test]
    fn times_with_a_zone_are_read_in_each_notation() {
        let reader = TimeReader::new();
        for (text, time) in [
            ("2024-05-31T20:00:00+08:00", "2024-05-31T12:00:00Z"),
            ("2024-05-31 20:00 +0800", "2024-05-31T12:00:00Z"),
            ("2024/5/31 8:05Z", "2024-05-31T08:05:00Z"),
            ("2024-5-31T8:05:09.1239Z", "2024-05-31T08:05:09.123Z"),
            ("2024-05-31 20:00:00 UTC", "2024-05-31T20:00:00Z"),
            ("2024-05-31 20:00:00 UTC+8", "2024-05-31T12:00:00Z"),
            ("2024-05-31 20:00:00 GMT+0530", "2024-05-31T14:30:00Z"),
            ("20240531T200000Z", "2024-05-31T20:00:00Z"),
            ("20240531T2000+0800", "2024-05-31T12:00:00Z"),
            ("2024.05.31 08:00 PM GMT", "2024-05-31T20:00:00Z"),
            ("Fri, 31 May 2024 20:00:00 GMT", "2024-05-31T20:00:00Z"),
            ("  fri, 31 may 2024 8:00:00 +0800\n", "2024-05-31T00:00:00Z"),
            (
                "Friday, 31 May 2024 20:00:00 -05:00",
                "2024-06-01T01:00:00Z",
            ),
            ("Thurs, 30 September 2021 20:00 Z", "2021-09-30T20:00:00Z"),
            ("Mon, 31 May 2024 20:00:00 EST", "2024-06-01T01:00:00Z"),
            ("31 May 24 20:00 PDT", "2024-06-01T03:00:00Z"),
            ("31 May 99 20:00 UT", "1999-05-31T20:00:00Z"),
            ("Friday, 31-May-24 20:00:00 GMT", "2024-05-31T20:00:00Z"),
            (
                "Fri, 31 May 2024 20:00:00 +0000 (UTC)",
                "2024-05-31T20:00:00Z",
            ),
            ("Fri,31 May 2024 20:00:60 GMT", "2024-05-31T20:00:59Z"),
            ("1717185600", "2024-05-31T20:00:00Z"),
            ("1717185600.25", "2024-05-31T20:00:00.250Z"),
            ("1.7171856e9", "2024-05-31T20:00:00Z"),
            ("1717185600007", "2024-05-31T20:00:00.007Z"),
            ("631152000", "1990-01-01T00:00:00Z"),
            ("4133980799", "2100-12-31T23:59:59Z"),
        ] {
            assert_eq!(read(&reader, text), Ok(time.to_owned()), "{text}");
        }
    }

    #[test]
    fn time_without_a_zone_is_read_in_the_default_zone() {
        let in_zone = |zone| TimeReader::new().with_default_zone(zone).unwrap();
        for (zone, text, time) in [
            ("+08:00", "2024-05-31 20:00", "2024-05-31T12:00:00Z"),
            (
                "Asia/Shanghai",
                "2024-05-31T20:00:00.5",
                "2024-05-31T12:00:00.500Z",
            ),
            ("Z", "2024/05/31 20:00:00", "2024-05-31T20:00:00Z"),
            ("UTC", "31 May 2024 20:00", "2024-05-31T20:00:00Z"),
            ("Europe/Berlin", "2024-05-31 20:00", "2024-05-31T18:00:00Z"),
            ("Europe/Berlin", "2024-01-31 20:00", "2024-01-31T19:00:00Z"),
            // Left out by summer time, and repeated by winter time.
            ("Europe/Berlin", "2024-03-31 02:30", "2024-03-31T01:30:00Z"),
            ("Europe/Berlin", "2024-10-27 02:30", "2024-10-27T00:30:00Z"),
            ("+08:00", "20240531", "2024-05-30T16:00:00Z"),
            ("+08:00", "2024-05-31", "2024-05-30T16:00:00Z"),
            ("+08:00", "202405312000", "2024-05-31T12:00:00Z"),
            ("+08:00", "20240531200015", "2024-05-31T12:00:15Z"),
            ("+08:00", "2024年5月31日", "2024-05-30T16:00:00Z"),
            ("+08:00", "2024年05月31日 20:00", "2024-05-31T12:00:00Z"),
            (
                "+08:00",
                "2024年5月31日20时05分15秒",
                "2024-05-31T12:05:15Z",
            ),
            (
                "+08:00",
                "2024年5月31日 星期五 下午8:05",
                "2024-05-31T12:05:00Z",
            ),
            (
                "+08:00",
                "２０２４年５月３１日　２０：００",
                "2024-05-31T12:00:00Z",
            ),
            (
                "+09:00",
                "2024年5月31日(金) 20時00分",
                "2024-05-31T11:00:00Z",
            ),
            (
                "+09:00",
                "2024년 5월 31일 오후 8시 5분",
                "2024-05-31T11:05:00Z",
            ),
            // The zone of the time itself counts.
            ("+08:00", "2024-05-31 20:00 -0500", "2024-06-01T01:00:00Z"),
            ("+08:00", "1717185600", "2024-05-31T20:00:00Z"),
        ] {
            assert_eq!(
                read(&in_zone(zone), text),
                Ok(time.to_owned()),
                "{zone} {text}"
            );
        }
        for unknown in ["Mars/Olympus", "", "CEST", "+25:00", "8"] {
            let error = TimeReader::new().with_default_zone(unknown).unwrap_err();
            assert!(
                matches!(error, Error::UnknownZone { .. }),
                "{unknown}: {error}"
            );
        }
    }

    #[test]
    fn unclear_time_is_refused_with_its_reason() {
        let reader = TimeReader::new();
        for (text, reason) in [
            ("20240531", NO_TIME_OF_DAY),
            ("2024-05-31", NO_TIME_OF_DAY),
            ("2024年5月31日", NO_TIME_OF_DAY),
            ("2024-05-31 20:00", NO_ZONE),
            ("20240531200000", NO_ZONE),
            ("Fri, 31 May 2024 20:00:00", NO_ZONE),
            ("2024年5月31日 20:00", NO_ZONE),
            ("Fri, 31 May 2024 20:00:00 CEST", UNKNOWN_ZONE),
            ("2024-05-31 20:00 JST", UNKNOWN_ZONE),
            ("2024-05-31T12:00:00+00:00[UTC]", UNKNOWN_ZONE),
            ("2024", NEEDS_UNIT),
            ("0", NEEDS_UNIT),
            ("631151999", NEEDS_UNIT),
            ("4133980800", NEEDS_UNIT),
            ("20241350", NEEDS_UNIT),
            ("1717185600000000", NEEDS_UNIT),
            ("1717185600000000000", NEEDS_UNIT),
            ("1e300", NEEDS_UNIT),
            ("-1", BEFORE_1970),
            ("1969-12-31 20:00Z", BEFORE_1970),
            ("2024-02-30 20:00Z", "there is no such day"),
            ("Fri, 31 Feb 2024 20:00:00 GMT", "there is no such day"),
            ("2024-13-01", "there is no such day"),
            ("20240230", "there is no such day"),
            ("2024年2月30日 20:00", "there is no such day"),
            ("2024-05-31 25:00 Z", "there is no such time of day"),
            ("2024-05-31 20:00 +9900", "there is no such offset from UTC"),
            ("05/31/2024 20:00", NOT_A_TIME),
            ("31 Mai 2024 20:00 GMT", NOT_A_TIME),
            ("Fre, 31 May 2024 20:00 GMT", NOT_A_TIME),
            ("2024-05/31 20:00Z", NOT_A_TIME),
            ("2024-05-3120:00Z", NOT_A_TIME),
            ("2024-05-31 13:00 AM Z", NOT_A_TIME),
            ("yesterday", NOT_A_TIME),
            ("", NOT_A_TIME),
            ("+", NOT_A_TIME),
            ("NaN", NOT_A_TIME),
            ("年月日", NOT_A_TIME),
        ] {
            assert_eq!(reader.time(text), Err(reason), "{text}");
        }
        let zoned = reader.with_default_zone("UTC").unwrap();
        assert_eq!(zoned.time("2024-02-30 20:00"), Err("there is no such day"));
        assert_eq!(zoned.time("1969-12-31 20:00"), Err(BEFORE_1970));
        assert_eq!(zoned.time("20240531200"), Err(NEEDS_UNIT));
        let long = format!("2024-05-31 20:00 {}", " ".repeat(1000)) + "x";
        assert_eq!(zoned.time(&long), Err(NOT_A_TIME));
    }

    #[test]
    fn number_is_read_in_the_given_unit() {
        for (unit, text, ms) in [
            (TimeUnit::Seconds, "0", Some(0)),
            (TimeUnit::Seconds, "20240531", Some(20_240_531_000)),
            (TimeUnit::Seconds, "1.5", Some(1_500)),
            (TimeUnit::Milliseconds, "20240531", Some(20_240_531)),
            (TimeUnit::Milliseconds, "7.9", Some(7)),
            (
                TimeUnit::Microseconds,
                "1717185600000999",
                Some(1_717_185_600_000),
            ),
            (
                TimeUnit::Nanoseconds,
                "1717185600123999999",
                Some(1_717_185_600_123),
            ),
            (TimeUnit::Seconds, "18446744073709551615", None),
            (TimeUnit::Seconds, "1e300", None),
        ] {
            let reader = TimeReader::new().with_unit(unit);
            let expected = ms.map(Timestamp).ok_or(TOO_LATE);
            assert_eq!(reader.time(text), expected, "{unit:?} {text}");
        }
        let reader = TimeReader::new().with_unit(TimeUnit::Seconds);
        assert_eq!(reader.time("-1"), Err(BEFORE_1970));
        assert!(reader.time("2024-05-31T12:00:00Z").is_ok());
    }

    #[test]
    fn no_prefix_of_a_time_panics() {
        let zoned = TimeReader::new()
            .with_default_zone("Europe/Berlin")
            .unwrap();
        for text in [
            "Friday, 31-May-24 20:00:00 GMT (comment)",
            "２０２４年５月３１日（金）下午２０：００：００．５ UTC+8",
            "2024년 5월 31일 (금) 오후 8시 5분 7초",
            "20240531T200000.123+0800",
            "9999-12-31 23:59:59.999999999999-23:59",
        ] {
            for (from, _) in text.char_indices() {
                for (to, _) in text.char_indices().filter(|(to, _)| *to >= from) {
                    let _ = zoned.read(&text[from..to]);
                }
            }
        }
    }
}
