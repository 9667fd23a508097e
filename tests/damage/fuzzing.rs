//! What the fuzzer found, and some seconds of looking further: the entry points of `entries` on
//! every input that is kept in `tests/data/fuzz`, and on inputs that proptest makes. More of these
//! with `SIMDB_TEST_FUZZ_CASES`, cases for each entry point. How to fuzz: `tests/fuzz/lib.rs`.

use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fuzz")
}

/// Runs an entry point on the inputs that are kept for it.
fn replay(name: &str) {
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(data().join(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    for input in inputs {
        let bytes = std::fs::read(&input).unwrap();
        let told = input.file_name().unwrap().to_str().unwrap();
        let ended = std::panic::catch_unwind(|| test_support::entries::run(name, &bytes));
        assert!(ended.is_ok(), "{name}: {told}");
    }
}

/// Runs an entry point on inputs of a kind: `SIMDB_TEST_FUZZ_CASES`, or so many.
fn search(name: &str, usual: u32, inputs: impl Strategy<Value = Vec<u8>>) {
    let asked = std::env::var("SIMDB_TEST_FUZZ_CASES").ok();
    let cases = asked.map_or(usual, |count| count.parse().unwrap());
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let found = TestRunner::new(config).run(&inputs, |input| {
        test_support::entries::run(name, &input);
        Ok(())
    });
    if let Err(found) = found {
        panic!("{name}: {found}");
    }
}

/// A first byte, and edits of eight bytes each, of few kinds.
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
fn no_bytes_as_a_database_do_more_than_be_refused() {
    replay("open");
    search("open", 40, vec(any::<u8>(), 3..300));
}

#[test]
fn no_page_with_a_right_checksum_does_more_than_be_refused() {
    replay("pages");
    search("pages", 20, edits(0..4_u8, 4));
}

#[test]
fn no_journal_with_right_checksums_does_more_than_be_refused() {
    replay("journal");
    search("journal", 20, edits(any::<u8>(), 4));
}

#[test]
fn any_operations_equal_a_plain_map() {
    replay("operations");
    search("operations", 40, edits(any::<u8>(), 64));
}

#[test]
fn any_text_has_one_fingerprint_and_is_found_again() {
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

/// Makes the databases anew that inputs of `pages`, `journal` and `open` edit.
#[test]
#[ignore = "changes what the inputs that are kept mean"]
fn write_bases() {
    test_support::entries::bases::write(&data());
}
