//! Sink: how a callback of the host passes rows, or why it failed, to the library.
//!
//! These are the only functions that may be called inside a callback. What is passed is copied at
//! once, so no ownership crosses the boundary.

use milepost::storage::Key;
use milepost::{Error, ErrorKind};

use crate::boundary::callback::SinkError;
use crate::boundary::handle::{Borrowed, Handle};
use crate::boundary::parameter::addresses;
use crate::boundary::{callback, ffi_function};
use crate::status::{CallError, MILEPOST_STATUS_STALE};

/// Receives the rows that a callback was asked for, or why it fails; valid during that callback
pub struct milepost_sink {
    _private: (),
}

impl Handle for milepost_sink {
    type Value = ();
    type Ownership = Borrowed;
    const NAME: &'static str = "milepost_sink";
}

addresses! { milepost_sink }

ffi_function! {
    @callback
    /// Passes the row of the next key; it is copied at once
    ///
    /// `MILEPOST_STATUS_STALE` if the sink is not that of the callback that runs on this thread,
    /// `MILEPOST_STATUS_LIMIT` if every key already has its row.
    fn milepost_sink_row(
        sink: *mut milepost_sink,
        row: *const u8,
        row_len: usize,
    ) -> milepost_status_t {
        push(sink, Some(row.bytes(row_len)?))
    }
}

ffi_function! {
    @callback
    /// Reports that the next key has no row; fails as `milepost_sink_row` does
    fn milepost_sink_absent(sink: *mut milepost_sink) -> milepost_status_t {
        push(sink, None)
    }
}

ffi_function! {
    @callback
    /// Passes a row of an archive with its key; both are copied at once
    ///
    /// `MILEPOST_STATUS_VALUE` if the key is not one, `MILEPOST_STATUS_LIMIT` if the sink takes no
    /// more rows, or is that of a storage; the callback has failed then, whatever it returns.
    /// `MILEPOST_STATUS_STALE` as for `milepost_sink_row`.
    fn milepost_sink_entry(
        sink: *mut milepost_sink,
        key: *const u8,
        key_len: usize,
        row: *const u8,
        row_len: usize,
    ) -> milepost_status_t {
        let (key, row) = (Key::from_bytes(key.bytes(key_len)?), row.bytes(row_len)?);
        let pushed = callback::push_entry(sink.cast_const().cast(), key, row);
        if pushed == Err(SinkError::Full) && key.is_none() {
            return Err(Error::new(ErrorKind::Value, "the bytes are not a key").into());
        }
        pushed.map_err(|refusal| sink_error(refusal, "the sink takes no more rows with keys"))
    }
}

ffi_function! {
    @callback
    /// Says why the callback fails, in one sentence of UTF-8, before it returns another number than
    /// 0
    ///
    /// The error or the response contains the sentence, up to 1,024 bytes of it; the last one
    /// counts. `MILEPOST_STATUS_STALE` as for `milepost_sink_row`.
    fn milepost_sink_fail(
        sink: *mut milepost_sink,
        reason: *const u8,
        reason_len: usize,
    ) -> milepost_status_t {
        let reason = reason.bytes(reason_len)?;
        callback::set_reason(sink.cast_const().cast(), reason).ok_or_else(stale)
    }
}

fn stale() -> CallError {
    let message = "the sink is not that of the callback that runs on this thread";
    CallError::new(MILEPOST_STATUS_STALE, message)
}

fn sink_error(error: SinkError, full: &str) -> CallError {
    match error {
        SinkError::Stale => stale(),
        SinkError::Full => Error::new(ErrorKind::Limit, full).into(),
    }
}

fn push(sink: *mut milepost_sink, row: Option<&[u8]>) -> Result<(), CallError> {
    callback::push_row(sink.cast_const().cast(), row)
        .map_err(|refusal| sink_error(refusal, "every key already has its row"))
}
