//! The lock of a mutex, whatever a thread that held it has done.
//!
//! A panic of a query is caught, and what it held is locked again. Each change under a lock of the
//! server is complete before anything can panic, or is made again as a whole.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic of a thread that held it
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
