//! Ids, fingerprints and times, read from text.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;

use crate::error::Error;
use crate::ids::{CYCLE_MS, DocId, Fingerprint, Fingerprint128, Timestamp};
use crate::text::is_digits;

/// Reads decimal digits.
///
/// # Errors
/// [`Error::InvalidDocId`] for a sign, any other character, or a number above `u64::MAX`.
impl FromStr for DocId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // `u64::from_str` accepts a plus sign.
        match text.parse() {
            Ok(id) if is_digits(text) => Ok(Self(id)),
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

/// Reads RFC 3339, with `T` or a space before the time of day, or milliseconds in digits, as
/// `Display` and serde write times. [`TimeReader`](crate::time_reader::TimeReader) reads the
/// notations of feeds.
///
/// Seconds may be missing, an offset may be written `+0800` or `+08`, and a year above 9999 is
/// written as by `Display`. Fractions have at most nine digits, and are rounded down to
/// milliseconds. A leap second counts as the second before.
///
/// # Errors
/// [`Error::InvalidTimestamp`]; its text says if the offset is missing, a field is out of range, or
/// the time is before 1970.
impl FromStr for Timestamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        time_of(text).map_err(|reason| Error::InvalidTimestamp {
            text: text.to_owned(),
            reason,
        })
    }
}

pub(crate) const NOT_A_TIME: &str = "RFC 3339 as in 2024-05-31T12:00:00Z, or a number, is expected";
pub(crate) const NO_ZONE: &str =
    "it has no zone; append Z for UTC, or an offset such as +08:00, or name a default zone";
pub(crate) const NO_TIME_OF_DAY: &str =
    "it has no time of day; write it like 2024-05-31T12:00:00Z, or name a default zone";
const NO_SUCH_DAY: &str = "there is no such day";
const NO_SUCH_TIME: &str = "there is no such time of day";
const NO_SUCH_OFFSET: &str = "there is no such offset from UTC";
pub(crate) const BEFORE_1970: &str = "it is before 1970";
pub(crate) const TOO_LATE: &str = "it is later than 2^64 - 1 milliseconds since 1970";

/// The time of a text, or the reason why there is none.
pub(crate) fn time_of(text: &str) -> Result<Timestamp, &'static str> {
    if !text.is_empty() && is_digits(text) {
        return text.parse().map(Timestamp).map_err(|_| TOO_LATE);
    }
    let (cycles, text) = move_to_cycle_of_2000(text).ok_or(NOT_A_TIME)?;
    let pieces = Pieces::parse(&text).map_err(|error| reason_of(&error, &text))?;
    let time_of_day = pieces.time().ok_or(NO_TIME_OF_DAY)?;
    let offset = pieces.to_numeric_offset().ok_or(NO_ZONE)?;
    // jiff reads offsets of up to 25 hours.
    if offset.seconds().abs() >= 86_400 {
        return Err(NO_SUCH_OFFSET);
    }
    if pieces.time_zone_annotation().is_some() {
        return Err(NOT_A_TIME);
    }
    let date_time = pieces.date().to_datetime(time_of_day);
    let time = offset.to_timestamp(date_time).map_err(|_| TOO_LATE)?;
    let ms = cycles * i128::from(CYCLE_MS) + i128::from(time.as_millisecond());
    if ms < 0 {
        return Err(BEFORE_1970);
    }
    u64::try_from(ms).map(Timestamp).map_err(|_| TOO_LATE)
}

/// Moves a time by whole cycles of 400 years to a year from 2000 to 2399, because jiff ends with
/// the year 9999. Returns the number of cycles with the moved text, or `None` if the text does not
/// begin with a year.
fn move_to_cycle_of_2000(text: &str) -> Option<(i128, String)> {
    let signed = text.strip_prefix('+');
    let from_year = signed.unwrap_or(text);
    let (year, rest) = from_year.split_at(from_year.find(|c: char| !c.is_ascii_digit())?);
    // `Display` writes at most nine digits.
    let has_year_digits = match signed {
        Some(_) => (5..=9).contains(&year.len()),
        None => year.len() == 4,
    };
    let year: i128 = year.parse().ok().filter(|_| has_year_digits)?;
    Some((year / 400 - 5, format!("{}{rest}", 2000 + year % 400)))
}

/// The reason why a text that begins with a year is not a time.
fn reason_of(error: &jiff::Error, text: &str) -> &'static str {
    let is_valid = |end: Option<usize>| {
        let date_time = end.and_then(|end| text.get(..end));
        date_time.is_some_and(|text| text.parse::<DateTime>().is_ok())
    };
    if !error.is_range() {
        NOT_A_TIME
    } else if !is_valid(Some("2024-05-31".len())) {
        NO_SUCH_DAY
    } else if !is_valid(text.rfind(['+', '-'])) {
        NO_SUCH_TIME
    } else {
        NO_SUCH_OFFSET
    }
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
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("2400-02-29T00:00:00Z", 13_574_563_200_000),
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
            ("2024-05-31T24:00:00-08:00", NO_SUCH_TIME),
            ("2024-05-31T12:60:00Z", NO_SUCH_TIME),
            ("2024-05-31T12:00:00+24:00", NO_SUCH_OFFSET),
            ("2024-05-31T12:00:00-99:00", NO_SUCH_OFFSET),
            ("2024-05-31T12:00:00+08:60", NO_SUCH_OFFSET),
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
            ("20240531T120000Z", NOT_A_TIME),
            ("2024-05-31T12:00:00+00:00[UTC]", NOT_A_TIME),
            ("２０２４-05-31T12:00:00Z", NOT_A_TIME),
        ] {
            assert_eq!(time_of(text), Err(reason), "{text}");
        }
        let error = "2024-05-31T12:00:00".parse::<Timestamp>().unwrap_err();
        assert!(error.to_string().contains("has no zone"), "{error}");
    }
}
