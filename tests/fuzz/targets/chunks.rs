#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| test_support::entries::run("chunks", input));
