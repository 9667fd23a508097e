//! [`TimeReader`]: times as feeds and corpora write them.
//!
//! File `notations` has the fields of a date in each notation.

mod notations;

use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;

use self::notations::{Fields, civil_fields, compact_fields, folded, rfc_2822_fields};
pub(crate) use self::notations::{month_at, month_named, weekday_named};
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
/// use simdb::time_reader::TimeReader;
/// use simdb::Timestamp;
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

#[cfg(test)]
mod tests;
