//! Fuzzing: the entry points of `tests/support/entries`, driven by libFuzzer. With a nightly toolchain and
//! cargo-fuzz (`cargo install cargo-fuzz`), from the root of the repository:
//!
//! ```sh
//! cargo +nightly fuzz run --fuzz-dir tests/fuzz -O pages /tmp/pages tests/data/fuzz/pages -- \
//!     -rss_limit_mb=1024 -timeout=30 -detect_leaks=0 -max_total_time=600
//! ```
//!
//! (Threads that are just ending look like leaks.) The targets are `open`, `pages`, `journal`,
//! `operations`, `text` and `parsers`. New inputs go to the first folder; what fails goes to
//! `tests/fuzz/artifacts`. An input that once failed belongs into `tests/data/fuzz`, which
//! `cargo test fuzzing` replays on the stable toolchain.

#[path = "../../tools/tests/parsers.rs"]
pub mod parsers;
