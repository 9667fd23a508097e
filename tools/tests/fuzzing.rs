//! Corpus readers on arbitrary bytes: the fuzzer inputs in `tests/data/fuzz/parsers`, and random
//! inputs from proptest. `SIMDB_TEST_FUZZ_CASES` sets their number. `tests/fuzz/lib.rs` says how to
//! fuzz.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use test_support::entries::panics::deny_panics;

#[path = "parsers.rs"]
mod parsers;

#[test]
fn any_bytes_as_corpus_are_records_or_rejects() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/fuzz/parsers");
    let mut replayed = 0;
    for input in std::fs::read_dir(Path::new(kept)).unwrap() {
        let input = std::fs::read(input.unwrap().path()).unwrap();
        deny_panics(|| parsers::run(&input));
        replayed += 1;
    }
    assert!(replayed > 0);
    let line =
        r#"[{}\[\]",:a-z0-9 \n\\t-]{0,80}|\{"id": ?"?[0-9]{1,20}"?, ?"text": ?"[a-z\\u0-9]*"\}\n"#;
    let bytes = prop_oneof![
        vec(any::<u8>(), 0..200),
        line.prop_map(String::into_bytes),
        line.prop_map(|line| [b"id,text\n", line.as_bytes()].concat()),
    ];
    let inputs = (any::<[u8; 2]>(), bytes).prop_map(|(modes, bytes)| [&modes, &bytes[..]].concat());
    let cases = std::env::var("SIMDB_TEST_FUZZ_CASES").ok();
    let config = Config {
        cases: cases.map_or(400, |count| count.parse().unwrap()),
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&inputs, |input| {
            deny_panics(|| parsers::run(&input));
            Ok(())
        })
        .unwrap();
}
