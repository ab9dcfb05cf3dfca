//! JSON text: its canonical form, paths of offsets, and typed reading and writing.
//!
//! Canonical text is compact, has the keys of every object sorted by their bytes, strings escaped
//! as `serde_json` escapes them, and numbers as they were. Two texts of one value have the same
//! canonical text, so fragments of it can be compared and joined as bytes. `serde_json` reads the
//! typed views; the readers of the engine return the same errors.

mod borrowed;
mod canonical;
mod depth;
mod path;
mod reader;
mod run;
mod text;

#[doc(hidden)]
pub use borrowed::{BorrowedReader, plain_string};
pub use canonical::{Canonicalizer, canonical};
pub use depth::MAX_DEPTH;
#[doc(hidden)]
pub use depth::MAX_INNER_DEPTH;
#[doc(hidden)]
pub use path::path_at;
#[doc(hidden)]
pub use reader::{Number, ReadError, Reader, Scalar};
pub(crate) use reader::{exceeds_one, is_out_of_range};
pub use text::{read, read_slice, write};
