//! See `milepost_fuzz::configuration`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::configuration(data));
