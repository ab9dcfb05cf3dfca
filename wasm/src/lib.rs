//! The engine for JavaScript: what the npm package `milepost` is made of.
//!
//! This is the lower half, without comfort: a [`Host`] is an engine with its waiting room and a storage
//! in memory, a [`Question`] is one that can be suspended while JavaScript fetches rows. Nothing here
//! calls JavaScript, so no borrow is ever held across it, and whoever is called back may call in
//! again. Numbers of 64 bits are `BigInt`s; what has a shape is JSON text. Timers, promises, classes
//! of errors and storages are the upper half, in `bindings/js`.
//!
//! A panic is a trap, which JavaScript sees as an exception. WebAssembly cannot unwind, so whatever the
//! instance held is lost with it: the upper half gives every engine an instance of its own and throws
//! away one that panicked.

#![forbid(unsafe_code)]

mod free;
mod given;
mod host;
mod packed;
mod question;
mod refusal;
mod setup;
mod texts;

pub use free::{
    decode_transaction, decode_transaction_text, method_names, validate_request, version,
};
pub use host::{Host, Settlement};
pub use question::Question;
pub use refusal::Refusal;
pub use setup::Setup;
