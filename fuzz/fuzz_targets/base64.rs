//! See `milepost_tests::fuzz::base64`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_tests::fuzz::base64(data));
