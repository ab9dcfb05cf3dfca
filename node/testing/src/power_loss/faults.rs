//! Runs of the process, and what is checked after each.
//!
//! A run is repeated by its seed: which disks are made and which calls fail depends on nothing
//! else. Compaction has threads of its own, so the order of its calls differs between runs.

use core::time::Duration;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

use milepost_redb::Options;
use milepost_testkit::Rng;

use super::check::Expected;
use super::disk::{Disk, Unsynced};
use super::trace::{self, Call};
use super::workload::ACKNOWLEDGED;

/// How long a run may take, which needs some seconds
const MAX_TIME: Duration = Duration::from_secs(300);
/// One in this many disks continues with the rest of the chain
const GO_ON: u64 = 50;

/// What was checked
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// System calls after which the power failed
    pub points: usize,
    /// Disks
    pub disks: usize,
    /// Disks whose store was verified page by page when it was opened, as those of large stores are
    /// not
    pub verified: usize,
    /// Disks with a message that was not acknowledged
    pub further: usize,
    /// Errors of the disk that ended the process
    pub ended: usize,
}

/// Lets the power fail this many times, after each call that changes something in turn
///
/// # Errors
///
/// The first disk that does not show what it must, with its number, which the seed repeats.
pub fn power_failures(program: &Path, cuts: usize, seed: u64) -> Result<Summary, String> {
    let expected = Expected::new()?;
    let directory = temporary()?;
    let root = directory.path().join("disk");
    std::fs::create_dir(&root).map_err(|error| error.to_string())?;
    let calls = trace::record(program, &root, &directory.path().join("log"))?;
    let points = points(&calls, &root)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let run = |thread| cut(&calls, &root, &expected, (points, cuts, seed), (thread, threads));
    let results = thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|result| result.unwrap_or_else(|_| Err("a panic".to_owned()))).collect()
    });
    let results: Result<Vec<Summary>, String> = results;
    let results = results?;
    let sum = |count: fn(&Summary) -> usize| results.iter().map(count).sum();
    Ok(Summary {
        points,
        disks: sum(|one| one.disks),
        verified: sum(|one| one.verified),
        further: sum(|one| one.further),
        ended: 0,
    })
}

/// The options of the store that is checked: it is verified or not
fn options(rng: &mut Rng) -> Options {
    let mut options = Options::default();
    if rng.one_in(2) {
        options.verify_bytes = 0;
    }
    options
}

/// Number of calls that change the disk or what is certain
fn points(calls: &[Call], root: &Path) -> Result<usize, String> {
    let mut disk = Disk::new(root);
    let mut points = 0;
    for call in calls {
        points += usize::from(disk.apply(call)?);
    }
    Ok(points)
}

/// Lets the power fail at each point whose number belongs to this thread
fn cut(
    calls: &[Call],
    root: &Path,
    expected: &Expected,
    (points, cuts, seed): (usize, usize, u64),
    (thread, threads): (usize, usize),
) -> Result<Summary, String> {
    let mut disk = Disk::new(root);
    let (mut point, mut acknowledged) = (0, 0);
    let mut summary = Summary::default();
    for call in calls {
        acknowledged = acknowledged_by(call).unwrap_or(acknowledged);
        if !disk.apply(call)? {
            continue;
        }
        point += 1;
        // Spread evenly: the cuts up to this point, less those up to the one before.
        let here = (point - 1) * cuts / points..point * cuts / points;
        for cut in here.filter(|cut| cut % threads == thread) {
            let mut rng = Rng::new(seed.wrapping_add(cut as u64));
            let unsynced = *rng.pick(&[
                Unsynced::Lost,
                Unsynced::LastTorn,
                Unsynced::Random,
                Unsynced::Random,
            ]);
            let directory = temporary()?;
            let written = disk.write_image(directory.path(), unsynced, &mut rng);
            written.map_err(|error| format!("an image: {error}"))?;
            let options = options(&mut rng);
            let go_on = rng.one_in(GO_ON);
            let messages = expected.check(directory.path(), &options, acknowledged, go_on);
            let messages = messages.map_err(|error| {
                format!(
                    "cut {cut} of {cuts}, seed {seed}, after call {point}, {unsynced:?}: {error}"
                )
            })?;
            summary.disks += 1;
            summary.verified += usize::from(options.verify_bytes > 0);
            summary.further += usize::from(messages > acknowledged);
        }
    }
    Ok(summary)
}

/// The number of messages that a call acknowledges
fn acknowledged_by(call: &Call) -> Option<usize> {
    let Call::Write { fd: 1, data } = call else { return None };
    acknowledged_in(core::str::from_utf8(data).ok()?)
}

/// The number in the last line that acknowledges messages
fn acknowledged_in(text: &str) -> Option<usize> {
    text.lines().rev().find_map(|line| line.strip_prefix(ACKNOWLEDGED)?.parse().ok())
}

/// Lets calls of the process fail from one on, or only that one, and checks what is left
///
/// # Errors
///
/// As with [`power_failures`].
pub fn errors(program: &Path, runs: usize, seed: u64) -> Result<Summary, String> {
    let expected = Expected::new()?;
    let mut summary = Summary::default();
    for run in 0..runs {
        let mut rng = Rng::new(seed.wrapping_add(run as u64));
        let calls =
            *rng.pick(&["pwrite64,write", "fsync,fdatasync", "ftruncate,fallocate", "openat"]);
        let error = *rng.pick(&["EIO", "ENOSPC"]);
        // The first calls of a process open libraries; some thousands are made in all.
        let first = match calls {
            "openat" => rng.between(10, 60),
            "ftruncate,fallocate" => rng.between(1, 20),
            _ => rng.between(1, 400),
        };
        // Only that call, or all from it on, as on a disk that is full.
        let until = if rng.one_in(2) { "" } else { "+" };
        let inject = format!("inject={calls}:error={error}:when={first}{until}");
        let directory = temporary()?;
        let traced = format!("trace={calls}");
        let mut process =
            trace::strace(&["-o", "/dev/null", "-e", &traced, "-e", &inject], program);
        process.arg("--fill").arg(directory.path());
        let output =
            output(&mut process).map_err(|error| format!("run {run}, {inject}: {error}"))?;
        let acknowledged = acknowledged_in(&String::from_utf8_lossy(&output.stdout)).unwrap_or(0);
        if !output.status.success() {
            summary.ended += 1;
        } else if acknowledged != expected.messages() {
            return Err(format!("run {run}, {inject}: it ended without an error"));
        }
        let failed = |error| format!("run {run}, {inject}, seed {seed}: {error}");
        let options = options(&mut rng);
        let messages = expected.check(directory.path(), &options, acknowledged, true);
        let messages = messages.map_err(failed)?;
        summary.disks += 1;
        summary.verified += usize::from(options.verify_bytes > 0);
        summary.further += usize::from(messages > acknowledged);
    }
    Ok(summary)
}

/// What was checked of processes whose reads failed
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Reads {
    /// Processes
    pub processes: usize,
    /// Those that could not open a store or the archive
    pub ended: usize,
    /// Answers of the others
    pub answers: usize,
    /// Answers that are errors
    pub failed: usize,
}

/// Lets reads fail while a process asks about all transactions, or opens the files
///
/// Also lets files fail to open as on a file system that is mounted for reading only.
///
/// # Errors
///
/// The first run with an answer that is neither right nor an error, or after which something is
/// missing.
pub fn reads(program: &Path, runs: usize, seed: u64) -> Result<Reads, String> {
    let expected = Expected::new()?;
    let directory = temporary()?;
    let root = directory.path();
    let filled = super::workload::fill(root, 0, &mut std::io::sink());
    filled.map_err(|error| error.to_string())?;
    let mut summary = Reads::default();
    for run in 0..runs {
        let mut rng = Rng::new(seed.wrapping_add(run as u64));
        let (calls, error) = *rng.pick(&[
            ("pread64", "EIO"),
            ("pread64", "EIO"),
            ("pread64", "EIO"),
            ("read", "EIO"),
            ("openat", "EIO"),
            ("openat", "EROFS"),
        ]);
        // While the files are opened 400 of 1,400 calls `pread64` are made, and nearly all others.
        let first = rng.between(1, if calls == "pread64" { 1_400 } else { 150 });
        let until = if rng.one_in(2) { "" } else { "+" };
        let inject = format!("inject={calls}:error={error}:when={first}{until}");
        let traced = format!("trace={calls}");
        // Only calls that have to do with the directory, which libraries have not.
        let mut files = vec!["-o", "/dev/null", "-e", &traced, "-e", &inject];
        let paths = paths(root)?;
        files.extend(paths.iter().flat_map(|path| ["-P", path]));
        let mut process = trace::strace(&files, program);
        process.arg("--ask").arg(root);
        let failed = |error| format!("run {run}, {inject}, seed {seed}: {error}");
        let output = output(&mut process).map_err(failed)?;
        summary.processes += 1;
        match output.status.code() {
            Some(0) => {
                let answers = String::from_utf8_lossy(&output.stdout);
                summary.failed += expected.check_answers(&answers).map_err(failed)?;
                summary.answers += answers.lines().count();
            }
            Some(1) => summary.ended += 1,
            _ => return Err(failed(format!("it ended with {}", output.status))),
        }
        // Nothing was lost or changed.
        let messages = expected.messages();
        expected.check(root, &Options::default(), messages, false).map_err(failed)?;
    }
    Ok(summary)
}

/// The files in a directory and in those below it
fn paths(directory: &Path) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        match path.is_dir() {
            true => paths.extend(self::paths(&path)?),
            false => paths.push(path.to_str().ok_or("a path that is not UTF-8")?.to_owned()),
        }
    }
    Ok(paths)
}

/// The output of a process that has to end: an error of the disk may stop its work, and it says so
fn output(process: &mut Command) -> Result<Output, String> {
    let process = process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // In a group with what it traces.
    let child = process.process_group(0).spawn().map_err(|error| format!("strace: {error}"))?;
    let group = format!("-{}", child.id());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(MAX_TIME) {
        Ok(output) => output.map_err(|error| format!("strace: {error}")),
        Err(_) => {
            let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
            Err(format!("it has not ended after {MAX_TIME:?} ({killed:?})"))
        }
    }
}

/// A directory in memory where there is one: its disks are read once
fn temporary() -> Result<tempfile::TempDir, String> {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).map_err(|error| error.to_string())
}
