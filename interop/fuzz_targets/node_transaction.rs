//! See `milepost_interop::oracle::transactions::compare_bytes`.

#![no_main]

use milepost_interop::oracle::transactions::compare_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    compare_bytes(data, true);
});
