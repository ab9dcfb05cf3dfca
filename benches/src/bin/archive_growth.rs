//! What a read of an archive in a directory costs as it grows, for `cargo xtask evidence
//! archive-growth`.
//!
//! Archives of 50,000, 500,000 and 5,000,000 small transactions are filled and read at random. The
//! process and its part of the page cache have less memory than the largest archive has bytes,
//! where the control groups of the machine allow that; else it is said. The argument is the
//! directory of the files. Leaves out how small rows of real transactions are: see `archive.rs`.

#![forbid(unsafe_code)]

use core::error::Error;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Instant;

use milepost::archive::{Archive as _, Envelope, Origin, WriterId};
use milepost::storage::{Key, Row, Table};
use milepost_archive::{CompressedArchive, DirectoryArchive};
use milepost_benches::Cpu;
use milepost_benches::small_transactions::{answer, key};
use milepost_testkit::Rng;

const ORIGIN: Origin = Origin::of(WriterId(1));
const SIZES: [u64; 3] = [50_000, 500_000, 5_000_000];
const READS: u64 = 20_000;
/// Rows that are put at a time: those of a busy block
const BATCH: u64 = 500;
/// Memory of the process with its part of the page cache
const MEMORY: u64 = 512 << 20;
/// Where a control group with a limit of memory is made, and the file of the limit
const GROUPS: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("takes the directory of the files")?;
    match MemoryLimit::enter() {
        Some(_limit) => run(Path::new(&directory), &format!("{} MiB", MEMORY >> 20)),
        None => run(Path::new(&directory), "unlimited"),
    }
}

fn run(directory: &Path, memory: &str) -> Result<(), Box<dyn Error>> {
    println!("memory, page cache included: {memory}");
    println!(
        "{:>12} {:>9} {:>9} {:>12} {:>10} {:>10} {:>10} {:>12}",
        "transactions",
        "MB JSON",
        "MB files",
        "put/s",
        "us CPU",
        "us median",
        "us p99",
        "KB of disk"
    );
    for size in SIZES {
        measure(directory, size)?;
    }
    println!("the columns from us CPU on are of one read; processor time, wall-clock time");
    Ok(())
}

fn measure(directory: &Path, size: u64) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir_in(directory)?;
    let archive = CompressedArchive::new(DirectoryArchive::open(folder.path().join("a"))?, ORIGIN)?;
    let (start, mut bytes) = (Instant::now(), 0);
    for first in (0..size).step_by(BATCH as usize) {
        let rows: Vec<(Key, Row)> = (first..size.min(first + BATCH))
            .map(|number| {
                let content = answer(number);
                bytes += content.len();
                (key(number), Row::from(Envelope::plain(ORIGIN, content.as_bytes()).encode()))
            })
            .collect();
        archive.put_many(&rows)?;
    }
    let rate = size as f64 / start.elapsed().as_secs_f64();
    archive.inner().compact()?;

    let mut rng = Rng::new(size);
    let mut times = Vec::new();
    let before = disk_bytes();
    let mut read = || -> Result<(), Box<dyn Error>> {
        for _ in 0..READS {
            let number = rng.below(size);
            let (start, mut rows) = (Instant::now(), Vec::new());
            archive.get_many(&[key(number)], &mut rows)?;
            times.push(start.elapsed());
            let row = rows.pop().flatten().ok_or("a row is missing")?;
            let envelope = Envelope::decode(Table::ArchivedTransactions, &row)?;
            if envelope.payload != answer(number).as_bytes() {
                return Err("a row has another content".into());
            }
        }
        Ok(())
    };
    // The check of the content is in the processor time as well; it is the same for all sizes.
    let (result, time) = Cpu::time(&mut read);
    result?;
    times.sort_unstable();
    let micros = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        times.get(index).map_or(0.0, |time| 1e6 * time.as_secs_f64())
    };
    let files: u64 = Table::ARCHIVE.map(|table| archive.inner().table_bytes(table)).iter().sum();
    println!(
        "{size:>12} {:>9.0} {:>9.0} {rate:>12.0} {:>10.1} {:>10.1} {:>10.1} {:>12.1}",
        bytes as f64 / 1e6,
        files as f64 / 1e6,
        1e6 * time.as_secs_f64() / READS as f64,
        micros(0.5),
        micros(0.99),
        (disk_bytes() - before) as f64 / 1e3 / READS as f64,
    );
    Ok(())
}

/// Bytes that this process has read from disks
fn disk_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}

/// A control group that this process is in
struct MemoryLimit {
    root: &'static str,
    group: PathBuf,
}

impl MemoryLimit {
    /// Puts this process into a group of its own; `None` where that is not allowed
    fn enter() -> Option<Self> {
        let enter = |(root, limit): &(&'static str, &str)| {
            let group = Path::new(root).join(format!("milepost-{}", process::id()));
            fs::create_dir(&group).ok()?;
            let this = Self { root, group };
            fs::write(this.group.join(limit), MEMORY.to_string()).ok()?;
            fs::write(this.group.join("cgroup.procs"), process::id().to_string()).ok()?;
            Some(this)
        };
        GROUPS.iter().find_map(enter)
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // A group that is left is empty, and limits nothing.
        let procs = Path::new(self.root).join("cgroup.procs");
        let _ = fs::write(procs, process::id().to_string());
        let _ = fs::remove_dir(&self.group);
    }
}
