//! [`Retention`]: arrival times, and the window after which documents expire.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::ids::{DocRef, Timestamp, whole_ms};

/// The setting that makes a database keep arrival times, and expire documents by age if there is a
/// window.
///
/// Fixed when the database is created, with [`Builder::retention`](crate::Builder::retention).
///
/// ```
/// use std::time::Duration;
/// use simdb::{Database, DocId, Document, Fingerprint, Outcome, Retention, Timestamp};
///
/// const HOUR_MS: u64 = 60 * 60 * 1000;
/// let two_days = Retention {
///     window: Some(Duration::from_secs(48 * 60 * 60)),
///     sliding: true,
///     // Each document brings its own time.
///     ..Retention::default()
/// };
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("feed.simdb");
/// let db = Database::builder().retention(two_days).create(&path)?;
/// let arrived = |id, hour| {
///     Document::new(id, Fingerprint::from_bits(id)).with_arrival(hour * HOUR_MS)
/// };
/// assert!(db.insert(arrived(1, 0))?.is_inserted());
/// assert!(db.insert(arrived(2, 49))?.is_inserted());
/// assert_eq!(db.get(DocId(1))?, None);
///
/// // This document arrived before the window.
/// let late = db.insert(arrived(3, 0))?;
/// assert_eq!(late, Outcome::Expired { cutoff: Timestamp(HOUR_MS) });
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Retention {
    /// The age at which a document expires, counted back from the latest arrival. Queries do not
    /// find an expired document, and later writes remove it. Without a window documents never
    /// expire. Stored in milliseconds, rounded down.
    pub window: Option<Duration>,
    /// `true` if a duplicate refreshes the arrival time of the stored document. The document then
    /// lives as long as duplicates arrive.
    pub sliding: bool,
    /// `true` if ages are counted back from the system clock, if it is later than the latest
    /// arrival. Set it if documents are inserted without arrival times; otherwise no document
    /// expires while none arrives.
    pub by_clock: bool,
    /// The longest time by which an arrival may lie ahead of the system clock; 1 day by default. A
    /// document that arrives farther ahead is refused with [`Error::ArrivalAhead`]: in microseconds
    /// instead of milliseconds, its time would expire every other document. Earlier arrivals do not
    /// raise the limit, because a chain of bad times would then move the window to any year. `None`
    /// accepts any time. Stored in milliseconds, rounded down.
    pub max_ahead: Option<Duration>,
}

impl Default for Retention {
    /// Arrival times without a window; [`max_ahead`](Self::max_ahead) is 1 day.
    fn default() -> Self {
        Self {
            window: None,
            sliding: false,
            by_clock: false,
            max_ahead: Some(Self::DEFAULT_MAX_AHEAD),
        }
    }
}

impl Retention {
    /// The default of [`max_ahead`](Self::max_ahead), 1 day.
    pub const DEFAULT_MAX_AHEAD: Duration = Duration::from_secs(24 * 60 * 60);

    /// Checks an arrival time as an insert does when the system clock shows `clock`. For callers
    /// that want to know of a refusal before they insert.
    ///
    /// # Errors
    /// [`Error::ArrivalAhead`] if the arrival lies farther ahead than
    /// [`max_ahead`](Self::max_ahead).
    pub fn check_arrival(
        &self,
        id: impl Into<DocRef>,
        arrival: Timestamp,
        clock: Timestamp,
    ) -> Result<()> {
        self.check_arrival_of(|| id.into(), arrival, clock)
    }

    /// [`check_arrival`](Self::check_arrival), which names the document only in an error.
    pub(crate) fn check_arrival_of(
        &self,
        id: impl FnOnce() -> DocRef,
        arrival: Timestamp,
        clock: Timestamp,
    ) -> Result<()> {
        let Some(max_ahead) = self.max_ahead else {
            return Ok(());
        };
        if arrival <= clock + max_ahead {
            return Ok(());
        }
        Err(Error::ArrivalAhead {
            id: id(),
            arrival: arrival.to_string(),
            clock: clock.to_string(),
            max_ahead,
        })
    }

    /// The latest plausible arrival when the system clock shows `clock`.
    pub(crate) fn latest_plausible(&self, clock: Timestamp) -> Timestamp {
        clock + self.max_ahead.unwrap_or(Self::DEFAULT_MAX_AHEAD)
    }

    /// Returns `true` if documents expire.
    pub(crate) fn has_window(self) -> bool {
        self.window.is_some()
    }

    /// Returns `true` if both settings are equal in a file, which stores whole milliseconds.
    pub(crate) fn equals_when_stored(&self, stored: &Self) -> bool {
        let is_as_long = matches!((self.window_ms(), stored.window_ms()), (Ok(a), Ok(b)) if a == b);
        is_as_long
            && self.max_ahead_ms() == stored.max_ahead_ms()
            && (self.sliding, self.by_clock) == (stored.sliding, stored.by_clock)
    }

    /// [`max_ahead`](Self::max_ahead) in milliseconds; `u64::MAX` without a limit.
    pub(crate) fn max_ahead_ms(&self) -> u64 {
        self.max_ahead.map_or(u64::MAX, whole_ms)
    }

    /// The window in milliseconds; 0 without one.
    pub(crate) fn window_ms(&self) -> Result<u64> {
        let Some(window) = self.window else {
            return Ok(0);
        };
        match u64::try_from(window.as_millis()) {
            Ok(0) | Err(_) => Err(Error::RetentionWindow { window }),
            Ok(window_ms) => Ok(window_ms),
        }
    }
}

/// The expiry of documents by age, relative to the latest arrival.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expiry {
    window_ms: Option<u64>,
    /// The latest arrival, or the clock.
    now: Option<Timestamp>,
    /// The start of a shorter window that a reader asks for.
    since: Option<Timestamp>,
}

impl Expiry {
    /// `clock` is read only if the clock expires documents.
    pub(crate) fn new(
        retention: Option<Retention>,
        latest: Option<Timestamp>,
        clock: impl FnOnce() -> Timestamp,
    ) -> Self {
        let window = retention.and_then(|retention| retention.window);
        let by_clock = retention.is_some_and(|retention| retention.by_clock);
        Self {
            window_ms: window.map(whole_ms),
            now: latest.max(by_clock.then(clock)),
            since: None,
        }
    }

    /// The expiry of a reader that asks for documents from a time on.
    pub(crate) fn since(self, since: Timestamp) -> Self {
        let since = self.since.max(Some(since));
        Self { since, ..self }
    }

    /// Advances the clock to `arrival`, if `arrival` is later.
    pub(crate) fn advance_to(&mut self, arrival: Option<Timestamp>) {
        self.now = self.now.max(arrival);
    }

    pub(crate) fn now(&self) -> Option<Timestamp> {
        self.now
    }

    /// The arrival time before which documents are expired; `None` if no document is.
    pub(crate) fn cutoff(&self) -> Option<Timestamp> {
        let window_start = || self.now?.0.checked_sub(self.window_ms?).map(Timestamp);
        self.since.max(window_start())
    }

    /// Returns `true` if a document with this arrival time is expired.
    pub(crate) fn is_expired(&self, arrival: Option<Timestamp>) -> bool {
        matches!((arrival, self.cutoff()), (Some(arrival), Some(cutoff)) if arrival < cutoff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 24 * 60 * 60 * 1000;

    #[test]
    fn arrival_is_refused_if_farther_ahead_of_the_clock_than_the_limit() {
        let retention = Retention::default();
        let check =
            |arrival, clock| retention.check_arrival(17, Timestamp(arrival), Timestamp(clock));
        assert!(check(0, 5).is_ok());
        assert!(check(5 + DAY_MS, 5).is_ok());
        assert!(check(6 + DAY_MS, 5).is_err());
        let refused = check(1_709_210_096_007_000, 1_709_210_096_007).unwrap_err();
        let shown = refused.to_string();
        for part in ["document 17", "+56132-", "(2024-02-29T12:34:56.007Z)"] {
            assert!(shown.contains(part), "{shown}");
        }
        let any = Retention {
            max_ahead: None,
            ..retention
        };
        let far = any.check_arrival(1, Timestamp(u64::MAX), Timestamp(0));
        assert!(far.is_ok());
    }

    #[test]
    fn window_is_stored_in_whole_milliseconds() {
        let window_ms = |window| {
            let retention = Retention::default();
            Retention {
                window,
                ..retention
            }
            .window_ms()
        };
        assert_eq!(window_ms(None).unwrap(), 0);
        assert_eq!(window_ms(Some(Duration::from_micros(1999))).unwrap(), 1);
        let longest = Duration::from_millis(u64::MAX);
        assert_eq!(window_ms(Some(longest)).unwrap(), u64::MAX);
        for refused in [
            Duration::ZERO,
            Duration::from_micros(999),
            longest + Duration::from_millis(1),
            Duration::MAX,
        ] {
            let error = window_ms(Some(refused)).unwrap_err();
            assert!(matches!(error, Error::RetentionWindow { .. }), "{error}");
        }
    }
}
