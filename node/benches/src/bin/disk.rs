//! The size of a finalized transaction on disk, as a table for `cargo xtask verify bench`.
//!
//! A practice chain is imported into a file without pruning, with a commit for one and for several
//! blocks, and into one that forgets what an archive in a directory has. Sizes are compared with
//! the bytes of the responses about all final transactions, which all of these give. The blocks are
//! checked, so that they prove answers. Measures no time; the line of a node's database is printed
//! by `interop`.

#![forbid(unsafe_code)]

use core::error::Error;
use std::fs;
use std::path::Path;

use milepost::archive::{Archive as _, ArchiveLookup, Origin, WithArchive, WriterId};
use milepost::endpoint::{ArchiveExporter, Engine, Settings};
use milepost::import::{BlockVerifier, ImportSettings, Retention, VerifyMode};
use milepost::storage::{Key, Row, Storage as _, Table, WriteBuffer};
use milepost_archive::{CompressedArchive, DirectoryArchive, Level};
use milepost_benches::{Answers, StoredChain};
use milepost_redb::{Options, RedbStorage};
use redb::Builder;

/// Numbers of blocks per commit
const COMMIT_SIZES: [usize; 3] = [1, 20, 100];
/// Blocks that the file beside the archive keeps: three minutes of a network
const KEPT_BLOCKS: u64 = 300;
/// Bytes of the transactions with which a dictionary is trained, as by `milepost archive train`
const TRAINED_BYTES: usize = 24 << 20;
const WRITER: WriterId = WriterId(1);

fn main() -> Result<(), Box<dyn Error>> {
    let chain = StoredChain::new();
    let (answers, unchecked) = keep_all(&chain, StoredChain::BLOCKS, VerifyMode::Off)?;
    let mut lines = Vec::new();
    let mut proofs = 0;
    for blocks in COMMIT_SIZES {
        let (of_file, file) = keep_all(&chain, blocks, VerifyMode::Strict)?;
        check(of_file, answers)?;
        proofs = (file.rows - unchecked.rows) / StoredChain::BLOCKS as u64;
        let name = match blocks {
            1 => "redb with all blocks, committed one by one".to_owned(),
            _ => format!("redb with all blocks, {blocks} in a commit"),
        };
        lines.push(file.line(&answers, &name));
    }
    let hot = archive(&chain, answers, &mut lines)?;
    println!(
        "The chain has {} final transactions, whose responses have {:.0} B each. Its blocks have {proofs} B each so that\n\
         they prove outcomes. The hot store takes {:.1} kB of its file for each block that it keeps.\n",
        answers.transactions,
        answers.each(answers.bytes),
        hot.file as f64 / 1e3 / KEPT_BLOCKS as f64,
    );
    println!("{}", Answers::TABLE);
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Bytes of a storage
struct Size {
    /// Keys and rows
    rows: u64,
    /// Pages of a file that are in use
    pages: Option<u64>,
    file: u64,
}

impl Size {
    fn line(&self, answers: &Answers, name: &str) -> String {
        answers.line(name, self.rows, self.pages, self.file)
    }

    /// That of a redb file which is closed
    fn of_file(path: &Path) -> Result<Self, Box<dyn Error>> {
        let database = Builder::new().create(path)?;
        let statistics = database.begin_write()?.stats()?;
        let pages = statistics.allocated_pages() * statistics.page_size() as u64;
        let file = fs::metadata(path)?.len();
        Ok(Self { rows: statistics.stored_bytes(), pages: Some(pages), file })
    }

    /// That of the files of an archive after compaction; without its journal, which is bounded
    fn of_archive(archive: &CompressedArchive<DirectoryArchive>) -> Result<Self, Box<dyn Error>> {
        let directory = archive.inner();
        directory.compact()?;
        let mut size = Self { rows: 0, pages: None, file: 0 };
        for table in Table::ARCHIVE {
            size.file += directory.table_bytes(table);
            let mut rows: Vec<(Key, Row)> = Vec::new();
            directory.scan(table, None, usize::MAX, &mut rows)?;
            let bytes = rows.iter().map(|(key, row)| key.bytes_in_table().len() + row.len());
            size.rows += bytes.sum::<usize>() as u64;
        }
        Ok(size)
    }
}

/// Imports the chain into a file that keeps everything, with this number of blocks per commit
fn keep_all(
    chain: &StoredChain,
    blocks: usize,
    verify: VerifyMode,
) -> Result<(Answers, Size), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("chain.milepost");
    let mut storage = RedbStorage::open(&path, &Options::default())?;
    let mut verifier = BlockVerifier::new(verify);
    let mut buffer = WriteBuffer::new();
    for messages in chain.messages.chunks(blocks) {
        for message in messages {
            let (_, import) = verifier.read(message, ImportSettings::default());
            let (batch, _) = import?.run(&buffer.snapshot(storage.snapshot()?))?;
            buffer.push(batch);
        }
        storage.commit(buffer.take())?;
    }
    let answers = chain.ask(&Engine::default(), &storage.snapshot()?);
    drop(storage);
    Ok((answers, Size::of_file(&path)?))
}

/// Imports the chain into a file that forgets what the archive beside it has, as a server does at
/// the head of its chain; returns the size of the file
fn archive(
    chain: &StoredChain,
    answers: Answers,
    lines: &mut Vec<String>,
) -> Result<Size, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("chain.milepost");
    let mut storage = RedbStorage::open(&path, &Options::default())?;
    let rows = DirectoryArchive::open(folder.path().join("archive"))?;
    let archive = CompressedArchive::new(rows, Origin::of(WRITER))?;
    let mut exporter = ArchiveExporter::new(u64::MAX, Some(WRITER));
    let mut verifier = BlockVerifier::new(VerifyMode::Strict);
    for message in &chain.messages {
        let settings = ImportSettings::default().with_retention(Retention::Blocks(KEPT_BLOCKS));
        let (_, import) = verifier.read(message, exporter.import_settings(settings));
        let (batch, _) = import?.run(&storage.snapshot()?)?;
        storage.commit(batch)?;
        exporter.run(&mut storage, &archive, false)?;
    }
    let engine = Engine::new(Settings::default().with_archive(ArchiveLookup::Unknown));
    let ask = |archive: &CompressedArchive<DirectoryArchive>| -> Result<(), Box<dyn Error>> {
        let both = WithArchive { snapshot: &storage.snapshot()?, archive };
        check(chain.ask(&engine, &both), answers)
    };
    ask(&archive)?;
    let written = Size::of_archive(&archive)?;
    archive.train(TRAINED_BYTES, (answers.bytes as usize).div_ceil(TRAINED_BYTES))?;
    for table in Table::ARCHIVE {
        archive.recompress(table, Level::Thorough)?;
    }
    let trained = Size::of_archive(&archive)?;
    ask(&archive)?;
    drop(storage);
    let hot = Size::of_file(&path)?;
    let name = format!("hot store: redb with the newest {KEPT_BLOCKS} blocks");
    lines.push(hot.line(&answers, &name));
    lines.push(written.line(&answers, "archive in a directory, as written"));
    lines.push(trained.line(&answers, "archive in a directory, after training and recompression"));
    Ok(hot)
}

fn check(answers: Answers, expected: Answers) -> Result<(), Box<dyn Error>> {
    if answers == expected {
        return Ok(());
    }
    Err(format!("answers are {answers:?} in place of {expected:?}").into())
}
