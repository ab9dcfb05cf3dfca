//! The locks of `shared_endpoint` and `watching`, which their model checkers and benches replace by
//! their own.

pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use tokio::sync::Notify;
