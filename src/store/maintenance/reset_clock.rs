//! The clock of the retention window, set back after a bad arrival time.

use crate::error::{Error, Result};
use crate::ids::Timestamp;
use crate::store::Store;
use crate::store::commit::write_transaction::MAX_REMOVED_AT_ONCE;

/// The report of [`Database::reset_clock`](crate::Database::reset_clock).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ClockReset {
    /// The latest arrival before the reset; `None` if no document had arrived.
    pub before: Option<Timestamp>,
    /// The latest arrival after the reset; `None` if no document is left.
    pub after: Option<Timestamp>,
    /// Documents that were removed, because their arrival times are too far ahead.
    pub removed: u64,
}

/// Removes the documents that arrived after the latest plausible time, and sets the latest arrival
/// to the latest arrival of the remaining documents.
pub(crate) fn reset_clock(store: &Store, system_clock: Timestamp) -> Result<ClockReset> {
    store.refuse_changes()?;
    let Some(retention) = store.header().retention else {
        let path = store.path().to_path_buf();
        return Err(Error::NoArrivals { path });
    };
    let limit = retention.latest_plausible(system_clock);
    // All commits are in the tables then. One transaction: after a crash, the clock and the
    // documents are both as before, or both reset.
    let mut transaction = store.begin_write()?;
    let before = transaction.counts().latest_arrival;
    let mut removed = 0;
    loop {
        let ahead = (transaction.tables()?).arrivals_after(limit, MAX_REMOVED_AT_ONCE)?;
        if ahead.is_empty() {
            break;
        }
        removed += ahead.len() as u64;
        transaction.remove_documents(ahead.into_iter().map(|(_, id)| id))?;
    }
    let after = transaction.tables()?.latest_arrival_until(limit)?;
    if removed > 0 || before != after {
        transaction.counters_mut().latest_arrival = after.map_or(0, |after| after.0);
        transaction.commit().inspect_err(|_| store.poison(None))?;
    }
    Ok(ClockReset {
        before,
        after,
        removed,
    })
}
