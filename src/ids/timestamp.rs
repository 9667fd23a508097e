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
pub(crate) fn whole_ms(duration: Duration) -> u64 {
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

/// Milliseconds of 400 years, after which the Gregorian calendar repeats.
pub(crate) const CYCLE_MS: u64 = 146_097 * 86_400_000;

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // jiff ends with the year 9999: the time is moved to the first cycle, from 1970 to 2369.
        let (cycles, ms) = (self.0 / CYCLE_MS, self.0 % CYCLE_MS);
        let moved = jiff::Timestamp::UNIX_EPOCH + Duration::from_millis(ms);
        let moved = jiff::tz::Offset::UTC.to_datetime(moved);
        let year = 400 * cycles + u64::from(moved.year().unsigned_abs());
        let sign = if year > 9999 { "+" } else { "" };
        write!(
            f,
            "{sign}{year:04}{}",
            moved.strftime("-%m-%dT%H:%M:%S.%3fZ")
        )
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
            (12_622_780_799_999, "2369-12-31T23:59:59.999Z"),
            (12_622_780_800_000, "2370-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "+10000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(ms).to_string(), shown);
        }
        assert!(Timestamp(u64::MAX).to_string().starts_with("+584556019-"));
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
