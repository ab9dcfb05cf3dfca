//! See `milepost_tests::fuzz::answer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_tests::fuzz::answer(data));
