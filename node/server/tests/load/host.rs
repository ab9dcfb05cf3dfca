//! Resources of the system: open files, memory and processor time.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The usual soft limit of open files when a program starts
const DEFAULT_LIMIT: u64 = 1024;

/// Starts a program under the usual limit of open files, then raises the limit of this process
pub(crate) fn with_default_file_limit<T>(required: u64, start: impl FnOnce() -> T) -> T {
    set_file_limit(DEFAULT_LIMIT);
    let started = start();
    set_file_limit(required);
    started
}

/// Sets the limit of open files of this process, and of programs that it starts
pub(crate) fn set_file_limit(files: u64) {
    let limits = getrlimit(Resource::Nofile);
    let enough = limits.maximum.is_none_or(|maximum| maximum >= files);
    assert!(enough, "{files} open files required, the limit is {:?}", limits.maximum);
    let limit = Rlimit { current: Some(files), ..limits };
    setrlimit(Resource::Nofile, limit).expect("the hard limit is higher");
}

/// Resource usage of a process so far; zeros where the system has no `/proc`
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Bytes in memory now
    pub(crate) resident: u64,
    /// Maximum bytes in memory
    pub(crate) peak: u64,
    /// Seconds of processor time
    pub(crate) seconds: f64,
}

impl Usage {
    /// The usage of this process
    pub(crate) fn of(process: u32) -> Self {
        let read = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}"));
        let (status, stat) = (read("status").unwrap_or_default(), read("stat").unwrap_or_default());
        let kibibytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            number.unwrap_or_default() * 1024
        };
        // The name, which may contain spaces, ends with the last `)`. User and system time are the
        // 12th and 13th field after it, in ticks, of which Linux reports 100 per second.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let times = fields.skip(11).take(2);
        let ticks: u64 = times.filter_map(|field| field.parse::<u64>().ok()).sum();
        Self {
            resident: kibibytes("VmRSS:"),
            peak: kibibytes("VmHWM:"),
            seconds: ticks as f64 / 100.0,
        }
    }
}
