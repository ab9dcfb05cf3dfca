//! See `milepost_fuzz::base58`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::base58(data));
