//! The lock of the shared endpoint, which measures for how long each thread holds it.

use core::cell::Cell;
use core::ops::{Deref, DerefMut};
use core::time::Duration;
pub(crate) use std::sync::PoisonError;
use std::sync::{self, LockResult};
use std::time::Instant;

std::thread_local! {
    static IS_HELD: Cell<bool> = const { Cell::new(false) };
    static HELD: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Whether this thread holds a lock
pub(crate) fn is_held() -> bool {
    IS_HELD.get()
}

/// For how long this thread has held locks since the last call
pub(crate) fn take_held() -> Duration {
    HELD.take()
}

/// A lock that measures for how long it is held
pub(crate) struct Mutex<T>(sync::Mutex<T>);

/// What unlocks it
pub(crate) struct MutexGuard<'mutex, T> {
    inner: sync::MutexGuard<'mutex, T>,
    since: Instant,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        IS_HELD.set(true);
        Ok(MutexGuard { inner, since: Instant::now() })
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        HELD.set(HELD.get() + self.since.elapsed());
        IS_HELD.set(false);
    }
}
