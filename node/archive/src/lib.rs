//! The archive of the `milepost` engine on one machine: an archive in a directory, and compression
//! for any archive.
//!
//! [`DirectoryArchive`] keeps rows as they are; [`CompressedArchive`] around it, or around another
//! archive, compresses each row with zstd and a dictionary that is trained on such rows. Rows of
//! transactions resemble one another more than themselves, so with a dictionary a row of 5 kB is
//! as small as if it were compressed together with thousands of others, and is still read alone.
//!
//! ```
//! use milepost::archive::{Archive, Envelope, Origin, WriterId};
//! use milepost::storage::{Key, Row, Table};
//! use milepost_archive::{CompressedArchive, DirectoryArchive};
//!
//! let directory = tempfile::tempdir()?;
//! let origin = Origin::of(WriterId(1));
//! let archive = CompressedArchive::new(DirectoryArchive::open(directory.path())?, origin)?;
//! let key = Key::number(Table::ArchivedConfigs, 7);
//! let row = Row::from(Envelope::plain(origin, &[b'a'; 1_000]).encode());
//! archive.put_many(&[(key, row.clone())])?;
//! let mut rows = Vec::new();
//! archive.get_many(&[key], &mut rows)?;
//! assert_eq!(rows, [Some(row)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Durability
//!
//! A put is one batch of fjall and one `fsync` of its journal: when it returns, its rows survive a
//! power failure. A process that is killed leaves a batch complete or absent, which does not
//! matter, because rows are put again. A directory is open in one process at a time.
//!
//! # Which damage is detected
//!
//! A file that was cut short, or whose bytes were changed, is [`ErrorKind::Corrupt`] when the
//! directory is opened or the row is read, and never a missing row or another one. So is a missing
//! file, except one of the older journals. What was acknowledged last is known from the file
//! `acknowledged`, which is not synced: if the power fails, and the last batches of the journal are
//! damaged as well, those are not missed. With nothing in that file a directory opens with what is
//! left.
//!
//! [`ErrorKind::Corrupt`]: milepost::ErrorKind::Corrupt

#![forbid(unsafe_code)]

extern crate alloc;

mod compressed;
mod dictionary;
mod directory;
mod files;
mod packing;

pub use compressed::{CompressedArchive, Level, Recompressed};
pub use dictionary::{BUILT_IN_DICTIONARY, train};
pub use directory::DirectoryArchive;

#[cfg(test)]
use {milepost_practice as _, milepost_testkit as _, tempfile as _};
