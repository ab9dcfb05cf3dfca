//! Raw arguments, and the checked arguments that function bodies get instead.
//!
//! Every type that a function may take has one conversion here, which checks what can be checked;
//! an argument of any other type does not compile. Outputs are zeroed before anything else.

use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::{ptr, slice};

use milepost::{Error, ErrorKind};

use super::Scope;
use super::callback::SinkState;
use super::handle::{self, Exclusive, ExclusiveRef, Handle, Owned, Readable, SharedRef};
use crate::error::milepost_error;
use crate::sink::milepost_sink;
use crate::status::{
    CallError, MILEPOST_STATUS_LENGTH, MILEPOST_STATUS_NULL, MILEPOST_STATUS_PANIC,
};
use crate::storage::{StorageFactory, milepost_create_fn, milepost_storage};
use crate::value::milepost_bytes;

/// A type of argument
pub trait Parameter: Copy {
    /// What the function body gets
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

fn null(name: &'static str) -> CallError {
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
        if H::NAME == milepost_error::NAME && !self.is_null() {
            let error = handle::create::<milepost_error>(error.into());
            // SAFETY: not NULL, and `H` is `milepost_error`, the one handle of this name.
            unsafe { self.cast::<*mut milepost_error>().write_unaligned(error) }
        }
    }
}

/// Output for a plain value
#[derive(Debug)]
pub struct Output<'call, T>(*mut T, PhantomData<&'call mut T>);

impl<T: Copy> Output<'_, T> {
    /// Writes the value
    pub fn write(self, value: T) {
        // SAFETY: not NULL, so by convention valid for a `T` until the call ends.
        unsafe { self.0.write_unaligned(value) }
    }
}

/// Plain outputs: types for which all bytes zero are a valid value
macro_rules! plain_outputs {
    ($($plain:ty)*) => {$(
        impl Parameter for *mut $plain {
            type Checked<'call> = Output<'call, $plain>;

            unsafe fn clear(self) {
                if !self.is_null() {
                    // SAFETY: not NULL, so by convention valid for the bytes of a value.
                    unsafe { self.cast::<u8>().write_bytes(0, size_of::<$plain>()) }
                }
            }

            unsafe fn check<'call>(
                self,
                name: &'static str,
                _: &'call Scope,
            ) -> Result<Output<'call, $plain>, CallError> {
                if self.is_null() { Err(null(name)) } else { Ok(Output(self, PhantomData)) }
            }

            fn is_absent(self) -> bool {
                self.is_null()
            }
        }
    )*};
}

plain_outputs! {
    i32 u64 usize milepost_bytes
    *const milepost_bytes *const crate::storage::milepost_change
    crate::value::milepost_hash crate::value::milepost_hash_text
    crate::engine::milepost_chain_status crate::block_import::milepost_block_point
    crate::block_import::milepost_import_summary_view
    crate::response::milepost_transaction_status crate::response::milepost_outcome
    crate::response::milepost_rpc_error
    crate::error::milepost_error_view crate::transaction::milepost_transaction_view
}

/// Start of an array whose length is the next parameter
pub struct ArrayStart<'call, T>(*const T, &'static str, PhantomData<&'call [T]>);

impl<T> fmt::Debug for ArrayStart<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ArrayStart({})", self.1)
    }
}

impl<'call, T> ArrayStart<'call, T> {
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

macro_rules! arrays {
    ($($item:ty)*) => {$(
        impl Parameter for *const $item {
            type Checked<'call> = ArrayStart<'call, $item>;

            unsafe fn check<'call>(
                self,
                name: &'static str,
                _: &'call Scope,
            ) -> Result<ArrayStart<'call, $item>, CallError> {
                Ok(ArrayStart(self, name, PhantomData))
            }
        }
    )*};
}

arrays! { u8 crate::storage::milepost_row }

macro_rules! plain_inputs {
    ($($plain:ty)*) => {$(
        impl Parameter for *const $plain {
            type Checked<'call> = $plain;

            unsafe fn check(self, name: &'static str, _: &Scope) -> Result<$plain, CallError> {
                if self.is_null() {
                    return Err(null(name));
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

plain_inputs! { crate::value::milepost_hash }

/// The functions of a host's storage
impl Parameter for *const milepost_storage {
    type Checked<'call> = milepost_storage;

    unsafe fn check(self, name: &'static str, _: &Scope) -> Result<milepost_storage, CallError> {
        if self.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL, so by convention valid for its first member, its size.
        let size = unsafe { self.cast::<usize>().read_unaligned() };
        if size != size_of::<milepost_storage>() {
            let expected = size_of::<milepost_storage>();
            let message = format!("{name}.size is {size}, expected {expected}");
            return Err(CallError::new(MILEPOST_STATUS_LENGTH, message));
        }
        // SAFETY: it has the size of the structure.
        Ok(unsafe { self.read_unaligned() })
    }
}

/// A function of the host that creates storages
impl Parameter for milepost_create_fn {
    type Checked<'call> = StorageFactory;

    unsafe fn check(self, name: &'static str, _: &Scope) -> Result<StorageFactory, CallError> {
        self.map(StorageFactory).ok_or_else(|| null(name))
    }

    fn is_absent(self) -> bool {
        self.is_none()
    }
}

/// A context of the host, which is only passed on
impl Parameter for *mut c_void {
    type Checked<'call> = Self;

    unsafe fn check(self, _: &'static str, _: &Scope) -> Result<Self, CallError> {
        Ok(self)
    }
}

/// Address of the sink that a callback passed, never dereferenced
#[derive(Debug)]
pub struct Sink(*const SinkState);

impl Sink {
    /// The address, to compare with that of the open sink
    pub(crate) const fn address(&self) -> *const SinkState {
        self.0
    }
}

impl Parameter for *mut milepost_sink {
    type Checked<'call> = Sink;

    unsafe fn check(self, name: &'static str, _: &Scope) -> Result<Sink, CallError> {
        if self.is_null() { Err(null(name)) } else { Ok(Sink(self.cast_const().cast())) }
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

/// Copies bytes that a structure of the host points to
///
/// # Errors
///
/// NULL with a length, or a length that exceeds the address space.
pub(crate) fn copy_bytes(bytes: &milepost_bytes, name: &'static str) -> Result<Vec<u8>, CallError> {
    // The conventions are the same for these as for a pointer and a length that are passed.
    ArrayStart(bytes.data, name, PhantomData).items(bytes.len).map(<[u8]>::to_vec)
}
