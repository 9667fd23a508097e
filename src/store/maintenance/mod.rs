//! Work on a whole database: check, salvage, backup, vacuum, statistics and the reset of the
//! window's clock. May use every other folder of the store.

pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod diagnosis;
pub(crate) mod reset_clock;
pub(crate) mod salvage;
pub(crate) mod stats;
