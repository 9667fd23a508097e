//! [`Timestamp`]: a time in milliseconds.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use crate::error::Error;

/// A time in milliseconds since 1970-01-01 UTC, without leap seconds.
///
/// `Display` writes RFC 3339 with milliseconds. RFC 3339 ends with the year 9999; a later year is
/// written with a sign and all digits. `FromStr` reads both, with any offset from UTC, or
/// milliseconds in digits.
///
/// A sum or difference with a [`Duration`] is rounded down to milliseconds, and saturates at 0 and
/// at `u64::MAX` milliseconds.
///
/// ```
/// use std::time::Duration;
/// use simdb::Timestamp;
///
/// let time = Timestamp(1_709_210_096_007);
/// assert_eq!(time.to_string(), "2024-02-29T12:34:56.007Z");
/// assert_eq!("2024-02-29T20:34:56.007+08:00".parse::<Timestamp>()?, time);
/// assert_eq!("1709210096007".parse::<Timestamp>()?, time);
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// assert_eq!((time + day).to_string(), "2024-03-01T12:34:56.007Z");
/// assert_eq!((time + day).duration_since(time), day);
/// assert_eq!(Timestamp(0) - day, Timestamp(0));
/// assert!(Timestamp::now() - day > time);
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The time as a [`SystemTime`]; `None` if the system cannot represent it, thousands of years
    /// from now.
    pub fn system_time(self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.0))
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// The whole milliseconds of a duration; `u64::MAX` if there are more.
fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Saturates at `u64::MAX` milliseconds.
impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(whole_ms(duration)))
    }
}

/// Saturates at 0.
impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        let rest = u128::from(self.0) * 1_000_000;
        let ms = rest.saturating_sub(duration.as_nanos()) / 1_000_000;
        // Not above `self`, which fits.
        Self(u64::try_from(ms).unwrap_or(self.0))
    }
}

impl From<u64> for Timestamp {
    fn from(ms: u64) -> Self {
        Self(ms)
    }
}

impl From<SystemTime> for Timestamp {
    /// Rounds down to milliseconds. A time before 1970 becomes 0.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        Self(whole_ms(since.unwrap_or_default()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ms) = (self.0 / 1000, self.0 % 1000);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date(days);
        let sign = if year > 9999 { "+" } else { "" };
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(
            f,
            "{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"
        )
    }
}

/// Days from 0000-03-01 to 1970-01-01.
const MARCH_0_TO_1970: u64 = 719_468;

/// Year, month and day in the Gregorian calendar of a day counted from 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    // A year begins in March here, so that the leap day is its last day.
    let days = days + MARCH_0_TO_1970;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    // Without the leap days of 4, 100 and 400 years, each year has 365 days.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // March to July have 153 days, and so have August to December.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let is_next_year = month >= 10;
    (
        400 * era + year + u64::from(is_next_year),
        if is_next_year { month - 9 } else { month + 3 },
        day,
    )
}

/// Reads RFC 3339, with `T` or a space before the time of day, or milliseconds in digits.
///
/// Seconds may be missing, an offset may be written `+0800` or `+08`, and a year above 9999 is
/// written as by `Display`. Fractions are rounded down to milliseconds. A leap second counts as
/// the second before.
///
/// # Errors
/// [`Error::InvalidTimestamp`]; its text says if the offset is missing, a field is out of range, or
/// the time is before 1970.
impl FromStr for Timestamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).map_err(|reason| Error::InvalidTimestamp {
            text: text.to_owned(),
            reason,
        })
    }
}

const NOT_A_TIME: &str = "RFC 3339 as in 2024-05-31T12:00:00Z, or a number, is expected";
const NO_ZONE: &str = "it has no zone; append Z for UTC, or an offset such as +08:00";
const NO_TIME_OF_DAY: &str = "it has no time of day; write it like 2024-05-31T12:00:00Z";
const NO_SUCH_DAY: &str = "there is no such day";
const NO_SUCH_TIME: &str = "there is no such time of day";
const NO_SUCH_OFFSET: &str = "there is no such offset from UTC";
const BEFORE_1970: &str = "it is before 1970";
const TOO_LATE: &str = "it is later than 2^64 - 1 milliseconds since 1970";

/// The time of a text, or the reason why there is none.
fn parse(text: &str) -> Result<Timestamp, &'static str> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map(Timestamp).map_err(|_| TOO_LATE);
    }
    let mut rest = text;
    let days = parse_date(&mut rest)?;
    if rest.is_empty() {
        return Err(NO_TIME_OF_DAY);
    }
    if !take_any(&mut rest, &['T', 't', ' ']) {
        return Err(NOT_A_TIME);
    }
    let ms_of_day = parse_time_of_day(&mut rest)?;
    if rest.is_empty() {
        return Err(NO_ZONE);
    }
    let offset_minutes = parse_offset(&mut rest)?;
    if !rest.is_empty() {
        return Err(NOT_A_TIME);
    }
    let ms =
        i128::from(days) * MS_PER_DAY + i128::from(ms_of_day) - i128::from(offset_minutes) * 60_000;
    if ms < 0 {
        return Err(BEFORE_1970);
    }
    u64::try_from(ms).map(Timestamp).map_err(|_| TOO_LATE)
}

const MS_PER_DAY: i128 = 86_400_000;

/// Reads a date, and returns its days since 1970-01-01.
fn parse_date(rest: &mut &str) -> Result<i64, &'static str> {
    let is_long = take_any(rest, &['+']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    // A sign and more than four digits, or four digits without a sign. `Display` writes at most nine.
    let is_year = if is_long {
        (5..=9).contains(&digits)
    } else {
        digits == 4
    };
    if !is_year {
        return Err(NOT_A_TIME);
    }
    let year = take_number(rest, digits).ok_or(NOT_A_TIME)?;
    let mut field = || {
        let has_dash = take_any(rest, &['-']);
        has_dash
            .then(|| take_number(rest, 2))
            .flatten()
            .ok_or(NOT_A_TIME)
    };
    let (month, day) = (field()?, field()?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last_day = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=last_day).contains(&day) {
        return Err(NO_SUCH_DAY);
    }
    Ok(days_since_1970(year, month, day))
}

/// The inverse of [`date`], for the years from 0 on.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // A year begins in March here, as in `date`.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + day_of_year - MARCH_0_TO_1970 as i64
}

/// Reads `12:34`, `12:34:56` or `12:34:56.789`, and returns the milliseconds since midnight.
fn parse_time_of_day(rest: &mut &str) -> Result<i64, &'static str> {
    let hour = take_number(rest, 2).ok_or(NOT_A_TIME)?;
    if !take_any(rest, &[':']) {
        return Err(NOT_A_TIME);
    }
    let minute = take_number(rest, 2).ok_or(NOT_A_TIME)?;
    let (mut second, mut ms) = (0, 0);
    if take_any(rest, &[':']) {
        second = take_number(rest, 2).ok_or(NOT_A_TIME)?;
        if take_any(rest, &['.', ',']) {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let kept = take_number(rest, digits.min(3)).ok_or(NOT_A_TIME)?;
            ms = kept * [1000, 100, 10, 1][digits.min(3)];
            *rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        }
    }
    if hour > 23 || minute > 59 || second > 60 {
        return Err(NO_SUCH_TIME);
    }
    Ok(((hour * 60 + minute) * 60 + second.min(59)) * 1000 + ms)
}

/// Reads `Z`, `+08:00`, `+0800` or `+08`, and returns the minutes east of UTC.
fn parse_offset(rest: &mut &str) -> Result<i64, &'static str> {
    if take_any(rest, &['Z', 'z']) {
        return Ok(0);
    }
    let is_west = rest.starts_with('-');
    if !take_any(rest, &['+', '-']) {
        return Err(NOT_A_TIME);
    }
    let hours = take_number(rest, 2).ok_or(NOT_A_TIME)?;
    let has_colon = take_any(rest, &[':']);
    let minutes = match take_number(rest, 2) {
        Some(minutes) => minutes,
        None if !has_colon && rest.is_empty() => 0,
        None => return Err(NOT_A_TIME),
    };
    if hours > 23 || minutes > 59 {
        return Err(NO_SUCH_OFFSET);
    }
    let east = hours * 60 + minutes;
    Ok(if is_west { -east } else { east })
}

/// Takes the first character if it is one of `any`.
fn take_any(rest: &mut &str, any: &[char]) -> bool {
    let after = rest.strip_prefix(any);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

/// Takes this many digits; `None` if there are fewer, or the number of digits is 0.
fn take_number(rest: &mut &str, digits: usize) -> Option<i64> {
    let (number, after) = rest.split_at_checked(digits)?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = number.parse().ok()?;
    *rest = after;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_displays_as_rfc_3339() {
        for (ms, shown) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "+10000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(ms).to_string(), shown);
        }
        assert!(Timestamp(u64::MAX).to_string().starts_with("+584556019-"));
    }

    #[test]
    fn date_follows_the_gregorian_calendar_for_200_000_days() {
        let leap = |year: u64| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let mut expected = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(date(days), expected);
            let (year, month, day) = expected;
            let last = match month {
                2 => 28 + u64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }

    #[test]
    fn timestamp_converts_to_system_time_and_back() {
        let moment = Timestamp(1_709_210_096_007);
        let time = moment.system_time().unwrap();
        assert_eq!(Timestamp::from(time), moment);
        let finer = time + Duration::from_micros(999);
        assert_eq!(Timestamp::from(finer), moment);
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(Timestamp::from(before), Timestamp(0));
    }

    #[test]
    fn displayed_time_parses_to_itself() {
        for ms in [
            0,
            951_782_399_999,
            951_868_800_000,
            253_402_300_799_999,
            253_402_300_800_000,
            u64::MAX,
        ] {
            let time = Timestamp(ms);
            assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
        }
        for days in (0..4_000_000).step_by(911) {
            let time = Timestamp(days * 86_400_000 + 86_399_999);
            assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
        }
    }

    #[test]
    fn times_are_read_in_each_notation() {
        for (text, ms) in [
            ("1709210096007", 1_709_210_096_007),
            ("2024-02-29T12:34:56.007Z", 1_709_210_096_007),
            ("2024-02-29t12:34:56.0079z", 1_709_210_096_007),
            ("2024-02-29 07:34:56,007-05:00", 1_709_210_096_007),
            ("2024-02-29T20:34:56.007+0800", 1_709_210_096_007),
            ("2024-02-29T20:34:56.007+08", 1_709_210_096_007),
            ("2024-02-29T12:34:56.5Z", 1_709_210_096_500),
            ("2024-02-29T12:34Z", 1_709_210_040_000),
            ("2024-02-29T12:34:60Z", 1_709_210_099_000),
            ("1970-01-01T05:30:00+05:30", 0),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
            (
                "9999-12-31T23:59:59.999-23:59",
                253_402_300_799_999 + 86_340_000,
            ),
        ] {
            let time = text.parse::<Timestamp>();
            assert_eq!(time.unwrap(), Timestamp(ms), "{text}");
        }
    }

    #[test]
    fn invalid_time_is_refused_with_its_reason() {
        for (text, reason) in [
            ("2024-05-31T12:00:00", NO_ZONE),
            ("2024-05-31 12:00", NO_ZONE),
            ("2024-05-31T12:00:00.5", NO_ZONE),
            ("2024-05-31", NO_TIME_OF_DAY),
            ("2023-02-29T12:34:56Z", NO_SUCH_DAY),
            ("2024-13-01T12:34:56Z", NO_SUCH_DAY),
            ("2024-00-01T12:34:56Z", NO_SUCH_DAY),
            ("2024-05-31T24:00:00Z", NO_SUCH_TIME),
            ("2024-05-31T12:60:00Z", NO_SUCH_TIME),
            ("2024-05-31T12:00:00+24:00", NO_SUCH_OFFSET),
            ("1969-12-31T23:59:59.9999Z", BEFORE_1970),
            ("1970-01-01T00:00:00+00:01", BEFORE_1970),
            ("0000-01-01T00:00:00Z", BEFORE_1970),
            ("+999999999-01-01T00:00:00Z", TOO_LATE),
            ("18446744073709551616", TOO_LATE),
            ("", NOT_A_TIME),
            ("yesterday", NOT_A_TIME),
            ("-1", NOT_A_TIME),
            ("+12024-05-31T12:00:00Z ", NOT_A_TIME),
            ("2024-05-31T12:00:00+08:", NOT_A_TIME),
            ("2024-05-31T12:00:00.Z", NOT_A_TIME),
            ("2024-05-31T12:00:00 UTC", NOT_A_TIME),
            ("2024-5-31T12:00:00Z", NOT_A_TIME),
            ("２０２４-05-31T12:00:00Z", NOT_A_TIME),
        ] {
            assert_eq!(parse(text), Err(reason), "{text}");
        }
        let error = "2024-05-31T12:00:00".parse::<Timestamp>().unwrap_err();
        assert!(error.to_string().contains("has no zone"), "{error}");
    }

    #[test]
    fn arithmetic_saturates() {
        let time = Timestamp(5);
        let ms = Duration::from_millis;
        assert_eq!(time + ms(2), Timestamp(7));
        assert_eq!(time - ms(2), Timestamp(3));
        assert_eq!(time - ms(6), Timestamp(0));
        // Rounded down.
        assert_eq!(time - Duration::from_micros(1), Timestamp(4));
        assert_eq!(time + Duration::MAX, Timestamp(u64::MAX));
        assert_eq!(time - Duration::MAX, Timestamp(0));
        assert_eq!(Timestamp(u64::MAX) - Duration::ZERO, Timestamp(u64::MAX));
        assert_eq!(time.duration_since(Timestamp(2)), ms(3));
        assert_eq!(time.duration_since(Timestamp(9)), Duration::ZERO);
    }
}
