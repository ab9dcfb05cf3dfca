//! Progress of an import: a bar on a terminal, lines in a log.
//!
//! Imports at the same time, as the parts of a backfill, have a bar below the other. In a log the
//! span that is entered names the part.

use core::time::Duration;
use std::io::{self, IsTerminal as _};
use std::sync::LazyLock;
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tracing::info;

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
}

impl Progress {
    /// Of this number of blocks, or heights
    pub(crate) fn new(total: u64) -> Self {
        let bar = io::stderr().is_terminal().then(|| BARS.add(bar(total)));
        Self { bar, total, start: Instant::now(), last_line: Instant::now() }
    }

    /// Shows that so many blocks are imported, the last of this height
    pub(crate) fn update(&mut self, done: u64, height: u64) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(height.to_string());
                bar.set_position(done);
            }
            None if self.last_line.elapsed() >= LOG_INTERVAL => {
                self.last_line = Instant::now();
                info!("{}", line(done, self.total, height, self.start.elapsed()));
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

fn line(done: u64, total: u64, height: u64, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let left = total.saturating_sub(done) as f64 / rate.max(0.001);
    format!(
        "imported {done} of {total} blocks, up to height {height}, {rate:.1} a second, {:.0} minutes to go",
        (left / 60.0).ceil()
    )
}

fn bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:32} {pos}/{len} blocks, {per_sec}, height {msg}, {eta} to go",
    );
    // An invalid template only changes the appearance.
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_height_rate_and_time_left() {
        assert_eq!(
            line(600, 6_000, 70_000, Duration::from_secs(60)),
            "imported 600 of 6000 blocks, up to height 70000, 10.0 a second, 9 minutes to go"
        );
        assert!(line(0, 9, 7, Duration::ZERO).ends_with("150 minutes to go"));
    }
}
