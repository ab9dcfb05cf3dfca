//! Handles: what a pointer in C stands for, who owns it, and what may be done with it.
//!
//! The ownership of a handle is part of its type, so the compiler refuses to free what is
//! borrowed, to own what is shared, and to change what only `const` functions may see:
//!
//! ```compile_fail,E0277
//! # use milepost_ffi::{boundary::handle, sink::milepost_sink};
//! // A sink is the library's, and lent to a callback: nobody frees it.
//! unsafe { handle::release::<milepost_sink>(core::ptr::null_mut()) }
//! ```
//!
//! ```compile_fail,E0271
//! # use milepost_ffi::{boundary::handle, engine::milepost_engine};
//! // An engine is shared with its desks: nobody takes it out of its box.
//! unsafe { handle::take::<milepost_engine>(core::ptr::null_mut()); }
//! ```
//!
//! ```compile_fail,E0271
//! # use milepost_ffi::{answer::milepost_answer, boundary::handle};
//! // An answer is read by any number of threads: nobody changes it.
//! unsafe { let _ = handle::exclusive::<milepost_answer>(core::ptr::null_mut(), "answer"); }
//! ```
//!
//! What is allowed compiles:
//!
//! ```
//! # use milepost_ffi::{boundary::handle, engine::milepost_engine, settings::milepost_settings};
//! // SAFETY: NULL is no handle, and is told.
//! unsafe {
//!     handle::release::<milepost_engine>(core::ptr::null_mut());
//!     assert!(handle::take::<milepost_settings>(core::ptr::null_mut()).is_none());
//!     assert!(handle::exclusive::<milepost_settings>(core::ptr::null_mut(), "settings").is_err());
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
    MILEPOST_STATUS_BUSY, MILEPOST_STATUS_NULL, MILEPOST_STATUS_POISONED, MILEPOST_STATUS_STALE,
    Refusal,
};

/// A type that C knows only by its pointer
pub trait Handle: Sized + 'static {
    /// What the pointer stands for
    type Value: Send + Sync + 'static;
    /// Who owns it: one of [`Shared`], [`Fixed`], [`Exclusive`], [`Lent`]
    type Ownership;
    /// Its name in C
    const NAME: &'static str;
}

/// Counted: several handles may keep one value; `const` functions only
#[derive(Debug)]
#[non_exhaustive]
pub enum Shared {}
/// In a box, never changed after it was made; `const` functions only
#[derive(Debug)]
#[non_exhaustive]
pub enum Fixed {}
/// In a box; functions that are not `const` have it for themselves
#[derive(Debug)]
#[non_exhaustive]
pub enum Exclusive {}
/// The library's, lent to a callback; never freed by the host
#[derive(Debug)]
#[non_exhaustive]
pub enum Lent {}

/// An ownership under which a handle is made and freed
pub trait Owned {
    /// Puts a value where its handle points to
    fn place<Value>(cell: Cell<Value>) -> *mut Cell<Value>;

    /// Gives up what a handle points to
    ///
    /// # Safety
    ///
    /// The pointer is from [`place`](Self::place) of the same ownership, and is not used again.
    unsafe fn give_up<Value>(cell: *mut Cell<Value>);
}

/// An ownership under which the handle is the only one
pub trait Boxed: Owned {}

impl Owned for Shared {
    fn place<Value>(cell: Cell<Value>) -> *mut Cell<Value> {
        Arc::into_raw(Arc::new(cell)).cast_mut()
    }

    unsafe fn give_up<Value>(cell: *mut Cell<Value>) {
        // SAFETY: from `Arc::into_raw`, and not used again, says the caller.
        drop(unsafe { Arc::from_raw(cell) });
    }
}

macro_rules! boxed {
    ($($ownership:ident)*) => {$(
        impl Owned for $ownership {
            fn place<Value>(cell: Cell<Value>) -> *mut Cell<Value> {
                Box::into_raw(Box::new(cell))
            }

            unsafe fn give_up<Value>(cell: *mut Cell<Value>) {
                // SAFETY: from `Box::into_raw`, and not used again, says the caller.
                drop(unsafe { Box::from_raw(cell) });
            }
        }

        impl Boxed for $ownership {}
    )*};
}

boxed!(Fixed Exclusive);

/// A value with what the boundary must know of it
pub struct Cell<Value> {
    /// `WRITER` while one call has the value for itself, else the number of calls that read it;
    /// unused where there are no writers
    users: AtomicU32,
    poisoned: AtomicBool,
    value: UnsafeCell<Value>,
}

/// The mark of a call that has the value for itself
const WRITER: u32 = u32::MAX;

// SAFETY: the value is reached mutably only by the one call that set `WRITER`, and shared only by
// calls that are counted, or where nobody writes at all.
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

    fn begin_reading(&self) -> bool {
        let one_more = |users: u32| (users < WRITER - 1).then(|| users + 1);
        self.users.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more).is_ok()
    }

    fn begin_writing(&self) -> bool {
        self.users.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// How calls with a `const` receiver reach the value
pub trait Readable {
    /// Whether there are writers, so that readers must be counted
    const COUNTED: bool;
}

impl Readable for Shared {
    const COUNTED: bool = false;
}

impl Readable for Fixed {
    const COUNTED: bool = false;
}

impl Readable for Exclusive {
    const COUNTED: bool = true;
}

/// A value that a call reads
pub struct Reading<'call, H: Handle> {
    cell: &'call Cell<H::Value>,
    counted: bool,
    handle: PhantomData<H>,
}

impl<H: Handle> Deref for Reading<'_, H> {
    type Target = H::Value;

    fn deref(&self) -> &H::Value {
        // SAFETY: where there are writers this call is counted, so none is at work.
        unsafe { &*self.cell.value.get() }
    }
}

impl<H: Handle> Drop for Reading<'_, H> {
    fn drop(&mut self) {
        if self.counted {
            self.cell.users.fetch_sub(1, Ordering::Release);
        }
    }
}

/// A value that a call has for itself
pub struct Writing<'call, H: Handle> {
    cell: &'call Cell<H::Value>,
    handle: PhantomData<H>,
}

impl<H: Handle> Deref for Writing<'_, H> {
    type Target = H::Value;

    fn deref(&self) -> &H::Value {
        // SAFETY: this call set `WRITER`, so no other one reaches the value.
        unsafe { &*self.cell.value.get() }
    }
}

impl<H: Handle> DerefMut for Writing<'_, H> {
    fn deref_mut(&mut self) -> &mut H::Value {
        // SAFETY: this call set `WRITER`, so no other one reaches the value.
        unsafe { &mut *self.cell.value.get() }
    }
}

impl<H: Handle> Drop for Writing<'_, H> {
    fn drop(&mut self) {
        self.cell.users.store(0, Ordering::Release);
    }
}

impl<H: Handle> fmt::Debug for Reading<'_, H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Reading({})", H::NAME)
    }
}

impl<H: Handle> fmt::Debug for Writing<'_, H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Writing({})", H::NAME)
    }
}

/// A new handle of this value
pub fn create<H: Handle<Ownership: Owned>>(value: H::Value) -> *mut H {
    let cell = <H::Ownership as Owned>::place(Cell::new(value));
    table::insert(cell.cast(), H::NAME).cast()
}

/// The cell of a handle that is there, alive and sound
///
/// # Safety
///
/// The pointer is NULL or a handle that lives for `'call`.
unsafe fn cell<'call, H: Handle>(
    handle: *const H,
    name: &str,
) -> Result<&'call Cell<H::Value>, Refusal> {
    if handle.is_null() {
        return Err(Refusal::new(MILEPOST_STATUS_NULL, format!("{name} is NULL")));
    }
    let Some(address) = table::find(handle.cast_mut().cast(), H::NAME) else {
        let sentence = format!("{name} is no living {}", H::NAME);
        return Err(Refusal::new(MILEPOST_STATUS_STALE, sentence));
    };
    // SAFETY: a living handle points to the cell that `create` placed; C keeps it alive.
    let cell = unsafe { &*address.cast::<Cell<H::Value>>() };
    if cell.poisoned.load(Ordering::Relaxed) {
        let sentence = format!("{name} was in use when the library failed");
        return Err(Refusal::new(MILEPOST_STATUS_POISONED, sentence));
    }
    Ok(cell)
}

fn busy(name: &str) -> Refusal {
    Refusal::new(MILEPOST_STATUS_BUSY, format!("{name} is in use by another call"))
}

/// The value of a handle, to be read
///
/// # Errors
///
/// The pointer is NULL or stale, or the handle is poisoned or in use by a writer.
///
/// # Safety
///
/// The pointer is NULL or a handle that lives for `'call`.
pub unsafe fn reading<'call, H: Handle<Ownership: Readable>>(
    handle: *const H,
    name: &str,
) -> Result<Reading<'call, H>, Refusal> {
    // SAFETY: as the caller's.
    let cell = unsafe { cell(handle, name)? };
    let counted = <H::Ownership as Readable>::COUNTED;
    if counted && !cell.begin_reading() {
        return Err(busy(name));
    }
    Ok(Reading { cell, counted, handle: PhantomData })
}

/// The value of a handle, for one call alone
///
/// # Errors
///
/// The pointer is NULL or stale, or the handle is poisoned or in use.
///
/// # Safety
///
/// The pointer is NULL or a handle that lives for `'call`.
pub unsafe fn exclusive<'call, H: Handle<Ownership = Exclusive>>(
    handle: *mut H,
    name: &str,
) -> Result<Writing<'call, H>, Refusal> {
    // SAFETY: as the caller's.
    let cell = unsafe { cell(handle.cast_const(), name)? };
    if !cell.begin_writing() {
        return Err(busy(name));
    }
    Ok(Writing { cell, handle: PhantomData })
}

/// A value that several handles keep
pub struct Kept<H: Handle<Ownership = Shared>>(Arc<Cell<H::Value>>);

impl<H: Handle<Ownership = Shared>> Deref for Kept<H> {
    type Target = H::Value;

    fn deref(&self) -> &H::Value {
        // SAFETY: nobody writes to what is shared.
        unsafe { &*self.0.value.get() }
    }
}

impl<H: Handle<Ownership = Shared>> fmt::Debug for Kept<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Kept({})", H::NAME)
    }
}

impl<H: Handle<Ownership = Shared>> Reading<'_, H> {
    /// Keeps the value beyond the call
    pub fn keep(&self) -> Kept<H> {
        let cell: *const Cell<H::Value> = self.cell;
        // SAFETY: what is shared was placed by `Arc::into_raw`, whose count the handle holds.
        let cell = unsafe {
            Arc::increment_strong_count(cell);
            Arc::from_raw(cell)
        };
        Kept(cell)
    }
}

/// Marks a handle as poisoned, if it is one
///
/// # Safety
///
/// The pointer is NULL or a living handle.
pub unsafe fn poison<H: Handle>(handle: *const H) {
    // SAFETY: as the caller's.
    if let Ok(cell) = unsafe { cell(handle, "") } {
        cell.poisoned.store(true, Ordering::Relaxed);
    }
}

/// Frees a handle; NULL, one that is stale or busy, and any inside a callback is left alone
///
/// # Safety
///
/// The pointer is NULL or a handle that no other thread uses, and is not used again.
pub unsafe fn release<H: Handle<Ownership: Owned>>(handle: *mut H) {
    // SAFETY: as the caller's.
    if let Some(cell) = unsafe { claim(handle) } {
        // SAFETY: placed by the same ownership, and claimed, so no one else gives it up.
        unsafe { <H::Ownership as Owned>::give_up(cell) };
    }
}

/// Takes the value out of a handle and frees it; `None` where [`release`] would leave it alone
///
/// # Safety
///
/// The pointer is NULL or a handle that no other thread uses, and is not used again.
pub unsafe fn take<H: Handle<Ownership = Exclusive>>(handle: *mut H) -> Option<H::Value> {
    // SAFETY: as the caller's.
    let cell = unsafe { claim(handle)? };
    // SAFETY: what is exclusive was placed by `Box::into_raw`, and is claimed.
    let cell = unsafe { Box::from_raw(cell) };
    Some(cell.value.into_inner())
}

/// The cell of a handle that is to be given up
///
/// # Safety
///
/// The pointer is NULL or a handle that no other thread uses.
unsafe fn claim<H: Handle>(handle: *mut H) -> Option<*mut Cell<H::Value>> {
    if handle.is_null() || callback::is_inside() {
        return None;
    }
    let address = table::find(handle.cast(), H::NAME)?.cast::<Cell<H::Value>>();
    // SAFETY: a living handle points to the cell that `create` placed.
    if unsafe { &(*address).users }.load(Ordering::Acquire) != 0 {
        return None;
    }
    table::remove(handle.cast(), H::NAME).map(<*mut ()>::cast)
}
