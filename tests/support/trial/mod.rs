//! A database on a simulated disk, beside a plain map that is changed in the same way.
//!
//! A [`World`] takes [`Step`]s. What is acknowledged is in `expected`; of what ended in an error it
//! is known by the kind of error whether it may be there. Whatever the disk does, what is read must
//! be one or the other.

mod changes;
mod expected;
mod looks;
mod pool;
mod settings;
mod step;
mod steps;
mod world;

pub use settings::Settings;
pub use step::Step;
pub use world::{Known, World};
