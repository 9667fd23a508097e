//! The times that a request gives as seconds before now.

use simdb::{Snapshot, Timestamp};

use crate::error::ApiError;

/// The time that lies some seconds before the latest arrival, or before the clock.
pub fn time_before(snapshot: &Snapshot, seconds: f64) -> Result<Timestamp, ApiError> {
    if !seconds.is_finite() || seconds < 0.0 {
        let message = format!("since_seconds is {seconds}; it is a number of at least 0");
        return Err(ApiError::bad_request(message));
    }
    let now = snapshot.now().unwrap_or_else(Timestamp::now);
    // A cast of a larger number gives the largest number.
    let age_ms = (seconds * 1000.0).round() as u64;
    Ok(Timestamp(now.0.saturating_sub(age_ms)))
}
