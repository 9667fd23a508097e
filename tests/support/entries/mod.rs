//! What must hold for any input whatever: one entry point a kind of input, from bytes. They are
//! driven by the fuzz targets in `tests/fuzz`, and on the stable toolchain by `tests/damage/fuzzing.rs`.
//!
//! An entry point panics if the library does what it must not do.

mod ask;
pub mod bases;
pub mod edge;
mod edits;
mod journal;
mod memory;
mod open;
mod operations;
mod pages;
mod text;

type Entry = fn(&[u8]);

/// The entry points by their names.
pub const ALL: [(&str, Entry); 5] = [
    ("open", open::run),
    ("pages", pages::run),
    ("journal", journal::run),
    ("operations", operations::run),
    ("text", text::run),
];

/// Runs the entry point of that name on an input; panics if it panics, or if the library did
/// anywhere, caught or not.
pub fn run(name: &str, input: &[u8]) {
    let (_, entry) = ALL.iter().find(|(known, _)| *known == name).unwrap();
    edge::at_the_edge(|| entry(input));
}
