//! See `milepost_testing::fuzz::row_kinds`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_testing::fuzz::row_kinds(data));
