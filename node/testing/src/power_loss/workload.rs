//! The process under test: it fills a store and an archive from a chain, as a server does.
//!
//! After each message it writes a line with the number of messages so far; what is acknowledged so
//! must survive everything. An error ends it, as it ends the imports of a server.

use core::error::Error;
use std::io::Write;
use std::path::Path;

use milepost::ErrorKind;
use milepost::archive::{Origin, WriterId};
use milepost::endpoint::{ArchiveExporter, Engine};
use milepost::import::{ImportSettings, Retention};
use milepost::primitives::CryptoHash;
use milepost::storage::Storage;
use milepost_archive::{CompressedArchive, DirectoryArchive};
use milepost_practice::{Practice, Settings};
use milepost_redb::{Options, RedbStorage};

/// Number of block messages of the chain, forks and repeated ones included
pub(crate) const MESSAGES: usize = 40;
/// Number of blocks that the store keeps
const RETAINED_BLOCKS: u64 = 6;
/// After this many messages the archive is compacted, which it is too small to do by itself
const COMPACTED: usize = 8;
const WRITER: WriterId = WriterId(1);
const SEED: u64 = 1;

/// What a line that acknowledges messages begins with
pub(crate) const ACKNOWLEDGED: &str = "acknowledged ";

/// The messages of the chain, and the transactions that are in any of them
pub(crate) fn chain() -> (Vec<Vec<u8>>, Vec<CryptoHash>) {
    let mut chain = Practice::new(Settings::simulation(SEED));
    let (mut messages, mut transactions) = (Vec::new(), Vec::new());
    for _ in 0..MESSAGES {
        let message = chain.next_message();
        let hashes = message.transactions.iter().map(|one| *one.hash.as_bytes());
        transactions.extend(hashes.map(CryptoHash::new));
        messages.push(message.json);
    }
    (messages, transactions)
}

/// The store and the archive in a directory
pub(crate) struct Stores {
    pub(crate) store: RedbStorage,
    pub(crate) archive: CompressedArchive<DirectoryArchive>,
}

impl Stores {
    /// Opens both; the store is verified page by page
    pub(crate) fn open(directory: &Path) -> Result<Self, Box<dyn Error>> {
        Self::open_with(directory, &Options::default())
    }

    /// Opens both, the store with these options
    pub(crate) fn open_with(directory: &Path, options: &Options) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            store: RedbStorage::open(directory.join("store"), options)?,
            archive: CompressedArchive::new(
                DirectoryArchive::open(directory.join("archive"))?,
                Origin::of(WRITER),
            )?,
        })
    }
}

/// Takes the messages in from the one with this index on, and writes to `acknowledged` after each
///
/// # Errors
///
/// The first error of the disk.
pub fn fill(
    directory: &Path,
    from: usize,
    acknowledged: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let Stores { mut store, archive } = Stores::open(directory)?;
    let mut exporter = ArchiveExporter::new(1_000, Some(WRITER));
    for (index, message) in chain().0.iter().enumerate().skip(from) {
        take_in(message, &exporter, &mut store)?;
        // One call, so that there is one system call.
        acknowledged.write_all(format!("{ACKNOWLEDGED}{}\n", index + 1).as_bytes())?;
        exporter.run(&mut store, &archive, false)?;
        if index % COMPACTED == COMPACTED - 1 {
            archive.inner().compact()?;
        }
    }
    Ok(())
}

/// Imports a message; one that contradicts the chain is left out, as a server does
fn take_in(
    message: &[u8],
    exporter: &ArchiveExporter,
    store: &mut impl Storage,
) -> Result<(), milepost::Error> {
    let settings = ImportSettings::default().with_retention(Retention::Blocks(RETAINED_BLOCKS));
    let settings = exporter.import_settings(settings);
    match Engine::default().import_block(message, &settings, store) {
        Err(error) if error.kind() != ErrorKind::Chain => Err(error),
        _ => Ok(()),
    }
}
