//! Raw arguments, and the checked arguments that function bodies get instead.
//!
//! Every type that a function may take has one conversion, which checks what can be checked: here,
//! or by a macro of this file beside the type. An argument of any other type does not compile.
//! Outputs are zeroed before anything else.

use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::{ptr, slice};

use milepost::{Error, ErrorKind};

use super::call::Scope;
use super::handle::{self, Exclusive, ExclusiveRef, Handle, Owned, Readable, SharedRef};
use crate::status::{
    CallError, MILEPOST_STATUS_LENGTH, MILEPOST_STATUS_NULL, MILEPOST_STATUS_PANIC,
};

/// A type of argument
pub trait Parameter: Copy {
    /// The value that the function body gets
    type Checked<'call>;

    /// Zeroes an output
    ///
    /// # Safety
    ///
    /// The conventions of `docs/C-API.md`: NULL, or valid for what the type says.
    unsafe fn clear(self) {}

    /// Checks the argument; `name` is its name in C
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    ///
    /// # Safety
    ///
    /// As [`clear`](Self::clear), for all of `'call`.
    unsafe fn check<'call>(
        self,
        name: &'static str,
        scope: &'call Scope,
    ) -> Result<Self::Checked<'call>, CallError>;

    /// Whether it is a NULL pointer
    fn is_absent(self) -> bool {
        false
    }

    /// Reacts to the failure of the call: writes an error object, or poisons a handle after a panic
    ///
    /// # Safety
    ///
    /// As [`clear`](Self::clear).
    unsafe fn report(self, _error: &CallError) {}
}

pub(crate) fn null(name: &'static str) -> CallError {
    CallError::new(MILEPOST_STATUS_NULL, format!("{name} is NULL"))
}

/// Numbers are passed on; the function body checks them
macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Parameter for $number {
            type Checked<'call> = Self;

            unsafe fn check(self, _: &'static str, _: &Scope) -> Result<Self, CallError> {
                Ok(self)
            }
        }
    )*};
}

numbers!(i32 u32 u64 usize);

impl<H: Handle<Ownership: Readable>> Parameter for *const H {
    type Checked<'call> = SharedRef<'call, H>;

    unsafe fn check<'call>(
        self,
        name: &'static str,
        _: &'call Scope,
    ) -> Result<SharedRef<'call, H>, CallError> {
        // SAFETY: NULL, or by convention a handle that lives as long as the call.
        unsafe { handle::shared_ref(self, name) }
    }

    fn is_absent(self) -> bool {
        self.is_null()
    }

    unsafe fn report(self, error: &CallError) {
        if error.status() == MILEPOST_STATUS_PANIC {
            // SAFETY: as in `check`.
            unsafe { handle::poison(self) }
        }
    }
}

impl<H: Handle<Ownership = Exclusive>> Parameter for *mut H {
    type Checked<'call> = ExclusiveRef<'call, H>;

    unsafe fn check<'call>(
        self,
        name: &'static str,
        _: &'call Scope,
    ) -> Result<ExclusiveRef<'call, H>, CallError> {
        // SAFETY: NULL, or by convention a handle that lives as long as the call.
        unsafe { handle::exclusive_ref(self, name) }
    }

    fn is_absent(self) -> bool {
        self.is_null()
    }

    unsafe fn report(self, error: &CallError) {
        if error.status() == MILEPOST_STATUS_PANIC {
            // SAFETY: as in `check`.
            unsafe { handle::poison(self.cast_const()) }
        }
    }
}

/// Output for a new handle
#[derive(Debug)]
pub struct HandleOutput<'call, H>(*mut *mut H, PhantomData<&'call mut *mut H>);

impl<H: Handle<Ownership: Owned>> HandleOutput<'_, H> {
    /// Creates a handle of this value and writes it
    pub fn write(self, value: H::Value) {
        // SAFETY: not NULL, so by convention valid for a pointer until the call ends.
        unsafe { self.0.write_unaligned(handle::create(value)) }
    }
}

impl<H: Handle<Ownership: Owned>> Parameter for *mut *mut H {
    type Checked<'call> = HandleOutput<'call, H>;

    unsafe fn clear(self) {
        if !self.is_null() {
            // SAFETY: not NULL, so by convention valid for a pointer.
            unsafe { self.write_unaligned(ptr::null_mut()) }
        }
    }

    unsafe fn check<'call>(
        self,
        name: &'static str,
        _: &'call Scope,
    ) -> Result<HandleOutput<'call, H>, CallError> {
        if self.is_null() { Err(null(name)) } else { Ok(HandleOutput(self, PhantomData)) }
    }

    fn is_absent(self) -> bool {
        self.is_null()
    }

    unsafe fn report(self, error: &CallError) {
        // A failed call writes an error object only, to the one output of that type.
        if !self.is_null()
            && let Some(value) = H::from_call_error(error)
        {
            // SAFETY: not NULL, so by convention valid for a pointer until the call ends.
            unsafe { self.write_unaligned(handle::create(value)) }
        }
    }
}

/// Output for a plain value
#[derive(Debug)]
pub struct Output<'call, T>(*mut T, PhantomData<&'call mut T>);

impl<T: Copy> Output<'_, T> {
    /// Output at this pointer, which must not be NULL; `name` is its name in C
    ///
    /// # Errors
    ///
    /// The pointer is NULL.
    ///
    /// # Safety
    ///
    /// NULL, or valid for a `T` as long as the output.
    pub(crate) unsafe fn new(pointer: *mut T, name: &'static str) -> Result<Self, CallError> {
        if pointer.is_null() { Err(null(name)) } else { Ok(Self(pointer, PhantomData)) }
    }

    /// Writes the value
    pub fn write(self, value: T) {
        // SAFETY: not NULL, so by convention valid for a `T` until the call ends.
        unsafe { self.0.write_unaligned(value) }
    }
}

/// Plain outputs: types for which all bytes zero are a valid value
macro_rules! plain_outputs {
    ($($plain:ty)*) => {$(
        impl $crate::boundary::parameter::Parameter for *mut $plain {
            type Checked<'call> = $crate::boundary::parameter::Output<'call, $plain>;

            unsafe fn clear(self) {
                if !self.is_null() {
                    // SAFETY: not NULL, so by convention valid for the bytes of a value.
                    unsafe { self.cast::<u8>().write_bytes(0, size_of::<$plain>()) }
                }
            }

            unsafe fn check<'call>(
                self,
                name: &'static str,
                _: &'call $crate::boundary::Scope,
            ) -> Result<Self::Checked<'call>, $crate::status::CallError> {
                // SAFETY: NULL, or by convention valid for a value until the call ends.
                unsafe { $crate::boundary::parameter::Output::new(self, name) }
            }

            fn is_absent(self) -> bool {
                self.is_null()
            }
        }
    )*};
}

pub(crate) use plain_outputs;

plain_outputs! { i32 u64 usize }

/// Output for a structure that may grow: the host sets its first member to the size that it knows
#[derive(Debug)]
pub struct SizedOutput<'call, T> {
    pointer: *mut T,
    /// Size of the structure in the host's program, at most [`MAX_STRUCTURE_SIZE`]
    size: usize,
    call: PhantomData<&'call mut T>,
}

/// Maximum size of a structure of the host: a size that was not set is most likely larger
const MAX_STRUCTURE_SIZE: usize = 4_096;

impl<T: Copy> SizedOutput<'_, T> {
    /// Output at this pointer; `name` is its name in C
    ///
    /// # Errors
    ///
    /// The pointer is NULL, or the size cannot be that of the structure.
    ///
    /// # Safety
    ///
    /// NULL, or valid for the size that its first member states, as long as the output.
    pub(crate) unsafe fn new(pointer: *mut T, name: &'static str) -> Result<Self, CallError> {
        if pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL, so by convention valid for its first member, its size.
        let size = unsafe { stated_size(pointer) };
        if !is_structure_size::<T>(size) {
            let expected = size_of::<T>();
            let message = format!("{name}.size is {size}, expected {expected}");
            return Err(CallError::new(MILEPOST_STATUS_LENGTH, message));
        }
        Ok(Self { pointer, size, call: PhantomData })
    }

    /// Writes the members that the host knows, except the size
    pub fn write(self, value: T) {
        let (first, end) = (size_of::<usize>(), self.size.min(size_of::<T>()));
        // SAFETY: both are valid for the bytes up to `end`, which is beyond the first member, and
        // `value` is a copy of this call, so they do not overlap.
        unsafe {
            let from = (&raw const value).cast::<u8>().add(first);
            self.pointer.cast::<u8>().add(first).copy_from_nonoverlapping(from, end - first);
        }
    }

    /// Zeroes the members, except the size and also those that this library does not know
    pub(crate) fn clear(self) {
        let first = size_of::<usize>();
        // SAFETY: by convention valid for `size` bytes, which are more than the first member.
        unsafe { self.pointer.cast::<u8>().add(first).write_bytes(0, self.size - first) }
    }
}

/// Whether some release may have this structure with this size
const fn is_structure_size<T>(size: usize) -> bool {
    size > size_of::<usize>() && size <= MAX_STRUCTURE_SIZE && size.is_multiple_of(align_of::<T>())
}

/// Returns the first member of a structure: its size in the host's program
///
/// # Safety
///
/// Valid for the first member, which is a `size_t`.
unsafe fn stated_size<T>(pointer: *const T) -> usize {
    // SAFETY: as the caller's.
    unsafe { pointer.cast::<usize>().read_unaligned() }
}

/// Returns a structure of the host that may grow: its first member is the size that the host knows,
/// and the members beyond it are those of `empty`
///
/// Every release has the member at the offset `last`. One that is not known here must be 0.
///
/// # Errors
///
/// The pointer is NULL, no release has a structure of this size, or an unknown member is not 0.
///
/// # Safety
///
/// NULL, or valid for the size that its first member states; any bytes that the host wrote are
/// values of the members.
pub(crate) unsafe fn sized_input<T: Copy>(
    pointer: *const T,
    name: &'static str,
    empty: T,
    last: usize,
) -> Result<T, CallError> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL, so by convention valid for its first member, its size.
    let size = unsafe { stated_size(pointer) };
    let (known, mut value) = (size_of::<T>(), empty);
    let is_valid = is_structure_size::<T>(size);
    let unknown = if is_valid { size.saturating_sub(known) } else { 0 };
    // SAFETY: by convention valid for `size` bytes, of which these follow those that are known.
    let unknown =
        unsafe { slice::from_raw_parts(pointer.cast::<u8>().wrapping_add(known), unknown) };
    if !is_valid || size <= last || unknown.iter().any(|byte| *byte != 0) {
        let message = format!("{name}.size is {size}, expected {known}");
        return Err(CallError::new(MILEPOST_STATUS_LENGTH, message));
    }
    // SAFETY: both are valid for the smaller one of their sizes, and do not overlap; any bytes of
    // the host are the members that it wrote.
    unsafe {
        let to = (&raw mut value).cast::<u8>();
        to.copy_from_nonoverlapping(pointer.cast(), size.min(known));
    }
    Ok(value)
}

/// Outputs that may grow: structures of C whose first member is `size`
macro_rules! sized_outputs {
    ($($plain:ty)*) => {$(
        const _: () = assert!(core::mem::offset_of!($plain, size) == 0, "the size comes first");

        impl $crate::boundary::parameter::Parameter for *mut $plain {
            type Checked<'call> = $crate::boundary::parameter::SizedOutput<'call, $plain>;

            unsafe fn clear(self) {
                // SAFETY: NULL, or by convention valid for the size that it states.
                if let Ok(output) = unsafe { $crate::boundary::parameter::SizedOutput::new(self, "") }
                {
                    output.clear();
                }
            }

            unsafe fn check<'call>(
                self,
                name: &'static str,
                _: &'call $crate::boundary::Scope,
            ) -> Result<Self::Checked<'call>, $crate::status::CallError> {
                // SAFETY: NULL, or by convention valid for the size that it states.
                unsafe { $crate::boundary::parameter::SizedOutput::new(self, name) }
            }

            fn is_absent(self) -> bool {
                self.is_null()
            }
        }
    )*};
}

pub(crate) use sized_outputs;

/// Start of an array whose length is the next parameter
pub struct ArrayStart<'call, T>(*const T, &'static str, PhantomData<&'call [T]>);

impl<T> fmt::Debug for ArrayStart<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ArrayStart({})", self.1)
    }
}

impl<'call, T> ArrayStart<'call, T> {
    /// Array at this pointer, by convention valid for the length that is passed with it; `name` is
    /// its name in C
    pub(crate) const fn new(pointer: *const T, name: &'static str) -> Self {
        Self(pointer, name, PhantomData)
    }

    /// Returns the array; with length 0 the pointer is not looked at
    ///
    /// # Errors
    ///
    /// The pointer is NULL or misaligned, or the length exceeds the address space.
    pub fn items(&self, len: usize) -> Result<&'call [T], CallError> {
        if len == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err(null(self.1));
        }
        if !self.0.is_aligned() || len > isize::MAX as usize / size_of::<T>() {
            let message = format!("{}: {len} items at {:p} are not a valid array", self.1, self.0);
            return Err(CallError::new(MILEPOST_STATUS_LENGTH, message));
        }
        // SAFETY: not NULL, aligned, short enough, and by convention valid for the length that is
        // passed with it until the call ends.
        Ok(unsafe { slice::from_raw_parts(self.0, len) })
    }
}

/// Arrays whose length is the next parameter
macro_rules! arrays {
    ($($item:ty)*) => {$(
        impl $crate::boundary::parameter::Parameter for *const $item {
            type Checked<'call> = $crate::boundary::parameter::ArrayStart<'call, $item>;

            unsafe fn check<'call>(
                self,
                name: &'static str,
                _: &'call $crate::boundary::Scope,
            ) -> Result<Self::Checked<'call>, $crate::status::CallError> {
                Ok($crate::boundary::parameter::ArrayStart::new(self, name))
            }
        }
    )*};
}

pub(crate) use arrays;

arrays! { u8 }

/// Plain values that are read
macro_rules! plain_inputs {
    ($($plain:ty)*) => {$(
        impl $crate::boundary::parameter::Parameter for *const $plain {
            type Checked<'call> = $plain;

            unsafe fn check(
                self,
                name: &'static str,
                _: &$crate::boundary::Scope,
            ) -> Result<$plain, $crate::status::CallError> {
                if self.is_null() {
                    return Err($crate::boundary::parameter::null(name));
                }
                // SAFETY: not NULL, so by convention valid for a value.
                Ok(unsafe { self.read_unaligned() })
            }

            fn is_absent(self) -> bool {
                self.is_null()
            }
        }
    )*};
}

pub(crate) use plain_inputs;

/// Addresses that are never dereferenced
macro_rules! addresses {
    ($($opaque:ty)*) => {$(
        impl $crate::boundary::parameter::Parameter for *mut $opaque {
            type Checked<'call> = Self;

            unsafe fn check(
                self,
                name: &'static str,
                _: &$crate::boundary::Scope,
            ) -> Result<Self, $crate::status::CallError> {
                if self.is_null() {
                    return Err($crate::boundary::parameter::null(name));
                }
                Ok(self)
            }
        }
    )*};
}

pub(crate) use addresses;

/// A context of the host, which is only passed on
impl Parameter for *mut c_void {
    type Checked<'call> = Self;

    unsafe fn check(self, _: &'static str, _: &Scope) -> Result<Self, CallError> {
        Ok(self)
    }
}

impl<'call> ArrayStart<'call, u8> {
    /// Returns the bytes; with length 0 the pointer is not looked at
    ///
    /// # Errors
    ///
    /// Those of [`items`](Self::items).
    pub fn bytes(&self, len: usize) -> Result<&'call [u8], CallError> {
        self.items(len)
    }

    /// Returns the text
    ///
    /// # Errors
    ///
    /// Those of [`items`](Self::items), or the bytes are not UTF-8.
    pub fn text(&self, len: usize) -> Result<&'call str, CallError> {
        let not_utf8 = |error: core::str::Utf8Error| {
            Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
        };
        Ok(core::str::from_utf8(self.items(len)?).map_err(not_utf8)?)
    }

    /// Returns the method that a request's URL names, `None` with length 0
    ///
    /// # Errors
    ///
    /// Those of [`text`](Self::text).
    pub fn url_method(&self, len: usize) -> Result<Option<&'call str>, CallError> {
        let text = self.text(len)?;
        Ok((!text.is_empty()).then_some(text))
    }
}
