//! How much processor time was used and how much was left unused, as Linux counts them.
//!
//! A step reports its own time as a line of its output, since the runner that started it cannot ask
//! for that of one program. Elsewhere than on Linux the times are zero.

use core::time::Duration;
use std::fs;

/// How long a tick of `/proc` lasts: 1/100 s on every architecture (`USER_HZ`)
const TICK: Duration = Duration::from_millis(10);
const REPORT: &str = "xtask: processor milliseconds ";

/// Processor time of this program and of all programs that it has started and that have ended
pub(crate) fn used() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program comes second and may have blanks; times are fields 14 to 17.
    let fields = text.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').skip(11).take(4);
    ticks(fields)
}

/// Processor time that no program has used since the machine started
pub(crate) fn idle() -> Duration {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    // `cpu user nice system idle iowait …`; who waits for the disk is idle too.
    ticks(text.lines().next().unwrap_or_default().split_whitespace().skip(4).take(2))
}

fn ticks<'text>(fields: impl Iterator<Item = &'text str>) -> Duration {
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    TICK * u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// The line by which a step reports this time
pub(crate) fn report_of(time: Duration) -> String {
    format!("{REPORT}{}", time.as_millis())
}

/// The time in such a line
pub(crate) fn read_report(line: &str) -> Option<Duration> {
    line.trim_end().strip_prefix(REPORT)?.parse().ok().map(Duration::from_millis)
}
