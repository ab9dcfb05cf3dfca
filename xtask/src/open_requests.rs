//! The server under ten thousand open requests, as an explicit command.
//!
//! The tests are those that `server/tests/open_requests` leaves out of every other run. They want
//! a release build, both processors and one another's absence, so they run alone and in turn.

use crate::shell::{self, cargo};

/// Runs the tests and shows the figures that they print
pub(crate) fn run() -> Result<(), String> {
    let build = "test --release -p milepost-server --test open_requests";
    shell::run(&mut cargo(&format!("{build} -- --nocapture --test-threads 1")))
}
