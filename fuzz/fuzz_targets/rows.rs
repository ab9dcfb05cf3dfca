//! See `milepost_tests::fuzz::rows`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_tests::fuzz::rows(data));
