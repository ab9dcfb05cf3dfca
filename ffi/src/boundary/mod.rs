//! The boundary: what stands between C and the functions.
//!
//! [`ffi_function!`](crate::ffi_function) defines a function; [`handle`] says which pointers are
//! handles and who may do what with them; [`parameter`] turns each raw argument into one that was
//! checked; [`callback`] knows whether the host is being called. All code that trusts C stands in
//! this room, and in `storage`, which calls it.

pub(crate) mod callback;
pub mod handle;
#[macro_use]
mod function;
pub mod parameter;
mod table;
#[cfg(test)]
mod tests;

pub use function::{Entry, Scope, enter};
