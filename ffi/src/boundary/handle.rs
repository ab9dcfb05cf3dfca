//! Handles: what an opaque pointer in C refers to, who owns it, and what may be done with it.
//!
//! Ownership is part of a handle's type, so the compiler rejects code that frees a borrowed handle,
//! or that mutates a value which `const` functions read:
//!
//! ```compile_fail,E0277
//! # use milepost_ffi::{boundary::handle, sink::milepost_sink};
//! // A sink belongs to the library and is borrowed by a callback: the host cannot free it.
//! unsafe { handle::release::<milepost_sink>(core::ptr::null_mut()) }
//! ```
//!
//! ```compile_fail,E0271
//! # use milepost_ffi::{boundary::handle, response::milepost_response};
//! // Any number of threads read a response: it cannot be mutated.
//! unsafe {
//!     let _ = handle::exclusive_ref::<milepost_response>(core::ptr::null_mut(), "response");
//! }
//! ```
//!
//! ```
//! # use milepost_ffi::{boundary::handle, engine::milepost_engine, settings::milepost_settings};
//! // SAFETY: NULL is not a handle, which both functions check.
//! unsafe {
//!     handle::release::<milepost_engine>(core::ptr::null_mut());
//!     let null = core::ptr::null_mut();
//!     assert!(handle::exclusive_ref::<milepost_settings>(null, "settings").is_err());
//! }
//! ```

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;

use super::{callback, table};
use crate::status::{
    CallError, MILEPOST_STATUS_BUSY, MILEPOST_STATUS_NULL, MILEPOST_STATUS_POISONED,
    MILEPOST_STATUS_STALE,
};

/// A type that C knows only by its pointer
pub trait Handle: Sized + 'static {
    /// The value that the pointer refers to
    type Value: Send + Sync + 'static;
    /// Who owns it: one of [`Shared`], [`Immutable`], [`Exclusive`], [`Borrowed`]
    type Ownership;
    /// Its name in C
    const NAME: &'static str;

    /// The value that describes why a call failed, if this is the handle of errors
    fn from_call_error(_error: &CallError) -> Option<Self::Value> {
        None
    }
}

/// Reference counted: several handles may share one value; `const` functions only
#[derive(Debug)]
#[non_exhaustive]
pub enum Shared {}
/// In a box, never changed after its creation; `const` functions only
#[derive(Debug)]
#[non_exhaustive]
pub enum Immutable {}
/// In a box; functions that are not `const` have exclusive access
#[derive(Debug)]
#[non_exhaustive]
pub enum Exclusive {}
/// Owned by the library, borrowed by a callback; never freed by the host
#[derive(Debug)]
#[non_exhaustive]
pub enum Borrowed {}

/// An ownership under which the host creates and frees handles
pub trait Owned {
    /// Moves a value to the heap
    fn into_raw<Value>(cell: Cell<Value>) -> *mut Cell<Value>;

    /// Drops a value, or one reference to it
    ///
    /// # Safety
    ///
    /// The pointer is from [`into_raw`](Self::into_raw) of the same ownership, and is not used
    /// again.
    unsafe fn drop_raw<Value>(cell: *mut Cell<Value>);
}

impl Owned for Shared {
    fn into_raw<Value>(cell: Cell<Value>) -> *mut Cell<Value> {
        Arc::into_raw(Arc::new(cell)).cast_mut()
    }

    unsafe fn drop_raw<Value>(cell: *mut Cell<Value>) {
        // SAFETY: from `Arc::into_raw`, and not used again, as the caller guarantees.
        drop(unsafe { Arc::from_raw(cell) });
    }
}

macro_rules! boxed {
    ($($ownership:ident)*) => {$(
        impl Owned for $ownership {
            fn into_raw<Value>(cell: Cell<Value>) -> *mut Cell<Value> {
                Box::into_raw(Box::new(cell))
            }

            unsafe fn drop_raw<Value>(cell: *mut Cell<Value>) {
                // SAFETY: from `Box::into_raw`, and not used again, as the caller guarantees.
                drop(unsafe { Box::from_raw(cell) });
            }
        }
    )*};
}

boxed!(Immutable Exclusive);

/// A value with its access state
pub struct Cell<Value> {
    /// `WRITER` while one call has exclusive access, else the number of calls that read; unused for
    /// ownerships without writers
    users: AtomicU32,
    poisoned: AtomicBool,
    value: UnsafeCell<Value>,
}

/// Value of `users` while one call has exclusive access
const WRITER: u32 = u32::MAX;

// SAFETY: a mutable reference exists only in the one call that set `WRITER`; shared references
// exist only in calls that are counted, or for ownerships without writers.
unsafe impl<Value: Send + Sync> Sync for Cell<Value> {}

impl<Value> fmt::Debug for Cell<Value> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cell").finish_non_exhaustive()
    }
}

impl<Value> Cell<Value> {
    const fn new(value: Value) -> Self {
        let (users, poisoned) = (AtomicU32::new(0), AtomicBool::new(false));
        Self { users, poisoned, value: UnsafeCell::new(value) }
    }

    fn try_begin_read(&self) -> bool {
        let increment = |users: u32| (users < WRITER - 1).then(|| users + 1);
        self.users.fetch_update(Ordering::Acquire, Ordering::Relaxed, increment).is_ok()
    }

    fn try_begin_write(&self) -> bool {
        self.users.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// An ownership under which calls with a `const` receiver read the value
pub trait Readable {
    /// Whether there are writers, so that readers must be counted
    const COUNTS_READERS: bool;
}

impl Readable for Shared {
    const COUNTS_READERS: bool = false;
}

impl Readable for Immutable {
    const COUNTS_READERS: bool = false;
}

impl Readable for Exclusive {
    const COUNTS_READERS: bool = true;
}

/// Shared access of one call to a value
pub struct SharedRef<'call, H: Handle> {
    cell: &'call Cell<H::Value>,
    /// The pointer that the owner of the cell made: a reference may not be used for what lies
    /// beside the cell, as the counts of an `Arc` do
    owned: *const Cell<H::Value>,
    counted: bool,
    handle: PhantomData<H>,
}

impl<H: Handle> Deref for SharedRef<'_, H> {
    type Target = H::Value;

    fn deref(&self) -> &H::Value {
        // SAFETY: where writers exist this call is counted, so no writer is active.
        unsafe { &*self.cell.value.get() }
    }
}

impl<H: Handle> Drop for SharedRef<'_, H> {
    fn drop(&mut self) {
        if self.counted {
            self.cell.users.fetch_sub(1, Ordering::Release);
        }
    }
}

/// Exclusive access of one call to a value
pub struct ExclusiveRef<'call, H: Handle> {
    cell: &'call Cell<H::Value>,
    handle: PhantomData<H>,
}

impl<H: Handle> Deref for ExclusiveRef<'_, H> {
    type Target = H::Value;

    fn deref(&self) -> &H::Value {
        // SAFETY: this call set `WRITER`, so no other call has access.
        unsafe { &*self.cell.value.get() }
    }
}

impl<H: Handle> DerefMut for ExclusiveRef<'_, H> {
    fn deref_mut(&mut self) -> &mut H::Value {
        // SAFETY: this call set `WRITER`, so no other call has access.
        unsafe { &mut *self.cell.value.get() }
    }
}

impl<H: Handle> Drop for ExclusiveRef<'_, H> {
    fn drop(&mut self) {
        self.cell.users.store(0, Ordering::Release);
    }
}

impl<H: Handle> fmt::Debug for SharedRef<'_, H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SharedRef({})", H::NAME)
    }
}

impl<H: Handle> fmt::Debug for ExclusiveRef<'_, H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ExclusiveRef({})", H::NAME)
    }
}

/// Creates a handle of this value
pub fn create<H: Handle<Ownership: Owned>>(value: H::Value) -> *mut H {
    let cell = <H::Ownership as Owned>::into_raw(Cell::new(value));
    table::insert(cell.cast(), H::NAME).cast()
}

/// A cell, and the pointer to it that its owner made
type LiveCell<'call, Value> = (&'call Cell<Value>, *const Cell<Value>);

/// Returns the cell of a handle that is not NULL, not stale and not poisoned, by the pointer that
/// its owner made
///
/// # Safety
///
/// The pointer is NULL or a handle that lives for `'call`.
unsafe fn cell<'call, H: Handle>(
    handle: *const H,
    name: &str,
) -> Result<LiveCell<'call, H::Value>, CallError> {
    if handle.is_null() {
        return Err(CallError::new(MILEPOST_STATUS_NULL, format!("{name} is NULL")));
    }
    let Some(address) = table::find(handle.cast_mut().cast(), H::NAME) else {
        let message = format!("{name} is not a live {}", H::NAME);
        return Err(CallError::new(MILEPOST_STATUS_STALE, message));
    };
    let owned = address.cast::<Cell<H::Value>>().cast_const();
    // SAFETY: a live handle points to a cell from `create`, which the host keeps alive.
    let cell = unsafe { &*owned };
    if cell.poisoned.load(Ordering::Relaxed) {
        let message = format!("{name} was in use by a call that panicked");
        return Err(CallError::new(MILEPOST_STATUS_POISONED, message));
    }
    Ok((cell, owned))
}

fn busy(name: &str) -> CallError {
    CallError::new(MILEPOST_STATUS_BUSY, format!("{name} is in use by another call"))
}

/// Returns shared access to the value of a handle
///
/// # Errors
///
/// The pointer is NULL or stale, or the handle is poisoned or in use by a writer.
///
/// # Safety
///
/// The pointer is NULL or a handle that lives for `'call`.
pub unsafe fn shared_ref<'call, H: Handle<Ownership: Readable>>(
    handle: *const H,
    name: &str,
) -> Result<SharedRef<'call, H>, CallError> {
    // SAFETY: as the caller's.
    let (cell, owned) = unsafe { cell(handle, name)? };
    let counted = <H::Ownership as Readable>::COUNTS_READERS;
    if counted && !cell.try_begin_read() {
        return Err(busy(name));
    }
    Ok(SharedRef { cell, owned, counted, handle: PhantomData })
}

/// Returns exclusive access to the value of a handle
///
/// # Errors
///
/// The pointer is NULL or stale, or the handle is poisoned or in use.
///
/// # Safety
///
/// The pointer is NULL or a handle that lives for `'call`.
pub unsafe fn exclusive_ref<'call, H: Handle<Ownership = Exclusive>>(
    handle: *mut H,
    name: &str,
) -> Result<ExclusiveRef<'call, H>, CallError> {
    // SAFETY: as the caller's.
    let (cell, _) = unsafe { cell(handle.cast_const(), name)? };
    if !cell.try_begin_write() {
        return Err(busy(name));
    }
    Ok(ExclusiveRef { cell, handle: PhantomData })
}

/// A reference to a shared value that outlives the call and the handle
pub struct SharedValue<H: Handle<Ownership = Shared>>(Arc<Cell<H::Value>>);

impl<H: Handle<Ownership = Shared>> Deref for SharedValue<H> {
    type Target = H::Value;

    fn deref(&self) -> &H::Value {
        // SAFETY: nothing writes to a shared value.
        unsafe { &*self.0.value.get() }
    }
}

impl<H: Handle<Ownership = Shared>> fmt::Debug for SharedValue<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SharedValue({})", H::NAME)
    }
}

impl<H: Handle<Ownership = Shared>> SharedRef<'_, H> {
    /// Returns a counted reference to the value
    pub fn to_shared_value(&self) -> SharedValue<H> {
        // SAFETY: a shared cell is from `Arc::into_raw`, and the handle holds one count.
        let cell = unsafe {
            Arc::increment_strong_count(self.owned);
            Arc::from_raw(self.owned)
        };
        SharedValue(cell)
    }
}

/// Marks a handle as poisoned; NULL and a stale handle are ignored
///
/// # Safety
///
/// The pointer is NULL or a live handle.
pub unsafe fn poison<H: Handle>(handle: *const H) {
    // SAFETY: as the caller's.
    if let Ok((cell, _)) = unsafe { cell(handle, "") } {
        cell.poisoned.store(true, Ordering::Relaxed);
    }
}

/// Frees a handle; does nothing for NULL, for a stale or busy handle, and inside a callback
///
/// # Safety
///
/// The pointer is NULL or a handle that no other thread uses, and is not used again.
pub unsafe fn release<H: Handle<Ownership: Owned>>(handle: *mut H) {
    // SAFETY: as the caller's.
    if let Some(cell) = unsafe { claim(handle) } {
        // SAFETY: allocated by the same ownership, and claimed, so nothing else drops it.
        unsafe { <H::Ownership as Owned>::drop_raw(cell) };
    }
}

/// Removes a handle from the table and returns its cell, for the caller to drop
///
/// # Safety
///
/// The pointer is NULL or a handle that no other thread uses.
unsafe fn claim<H: Handle>(handle: *mut H) -> Option<*mut Cell<H::Value>> {
    if handle.is_null() || callback::is_inside() {
        return None;
    }
    let address = table::find(handle.cast(), H::NAME)?.cast::<Cell<H::Value>>();
    // SAFETY: a live handle points to a cell from `create`.
    if unsafe { &(*address).users }.load(Ordering::Acquire) != 0 {
        return None;
    }
    table::remove(handle.cast(), H::NAME).map(<*mut ()>::cast)
}
