//! Arrival times in inputs.

use serde_json::{Number, Value};
use simdb::{Error, Timestamp};

use super::excerpt;

/// Numbers from 1e11 on are milliseconds, smaller ones seconds. As seconds, 1e11 is in the year
/// 5138.
const FIRST_MS: f64 = 1e11;

/// The last millisecond of the year 9999, the last year of RFC 3339. A later time is refused,
/// because its number is most likely in microseconds.
const LATEST_MS: u64 = 253_402_300_799_999;

/// Parses RFC 3339 text, or seconds or milliseconds since 1970 as a number or in digits.
pub fn time_of(value: &Value) -> Result<Timestamp, String> {
    match value {
        Value::Number(number) => time_of_number(number),
        Value::String(text) => time_of_text(text),
        other => Err(not_a_time(&other.to_string())),
    }
}

/// Parses RFC 3339 text, or seconds or milliseconds since 1970 in digits.
pub fn time_of_text(text: &str) -> Result<Timestamp, String> {
    if let Ok(number) = serde_json::from_str(text) {
        return time_of_number(&number);
    }
    match text.parse() {
        Ok(Timestamp(ms)) if ms > LATEST_MS => {
            let shown = format!("{text:?}");
            Err(format!("{} is after the year 9999", excerpt(&shown)))
        }
        Ok(time) => Ok(time),
        Err(Error::InvalidTimestamp { text, reason }) => {
            let shown = format!("{text:?}");
            Err(format!("{} is not a time: {reason}", excerpt(&shown)))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The time of milliseconds since 1970.
pub fn time_of_ms(ms: i64) -> Result<Timestamp, String> {
    let shown = format!("{ms} ms");
    match u64::try_from(ms) {
        Ok(ms) if ms <= LATEST_MS => Ok(Timestamp(ms)),
        Ok(_) => Err(format!("{shown} is after the year 9999")),
        Err(_) => Err(before_1970(&shown)),
    }
}

/// The time of a number of seconds or milliseconds since 1970.
fn time_of_number(number: &Number) -> Result<Timestamp, String> {
    let shown = number.to_string();
    let value = number.as_f64().ok_or_else(|| not_a_time(&shown))?;
    if value < 0.0 {
        return Err(before_1970(&shown));
    }
    let ms = match number.as_u64() {
        Some(ms) if value >= FIRST_MS => ms,
        _ if value >= FIRST_MS => value as u64,
        Some(seconds) => seconds * 1000,
        // Rounded, because the nearest `f64` to a decimal fraction may be less than the fraction.
        None => (value * 1000.0).round() as u64,
    };
    if ms > LATEST_MS {
        return Err(format!(
            "{} is after the year 9999; seconds or milliseconds since 1970 are expected",
            excerpt(&shown)
        ));
    }
    Ok(Timestamp(ms))
}

fn not_a_time(given: &str) -> String {
    format!(
        "{} is not a time: RFC 3339 as in 2024-05-31T12:00:00Z, or seconds or milliseconds since \
         1970 are expected",
        excerpt(given)
    )
}

fn before_1970(given: &str) -> String {
    format!(
        "{} is before 1970; times since 1970 are expected",
        excerpt(given)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(json: &str) -> Result<u64, String> {
        time_of(&serde_json::from_str(json).unwrap()).map(|time| time.0)
    }

    #[test]
    fn time_is_text_seconds_or_milliseconds() {
        for (json, ms) in [
            ("\"1970-01-01T00:00:00Z\"", 0),
            ("\"2024-02-29T12:34:56.007Z\"", 1_709_210_096_007),
            ("\"2024-02-29T20:34:56.0079+08:00\"", 1_709_210_096_007),
            ("\"2024-02-29 07:34:56-05:00\"", 1_709_210_096_000),
            ("0", 0),
            ("1709210096", 1_709_210_096_000),
            ("1709210096.007", 1_709_210_096_007),
            ("\"1709210096.007\"", 1_709_210_096_007),
            ("1.709210096e9", 1_709_210_096_000),
            ("99999999999", 99_999_999_999_000),
            ("100000000000", 100_000_000_000),
            ("1709210096007", 1_709_210_096_007),
            ("1709210096007.9", 1_709_210_096_007),
            ("253402300799999", LATEST_MS),
            ("\"9999-12-31T23:59:59.999Z\"", LATEST_MS),
            ("\"9999-12-31T23:59:59Z\"", LATEST_MS - 999),
            ("\"2024-02-29T20:34:56.007+0800\"", 1_709_210_096_007),
        ] {
            assert_eq!(time(json), Ok(ms), "{json}");
        }
    }

    #[test]
    fn bad_time_is_rejected_with_reason() {
        for (json, said) in [
            ("-1", "-1 is before 1970"),
            ("-0.5", "is before 1970"),
            ("\"-3\"", "is before 1970"),
            ("\"1969-12-31T23:59:59.9999Z\"", "is before 1970"),
            ("\"2024-02-29T12:34:56\"", "has no zone"),
            ("\"2024-02-29 12:34\"", "has no zone"),
            ("\"2024-02-29\"", "has no time of day"),
            (
                "\"9999-12-31T23:59:59.999-00:01\"",
                "is after the year 9999",
            ),
            ("\"+10000-01-01T00:00:00Z\"", "is after the year 9999"),
            ("253402300800000", "is after the year 9999"),
            ("1709210096007000", "is after the year 9999"),
            ("1e300", "is after the year 9999"),
            ("null", "null is not a time"),
            ("true", "is not a time"),
            ("\"\"", "is not a time"),
            ("\"yesterday\"", "is not a time"),
            ("\"inf\"", "is not a time"),
            ("\"2024-02-29\"", "is not a time"),
            ("\"2024-02-29T12:34:56\"", "is not a time"),
            ("\"2023-02-29T12:34:56Z\"", "is not a time"),
        ] {
            let reason = time(json).unwrap_err();
            assert!(reason.contains(said), "{json}: {reason}");
        }
    }
}
