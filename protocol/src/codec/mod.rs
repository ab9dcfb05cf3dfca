//! Encodings, with no knowledge of what they carry: base58, base64, borsh, JSON text.
//!
//! Every reader here takes foreign bytes: it checks lengths before it allocates, uses a stack of
//! its own instead of the machine's, and says at which byte it stopped.

pub mod base58;
pub mod base64;
pub mod borsh;
pub mod json;
