//! How fast blocks are imported far behind the head, for `cargo xtask verify catch-up`.
//!
//! The same blocks go into memory and into a file by the import pipeline, into a file that forgets
//! with an archive beside it, and into a file with a commit for each block. Measures wall-clock
//! time, since waiting for the disk is what is compared; messages are made or read before. The
//! first argument is the directory of the files, a second one has files with recorded blocks of
//! mainnet.

#![forbid(unsafe_code)]

use core::error::Error;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::env;
use std::fs;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::Instant;

use milepost::archive::{ArchiveLookup, Origin, WithArchive, WriterId};
use milepost::endpoint::{ArchiveExporter, Engine};
use milepost::import::{ArchiveFloor, BlockImport, ImportSettings, ImportSummary, Retention};
use milepost::primitives::CryptoHash;
use milepost::status::{Milestone, StatusQuery};
use milepost::storage::{Batch, Key, MemoryStorage, Row, Snapshot, Storage, run};
use milepost_archive::{CompressedArchive, DirectoryArchive};
use milepost_feeds::{ImportHost, import_all};
use milepost_practice::{Practice, Settings};
use milepost_redb::{Options, RedbSnapshot, RedbStorage};

/// Blocks of the practice chain: an hour and a half of a network
const BLOCKS: usize = 10_000;
/// Blocks with a commit of their own in the file, of which each takes some 20 ms
const SINGLE_BLOCKS: usize = 500;
/// Blocks that the file beside an archive keeps
const KEPT_BLOCKS: u64 = 300;
/// Blocks whose transactions have to be in the archive at the end
const CHECKED_BLOCKS: usize = 100;
const ORIGIN: Origin = Origin::of(WriterId(1));

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let directory = arguments.next().ok_or("takes the directory of the file")?;
    let mut chain = Practice::new(Settings::demo(1));
    let mut transactions = Vec::new();
    let practice: Vec<Vec<u8>> = (0..BLOCKS)
        .map(|number| {
            let message = chain.next_message();
            if number < CHECKED_BLOCKS {
                transactions.extend(message.transactions.iter().map(|included| included.hash));
            }
            message.json
        })
        .collect();
    println!(
        "blocks in a second of          bytes each  memory    file  file / memory  archive  archive / file  one commit each"
    );
    measure("practice chain", &practice, &transactions, Path::new(&directory))?;
    if let Some(recorded) = arguments.next() {
        let entries: Result<Vec<_>, _> = fs::read_dir(recorded)?.collect();
        let mut paths: Vec<_> = entries?.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        // Of one chain: blocks of another do not follow.
        paths.retain(|path| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"mainnet_"))
        });
        let messages: Result<Vec<_>, _> = paths.iter().map(fs::read).collect();
        measure("recorded blocks", &messages?, &[], Path::new(&directory))?;
    }
    Ok(())
}

/// Prints the blocks in a second of each way; these transactions have to be archived then
fn measure(
    name: &str,
    messages: &[Vec<u8>],
    transactions: &[CryptoHash],
    directory: &Path,
) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir_in(directory)?;
    let open = |name: &str| RedbStorage::open(folder.path().join(name), &Options::default());
    let blocks_per_second = |blocks: usize, time: Duration| blocks as f64 / time.as_secs_f64();
    let memory = blocks_per_second(messages.len(), import(&Memory::default(), messages)?);
    let file =
        blocks_per_second(messages.len(), import(&File(open("pipeline")?, PhantomData), messages)?);
    let archived = {
        let host = Archived::new(open("forgetting")?);
        let rows = DirectoryArchive::open(folder.path().join("archive"))?;
        let archive = CompressedArchive::new(rows, ORIGIN)?;
        let time = host.import(messages, &archive)?;
        check(&archive, transactions)?;
        blocks_per_second(messages.len(), time)
    };
    let few = &messages[..messages.len().min(SINGLE_BLOCKS)];
    let start = Instant::now();
    let mut storage = open("single")?;
    for message in few {
        Engine::default().import_block(message, &ImportSettings::default(), &mut storage)?;
    }
    let single = blocks_per_second(few.len(), start.elapsed());
    let bytes = messages.iter().map(Vec::len).sum::<usize>() / messages.len();
    println!(
        "{:<6} {name:<18} {bytes:>16} {memory:>7.0} {file:>7.0} {:>13.0}% {archived:>8.0} {:>14.0}% {single:>16.0}",
        messages.len(),
        100.0 * file / memory,
        100.0 * archived / file,
    );
    Ok(())
}

/// How long the import pipeline takes
fn import<'messages, H: ImportHost<Message = Message<'messages>>>(
    host: &H,
    messages: &'messages [Vec<u8>],
) -> Result<Duration, milepost::Error> {
    let start = Instant::now();
    import_all(host, messages.iter()).map_err(|error| error.error)?;
    Ok(start.elapsed())
}

/// What a message is here
type Message<'messages> = &'messages Vec<u8>;

#[derive(Default)]
struct Memory<'messages>(RwLock<MemoryStorage>, PhantomData<&'messages ()>);

impl<'messages> ImportHost for Memory<'messages> {
    type Message = Message<'messages>;
    type Snapshot<'a>
        = MemorySnapshot<'a>
    where
        Self: 'a;

    fn read(&self, message: &Message<'messages>) -> Result<BlockImport, milepost::Error> {
        BlockImport::new(message, ImportSettings::default())
    }

    fn snapshot(&self) -> Result<MemorySnapshot<'_>, milepost::Error> {
        Ok(MemorySnapshot(self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }

    fn commit(
        &self,
        batch: Batch,
        _: Vec<(Message<'messages>, ImportSummary)>,
    ) -> Result<(), milepost::Error> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).commit(batch)
    }
}

struct MemorySnapshot<'host>(RwLockReadGuard<'host, MemoryStorage>);

impl Snapshot for MemorySnapshot<'_> {
    fn get(&self, key: &Key) -> Result<Option<Row>, milepost::Error> {
        self.0.get(key)
    }
}

struct File<'messages>(RedbStorage, PhantomData<&'messages ()>);

impl<'messages> ImportHost for File<'messages> {
    type Message = Message<'messages>;
    type Snapshot<'a>
        = RedbSnapshot
    where
        Self: 'a;

    fn read(&self, message: &Message<'messages>) -> Result<BlockImport, milepost::Error> {
        BlockImport::new(message, ImportSettings::default())
    }

    fn snapshot(&self) -> Result<RedbSnapshot, milepost::Error> {
        self.0.snapshot()
    }

    fn commit(
        &self,
        batch: Batch,
        _: Vec<(Message<'messages>, ImportSummary)>,
    ) -> Result<(), milepost::Error> {
        self.0.clone().commit(batch)
    }
}

/// A file that forgets what a thread beside the import has archived
struct Archived<'messages> {
    storage: RedbStorage,
    floor: AtomicU64,
    messages: PhantomData<&'messages ()>,
}

impl<'messages> Archived<'messages> {
    const fn new(storage: RedbStorage) -> Self {
        Self { storage, floor: AtomicU64::new(0), messages: PhantomData }
    }

    /// How long it takes until all is imported and archived
    fn import(
        &self,
        messages: &'messages [Vec<u8>],
        archive: &CompressedArchive<DirectoryArchive>,
    ) -> Result<Duration, milepost::Error> {
        let is_imported = AtomicBool::new(false);
        let start = Instant::now();
        thread::scope(|scope| {
            let exporter = scope.spawn(|| {
                let mut exporter = ArchiveExporter::new(u64::MAX, Some(WriterId(1)));
                loop {
                    let is_last = is_imported.load(Relaxed);
                    exporter.run(&mut self.storage.clone(), archive, false)?;
                    self.floor.store(exporter.status().kept_from, Relaxed);
                    if is_last {
                        return Ok(());
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            });
            let imported = import(self, messages);
            is_imported.store(true, Relaxed);
            let exported = exporter.join().unwrap_or_else(|_| panic!("the exporter panicked"));
            imported.and(exported)
        })?;
        Ok(start.elapsed())
    }
}

impl<'messages> ImportHost for Archived<'messages> {
    type Message = Message<'messages>;
    type Snapshot<'a>
        = RedbSnapshot
    where
        Self: 'a;

    fn read(&self, message: &Message<'messages>) -> Result<BlockImport, milepost::Error> {
        let floor = ArchiveFloor { height: self.floor.load(Relaxed), max_blocks: u64::MAX };
        let settings = ImportSettings::default()
            .with_retention(Retention::Blocks(KEPT_BLOCKS))
            .with_archive_floor(floor);
        BlockImport::new(message, settings)
    }

    fn snapshot(&self) -> Result<RedbSnapshot, milepost::Error> {
        self.storage.snapshot()
    }

    fn commit(
        &self,
        batch: Batch,
        _: Vec<(Message<'messages>, ImportSummary)>,
    ) -> Result<(), milepost::Error> {
        self.storage.clone().commit(batch)
    }
}

/// Checks that the archive alone has these transactions
fn check(
    archive: &CompressedArchive<DirectoryArchive>,
    transactions: &[CryptoHash],
) -> Result<(), Box<dyn Error>> {
    let both = WithArchive { snapshot: &MemoryStorage::new(), archive };
    for hash in transactions {
        let mut query = StatusQuery::new(*hash, 1_000).with_archive(ArchiveLookup::Unknown);
        let status = run(&mut query, &both)?.map(|status| status.milestone());
        if status != Some(Milestone::Final) {
            return Err(format!("{hash} is {status:?} in the archive").into());
        }
    }
    Ok(())
}
