//! The write path above the store: changes are prepared, decided in order, and committed in groups.
//!
//! [`prepared`] checks changes and makes them ready on the caller's thread, [`batch`] decides them
//! one after the other, [`prefetch`] looks up on all cores for a batch, [`group_commit`] commits the
//! changes of many threads together, and a [`ticket`] gives the outcomes to the caller.

mod batch;
pub(crate) mod change;
pub(crate) mod group_commit;
mod prefetch;
mod prepared;
pub(crate) mod ticket;

pub(crate) use batch::Batch;
pub use change::{Change, Outcome};
pub(crate) use prepared::{Prepared, prepare_all, prepare_next};
