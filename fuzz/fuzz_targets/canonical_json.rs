//! See `milepost_tests::fuzz::canonical_json`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_tests::fuzz::canonical_json(data));
