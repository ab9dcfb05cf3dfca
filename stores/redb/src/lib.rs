//! Durable storage for the `milepost` engine: one file, on the embedded store redb.
//!
//! A batch is one redb transaction with two `fsync`s, so a commit is durable when it returns. A
//! process that is killed at any moment leaves every acknowledged batch complete, and any other
//! complete or absent. Every row has a checksum over itself and its key.
//!
//! Not supported: sharing a file between processes (the second cannot open it). A file shrinks only
//! when it is [compacted](RedbStorage::compact); the space of removed rows is reused.
//!
//! # Versions
//!
//! A file has a format version, and its rows have [versions](milepost::storage::rows) of their own.
//! A release reads and writes one version of each. A file of another format version, older or
//! newer, is rejected with [`OpenErrorKind::Version`], which names both versions, and is not
//! changed. Nothing is migrated in place: import the blocks into a new file. The old one remains
//! readable by the release that wrote it.
//!
//! # Which damage is detected
//!
//! | Damage                                 | Detected                                           |
//! |----------------------------------------|----------------------------------------------------|
//! | Not a file of this crate, or truncated | always, when the file is opened                    |
//! | Bytes of a row                         | always, when that row is read                      |
//! | Anything else, such as bytes of a key  | when the file is opened, if it is small enough to  |
//! |                                        | be [verified](Options::verify_bytes) page by page; |
//! |                                        | otherwise by [`RedbSnapshot::verify_table`], until |
//! |                                        | which a row may be missing                         |
//!
//! One bit selects the newer of the last two states. A storage at `FILE` notes the last
//! acknowledged commit in `FILE.acknowledged`, and a file with an older state is damaged. Without
//! that file, as after a copy or a move, nothing is compared: then the state before the last commit
//! may be read after a crash, complete, as if that commit had not finished.
//!
//! redb has a checksum for every page but compares it only when it verifies a file or repairs one
//! after a crash, never when it reads; hence the checksums of rows. A rejected file is never
//! written to, except that a verification that finds damage may have marked it as open.
//! [`RedbSnapshot::open`] changes no file.

#![forbid(unsafe_code)]

extern crate alloc;

mod acknowledged;
mod checksum;
mod copy_on_write;
mod file;
mod handle;
mod maintenance;
mod open_error;
mod options;
mod panic_guard;
mod snapshot;
mod storage;

pub use file::FORMAT_VERSION;
pub use maintenance::{FileCopy, RowVisitor, TableSize, VerifyProgress};
pub use open_error::{OpenError, OpenErrorKind};
pub use options::Options;
pub use snapshot::RedbSnapshot;
pub use storage::RedbStorage;

#[cfg(test)]
use {milepost_testkit as _, tempfile as _};
