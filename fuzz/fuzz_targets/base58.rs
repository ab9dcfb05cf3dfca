//! See `milepost_tests::fuzz::base58`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_tests::fuzz::base58(data));
