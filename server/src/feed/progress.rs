//! Progress of an import: a bar on a terminal, lines in a log.

use core::time::Duration;
use std::io::{self, IsTerminal as _};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use tracing::info;

/// Minimum time between two lines in a log
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// A bar if standard error is a terminal, otherwise log lines
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    done: u64,
    last_line: Instant,
}

impl Progress {
    pub(super) fn new(total: u64) -> Self {
        let bar = io::stderr().is_terminal().then(|| bar(total));
        Self { bar, total, done: 0, last_line: Instant::now() }
    }

    /// Counts an imported message of this height
    pub(super) fn step(&mut self, height: u64) {
        self.done += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_message(height.to_string());
                bar.inc(1);
            }
            None if self.last_line.elapsed() >= LOG_INTERVAL => {
                self.last_line = Instant::now();
                info!("imported {} of {} messages, up to height {height}", self.done, self.total);
            }
            None => {}
        }
    }

    /// Removes the bar
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:32} {pos}/{len} blocks, {per_sec}, height {msg}, {eta} to go",
    );
    // An invalid template only changes the appearance.
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
