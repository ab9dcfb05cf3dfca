//! How far the taking in of files is: a bar for people, lines for logs.

use core::time::Duration;
use std::io::{self, IsTerminal as _};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use tracing::info;

/// How often a log gets a line
const LINE_EVERY: Duration = Duration::from_secs(5);

/// A bar on a terminal, or now and then a line
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

    /// One more message is in, that of this height
    pub(super) fn step(&mut self, height: u64) {
        self.done += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_message(height.to_string());
                bar.inc(1);
            }
            None if self.last_line.elapsed() >= LINE_EVERY => {
                self.last_line = Instant::now();
                info!("{} of {} messages are in, up to height {height}", self.done, self.total);
            }
            None => {}
        }
    }

    /// No more messages come
    pub(super) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:32} {pos}/{len} blocks, {per_sec}, height {msg}, {eta} to go",
    );
    // A template of ours that does not parse costs us its looks, not the ingest.
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
