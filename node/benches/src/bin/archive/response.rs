//! What a whole response costs whose result is in an archive: from the body of the request to that
//! of the response.
//!
//! Beside it the same from the file of a store, and the decompression alone, of the body without a
//! dictionary. All are of one transaction, whose pages are in memory.

use core::error::Error;
use std::path::Path;

use milepost::archive::{ArchiveLookup, WithArchive, WriterId};
use milepost::endpoint::{ArchiveExporter, Engine, RequestState, Settings};
use milepost::storage::{MemoryStorage, Snapshot, Storage as _};
use milepost_archive::{CompressedArchive, DirectoryArchive};
use milepost_benches::{Cpu, Workload, import_all};
use milepost_redb::{Options, RedbStorage};

use crate::ORIGIN;

const RECEIPTS: usize = 10;
const ROUNDS: usize = 9;
const RESPONSES: u32 = 2_000;

/// Prints the processor time of each
pub(crate) fn measure(directory: &Path) -> Result<(), Box<dyn Error>> {
    let workload = Workload::calls(RECEIPTS);
    let mut storage = RedbStorage::open(directory.join("chain.milepost"), &Options::default())?;
    import_all(&workload.messages, &mut storage);
    let rows = DirectoryArchive::open(directory.join("responses"))?;
    let archive = CompressedArchive::new(rows, ORIGIN)?;
    ArchiveExporter::new(u64::MAX, Some(WriterId(1))).run(&mut storage, &archive, false)?;
    archive.inner().compact()?;

    let request = workload.by_hash();
    let engine = Engine::new(Settings::default().with_archive(ArchiveLookup::Unknown));
    let (snapshot, empty) = (storage.snapshot()?, MemoryStorage::new());
    let both = WithArchive { snapshot: &empty, archive: &archive };
    let body = respond(&engine, &request, &snapshot)?;
    if respond(&engine, &request, &both)? != body {
        return Err("the archive gives another response".into());
    }
    let compressed = zstd::bulk::compress(&body, 3)?;
    let time = |work: &mut dyn FnMut() -> Vec<u8>| {
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let ((), time) = Cpu::time(|| (0..RESPONSES).for_each(|_| drop(work())));
                1e6 * time.as_secs_f64() / f64::from(RESPONSES)
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        rounds[ROUNDS / 2]
    };
    let body_len = body.len();
    let of_archive = time(&mut || respond(&engine, &request, &both).expect("a response"));
    let of_file = time(&mut || respond(&engine, &request, &snapshot).expect("a response"));
    let plain = time(&mut || zstd::bulk::decompress(&compressed, body_len).expect("compressed"));
    println!("a response of {RECEIPTS} receipts, {body_len} bytes, us of processor time");
    println!("{:<52} {of_archive:.1}", "  from the archive, decompressed");
    println!("{:<52} {of_file:.1}", "  from the file of a store");
    println!("{:<52} {plain:.1}", "  decompression of the body by plain zstd, alone");
    Ok(())
}

fn respond(
    engine: &Engine,
    request: &[u8],
    snapshot: &impl Snapshot,
) -> Result<Vec<u8>, Box<dyn Error>> {
    match engine.respond(engine.parse(request, None), snapshot) {
        RequestState::Ready(response) => Ok(response.body),
        RequestState::Pending(_) => Err("it waits".into()),
    }
}
