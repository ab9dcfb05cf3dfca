//! Durable storage for the `milepost` engine: one file, on the embedded store redb.
//!
//! A batch is one redb transaction with two `fsync`s, so a commit that returned is on disk, and a
//! process that is killed at any instant leaves every acknowledged batch whole and any other
//! whole or absent. Every row carries a checksum of itself and its key.
//!
//! Left out: sharing a file between processes (the second is refused), and shrinking the file
//! (the space of removed rows is used again).
//!
//! # What damage is found
//!
//! | Damage                                 | Found                                              |
//! |----------------------------------------|----------------------------------------------------|
//! | Not a file of this crate, or truncated | always, when opening                               |
//! | Bytes of a row                         | always, when that row is read: it is refused       |
//! | Anything else, such as bytes of a key  | when opening, if the file is short enough to be    |
//! |                                        | [verified](Options::verify_bytes) page by page;    |
//! |                                        | else a row may be missing until the file is        |
//!
//! One bit escapes, and only in a file that was not closed: the flag that says which of the last
//! two states is the newer. Damage to it after a crash looks like a commit that did not end, so the
//! state before the last commit is read, whole.
//!
//! redb keeps a checksum of every page but compares it only when it verifies a file or repairs
//! one after a crash, never when it reads; hence the checksum of rows. A file that is refused is
//! never written to, except that a check which finds damage after opening may have marked the
//! file as open.

#![forbid(unsafe_code)]

extern crate alloc;

mod checksum;
mod file;
mod guard;
mod open_error;
mod options;
mod snapshot;
mod storage;

pub use open_error::{OpenError, OpenErrorKind};
pub use options::Options;
pub use snapshot::Snapshot;
pub use storage::RedbStorage;

#[cfg(test)]
use {milepost_testkit as _, tempfile as _};
