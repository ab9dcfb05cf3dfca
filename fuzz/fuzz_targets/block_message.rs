//! See `milepost_tests::fuzz::block_message`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_tests::fuzz::block_message(data));
