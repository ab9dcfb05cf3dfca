//! See `milepost_fuzz::proof`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::proof(data));
