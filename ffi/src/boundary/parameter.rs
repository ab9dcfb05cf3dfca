//! Raw arguments, and what the functions get in their place.
//!
//! Every type that a function may take has one conversion here, which checks what can be checked;
//! an argument whose type has none does not compile. Outputs are zeroed before anything else.

use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::{ptr, slice};

use milepost::{Error, ErrorKind};

use super::Scope;
use super::callback::SinkState;
use super::handle::{self, Exclusive, Handle, Owned, Readable, Reading, Writing};
use crate::error::{Detail, milepost_error};
use crate::sink::milepost_sink;
use crate::status::{MILEPOST_STATUS_LENGTH, MILEPOST_STATUS_NULL, MILEPOST_STATUS_PANIC, Refusal};
use crate::storage::{Maker, milepost_make_fn, milepost_storage};
use crate::value::milepost_bytes;

/// A type of argument
pub trait Parameter: Copy {
    /// What the function gets
    type Held<'call>;

    /// Zeroes an output
    ///
    /// # Safety
    ///
    /// As said in `docs/C-API.md`: NULL, or good for what the type says.
    unsafe fn clear(self) {}

    /// Checks the argument; `name` is what C calls it
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    ///
    /// # Safety
    ///
    /// As [`clear`](Self::clear), for all of `'call`.
    unsafe fn hold<'call>(
        self,
        name: &'static str,
        scope: &'call Scope,
    ) -> Result<Self::Held<'call>, Refusal>;

    /// Whether it is a pointer, and NULL
    fn is_absent(self) -> bool {
        false
    }

    /// Takes notice of a refusal: an error object is made of it, a panic poisons
    ///
    /// # Safety
    ///
    /// As [`clear`](Self::clear).
    unsafe fn tell(self, _refusal: &Refusal) {}
}

fn null(name: &'static str) -> Refusal {
    Refusal::new(MILEPOST_STATUS_NULL, format!("{name} is NULL"))
}

/// Numbers are checked where their meaning is known
macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Parameter for $number {
            type Held<'call> = Self;

            unsafe fn hold(self, _: &'static str, _: &Scope) -> Result<Self, Refusal> {
                Ok(self)
            }
        }
    )*};
}

numbers!(i32 u32 u64 usize);

impl<H: Handle<Ownership: Readable>> Parameter for *const H {
    type Held<'call> = Reading<'call, H>;

    unsafe fn hold<'call>(
        self,
        name: &'static str,
        _: &'call Scope,
    ) -> Result<Reading<'call, H>, Refusal> {
        // SAFETY: NULL or a handle that lives as long as the call, says the grammar.
        unsafe { handle::reading(self, name) }
    }

    fn is_absent(self) -> bool {
        self.is_null()
    }

    unsafe fn tell(self, refusal: &Refusal) {
        if refusal.status() == MILEPOST_STATUS_PANIC {
            // SAFETY: as in `hold`.
            unsafe { handle::poison(self) }
        }
    }
}

impl<H: Handle<Ownership = Exclusive>> Parameter for *mut H {
    type Held<'call> = Writing<'call, H>;

    unsafe fn hold<'call>(
        self,
        name: &'static str,
        _: &'call Scope,
    ) -> Result<Writing<'call, H>, Refusal> {
        // SAFETY: NULL or a handle that lives as long as the call, says the grammar.
        unsafe { handle::exclusive(self, name) }
    }

    fn is_absent(self) -> bool {
        self.is_null()
    }

    unsafe fn tell(self, refusal: &Refusal) {
        if refusal.status() == MILEPOST_STATUS_PANIC {
            // SAFETY: as in `hold`.
            unsafe { handle::poison(self.cast_const()) }
        }
    }
}

/// Where a new handle goes
#[derive(Debug)]
pub struct HandleOut<'call, H>(*mut *mut H, PhantomData<&'call mut *mut H>);

impl<H: Handle<Ownership: Owned>> HandleOut<'_, H> {
    /// Makes a handle of this value and hands it out
    pub fn put(self, value: H::Value) {
        // SAFETY: not NULL, so it is good for a pointer until the call ends, says the grammar.
        unsafe { self.0.write_unaligned(handle::create(value)) }
    }
}

impl<H: Handle<Ownership: Owned>> Parameter for *mut *mut H {
    type Held<'call> = HandleOut<'call, H>;

    unsafe fn clear(self) {
        if !self.is_null() {
            // SAFETY: not NULL, so it is good for a pointer, says the grammar.
            unsafe { self.write_unaligned(ptr::null_mut()) }
        }
    }

    unsafe fn hold<'call>(
        self,
        name: &'static str,
        _: &'call Scope,
    ) -> Result<HandleOut<'call, H>, Refusal> {
        if self.is_null() { Err(null(name)) } else { Ok(HandleOut(self, PhantomData)) }
    }

    fn is_absent(self) -> bool {
        self.is_null()
    }

    unsafe fn tell(self, refusal: &Refusal) {
        // Only the error object is made of a refusal, and that is the one output of its type.
        if H::NAME == milepost_error::NAME && !self.is_null() {
            let error = handle::create::<milepost_error>(Detail::of(refusal));
            // SAFETY: not NULL, and `H` is `milepost_error`, the one handle of this name.
            unsafe { self.cast::<*mut milepost_error>().write_unaligned(error) }
        }
    }
}

/// Where a plain value goes
#[derive(Debug)]
pub struct Out<'call, T>(*mut T, PhantomData<&'call mut T>);

impl<T: Copy> Out<'_, T> {
    /// Hands the value out
    pub fn put(self, value: T) {
        // SAFETY: not NULL, so it is good for a `T` until the call ends, says the grammar.
        unsafe { self.0.write_unaligned(value) }
    }
}

/// Plain outputs: types for which all bytes zero are a value
macro_rules! plain_outputs {
    ($($plain:ty)*) => {$(
        impl Parameter for *mut $plain {
            type Held<'call> = Out<'call, $plain>;

            unsafe fn clear(self) {
                if !self.is_null() {
                    // SAFETY: not NULL, so it is good for the bytes of a value, says the grammar.
                    unsafe { self.cast::<u8>().write_bytes(0, size_of::<$plain>()) }
                }
            }

            unsafe fn hold<'call>(
                self,
                name: &'static str,
                _: &'call Scope,
            ) -> Result<Out<'call, $plain>, Refusal> {
                if self.is_null() { Err(null(name)) } else { Ok(Out(self, PhantomData)) }
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
    crate::value::milepost_hash crate::value::milepost_text
    crate::engine::milepost_chain crate::ingest::milepost_summary crate::ingest::milepost_point
    crate::answer::milepost_result crate::answer::milepost_outcome crate::answer::milepost_failure
    crate::error::milepost_detail crate::transaction::milepost_transaction_view
}

/// The start of an array whose length is the next parameter
pub struct Start<'call, T>(*const T, &'static str, PhantomData<&'call [T]>);

impl<T> fmt::Debug for Start<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Start({})", self.1)
    }
}

impl<'call, T> Start<'call, T> {
    /// The array; with length 0 nothing is looked at
    ///
    /// # Errors
    ///
    /// NULL, an odd address, or more bytes than memory has.
    pub fn items(&self, len: usize) -> Result<&'call [T], Refusal> {
        if len == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err(null(self.1));
        }
        if !self.0.is_aligned() || len > isize::MAX as usize / size_of::<T>() {
            let sentence = format!("{}: {len} items at {:p} are no array", self.1, self.0);
            return Err(Refusal::new(MILEPOST_STATUS_LENGTH, sentence));
        }
        // SAFETY: neither NULL nor odd, short enough, and good for the length that is passed with
        // it until the call ends, says the grammar.
        Ok(unsafe { slice::from_raw_parts(self.0, len) })
    }
}

macro_rules! arrays {
    ($($item:ty)*) => {$(
        impl Parameter for *const $item {
            type Held<'call> = Start<'call, $item>;

            unsafe fn hold<'call>(
                self,
                name: &'static str,
                _: &'call Scope,
            ) -> Result<Start<'call, $item>, Refusal> {
                Ok(Start(self, name, PhantomData))
            }
        }
    )*};
}

arrays! { u8 crate::storage::milepost_row }

macro_rules! plain_inputs {
    ($($plain:ty)*) => {$(
        impl Parameter for *const $plain {
            type Held<'call> = $plain;

            unsafe fn hold(self, name: &'static str, _: &Scope) -> Result<$plain, Refusal> {
                if self.is_null() {
                    return Err(null(name));
                }
                // SAFETY: not NULL, so it is good for a value, says the grammar.
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
    type Held<'call> = milepost_storage;

    unsafe fn hold(self, name: &'static str, _: &Scope) -> Result<milepost_storage, Refusal> {
        if self.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL, so at least its first member is there: its size, says the grammar.
        let size = unsafe { self.cast::<usize>().read_unaligned() };
        if size != size_of::<milepost_storage>() {
            let expected = size_of::<milepost_storage>();
            let sentence = format!("{name}.size is {size}, expected {expected}");
            return Err(Refusal::new(MILEPOST_STATUS_LENGTH, sentence));
        }
        // SAFETY: it has the size of the structure.
        Ok(unsafe { self.read_unaligned() })
    }
}

/// A function of the host's that makes storages
impl Parameter for milepost_make_fn {
    type Held<'call> = Maker;

    unsafe fn hold(self, name: &'static str, _: &Scope) -> Result<Maker, Refusal> {
        self.map(Maker).ok_or_else(|| null(name))
    }

    fn is_absent(self) -> bool {
        self.is_none()
    }
}

/// A context of the host's, which is only passed on
impl Parameter for *mut c_void {
    type Held<'call> = Self;

    unsafe fn hold(self, _: &'static str, _: &Scope) -> Result<Self, Refusal> {
        Ok(self)
    }
}

/// The sink that was passed to the callback; told from others without being touched
#[derive(Debug)]
pub struct Sink(*const SinkState);

impl Sink {
    /// The address, to be compared with that of the open sink
    pub(crate) const fn address(&self) -> *const SinkState {
        self.0
    }
}

impl Parameter for *mut milepost_sink {
    type Held<'call> = Sink;

    unsafe fn hold(self, name: &'static str, _: &Scope) -> Result<Sink, Refusal> {
        if self.is_null() { Err(null(name)) } else { Ok(Sink(self.cast_const().cast())) }
    }
}

impl<'call> Start<'call, u8> {
    /// The bytes; with length 0 nothing is looked at
    ///
    /// # Errors
    ///
    /// As [`items`](Self::items).
    pub fn bytes(&self, len: usize) -> Result<&'call [u8], Refusal> {
        self.items(len)
    }

    /// The text
    ///
    /// # Errors
    ///
    /// As [`items`](Self::items); and it is not UTF-8.
    pub fn text(&self, len: usize) -> Result<&'call str, Refusal> {
        let not_text = |error: core::str::Utf8Error| {
            Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
        };
        Ok(core::str::from_utf8(self.items(len)?).map_err(not_text)?)
    }

    /// The text of a method in an address; none with length 0
    ///
    /// # Errors
    ///
    /// As [`text`](Self::text).
    pub fn method(&self, len: usize) -> Result<Option<&'call str>, Refusal> {
        let text = self.text(len)?;
        Ok((!text.is_empty()).then_some(text))
    }
}

/// A copy of bytes that stand in a structure of the host's
///
/// # Errors
///
/// NULL with a length, or more bytes than memory has.
pub(crate) fn copied(bytes: &milepost_bytes, name: &'static str) -> Result<Vec<u8>, Refusal> {
    // The grammar makes the same promise for them as for a pointer and a length that are passed.
    Start(bytes.data, name, PhantomData).items(bytes.len).map(<[u8]>::to_vec)
}
