//! The interleavings of commits with those who wait for them.
//!
//! The source files that threads share are compiled here with the locks of the model checker loom,
//! which runs each test for every order of lock acquisitions, or for those with few switches of
//! threads where all are too many.

#![expect(unused_crate_dependencies, reason = "a test target of its own, which needs only some")]

extern crate alloc;

mod chain;
mod requests;
#[path = "../../src/waits/shared_endpoint.rs"]
mod shared_endpoint;
mod watches;
#[expect(dead_code, reason = "nothing here counts what a watcher has not taken out")]
#[path = "../../src/waits/watching.rs"]
mod watching;

mod sync {
    pub(crate) use std::sync::PoisonError;

    pub(crate) use loom::sync::{Mutex, MutexGuard};

    /// As tokio's: a notification that nobody waits for is stored
    pub(crate) struct Notify(loom::sync::Notify);

    impl Notify {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Notify::new())
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify();
        }

        pub(crate) fn wait(&self) {
            self.0.wait();
        }
    }
}

mod errors {
    /// Here queries fail by the engine alone
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub(crate) struct QueryError(milepost::Error);

    impl From<milepost::Error> for QueryError {
        fn from(error: milepost::Error) -> Self {
            Self(error)
        }
    }
}

use loom::thread;

/// Size of the stack of a modelled thread, in words: evaluating a request without optimization
/// takes more than the 32 KiB that loom gives
const STACK: usize = 32 << 10;

/// Runs a model, whose first thread has such a stack as well
fn model(run: impl Fn() + Copy + Send + Sync + 'static) {
    loom::model(move || spawn(run).join().unwrap());
}

fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().stack_size(STACK).spawn(run).unwrap()
}
