//! [`History`]: counts of the last hour, for the plots of the page.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use crate::connections::stopped;
use crate::server::Server;

/// The time between two counts, and the counts of an hour.
const BETWEEN: Duration = Duration::from_secs(10);
const MAX_COUNTS: usize = 360;

/// The counts of a moment.
#[derive(Clone, Copy)]
pub struct Moment {
    pub documents: u64,
    pub unmerged: u64,
    /// The average time to a commit since the moment before.
    pub commit_ms: f64,
}

#[derive(Default)]
pub struct History(Mutex<VecDeque<Moment>>);

impl History {
    pub fn moments(&self) -> Vec<Moment> {
        self.0.lock().iter().copied().collect()
    }

    fn push(&self, moment: Moment) {
        let mut moments = self.0.lock();
        if moments.len() == MAX_COUNTS {
            moments.pop_front();
        }
        moments.push_back(moment);
    }
}

/// Counts until the server ends.
pub async fn record(server: Arc<Server>) {
    let mut stop = server.stop.clone();
    let mut ticks = interval(BETWEEN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = (0, 0.0);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopped(&mut stop) => break,
        }
        let shared = Arc::clone(&server);
        let snapshot = server
            .queries
            .run_in_turn(move || shared.database.snapshot())
            .await;
        let (count, seconds) = server.metrics.commit_seconds.count_and_sum();
        let (commits, taken) = (count - before.0, seconds - before.1);
        before = (count, seconds);
        // A database that cannot be read has no point in the plot.
        if let Ok(Ok(snapshot)) = snapshot {
            server.history.push(Moment {
                documents: snapshot.stored_len(),
                unmerged: snapshot.unmerged_changes(),
                commit_ms: if commits > 0 {
                    taken * 1000.0 / commits as f64
                } else {
                    0.0
                },
            });
        }
    }
}
