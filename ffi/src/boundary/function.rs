//! The one way to define a function of the interface.
//!
//! `ffi_function!` writes what every function owes: outputs are zeroed, calls from inside a
//! callback refused, arguments checked, panics caught and told, handles poisoned, error objects
//! filled. The body is safe code over checked arguments and returns `Result<(), Refusal>`.

use core::any::Any;
use core::mem;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use super::callback;
use crate::status::{MILEPOST_STATUS_PANIC, MILEPOST_STATUS_REENTRANT, Refusal};

/// Where a function may be called
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "inside a callback, or not")]
pub enum Entry {
    /// Not inside a callback
    Outside,
    /// Anywhere
    Anywhere,
}

/// The extent of a call: checked arguments borrow it, so none outlives the call
#[derive(Debug)]
pub struct Scope(());

/// Runs the body of a function
///
/// # Errors
///
/// Those of the body; and it is called inside a callback and may not be, or it panicked.
pub fn enter(
    name: &str,
    entry: Entry,
    body: impl FnOnce(&Scope) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    if entry == Entry::Outside && callback::is_inside() {
        let sentence = format!("{name} is called inside a callback");
        return Err(Refusal::new(MILEPOST_STATUS_REENTRANT, sentence));
    }
    // What a panic leaves half done is behind a handle, which is poisoned.
    match catch_unwind(AssertUnwindSafe(|| body(&Scope(())))) {
        Ok(outcome) => outcome,
        Err(payload) => Err(panicked(name, payload)),
    }
}

fn panicked(name: &str, payload: Box<dyn Any + Send>) -> Refusal {
    let said = payload.downcast_ref::<&str>().copied();
    let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let sentence = format!("{name} panicked: {}", said.unwrap_or("it does not say why"));
    // Dropping it could panic again, with nobody left to catch it.
    mem::forget(payload);
    Refusal::new(MILEPOST_STATUS_PANIC, sentence)
}

/// Defines a function of the interface
///
/// ```text
/// ffi_function! {
///     /// What it does
///     fn milepost_noun_verb(noun: *const milepost_noun, #[optional] error: *mut *mut milepost_error)
///         -> milepost_status_t
///     {
///         Ok(())
///     }
/// }
/// ```
///
/// - `#[optional]` marks a pointer that may be NULL: the body gets an `Option`.
/// - `@callback` in front of all makes a function that may be called inside a callback.
/// - A function that returns nothing, and takes one handle, frees it: `fn milepost_noun_free(noun:
///   *mut milepost_noun);`.
/// - `@constant` in front of all makes one that takes nothing and returns a value, which needs no checks.
///
/// The header is written from these invocations by the crate `milepost-header`, so their form is part
/// of its input.
macro_rules! ffi_function {
    ($(#[$meta:meta])* fn $name:ident($handle:ident: *mut $type:ty);) => {
        $(#[$meta])*
        ///
        /// # Safety
        ///
        /// NULL, or a handle of this type that nobody else uses; it is not used again.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($handle: *mut $type) {
            let body = |_: &$crate::boundary::Scope| {
                // SAFETY: as this function's.
                unsafe { $crate::boundary::handle::release::<$type>($handle) }
                Ok(())
            };
            // There is nobody to tell.
            let _ = $crate::boundary::enter(
                stringify!($name),
                $crate::boundary::Entry::Outside,
                body,
            );
        }
    };
    (@constant $(#[$meta:meta])* fn $name:ident() -> $type:ty $body:block) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> $type $body
    };
    (@callback $($function:tt)*) => {
        $crate::boundary::ffi_function! { @entry Anywhere; $($function)* }
    };
    (
        @entry $entry:ident;
        $(#[$meta:meta])*
        fn $name:ident($($(#[$mark:ident])? $argument:ident: $type:ty),* $(,)?) -> milepost_status_t
        $body:block
    ) => {
        $(#[$meta])*
        ///
        /// # Safety
        ///
        /// Pointers are NULL or good for what their types say, as `docs/C-API.md` has it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::status::milepost_status_t {
            use $crate::boundary::parameter::Parameter as _;

            // SAFETY: as this function's.
            unsafe { $($argument.clear();)* }
            let entry = $crate::boundary::Entry::$entry;
            let outcome = $crate::boundary::enter(stringify!($name), entry, |scope| {
                $(
                    #[allow(unused_variables, unused_mut, reason = "`error` is filled outside")]
                    // SAFETY: as this function's; `scope` is the extent of this very call.
                    let mut $argument = unsafe {
                        $crate::boundary::ffi_function!(@hold $($mark)? $argument, scope)
                    };
                )*
                $body
            });
            match outcome {
                Ok(()) => $crate::status::MILEPOST_STATUS_OK,
                Err(refusal) => {
                    // SAFETY: as this function's.
                    unsafe { $($argument.tell(&refusal);)* }
                    refusal.status()
                }
            }
        }
    };
    (@hold optional $argument:ident, $scope:ident) => {
        match $argument.is_absent() {
            true => None,
            false => Some($argument.hold(stringify!($argument), $scope)?),
        }
    };
    (@hold $argument:ident, $scope:ident) => {
        $argument.hold(stringify!($argument), $scope)?
    };
    ($($function:tt)*) => {
        $crate::boundary::ffi_function! { @entry Outside; $($function)* }
    };
}

pub(crate) use ffi_function;
