//! Arrival times in inputs.

use serde_json::Value;
use simdb::time_reader::TimeReader;
use simdb::{Error, Timestamp};

use super::excerpt;

/// The last millisecond of the year 9999, the last year of RFC 3339. A later time is refused,
/// because its number is most likely in another unit.
const LATEST_MS: u64 = 253_402_300_799_999;

/// Advice of the library, which names no options, and the advice in its place.
type Advice = [[&'static str; 2]; 2];

const ADVICE_OF_INPUTS: Advice = [
    ["name a default zone", "name its zone with --default-zone"],
    ["name the unit of numbers", "name its unit with --time-unit"],
];

/// An option that holds a time has no --default-zone and no --time-unit beside it.
const ADVICE_OF_OPTIONS: Advice = [
    [", or name a default zone", ""],
    ["; name the unit of numbers", ""],
];

/// The rules by which the times of an input are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeRules {
    pub reader: TimeReader,
    /// A document without a time arrives now; without this rule the document is a bad record.
    pub or_now: bool,
    /// No option names a zone or a unit, as in the requests to a server.
    pub without_options: bool,
}

impl TimeRules {
    /// Reads a string or a number.
    pub fn time_of(&self, value: &Value) -> Result<Timestamp, String> {
        let advice = match self.without_options {
            true => ADVICE_OF_OPTIONS,
            false => ADVICE_OF_INPUTS,
        };
        match value {
            Value::Number(number) => self.read(&number.to_string(), number.to_string(), advice),
            Value::String(text) => self.read(text, format!("{text:?}"), advice),
            other => Err(not_a_time(&other.to_string())),
        }
    }

    /// The clap parser of a time.
    pub fn parse(text: &str) -> Result<Timestamp, String> {
        Self::default().read(text, format!("{text:?}"), ADVICE_OF_OPTIONS)
    }

    /// `shown` is the text in messages.
    fn read(&self, text: &str, shown: String, advice: Advice) -> Result<Timestamp, String> {
        let shown = excerpt(&shown);
        match self.reader.read(text) {
            Ok(Timestamp(ms)) if ms > LATEST_MS => Err(format!("{shown} is after the year 9999")),
            Ok(time) => Ok(time),
            Err(Error::InvalidTimestamp { reason, .. }) => {
                let replace = |reason: String, [own, other]: [&str; 2]| reason.replace(own, other);
                let reason = advice.into_iter().fold(reason.to_owned(), replace);
                Err(format!("{shown} is not a time: {reason}"))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The time of milliseconds since 1970, whose unit a column of Parquet states.
pub fn time_of_ms(ms: i64) -> Result<Timestamp, String> {
    let shown = format!("{ms} ms");
    match u64::try_from(ms) {
        Ok(ms) if ms <= LATEST_MS => Ok(Timestamp(ms)),
        Ok(_) => Err(format!("{shown} is after the year 9999")),
        Err(_) => Err(format!("{shown} is before 1970")),
    }
}

fn not_a_time(given: &str) -> String {
    format!(
        "{} is not a time: a string or a number is expected; --time-or-now reads null as now",
        excerpt(given)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_an_option_names_no_other_options() {
        for bad in ["2026-11-27", "2026-11-27 12:00", "20261127"] {
            let reason = TimeRules::parse(bad).unwrap_err();
            assert!(
                reason.contains(" is not a time: ") && !reason.contains("--"),
                "{reason}"
            );
        }
    }

    fn time(json: &str) -> Result<u64, String> {
        let time = TimeRules::default().time_of(&serde_json::from_str(json).unwrap());
        time.map(|time| time.0)
    }

    #[test]
    fn time_is_text_seconds_or_milliseconds() {
        for (json, ms) in [
            ("\"1970-01-01T00:00:00Z\"", 0),
            ("\"2024-02-29T12:34:56.007Z\"", 1_709_210_096_007),
            ("\"2024-02-29T20:34:56.0079+08:00\"", 1_709_210_096_007),
            ("\"2024-02-29 07:34:56-05:00\"", 1_709_210_096_000),
            ("\"Thu, 29 Feb 2024 12:34:56 GMT\"", 1_709_210_096_000),
            ("1709210096", 1_709_210_096_000),
            ("1709210096.007", 1_709_210_096_007),
            ("\"1709210096.007\"", 1_709_210_096_007),
            ("1.709210096e9", 1_709_210_096_000),
            ("1709210096007", 1_709_210_096_007),
            ("1709210096007.9", 1_709_210_096_007),
            ("\"9999-12-31T23:59:59.999Z\"", LATEST_MS),
            ("\"2024-02-29T20:34:56.007+0800\"", 1_709_210_096_007),
        ] {
            assert_eq!(time(json), Ok(ms), "{json}");
        }
    }

    #[test]
    fn bad_time_is_rejected_with_reason() {
        for (json, said) in [
            ("-1", "-1 is not a time: it is before 1970"),
            ("\"1969-12-31T23:59:59.9999Z\"", "is before 1970"),
            ("\"2024-02-29T12:34:56\"", "has no zone"),
            ("\"2024-02-29 12:34\"", "--default-zone"),
            ("\"2024-02-29\"", "has no time of day"),
            ("\"2024-02-29\"", "--default-zone"),
            ("20240229", "has no time of day"),
            ("0", "--time-unit"),
            ("2024", "--time-unit"),
            ("1709210096007000", "--time-unit"),
            ("1e300", "--time-unit"),
            (
                "\"9999-12-31T23:59:59.999-00:01\"",
                "is after the year 9999",
            ),
            ("\"+10000-01-01T00:00:00Z\"", "is after the year 9999"),
            ("null", "null is not a time"),
            ("null", "--time-or-now"),
            ("true", "is not a time"),
            ("\"\"", "is not a time"),
            ("\"yesterday\"", "is not a time"),
            ("\"inf\"", "is not a time"),
            ("\"2023-02-29T12:34:56Z\"", "there is no such day"),
        ] {
            let reason = time(json).unwrap_err();
            assert!(reason.contains(said), "{json}: {reason}");
        }
    }
}
