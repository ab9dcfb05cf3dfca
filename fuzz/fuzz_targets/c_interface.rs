//! See `ffi/tests/c_interface`.

#![no_main]

#[path = "../../ffi/tests/c_interface/mod.rs"]
mod c_interface;

libfuzzer_sys::fuzz_target!(|data: &[u8]| c_interface::run(data));
