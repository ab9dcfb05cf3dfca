//! See `milepost_fuzz::http`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::http(data));
