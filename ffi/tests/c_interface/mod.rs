//! Sequences of calls of the C interface, as a host makes them.
//!
//! An input is a program: a byte for each call, and bytes for its parameters. The host does what
//! the interface demands of it: pointers are valid or NULL, and each handle is freed once, in any
//! order. All else is free: NULL where it is not allowed, any numbers and texts, callbacks that
//! fail or pass other rows, and handles whose calls have failed. No call panics, and what was
//! returned can be read.

mod calls;
mod endpoint_calls;
mod handles;
mod host;
mod input;

/// Runs the program of an input
pub(crate) fn run(data: &[u8]) {
    calls::Program::new(data).run();
    host::remove_file();
}
