//! [`Timestamp::now`]: the clock of the system, read nowhere else.

use std::time::SystemTime;

use crate::ids::Timestamp;

impl Timestamp {
    /// The time of the system clock, rounded down to milliseconds.
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }
}
