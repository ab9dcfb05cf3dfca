//! The boundary: what stands between C and the functions.
//!
//! The macro `ffi_function!` defines a function; [`handle`] says which pointers are handles and who
//! may do what with them; [`parameter`] turns each raw argument into one that was checked; `callback`
//! knows whether the host is being called. All code that trusts C stands in
//! this room, and in `storage`, which calls it.

pub(crate) mod callback;
mod function;
pub mod handle;
pub mod parameter;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use function::ffi_function;
pub use function::{Entry, Scope, enter};
