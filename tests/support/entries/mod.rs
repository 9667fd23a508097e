//! Entry points that check invariants for any input bytes, one for each kind of input. The fuzz
//! targets in `tests/fuzz` run them, and on the stable toolchain `tests/damage/fuzzing.rs`.
//!
//! An entry point panics if an invariant is violated.

mod ask;
pub mod bases;
mod chunks;
mod edits;
mod journal;
mod memory;
mod open;
mod operations;
mod pages;
pub mod panics;
mod text;

type Entry = fn(&[u8]);

/// The entry points by name.
pub const ALL: [(&str, Entry); 6] = [
    ("open", open::run),
    ("pages", pages::run),
    ("chunks", chunks::run),
    ("journal", journal::run),
    ("operations", operations::run),
    ("text", text::run),
];

/// Runs an entry point on an input. Panics if the entry point panics, or if library code panicked,
/// caught or not.
pub fn run(name: &str, input: &[u8]) {
    let (_, entry) = ALL.iter().find(|(known, _)| *known == name).unwrap();
    panics::deny_panics(|| entry(input));
}
