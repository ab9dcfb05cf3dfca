//! See `milepost_fuzz::answer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::answer(data));
