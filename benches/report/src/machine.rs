//! The machine and its load, as reported by Linux.
//!
//! Names the processor and other properties that figures depend on, but never the host.

use std::fs;
use std::process::Command;

/// The properties that figures depend on, besides the code
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    /// Cache of the processor, as `/proc/cpuinfo` writes it
    pub(crate) cache: String,
    pub(crate) memory_gib: u64,
    pub(crate) kernel: String,
    pub(crate) compiler: String,
    /// The load averages over one minute and over five
    pub(crate) load: [String; 2],
}

impl Machine {
    /// This machine, now
    pub(crate) fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let first = |name: &str| {
            let line = info.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, value)| value)
        };
        let memory = read("/proc/meminfo");
        let kibibytes = memory.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
        let load = read("/proc/loadavg");
        let mut loads = load.split(' ');
        let mut next_load = || loads.next().unwrap_or("unknown").to_owned();
        Self {
            processor: first("model name").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, core::num::NonZero::get),
            cache: first("cache size").to_owned(),
            memory_gib: kibibytes.unwrap_or(0) >> 20,
            kernel: read("/proc/sys/kernel/osrelease").trim_end().to_owned(),
            compiler: output_of(Command::new("rustc").arg("--version")),
            load: [next_load(), next_load()],
        }
    }
}

/// The output of a program, or an empty text if it does not start
fn output_of(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim_end().to_owned()
}
