//! A database on a simulated disk, beside a plain map with the same changes.
//!
//! A [`World`] takes [`Step`]s. Acknowledged changes are in `expected`; the kind of an error says
//! if its change may have been made. Whatever the disk does, every read must equal one of the two
//! states.

mod changes;
mod expected;
mod pool;
mod settings;
mod step;
mod steps;
mod verify;
mod world;

pub use settings::Settings;
pub use step::Step;
pub use world::{Known, World};
