//! [`DocId`], [`Timestamp`], [`Document`] and [`Match`].

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::fingerprint::Fingerprint;

/// The id of a document: any `u64`, chosen by the caller, unique in a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u64);

impl From<u64> for DocId {
    fn from(id: u64) -> Self {
        Self(id)
    }
}

impl From<DocId> for u64 {
    fn from(id: DocId) -> Self {
        id.0
    }
}

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A time in milliseconds since 1970-01-01 UTC, without leap seconds.
///
/// `Display` writes RFC 3339 with milliseconds. RFC 3339 ends with the year 9999; a later year is
/// written with a sign and all digits.
///
/// ```
/// use std::time::SystemTime;
/// use simdb::Timestamp;
///
/// assert_eq!(Timestamp(1_709_210_096_007).to_string(), "2024-02-29T12:34:56.007Z");
/// assert!(Timestamp::from(SystemTime::now()) > Timestamp(1_709_210_096_007));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The time as a [`SystemTime`]; `None` if the system cannot represent it, thousands of years
    /// from now.
    pub fn system_time(self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.0))
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
        let since_ms = since.unwrap_or_default().as_millis();
        Self(u64::try_from(since_ms).unwrap_or(u64::MAX))
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

/// Year, month and day in the Gregorian calendar of a day counted from 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    /// Days from 0000-03-01 to 1970-01-01.
    const MARCH_0_TO_1970: u64 = 719_468;
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

/// A document, as inserted or as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The id.
    pub id: DocId,
    /// The fingerprint of the text.
    pub fingerprint: Fingerprint,
    /// `false` for the fingerprint of a text with too few features. An unreliable document is
    /// stored and found by its id. It never matches a query by fingerprint, and is never refused as
    /// a near-duplicate.
    pub reliable: bool,
    /// The arrival time. Stored only in a database that keeps arrival times; an inserted document
    /// with `None` gets the time of the call there.
    pub arrival: Option<Timestamp>,
    /// The text. Stored only in a database that keeps texts.
    pub text: Option<String>,
}

impl Document {
    /// A document with a reliable fingerprint, without arrival time and text.
    pub fn new(id: DocId, fingerprint: Fingerprint) -> Self {
        Self {
            id,
            fingerprint,
            reliable: true,
            arrival: None,
            text: None,
        }
    }
}

/// A document whose fingerprint lies within the radius of a query. A match is a claim about bits,
/// not about meaning.
///
/// Queries return matches ordered by distance, then by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Match {
    /// The id of the document.
    pub id: DocId,
    /// The fingerprint of the document.
    pub fingerprint: Fingerprint,
    /// The Hamming distance from the query.
    pub distance: u32,
}

impl Match {
    /// The sort key of matches.
    pub(crate) fn order(&self) -> (u32, DocId) {
        (self.distance, self.id)
    }
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
}
