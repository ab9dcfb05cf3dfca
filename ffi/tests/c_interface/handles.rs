//! The handles of a program, and the checks of a call.
//!
//! A handle is in the list of its kind from the call that made it until it is freed; at the end
//! all are freed, so that a leak is one of the library. Every status is checked, and every error is
//! read.

use core::{mem, ptr, slice};

use milepost_ffi::error::*;
use milepost_ffi::status::*;
use milepost_ffi::value::milepost_bytes;

use super::input::Input;

/// Handles of a kind at most
const MAX_HANDLES: usize = 8;

/// The handles of a kind
pub(crate) struct Handles<T> {
    pub(crate) list: Vec<*mut T>,
    free: unsafe extern "C" fn(*mut T),
}

impl<T> Handles<T> {
    pub(crate) const fn new(free: unsafe extern "C" fn(*mut T)) -> Self {
        Self { list: Vec::new(), free }
    }

    /// Takes a handle in, if there is one
    pub(crate) fn add(&mut self, handle: *mut T) {
        if handle.is_null() {
            return;
        }
        self.list.push(handle);
        if self.list.len() > MAX_HANDLES {
            self.free_one(0);
        }
    }

    /// A handle, or NULL if there is none, and rarely otherwise
    pub(crate) fn pick(&self, input: &mut Input<'_>) -> *mut T {
        if self.list.is_empty() || input.is_rare() {
            return ptr::null_mut();
        }
        self.list[input.below(self.list.len())]
    }

    pub(crate) fn free_any(&mut self, input: &mut Input<'_>) {
        if !self.list.is_empty() {
            self.free_one(input.below(self.list.len()));
        }
    }

    fn free_one(&mut self, index: usize) {
        let handle = self.list.remove(index);
        // SAFETY: the handle is of the library, and left the list, so it is freed once.
        unsafe { (self.free)(handle) };
    }
}

impl<T> Drop for Handles<T> {
    fn drop(&mut self) {
        while !self.list.is_empty() {
            self.free_one(0);
        }
        // SAFETY: freeing NULL does nothing.
        unsafe { (self.free)(ptr::null_mut()) };
    }
}

/// Checks a status and the error of a call; returns whether it is OK
pub(crate) fn check(status: milepost_status_t, error: *mut milepost_error) -> bool {
    assert!(
        matches!(status, 0..=10 | MILEPOST_STATUS_NULL..=MILEPOST_STATUS_INDEX),
        "status {status}"
    );
    if error.is_null() {
        return status == MILEPOST_STATUS_OK;
    }
    let mut view: milepost_error_view = sized();
    // SAFETY: the error is of the library, and is freed once; the view is valid.
    unsafe {
        assert_eq!(milepost_error_read(error, &mut view), MILEPOST_STATUS_OK);
        assert_eq!(view.status, status);
        text(view.message);
        milepost_error_free(error);
    }
    assert_ne!(status, MILEPOST_STATUS_OK, "an error of a call that succeeded");
    false
}

/// An output structure, with its size first and zeros else
pub(crate) fn sized<T>() -> T {
    // SAFETY: the structures of the interface are numbers, addresses and options of functions, all
    // of which may be zero, and start with their size.
    unsafe {
        let mut value: T = mem::zeroed();
        (&raw mut value).cast::<usize>().write(size_of::<T>());
        value
    }
}

/// The text that output bytes are
///
/// # Safety
///
/// They are of a handle that has not been freed.
pub(crate) unsafe fn text<'handle>(bytes: milepost_bytes) -> &'handle str {
    match bytes.len {
        0 => "",
        // SAFETY: by the caller.
        length => unsafe {
            core::str::from_utf8(slice::from_raw_parts(bytes.data, length)).expect("UTF-8")
        },
    }
}

/// Calls a function with the program's choice of an error or NULL, and checks its status
macro_rules! call {
    ($program:ident, $function:ident($($argument:expr),* $(,)?)) => {{
        let mut error = ptr::null_mut();
        let wanted = if $program.input.is_rare() { ptr::null_mut() } else { &raw mut error };
        // SAFETY: pointers are NULL or valid, and handles are not freed: the lists have no others.
        let status = unsafe { $function($($argument,)* wanted) };
        check(status, error)
    }};
}

pub(crate) use call;
