//! A flipped bit gives an error, never a wrong answer or a panic; `check` finds the rest. What is
//! no database at all is refused with a sentence that names it.

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod corpus;
mod damage;

mod flips;
mod refused;
mod tables;
