//! Ids, fingerprints and times, read from text.

use std::str::FromStr;

use crate::error::Error;
use crate::ids::{DocId, Fingerprint, Fingerprint128, MARCH_0_TO_1970, Timestamp};

/// Reads decimal digits.
///
/// # Errors
/// [`Error::InvalidDocId`] for a sign, any other character, or a number above `u64::MAX`.
impl FromStr for DocId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // `u64::from_str` accepts a plus sign.
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(id) if is_digits => Ok(Self(id)),
            _ => Err(Error::InvalidDocId {
                text: text.to_owned(),
            }),
        }
    }
}

macro_rules! read_fingerprint {
    ($name:ident, $bits:ty) => {
        /// Reads as many hexadecimal digits as `Display` writes, in upper or lower case.
        ///
        /// # Errors
        /// [`Error::InvalidFingerprint`] for a sign, a prefix, another length or any other
        /// character.
        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let digits = const { (<$bits>::BITS / 4) as usize };
                // `from_str_radix` accepts a sign and any length.
                let all_digits =
                    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                match <$bits>::from_str_radix(text, 16) {
                    Ok(bits) if all_digits => Ok(Self::from_bits(bits)),
                    _ => Err(Error::InvalidFingerprint {
                        text: text.to_owned(),
                        digits,
                    }),
                }
            }
        }
    };
}

read_fingerprint!(Fingerprint, u64);
read_fingerprint!(Fingerprint128, u128);

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

/// The inverse of `date` in `ids::timestamp`, for the years from 0 on.
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
    fn displayed_id_parses_to_itself() {
        for id in [0, 7, u64::MAX] {
            assert_eq!(DocId(id).to_string().parse::<DocId>().unwrap(), DocId(id));
        }
        for text in ["", "-1", "+1", " 1", "1.0", "0x1", "18446744073709551616"] {
            let error = text.parse::<DocId>().unwrap_err().to_string();
            assert!(error.contains("is not a document id"), "{error}");
        }
    }

    #[test]
    fn displayed_fingerprint_parses_to_itself() {
        for bits in [0, 1, 0xf000_0000_0000_0001, u64::MAX] {
            let fingerprint = Fingerprint::from_bits(bits);
            assert_eq!(fingerprint.to_string().len(), 16);
            assert_eq!(
                fingerprint.to_string().parse::<Fingerprint>().unwrap(),
                fingerprint
            );
        }
        let wide = Fingerprint128::from_bits(u128::MAX - 7);
        assert_eq!(wide.to_string().parse::<Fingerprint128>().unwrap(), wide);
        assert_eq!(
            "00000000000000AB".parse::<Fingerprint>().unwrap().bits(),
            0xab
        );
    }

    #[test]
    fn invalid_fingerprint_is_refused() {
        for text in [
            "",
            "ff",
            "+0000000000000ff",
            "0x000000000000ff",
            "00000000000000fg",
        ] {
            let error = text.parse::<Fingerprint>().unwrap_err().to_string();
            assert!(error.contains("16 hexadecimal digits"), "{error}");
        }
        assert!("00000000000000000".parse::<Fingerprint>().is_err());
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
}
