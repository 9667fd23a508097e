#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| simdb_fuzz::parsers::run(input));
