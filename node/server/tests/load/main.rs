//! Servers under load: attacks, open requests, hours of work, watchers, the head of a feed.
//!
//! A program of its own, which runs one test after another, because the tests measure times, memory
//! and open files of a server, and raise the limits of this process.

#![cfg(unix)]
#![expect(unused_crate_dependencies, reason = "the program is driven, its parts are not used")]

extern crate alloc;

#[expect(dead_code, reason = "shared with tests that need more of it")]
#[path = "../program/fixture.rs"]
mod fixture;
mod head;
mod host;
mod hostile;
mod open_requests;
mod soak;
#[expect(dead_code, reason = "shared with tests that need more of it")]
#[path = "../program/support.rs"]
mod support;
mod sync;
mod watchers;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by a test while it runs, so that it measures itself alone
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}
