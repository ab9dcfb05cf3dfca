//! JSON text: its canonical form, places in it, and typed reading and writing.
//!
//! Canonical means compact, object keys sorted by their bytes at every level, strings escaped as
//! `serde_json` escapes them, numbers as they came. Two texts of one value have one canonical
//! form, so fragments made from it can be compared and joined as bytes. Reading into typed views is
//! `serde_json`'s work; what the engine looks for itself is read step by step, with the same refusals.

mod canonical;
mod compact;
mod keys;
mod path;
mod plain;
mod reader;
mod rewrite;
mod text;

pub use canonical::{Canonicalizer, MOST_LEVELS, MOST_LEVELS_INSIDE, canonical};
#[doc(hidden)]
pub use compact::Compact;
pub use path::path_at;
#[doc(hidden)]
pub use plain::{Plain, plain_string};
#[doc(hidden)]
pub use reader::{Fault, Number, Reader, Scalar};
pub use text::{read, read_slice, write};
