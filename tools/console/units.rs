//! Sizes, durations and counts, parsed and printed.

use std::time::Duration;

use jiff::fmt::friendly::{Designator, Spacing, SpanParser, SpanPrinter};
use jiff::{SignedDuration, Span, SpanRelativeTo, Unit};

/// Reads a size: `512MiB`, `2GB`, `65536`. For clap.
pub fn parse_size(text: &str) -> Result<u64, String> {
    parse_size::parse_size(text)
        .map_err(|_| format!("{text:?} is not a size; write it like 512MiB, 2GB or 65536"))
}

/// Commands sort in at least 64 MiB: smaller values of `--memory` are refused.
const MIN_MEMORY_BYTES: u64 = 64 << 20;

/// Reads the memory to sort in. For clap.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    if bytes < MIN_MEMORY_BYTES {
        return Err("it must be at least 64MiB".to_owned());
    }
    Ok(bytes)
}

/// Reads a duration: `90m`, `2d`, `1h 30m`. A day has 24 hours. For clap.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    if let Ok(duration) = duration_of(text) {
        return Ok(duration);
    }
    // A text that is valid with small numbers has a number that is too large.
    let mut shortened = text.replace(|digit: char| digit.is_ascii_digit(), "1");
    while shortened.contains("11") {
        shortened = shortened.replace("11", "1");
    }
    Err(match duration_of(&shortened) {
        Ok(_) => format!("{text:?} is too long; a duration of at most 19,998 years is possible"),
        Err(_) => format!("{text:?} is not a duration; write it like 90m, 2d or 1h 30m"),
    })
}

fn duration_of(text: &str) -> Result<Duration, jiff::Error> {
    let span = SpanParser::new().parse_span(text)?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours())?;
    Duration::try_from(duration)
}

/// A duration as [`parse_duration`] reads it. Durations of more than 9,998 years are shown in whole
/// seconds.
pub fn duration(duration: Duration) -> String {
    let parts = SignedDuration::try_from(duration)
        .and_then(Span::try_from)
        .and_then(|span| {
            let in_days = jiff::SpanRound::new()
                .largest(Unit::Day)
                .days_are_24_hours();
            span.round(in_days)
        });
    match parts {
        Ok(parts) => SpanPrinter::new()
            .designator(Designator::Compact)
            .spacing(Spacing::BetweenUnits)
            .span_to_string(&parts),
        Err(_) => format!("{}s", duration.as_secs()),
    }
}

/// A duration without its fraction of a second, to show.
pub fn whole_seconds(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
}

/// An integer with thousands separators: `1,234,567`.
pub fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// A number of bytes in binary units: `4.0 MiB`.
pub fn size(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// A count and its noun: `1 document`, `2 documents`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_thousands_separators() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(counted(1, "document"), "1 document");
        assert_eq!(counted(2000, "document"), "2,000 documents");
    }

    #[test]
    fn durations_round_trip_through_text() {
        for (text, seconds, shown) in [
            ("90m", 5_400.0, "1h 30m"),
            ("2d", 172_800.0, "2d"),
            ("2 days", 172_800.0, "2d"),
            ("1w", 604_800.0, "7d"),
            ("36h", 129_600.0, "1d 12h"),
            ("1d 1h 1m 1s 500ms", 90_061.5, "1d 1h 1m 1s 500ms"),
        ] {
            let read = parse_duration(text).unwrap();
            assert_eq!(read.as_secs_f64(), seconds, "{text}");
            assert_eq!(duration(read), shown);
            assert_eq!(parse_duration(shown), Ok(read));
        }
        for refused in ["", "2", "2x", "-2d", "2d ago", "1mo", "1y"] {
            let error = parse_duration(refused).unwrap_err();
            assert!(error.contains("like 90m"), "{error}");
        }
        for too_long in ["99999999d", "18446744073709551616s", "9999999999999w 1d"] {
            let error = parse_duration(too_long).unwrap_err();
            assert!(error.contains("is too long"), "{error}");
        }
        assert_eq!(
            duration(Duration::from_millis(u64::MAX)),
            "18446744073709551s"
        );
    }

    #[test]
    fn sizes_parse_with_and_without_units() {
        assert_eq!(parse_size("512MiB"), Ok(512 << 20));
        assert_eq!(parse_size("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_size("65536"), Ok(65_536));
        assert!(parse_size("much").unwrap_err().contains("512MiB"));
    }
}
