//! See `milepost_fuzz::params`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::params(data));
