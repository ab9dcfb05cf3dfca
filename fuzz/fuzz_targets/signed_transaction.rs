//! See `milepost_fuzz::signed_transaction`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::signed_transaction(data));
