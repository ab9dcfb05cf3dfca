//! See `milepost_fuzz::rows`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::rows(data));
