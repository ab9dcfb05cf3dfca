//! What the system grants and counts: open files, memory and processor time.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit of open files under which a program usually starts
const USUAL: u64 = 1024;

/// Open files that we need, and the program as well: a crowd, and some to spare
const NEEDED: u64 = 10_240;

/// Lets a program start under the usual limit of open files, and takes enough for ourselves
pub(crate) fn with_usual_files<T>(start: impl FnOnce() -> T) -> T {
    let limits = getrlimit(Resource::Nofile);
    let enough = limits.maximum.is_none_or(|maximum| maximum >= NEEDED);
    assert!(enough, "{NEEDED} open files are needed, the hard limit is {:?}", limits.maximum);
    let limit_to = |files| {
        let wanted = Rlimit { current: Some(files), ..limits };
        setrlimit(Resource::Nofile, wanted).expect("the hard limit is above");
    };
    limit_to(USUAL);
    let started = start();
    limit_to(NEEDED);
    started
}

/// What a process has taken so far; zeros where the system does not say it in `/proc`
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Bytes in memory now
    pub(crate) resident: u64,
    /// The most bytes in memory at a time
    pub(crate) peak: u64,
    /// Seconds of processor time
    pub(crate) seconds: f64,
}

impl Usage {
    /// What this process has taken so far
    pub(crate) fn of(process: u32) -> Self {
        let read = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}"));
        let (status, stat) = (read("status").unwrap_or_default(), read("stat").unwrap_or_default());
        let kibibytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            number.unwrap_or_default() * 1024
        };
        // The name, which may have spaces, ends in the last `)`; user and system time follow as
        // the 12th and 13th word, in ticks, of which Linux shows 100 per second.
        let words = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 = words.skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
        Self {
            resident: kibibytes("VmRSS:"),
            peak: kibibytes("VmHWM:"),
            seconds: ticks as f64 / 100.0,
        }
    }
}
