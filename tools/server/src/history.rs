//! [`History`]: counts of the last hour, for the plots of the page.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;

/// The time between two counts, and the counts of an hour.
pub const BETWEEN: Duration = Duration::from_secs(10);
const MAX_COUNTS: usize = 360;

/// The counts of a moment.
#[derive(Clone, Copy)]
pub struct Moment {
    pub documents: u64,
    pub unmerged: u64,
    /// The average time to a commit since the moment before; `None` without a commit.
    pub commit_ms: Option<f64>,
}

#[derive(Default)]
pub struct History(Mutex<VecDeque<Moment>>);

impl History {
    pub fn moments(&self) -> Vec<Moment> {
        self.0.lock().iter().copied().collect()
    }

    pub fn push(&self, moment: Moment) {
        let mut moments = self.0.lock();
        if moments.len() == MAX_COUNTS {
            moments.pop_front();
        }
        moments.push_back(moment);
    }
}
