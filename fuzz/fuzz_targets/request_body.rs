//! See `milepost_tests::fuzz::request_body`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_tests::fuzz::request_body(data));
