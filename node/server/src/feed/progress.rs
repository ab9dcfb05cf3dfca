//! Progress of an import: a bar on a terminal, lines in a log.
//!
//! Imports at the same time, as the parts of a backfill, have a bar below the other. In a log the
//! span that is entered names the part.

use core::time::Duration;
use std::io::{self, IsTerminal as _};
use std::sync::LazyLock;
use std::time::{Instant, UNIX_EPOCH};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tracing::info;

use crate::feed::duration_text::duration_text;

/// Minimum time between two lines in a log
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The bars on standard error, which is one for the whole process
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// A bar if standard error is a terminal, otherwise a line in a minute
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    start: Instant,
    last_line: Instant,
    /// Where the import of a chain that grows began
    begin: Option<Sample>,
}

/// A block of a chain that grows, when it was imported
#[derive(Clone, Copy)]
struct Sample {
    /// Number of blocks that are imported
    done: u64,
    /// When it was produced and imported, since 1970
    produced: Duration,
    imported: Duration,
}

impl Progress {
    /// Of this number of blocks, or heights
    pub(crate) fn new(total: u64) -> Self {
        let bar = io::stderr().is_terminal().then(|| BARS.add(bar(total)));
        Self { bar, total, start: Instant::now(), last_line: Instant::now(), begin: None }
    }

    /// Shows that so many blocks are imported, the last of this height
    pub(crate) fn update(&mut self, done: u64, height: u64) {
        self.show(done, height, time_left(done, self.total, self.start.elapsed()));
    }

    /// The same of a chain that grows meanwhile; the last block was produced at this time since
    /// 1970
    ///
    /// The total and the time left are those until the newest block of the chain is imported, at
    /// the rates so far.
    pub(crate) fn update_growing(&mut self, done: u64, height: u64, produced: Duration) {
        let imported = UNIX_EPOCH.elapsed().unwrap_or_default();
        let sample = Sample { done, produced, imported };
        let begin = *self.begin.get_or_insert(sample);
        self.total = sample.total_after(begin).unwrap_or(self.total).max(done);
        self.show(done, height, sample.time_left_after(begin));
    }

    fn show(&mut self, done: u64, height: u64, left: Option<Duration>) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(format!("{height}, {}", to_go(left)));
                bar.set_length(self.total);
                bar.set_position(done);
            }
            None if self.last_line.elapsed() >= LOG_INTERVAL => {
                self.last_line = Instant::now();
                info!("{}", line(done, self.total, height, self.start.elapsed(), left));
            }
            None => {}
        }
    }

    /// Removes the bar
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
            BARS.remove(&bar);
        }
    }
}

impl Sample {
    /// The number of blocks of the chain now, by the time between those that were imported
    fn total_after(self, begin: Self) -> Option<u64> {
        let blocks = self.done.checked_sub(begin.done).filter(|blocks| *blocks > 0)?;
        let interval = self.produced.saturating_sub(begin.produced).as_secs_f64() / blocks as f64;
        let behind = self.imported.saturating_sub(self.produced).as_secs_f64();
        // As many as there are in the time that the newest one is old; a float saturates.
        (interval > 0.0).then(|| self.done.saturating_add((behind / interval) as u64))
    }

    /// The time until the newest block of the chain is imported; `None` if the chain grows as fast
    fn time_left_after(self, begin: Self) -> Option<Duration> {
        let elapsed = self.imported.saturating_sub(begin.imported).as_secs_f64();
        let gained = self.produced.saturating_sub(begin.produced).as_secs_f64() - elapsed;
        let behind = self.imported.saturating_sub(self.produced).as_secs_f64();
        Duration::try_from_secs_f64(behind * elapsed / gained).ok()
    }
}

/// The time until all blocks are imported, at the rate so far
fn time_left(done: u64, total: u64, elapsed: Duration) -> Option<Duration> {
    let left = total.saturating_sub(done) as f64 / rate(done, elapsed).max(0.001);
    Duration::try_from_secs_f64(left).ok()
}

/// Blocks in a second
fn rate(done: u64, elapsed: Duration) -> f64 {
    done as f64 / elapsed.as_secs_f64().max(0.001)
}

fn line(done: u64, total: u64, height: u64, elapsed: Duration, left: Option<Duration>) -> String {
    let (rate, left) = (rate(done, elapsed), to_go(left));
    format!("imported {done} of {total} blocks, up to height {height}, {rate:.1} a second, {left}")
}

fn to_go(left: Option<Duration>) -> String {
    match left {
        Some(left) => format!("{} to go", duration_text(left)),
        None => "not faster than the chain grows".to_owned(),
    }
}

fn bar(total: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:32} {pos}/{len} blocks, {per_sec}, height {msg}");
    // An invalid template only changes the appearance.
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_height_rate_and_time_left() {
        let line = |done, total, elapsed| {
            line(done, total, 70_000, elapsed, time_left(done, total, elapsed))
        };
        assert_eq!(
            line(600, 6_000, Duration::from_secs(60)),
            "imported 600 of 6000 blocks, up to height 70000, 10.0 a second, 9 min to go"
        );
        assert!(line(0, 9, Duration::ZERO).ends_with(", 2 h 30 min to go"));
    }

    #[test]
    fn a_chain_that_grows_meanwhile_takes_longer() {
        let seconds = Duration::from_secs;
        // 2,000 blocks behind a chain with a block each half a second; three are imported in one.
        let begin = Sample { done: 0, produced: seconds(9_000), imported: seconds(10_000) };
        let sample = Sample { done: 180, produced: seconds(9_090), imported: seconds(10_060) };
        assert_eq!(sample.total_after(begin), Some(180 + 2 * 970));
        // Of each second, half a second is gained.
        assert_eq!(sample.time_left_after(begin), Some(seconds(2 * 970)));
        let slow = Sample { imported: seconds(10_090), ..sample };
        assert_eq!(slow.time_left_after(begin), None);
        assert_eq!(to_go(None), "not faster than the chain grows");
        // Before there is anything to go by.
        assert_eq!((begin.total_after(begin), begin.time_left_after(begin)), (None, None));
    }
}
