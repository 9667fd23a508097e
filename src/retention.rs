//! [`Retention`]: arrival times, and the window after which documents expire.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::timestamp::Timestamp;

/// The setting that makes a database keep arrival times, and expire documents by age if there is a
/// window.
///
/// Fixed when the database is created, with [`Builder::retention`](crate::Builder::retention).
///
/// ```
/// use std::time::Duration;
/// use simdb::{Database, DocId, Document, Fingerprint, Retention, Timestamp};
///
/// const HOUR_MS: u64 = 60 * 60 * 1000;
/// let two_days = Retention {
///     window: Some(Duration::from_secs(48 * 60 * 60)),
///     sliding: true,
///     // Each document brings its own time.
///     by_clock: false,
/// };
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("feed.simdb");
/// let db = Database::builder().retention(two_days).create(&path)?;
/// let arrived = |id, hour| Document {
///     arrival: Some(Timestamp(hour * HOUR_MS)),
///     ..Document::new(DocId(id), Fingerprint::from_bits(id))
/// };
/// db.insert_document(arrived(1, 0))?;
/// db.insert_document(arrived(2, 49))?;
/// assert_eq!(db.get(DocId(1))?, None);
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

impl Retention {
    /// Returns `true` if both settings are equal in a file, which stores whole milliseconds.
    pub(crate) fn equals_when_stored(&self, stored: &Self) -> bool {
        let is_as_long = matches!((self.window_ms(), stored.window_ms()), (Ok(a), Ok(b)) if a == b);
        is_as_long && (self.sliding, self.by_clock) == (stored.sliding, stored.by_clock)
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
}

impl Expiry {
    pub(crate) fn new(retention: Option<Retention>, now: Option<Timestamp>) -> Self {
        let window = retention.and_then(|retention| retention.window);
        Self {
            window_ms: window.map(|window| u64::try_from(window.as_millis()).unwrap_or(u64::MAX)),
            now,
        }
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
        let cutoff = self.now?.0.checked_sub(self.window_ms?)?;
        Some(Timestamp(cutoff))
    }

    /// Returns `true` if a document with this arrival time is expired.
    pub(crate) fn is_expired(&self, arrival: Option<Timestamp>) -> bool {
        matches!((arrival, self.cutoff()), (Some(arrival), Some(cutoff)) if arrival < cutoff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
