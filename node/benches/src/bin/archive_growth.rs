//! What a read of an archive in a directory costs as it grows, for `cargo xtask verify
//! archive-growth`.
//!
//! Archives of 50,000, 500,000 and 5,000,000 small transactions are filled and read at random, with
//! the page cache as the system keeps it and after it was dropped. The process and its part of the
//! page cache have less memory than the largest archive has bytes, where the control groups of the
//! machine allow that; else it is said. The argument is the directory of the files.

#![forbid(unsafe_code)]

use core::error::Error;
use core::time::Duration;
use std::env;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::Instant;

use milepost::archive::{Archive as _, Envelope, Origin, WriterId};
use milepost::storage::{Key, Row, Table};
use milepost_archive::{CompressedArchive, DirectoryArchive};
use milepost_benches::Cpu;
use milepost_testing::small_transactions::{answer, key};
use milepost_testkit::Rng;

const ORIGIN: Origin = Origin::of(WriterId(1));
const SIZES: [u64; 3] = [50_000, 500_000, 5_000_000];
const READS: u64 = 20_000;
/// The part of the rows that is read in a round, after as many reads that are not measured: the
/// same part of the files is in a cache then, whatever their size, and all of their index
const ROUND_PART: u64 = 200;
/// Bytes of a page of the page cache, the least that is read from a disk
const PAGE: u64 = 4 << 10;
/// Rows that are put at a time: those of a busy block
const BATCH: u64 = 500;
/// Memory of the process with its part of the page cache
const MEMORY: u64 = 512 << 20;
/// Where a control group with a limit of memory is made, and the file of the limit
const GROUPS: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

/// An error that a thread can return
type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let directory = env::args().nth(1).ok_or("takes the directory of the files")?;
    match MemoryLimit::enter() {
        Some(_limit) => run(Path::new(&directory), &format!("{} MiB", MEMORY >> 20)),
        None => run(Path::new(&directory), "unlimited"),
    }
}

fn run(directory: &Path, memory: &str) -> Result<(), Failure> {
    println!("memory, page cache included: {memory}");
    println!(
        "{:32}  {:^49}  {:^49}",
        "", "from the page cache, as far as it goes", "from the disk"
    );
    println!(
        "{:>12} {:>6} {:>6} {:>5}{READ_HEAD}{READ_HEAD}",
        "transactions", "JSON", "files", "put/s"
    );
    for size in SIZES {
        measure(directory, size)?;
    }
    println!(
        "JSON and files in MB. The others are of one read: user, system: processor time in us, sampled; median, p99:\n\
         wall-clock time in us; blocks: those of the store that were not in its own cache; kB: read from the disk"
    );
    Ok(())
}

/// The columns of a series of reads
const READ_HEAD: &str = "     user  system  median     p99  blocks      kB";

fn measure(directory: &Path, size: u64) -> Result<(), Failure> {
    let folder = tempfile::tempdir_in(directory)?;
    let path = folder.path().join("a");
    let archive = open(&path)?;
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
    let files: u64 = Table::ARCHIVE.map(|table| archive.inner().table_bytes(table)).iter().sum();
    drop(archive);
    let [bytes, files] = [bytes as f64 / 1e6, files as f64 / 1e6];
    print!("{size:>12} {bytes:>6.0} {files:>6.0} {rate:>5.0}");
    for is_cached in [true, false] {
        print!("{}", Reads::measure(&path, size, is_cached)?.line());
    }
    println!();
    if Some(&size) == SIZES.last() {
        let page = Reads::measure_pages(&path)?;
        println!("{:<84}{}", "a page of 4 KiB of these files, by itself", page.line());
    }
    Ok(())
}

fn open(path: &Path) -> Result<CompressedArchive<DirectoryArchive>, milepost::Error> {
    CompressedArchive::new(DirectoryArchive::open(path)?, ORIGIN)
}

/// Reads of random rows, and what they cost
#[derive(Default)]
struct Reads {
    times: Vec<Duration>,
    /// Processor time of the thread
    processor: Duration,
    /// The part of it that was in the system
    system_part: f64,
    /// Blocks that the store did not have in its own cache
    blocks: u64,
    disk_bytes: u64,
}

impl Reads {
    /// Reads in rounds, on a thread that does nothing else, so that its time in the system is that
    /// of the reads
    fn measure(path: &Path, size: u64, is_cached: bool) -> Result<Self, Failure> {
        apart(|| {
            let mut reads = Self::default();
            let (count, mut rng) = (size / ROUND_PART, Rng::new(size));
            for _ in 0..READS.div_ceil(count) {
                let archive = apart(|| -> Result<_, Failure> {
                    // The store's own cache is empty then.
                    let archive = open(path)?;
                    Self::default().read(&archive, count, size, &mut rng)?;
                    if !is_cached {
                        drop_pages(path)?;
                    }
                    Ok(archive)
                })?;
                reads.read(&archive, count, size, &mut rng)?;
            }
            reads.system_part = system_part();
            Ok(reads)
        })
    }

    /// Reads of random pages of the files, from the disk: the least that a read can cost
    fn measure_pages(path: &Path) -> Result<Self, Failure> {
        let mut files = drop_pages(path)?;
        let pages = |file: &File| file.metadata().map_or(0, |metadata| metadata.len() / PAGE);
        files.retain(|file| pages(file) > 0);
        apart(|| {
            let (mut reads, mut rng) = (Self::default(), Rng::new(READS));
            let mut page = [0; PAGE as usize];
            reads.count(&mut |reads| {
                for _ in 0..READS {
                    let mut file = &files[rng.index(files.len())];
                    let offset = rng.below(pages(file)) * PAGE;
                    let start = Instant::now();
                    file.seek(SeekFrom::Start(offset))?;
                    file.read_exact(&mut page)?;
                    reads.times.push(start.elapsed());
                }
                Ok(())
            })?;
            reads.system_part = system_part();
            Ok(reads)
        })
    }

    fn read(
        &mut self,
        archive: &CompressedArchive<DirectoryArchive>,
        count: u64,
        size: u64,
        rng: &mut Rng,
    ) -> Result<(), Failure> {
        // The check of the content is in the processor time as well; it is the same for all sizes.
        self.count(&mut |reads| {
            for _ in 0..count {
                let number = rng.below(size);
                let (start, mut rows) = (Instant::now(), Vec::new());
                archive.get_many(&[key(number)], &mut rows)?;
                reads.times.push(start.elapsed());
                let row = rows.pop().flatten().ok_or("a row is missing")?;
                let envelope = Envelope::decode(Table::ArchivedTransactions, &row)?;
                if envelope.payload != answer(number).as_bytes() {
                    return Err("a row has another content".into());
                }
            }
            Ok(())
        })
    }

    /// Adds what this work costs
    fn count(
        &mut self,
        work: &mut dyn FnMut(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let before = DISK_COUNTERS.map(disk_counter);
        let (result, time) = Cpu::time(|| work(self));
        result?;
        let [blocks, bytes] = DISK_COUNTERS.map(disk_counter);
        self.processor += time;
        self.blocks += blocks - before[0];
        self.disk_bytes += bytes - before[1];
        Ok(())
    }

    /// The columns of [`READ_HEAD`]
    fn line(mut self) -> String {
        self.times.sort_unstable();
        let count = self.times.len() as f64;
        let micros = |time: Duration| 1e6 * time.as_secs_f64();
        let percentile =
            |share: f64| self.times.get((count * share) as usize).map_or(0.0, |time| micros(*time));
        let processor = micros(self.processor) / count;
        format!(
            " {:>8.1} {:>7.1} {:>7.1} {:>7.1} {:>7.2} {:>7.1}",
            processor * (1.0 - self.system_part),
            processor * self.system_part,
            percentile(0.5),
            percentile(0.99),
            self.blocks as f64 / count,
            self.disk_bytes as f64 / 1e3 / count,
        )
    }
}

/// The result of `work` on a thread of its own
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().expect("a thread that does not panic"))
}

/// Reads of files by this process, and the bytes that came from disks
const DISK_COUNTERS: [&str; 2] = ["syscr: ", "read_bytes: "];

fn disk_counter(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|count| count.parse().ok()).unwrap_or_default()
}

/// The part of the processor time of this thread that was in the system
fn system_part() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    // After the name in parentheses: the 12th and 13th are the ticks of both.
    let mut fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
    let mut ticks = || fields.next().and_then(|field| field.parse().ok()).unwrap_or(0.0);
    let (user, system): (f64, f64) = (ticks(), ticks());
    system / (user + system).max(1.0)
}

/// Drops what the page cache has of the files in this directory and in those below it; returns them
fn drop_pages(directory: &Path) -> Result<Vec<File>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.append(&mut drop_pages(&entry.path())?);
            continue;
        }
        let file = File::open(entry.path())?;
        // Pages that are not on the disk yet would stay.
        file.sync_all()?;
        #[cfg(target_os = "linux")]
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        files.push(file);
    }
    Ok(files)
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
