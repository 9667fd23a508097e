//! [`Timestamp`]: a time in milliseconds.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime};

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
pub(crate) const MARCH_0_TO_1970: u64 = 719_468;

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
