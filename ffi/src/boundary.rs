//! The boundary between C and the safe code of the interface.
//!
//! The macro `ffi_function!` defines a function; [`handle`] defines which pointers are handles, who
//! owns them and what may be done with them; [`parameter`] turns each raw argument into a checked
//! one; `callback` tracks whether a callback of the host is running. All code that relies on what C
//! promises is in this module and its macros, and in `storage`, which calls the host.

mod call;
pub(crate) mod callback;
mod function;
pub mod handle;
pub mod parameter;
mod table;
#[cfg(test)]
mod tests;

pub use call::{Entry, Scope, enter};
pub(crate) use function::ffi_function;
