//! The write path above the store: changes are prepared, decided in order, and committed in groups.
//!
//! [`prepared`] validates a change on the thread of its caller. [`batch`] decides changes one after
//! the other, with answers that [`prefetch`] looked up on all cores. [`group_commit`] commits the
//! changes of many threads together, and a [`ticket`] returns the outcomes.
//!
//! [`deduplicator`] decides documents in memory, without a database, by the same rule.
//!
//! This folder uses the queries of `query` and the commits of `store`. Each change is decided as of
//! the changes before it, committed or not.

mod batch;
pub(crate) mod change;
mod deduplicator;
pub(crate) mod group_commit;
mod prefetch;
mod prepared;
pub(crate) mod ticket;

pub(crate) use batch::{Batch, kind_of};
pub(crate) use change::one;
pub use change::{Change, Outcome};
pub use deduplicator::Deduplicator;
pub(crate) use prepared::{PreparedChange, prepare_all, prepare_next};
