//! Fuzz targets: the entry points of `tests/support/entries`, driven by libFuzzer. With a nightly
//! toolchain and cargo-fuzz (`cargo install cargo-fuzz`), from the root of the repository:
//!
//! ```sh
//! cargo +nightly fuzz run --fuzz-dir tests/fuzz -O pages /tmp/pages tests/data/fuzz/pages -- \
//!     -rss_limit_mb=1024 -timeout=30 -detect_leaks=0 -max_total_time=600
//! ```
//!
//! (Ending threads look like leaks.) The targets are `open`, `pages`, `chunks`, `journal`,
//! `operations`, `text` and `parsers`. New inputs go to the first folder, failing inputs to
//! `tests/fuzz/artifacts`. Add an input that failed to `tests/data/fuzz`: `cargo test fuzzing`
//! replays these on the stable toolchain. An input of `pages` that ends the process by "panic in a
//! destructor" of redb is known (`tests/damage/fuzzing.rs`), and would end the replay too.

#[path = "../../tools/tests/parsers.rs"]
pub mod parsers;
