//! How much processor time programs used and how much was left unused, as Linux counts them.
//!
//! Elsewhere than on Linux the times are zero.

use core::time::Duration;
use std::fs;

/// How long a tick of `/proc` lasts: 1/100 s on every architecture (`USER_HZ`)
const TICK: Duration = Duration::from_millis(10);

/// Processor time of all programs that this one has started and waited for
pub(crate) fn of_programs() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program comes second and may have blanks; the times are fields 16 and 17.
    let fields = text.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').skip(13).take(2);
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
