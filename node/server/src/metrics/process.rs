//! Metrics of the process under the names that all exporters of Prometheus use, and its version.
//!
//! Memory and open files are read from `/proc`, so they are there on Linux alone. The start is the
//! time at which [`note_start`] was called: the system's own is in files that a service under
//! systemd may not see.

use core::time::Duration;
use std::fs;
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::metrics::gauge;

static START: OnceLock<Duration> = OnceLock::new();

/// Notes that the process starts now
pub(crate) fn note_start() {
    START.get_or_init(|| UNIX_EPOCH.elapsed().unwrap_or_default());
}

/// A registry with these metrics; blocks for some milliseconds if tens of thousands of files are
/// open
pub(crate) fn registry() -> Registry {
    let mut all = Registry::default();
    let registry = &mut all;
    let start = START.get().map(Duration::as_secs_f64);
    gauge(registry, "process_start_time_seconds", "Unix time at which the process started", start);
    let memory = fs::read_to_string("/proc/self/status").ok();
    let memory = memory.and_then(|status| resident_bytes(&status));
    let help = "Memory of the process that is resident";
    gauge(registry, "process_resident_memory_bytes", help, memory);
    // Without the directory itself, which is open meanwhile.
    let files = fs::read_dir("/proc/self/fd").ok().map(|files| files.count().saturating_sub(1));
    gauge(registry, "process_open_fds", "Open files and sockets of the process", files);
    let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
    registry.register("milepost_build", "The version of the program", version);
    all
}

/// The resident memory in the text of `/proc/self/status`, which has it in units of 1024 bytes
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_memory_is_read() {
        let status = "VmHWM:\t   9000 kB\nVmRSS:\t   1234 kB\nThreads:\t1\n";
        assert_eq!(resident_bytes(status), Some(1234 * 1024));
        for other in ["", "VmRSS:\t1234 MB", "VmRSS:\tx kB", "VmRSS:\t99999999999999999999 kB"] {
            assert_eq!(resident_bytes(other), None, "{other}");
        }
    }
}
