//! Work on a whole database: proving it sound, saving what a damaged file still holds, copying,
//! counting. May use every other folder of the store.

pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod diagnosis;
pub(crate) mod salvage;
pub(crate) mod stats;
