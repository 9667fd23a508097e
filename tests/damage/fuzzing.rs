//! Replays the fuzzer inputs in `tests/data/fuzz` on the entry points of `entries`, then tries
//! inputs from proptest: the same in each run, or as many random ones per entry point as
//! `SIMDB_TEST_FUZZ_CASES` says. `tests/fuzz/lib.rs` says how to fuzz.
//!
//! About one in a thousand random inputs of `pages` ends the process, and no test can go on: redb
//! reads its list of free pages in a destructor, and panics there a second time if the list is
//! forged.

use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fuzz")
}

/// Runs an entry point on its stored inputs.
fn replay(name: &str) {
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(data().join(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    for input in inputs {
        let bytes = std::fs::read(&input).unwrap();
        let input_name = input.file_name().unwrap().to_str().unwrap();
        let ended = std::panic::catch_unwind(|| test_support::entries::run(name, &bytes));
        assert!(ended.is_ok(), "{name}: {input_name}");
    }
}

/// Runs an entry point on `SIMDB_TEST_FUZZ_CASES` random inputs, or on the `usual` number of the
/// same inputs.
fn search(name: &str, usual: u32, inputs: impl Strategy<Value = Vec<u8>>) {
    let setting = std::env::var("SIMDB_TEST_FUZZ_CASES").ok();
    let config = |cases| Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = match setting {
        Some(count) => TestRunner::new(config(count.parse().unwrap())),
        None => {
            let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            TestRunner::new_with_rng(config(usual), rng)
        }
    };
    let found = runner.run(&inputs, |input| {
        test_support::entries::run(name, &input);
        Ok(())
    });
    if let Err(found) = found {
        panic!("{name}: {found}");
    }
}

/// A first byte, and edits of eight bytes each, from a few kinds.
fn edits(first: impl Strategy<Value = u8>, most: usize) -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        any::<[u8; 4]>(),
        any::<u8>().prop_map(|low| [low, 0, 0, 0]),
        Just([0xff; 4]),
    ];
    let edit = (any::<u8>(), any::<u8>(), any::<[u8; 2]>(), value);
    let edit = edit.prop_map(|(kind, which, at, value)| {
        let [low, high] = at;
        [&[kind, which, low, high][..], &value].concat()
    });
    (first, vec(edit, 1..most)).prop_map(|(first, edits)| [vec![first], edits.concat()].concat())
}

#[test]
fn any_bytes_as_database_are_refused_or_answered() {
    replay("open");
    search("open", 40, vec(any::<u8>(), 3..300));
}

#[test]
fn any_page_with_right_checksum_is_refused_or_answered() {
    replay("pages");
    search("pages", 30, edits(0..8_u8, 4));
}

#[test]
fn any_chunk_with_right_checksum_is_refused_or_answered() {
    replay("chunks");
    search("chunks", 30, edits(0..4_u8, 4));
}

#[test]
fn any_journal_with_right_checksums_is_refused_or_answered() {
    replay("journal");
    search("journal", 30, edits(any::<u8>(), 4));
}

#[test]
fn any_operations_equal_plain_map() {
    replay("operations");
    search("operations", 80, edits(any::<u8>(), 64));
}

#[test]
fn any_text_is_found_by_its_fingerprint() {
    replay("text");
    let texts = prop_oneof![
        "\\PC{0,60}",
        "[a-z ]{0,60}",
        "[一-龥 ，。a-z]{0,60}",
        vec(any::<char>(), 0..40).prop_map(String::from_iter),
    ];
    let inputs = (any::<u8>(), texts);
    let inputs = inputs.prop_map(|(share, text)| [&[share], text.as_bytes()].concat());
    search("text", 100, inputs);
}

/// Rewrites the databases that the inputs of `pages`, `chunks`, `journal` and `open` edit.
#[test]
#[ignore = "changes the meaning of the stored fuzz inputs"]
fn write_bases() {
    test_support::entries::bases::write(&data(), false);
}

#[test]
#[ignore = "changes the meaning of the stored fuzz inputs"]
fn write_bases_with_keys() {
    test_support::entries::bases::write(&data(), true);
}
