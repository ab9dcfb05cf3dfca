//! The sink: how a callback of the host's storage hands rows over.
//!
//! The only functions that may be called inside a callback. Rows are copied at once, so nothing
//! changes its owner across the border.

use crate::boundary::callback;
use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Lent};
use crate::boundary::parameter::Sink;
use crate::status::{MILEPOST_STATUS_STALE, Refusal};

/// Where a callback puts the rows it was asked for; lent for the time of the callback
pub struct milepost_sink {
    _private: (),
}

impl Handle for milepost_sink {
    type Value = ();
    type Ownership = Lent;
    const NAME: &'static str = "milepost_sink";
}

ffi_function! {
    @callback
    /// Hands over the row of the next key; it is copied at once
    ///
    /// `MILEPOST_STATUS_STALE` when the sink is not that of the callback that runs on this thread,
    /// `MILEPOST_STATUS_LIMIT` when every key has its row already.
    fn milepost_sink_row(sink: *mut milepost_sink, row: *const u8, row_len: usize) -> milepost_status_t {
        hand_over(&sink, Some(row.bytes(row_len)?))
    }
}

ffi_function! {
    @callback
    /// Says that there is no row of the next key; refuses as `milepost_sink_row` does
    fn milepost_sink_absent(sink: *mut milepost_sink) -> milepost_status_t {
        hand_over(&sink, None)
    }
}

fn hand_over(sink: &Sink, row: Option<&[u8]>) -> Result<(), Refusal> {
    match callback::hand_over(sink.address(), row) {
        Some(true) => Ok(()),
        Some(false) => {
            let sentence = "every key has its row already";
            Err(milepost::Error::new(milepost::ErrorKind::Limit, sentence).into())
        }
        None => {
            let sentence = "the sink is not that of the callback that runs on this thread";
            Err(Refusal::new(MILEPOST_STATUS_STALE, sentence))
        }
    }
}
