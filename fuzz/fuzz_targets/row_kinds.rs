//! See `milepost_fuzz::row_kinds`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::row_kinds(data));
