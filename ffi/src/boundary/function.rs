//! Definition of interface functions.
//!
//! `ffi_function!` generates what every function has to do: zero the outputs, reject calls from
//! inside a callback, check the arguments, catch panics, poison handles, create error objects. The
//! body is safe code over checked arguments and returns `Result<(), CallError>`.

/// Defines a function of the interface
///
/// ```text
/// ffi_function! {
///     /// What it does
///     fn milepost_noun_verb(
///         noun: *const milepost_noun,
///         #[optional] error: *mut *mut milepost_error,
///     ) -> milepost_status_t {
///         Ok(())
///     }
/// }
/// ```
///
/// - `#[optional]` marks a pointer that may be NULL: the body gets an `Option`.
/// - A leading `@callback` defines a function that may be called inside a callback.
/// - A function without a return type and with one handle as its parameter frees that handle:
///   `fn milepost_noun_free(noun: *mut milepost_noun);`.
/// - A leading `@constant` defines a function of at most one number that returns a value and needs
///   no checks.
///
/// `xtask/generate` makes the header of these invocations, so their form is its input.
macro_rules! ffi_function {
    ($(#[$meta:meta])* fn $name:ident($handle:ident: *mut $type:ty);) => {
        $(#[$meta])*
        ///
        /// # Safety
        ///
        /// NULL, or a handle of this type that no other call uses and that is not used again.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($handle: *mut $type) {
            let body = |_: &$crate::boundary::Scope| {
                // SAFETY: as this function's.
                unsafe { $crate::boundary::handle::release::<$type>($handle) }
                Ok(())
            };
            // The function has no way to report an error.
            let _ = $crate::boundary::enter(
                stringify!($name),
                $crate::boundary::Entry::Outside,
                body,
            );
        }
    };
    (
        @constant
        $(#[$meta:meta])*
        fn $name:ident($($argument:ident: $argument_type:ty)?) -> $type:ty $body:block
    ) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $argument_type)?) -> $type $body
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
        /// Pointers are NULL or valid for their types, as `docs/C-API.md` requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::status::milepost_status_t {
            use $crate::boundary::parameter::Parameter as _;

            // SAFETY: as this function's.
            unsafe { $($argument.clear();)* }
            let entry = $crate::boundary::Entry::$entry;
            let result = $crate::boundary::enter(stringify!($name), entry, |scope| {
                $(
                    #[allow(unused_variables, unused_mut, reason = "`error` is written outside")]
                    // SAFETY: as this function's; `scope` is the lifetime of this call.
                    let mut $argument = unsafe {
                        $crate::boundary::ffi_function!(@check $($mark)? $argument, scope)
                    };
                )*
                $body
            });
            match result {
                Ok(()) => $crate::status::MILEPOST_STATUS_OK,
                Err(call_error) => {
                    // Inside a callback the host could not free an error object.
                    if call_error.status() != $crate::status::MILEPOST_STATUS_REENTRANT {
                        // SAFETY: as this function's.
                        unsafe { $($argument.report(&call_error);)* }
                    }
                    call_error.status()
                }
            }
        }
    };
    (@check optional $argument:ident, $scope:ident) => {
        match $argument.is_absent() {
            true => None,
            false => Some($argument.check(stringify!($argument), $scope)?),
        }
    };
    (@check $argument:ident, $scope:ident) => {
        $argument.check(stringify!($argument), $scope)?
    };
    ($($function:tt)*) => {
        $crate::boundary::ffi_function! { @entry Outside; $($function)* }
    };
}

pub(crate) use ffi_function;
