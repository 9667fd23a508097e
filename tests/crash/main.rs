//! Committed changes survive kills, power cuts, disk errors and reopening; uncommitted changes
//! leave no trace.

mod crashes;
mod durability;
mod faults;
mod large;
mod logs;
mod power;
