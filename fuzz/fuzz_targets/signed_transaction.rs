//! See `milepost_tests::fuzz::signed_transaction`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_tests::fuzz::signed_transaction(data));
