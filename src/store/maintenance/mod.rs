//! Work on a whole database: check, salvage, backup, vacuum and statistics. May use every other
//! folder of the store.

pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod diagnosis;
pub(crate) mod salvage;
pub(crate) mod stats;
