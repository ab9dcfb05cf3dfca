//! See `milepost_tests::fuzz::configuration`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_tests::fuzz::configuration(data));
