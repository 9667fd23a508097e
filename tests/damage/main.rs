//! Damaged and hostile input: a flipped bit gives an error, never a wrong answer or a panic;
//! `check` finds the damage and `salvage` saves the rest; no text takes more than linear time.

mod answers;
mod corpus;
mod damage;
mod flips;
mod fuzzing;
mod hostile;
mod hostile_similar;
mod refused;
mod salvage;
mod tables;
